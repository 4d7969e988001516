// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of the artifact loader, the planner, and whole runs with returns in the place of kernels.
//
// An input is the head of a file, header and tables; what follows are the code and the weights of a small model. So
// inputs are short and mutations change what is interesting. Checksum, length and versions are made right first, or
// few mutations would get past them. An artifact may ask for any amount of memory and gets a status where there is
// none: run it with ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=64, as the test does.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <heddle/artifact_format.h>
#include <heddle/executable_abi.h>

#include "tests/runtime/artifact_builder.h"
#include "tests/runtime/fuzz_artifact.h"

using namespace heddle::test;

namespace {

/// The file that is made of an input's |size| bytes at |data|.
void make_file(const uint8_t *data, size_t size, const artifact_bytes &rest, artifact_bytes *out) {
  out->size = rest.size;
  out->block.reserve(out->size);
  std::memcpy(out->data(), rest.data(), rest.size);
  std::memcpy(out->data(), data, size);
  heddle_artifact_header_t header;
  std::memcpy(&header, out->data(), sizeof(header));
  header.format_version = HEDDLE_ARTIFACT_FORMAT_VERSION;
  header.executable_abi_version = HEDDLE_EXECUTABLE_ABI_VERSION;
  header.file_length = out->size;
  std::memcpy(out->data(), &header, sizeof(header));
  if (header.program_offset <= out->size && header.program_length <= out->size - header.program_offset)
    fix_program_checksum(*out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const artifact_bytes rest = [] {
    artifact_builder builder = embedding_model();
    builder.add_shader_target();
    return builder.build();
  }();
  if (size < sizeof(heddle_artifact_header_t) || size > HEDDLE_SECTION_ALIGNMENT)
    return 0;
  artifact_bytes artifact;
  make_file(data, size, rest, &artifact);
  if (explore_artifact(artifact.data(), artifact.size))
    run_without_code(artifact.data(), artifact.size);
  return 0;
}
