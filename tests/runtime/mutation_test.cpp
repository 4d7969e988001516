// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged artifacts never crash the loader: seeded mutations of the header and the tables, with the checksum made
// right again, so that the damage gets past it. What still loads is described, planned and run, but with returns in the
// place of its code: a file that passes may hold any.

#include <cstdlib>
#include <cstring>
#include <random>

#include <heddle/artifact_format.h>

#include "tests/runtime/fuzz_artifact.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// Loads |count| mutants of what |builder| builds, and returns how many of them loaded.
size_t load_mutants(artifact_builder builder, int count) {
  const artifact_bytes original = builder.build();
  heddle_artifact_header_t header;
  std::memcpy(&header, original.data(), sizeof(header));
  const size_t image_begin = builder.program.sections[0]->offset;

  std::mt19937_64 random(20240607);
  size_t loaded = 0;
  artifact_bytes mutant;
  mutant.block.reserve(original.size);
  mutant.size = original.size;
  for (int round = 0; round < count; ++round) {
    std::memcpy(mutant.data(), original.data(), original.size);
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      // Mostly the tables, sometimes the file's header or the code's ELF headers.
      const uint64_t choice = random() % 10;
      const size_t begin = choice == 0 ? 0 : choice == 1 ? image_begin : header.program_offset;
      const size_t length = choice == 0 ? sizeof(header) : choice == 1 ? 512 : header.program_length;
      const size_t at = begin + random() % length;
      const uint8_t interesting[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
      mutant.data()[at] =
          random() % 2 ? std::byte(interesting[random() % 5]) : mutant.data()[at] ^ std::byte(1 << random() % 8);
    }
    heddle_artifact_header_t changed;
    std::memcpy(&changed, mutant.data(), sizeof(changed));
    if (changed.program_offset == header.program_offset && changed.program_length == header.program_length)
      fix_program_checksum(mutant);
    if (!explore_artifact(mutant.data(), mutant.size))
      continue;
    ++loaded;
    run_without_code(mutant.data(), mutant.size);
  }
  return loaded;
}

TEST(Mutation, DamagedArtifactsAreRefusedOrHarmless) {
  artifact_builder builder = embedding_model();
  entry_builder more = builder.add_entry("copy");
  const fb::Binding x = more.input("x", fb::ElementType::i32, {"n"});
  const uint32_t size = more.dim(x, 0);
  const fb::Binding buffer = more.buffer(more.mul(size, more.constant(4)), 0, 1);
  more.copy(x, buffer, more.constant(4));
  more.store_slots(more.output("y", fb::ElementType::u8, {"1"}, {more.constant(1)}), fb::ElementType::u8, {size});
  fb::InputT &optional = *builder.program.entries[1]->inputs[0];
  optional.default_constant = builder.constant({1, 2, 3}).index(); // bits are bits
  optional.default_dims = {3};
  builder.add_shader_target();
  builder.add_self_test(0);
  constexpr int count = 20000;
  const size_t loaded = load_mutants(std::move(builder), count);
  // Many mutations change a name or a number that no check can know: a test that none survives tests no tables.
  EXPECT_GT(loaded, size_t(count) / 50);
  EXPECT_LT(loaded, size_t(count) * 9 / 10);
}

TEST(Mutation, SoAreDamagedCandidates) {
  constexpr int count = 5000;
  const size_t loaded = load_mutants(candidate_model(), count);
  EXPECT_GT(loaded, size_t(count) / 50);
  EXPECT_LT(loaded, size_t(count) * 9 / 10);
}

} // namespace
} // namespace heddle::test
