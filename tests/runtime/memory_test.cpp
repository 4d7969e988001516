// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program and its runs hold of memory, and what is said of it beforehand.

#include <fstream>

#include "runtime/core/artifact_source.h"
#include "runtime/devices/cpu/mapped_weights.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// Bytes of the file at |path| that are in this process's memory through its mappings.
size_t resident_bytes(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  size_t kilobytes = 0;
  bool is_file = false;
  for (std::string line; std::getline(maps, line);) {
    // "7f..-7f.. r--p ..." begins a mapping, "Rss:   64 kB" is one of its properties.
    if (line.find('-') < line.find(' '))
      is_file = line.size() > path.size() && line.compare(line.size() - path.size(), path.size(), path) == 0;
    if (is_file && line.compare(0, 4, "Rss:") == 0)
      kilobytes += std::stoul(line.substr(4));
  }
  return kilobytes * 1024;
}

TEST(Memory, HasNoCopiedWeightsTwice) {
  constexpr uint32_t rows = 1 << 20; // of 16 bytes: many times the largest page
  const artifact_bytes artifact = embedding_model(rows).build();
  const std::string path = write_file("weights", artifact.data(), artifact.size);
  const size_t weights = size_t(rows) * 16;
  // Rows all over the table, so that its pages are touched.
  std::vector<int64_t> rows_read(512);
  for (size_t i = 0; i < rows_read.size(); ++i)
    rows_read[i] = static_cast<int64_t>(i * (rows / rows_read.size()));
  const tensor ids = make_tensor(HEDDLE_ELEMENT_I64, {1, 512}, rows_read);
  for (heddle_weights_t kind : {HEDDLE_WEIGHTS_MAP, HEDDLE_WEIGHTS_COPY}) {
    heddle_program_options_t options = {};
    options.weights = kind;
    auto program = program::load(path, options);
    ASSERT_TRUE(bool(program)) << program.error().text();
    const session session = make_session(*program);
    auto outputs = session.run(nullptr, {&ids, &ids}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    // Pages are mapped in groups, so a table that is read in place is nearly all there; else only code and tables are.
    if (kind == HEDDLE_WEIGHTS_MAP)
      EXPECT_GT(resident_bytes(path), weights / 2);
    else
      EXPECT_LT(resident_bytes(path), weights / 2);
  }
}

TEST(Memory, OfARunIsKnownBeforeIt) {
  const artifact_bytes artifact = scale_model().build();
  const thread_pool pool = make_pool(3);
  heddle_program_options_t options = {};
  options.thread_pool = pool.get();
  const program program = load(artifact, options);
  const tensor x = counting_tensor({3, 100});
  const heddle_tensor_t *inputs[] = {x.get()};
  heddle_memory_info_t memory = {};
  EXPECT_OK(heddle_program_memory(program.get(), nullptr, inputs, 1, &memory));
  EXPECT_EQ(memory.weight_bytes, 4);
  EXPECT_EQ(memory.table_bytes, 0);
  EXPECT_EQ(memory.arena_bytes, 1216);
  EXPECT_EQ(memory.input_bytes, 1200);
  EXPECT_EQ(memory.output_bytes, 1216);
  EXPECT_GT(memory.code_bytes, 0);
  EXPECT_EQ(memory.program_bytes, static_cast<int64_t>(program.info().program_bytes));
  EXPECT_EQ(memory.device_weight_bytes + memory.device_arena_bytes + memory.transfer_bytes, 0);
  expect_failure(heddle_program_memory(program.get(), nullptr, nullptr, 0, &memory), "H0302",
                 "expects 1 inputs, got 0");
}

TEST(Memory, OfAFileIsWhatWasReadLast) {
  const std::vector<char> content(size_t(8) << 20, 'x');
  const std::string path = write_file("pages", content.data(), content.size());
  runtime::artifact_source source;
  EXPECT_OK(source.open_file(path.c_str()));
  EXPECT_EQ(source.data()[content.size() / 2], std::byte('x'));
  EXPECT_GT(resident_bytes(path), 0u);
  source.release_pages();
  EXPECT_EQ(resident_bytes(path), 0u);
  const uint64_t block = source.fault_bytes(content.size() / 2);
  EXPECT_GE(block, uint64_t(64) << 10);
  EXPECT_LE(block, uint64_t(2) << 20);
  EXPECT_GT(resident_bytes(path), 0u);
  EXPECT_LE(resident_bytes(path), block);
}

TEST(Memory, OfMappedWeightsIsInBlocksOfTheFile) {
  const artifact_bytes artifact = embedding_model(/*rows=*/100000).build();
  auto program = program::load(write_file("table", artifact.data(), artifact.size));
  ASSERT_TRUE(bool(program));
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2, 40}, std::vector<int64_t>(80, 3));
  const heddle_tensor_t *inputs[] = {ids.get(), ids.get()};
  heddle_memory_info_t memory = {};
  EXPECT_OK(heddle_program_memory(program->get(), nullptr, inputs, 2, &memory));
  EXPECT_GE(memory.weight_bytes, int64_t(64) << 10);
  EXPECT_LT(memory.weight_bytes, 1600000);
  EXPECT_GE(memory.weight_bytes + memory.table_bytes, 1600000);
  EXPECT_LE(memory.weight_bytes + memory.table_bytes, static_cast<int64_t>(artifact.size));
}

TEST(Memory, OfMappedBlocksIsCountedOnce) {
  using runtime::cpu::bytes_of_blocks;
  constexpr uint64_t kib = 1024;
  const uint64_t length = 900 * kib;
  EXPECT_EQ(bytes_of_blocks({}, 256 * kib, length), 0);
  EXPECT_EQ(bytes_of_blocks({{300 * kib, 310 * kib}, {5, 6}, {4, 400}}, 256 * kib, length), int64_t(512 * kib));
  EXPECT_EQ(bytes_of_blocks({{250 * kib, 260 * kib}, {100 * kib, 300 * kib}}, 256 * kib, length), int64_t(512 * kib));
  // Behind 768 KiB come blocks of 128 and, up to the end, of 4 KiB, of which 64 KiB are mapped around a page.
  EXPECT_EQ(bytes_of_blocks({{770 * kib, 771 * kib}}, 256 * kib, length), int64_t(128 * kib));
  EXPECT_EQ(bytes_of_blocks({{length - 1, length}}, 256 * kib, length), int64_t(4 * kib));
  EXPECT_EQ(bytes_of_blocks({{0, length}}, 256 * kib, length), int64_t(length));
  EXPECT_EQ(bytes_of_blocks({{length - 7, length - 5}}, 1, length), 2) << "memory of the caller's";
}

TEST(Memory, CountsTheRowsOfATableThatARunReads) {
  artifact_builder builder = embedding_model(/*rows=*/1000);
  const artifact_bytes artifact = builder.build();
  const tensor ids = make_tensor<int64_t>(HEDDLE_ELEMENT_I64, {2, 40}, std::vector<int64_t>(80, 3));
  const heddle_tensor_t *inputs[] = {ids.get(), ids.get()};
  for (const heddle_weights_t weights : {HEDDLE_WEIGHTS_MAP, HEDDLE_WEIGHTS_COPY}) {
    heddle_program_options_t options = {};
    options.weights = weights;
    const program program = load(artifact, options);
    heddle_memory_info_t memory = {};
    EXPECT_OK(heddle_program_memory(program.get(), nullptr, inputs, 2, &memory));
    EXPECT_EQ(memory.weight_bytes + memory.table_bytes, 16000);
    EXPECT_EQ(memory.weight_bytes, weights == HEDDLE_WEIGHTS_MAP ? 2 * 40 * 4 * 4 : 16000);
  }
  // Its elements are as large as the artifact says, or as the result's where it doesn't say.
  for (const auto &[bits, bytes] : {std::pair(0, 1280), {4, 160}, {8, 320}, {32, 1280}, {255, 10200}}) {
    builder.program.constants[0]->element_bits = static_cast<uint8_t>(bits);
    const artifact_bytes narrower = builder.build();
    const program program = load(narrower);
    heddle_memory_info_t memory = {};
    EXPECT_OK(heddle_program_memory(program.get(), nullptr, inputs, 2, &memory));
    EXPECT_EQ(memory.weight_bytes, bytes) << bits;
  }
}

} // namespace
} // namespace heddle::test
