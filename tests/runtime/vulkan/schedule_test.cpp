// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What needs no device: where tensors and constants lie, how work is cut, which commands wait.

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "runtime/devices/vulkan/constants.h"
#include "runtime/devices/vulkan/elements.h"
#include "runtime/devices/vulkan/recording.h"
#include "runtime/devices/vulkan/slicing.h"
#include "runtime/devices/vulkan/spirv.h"

namespace heddle::runtime::vulkan {
namespace {

limits small_limits() {
  limits limits = {};
  limits.range = 1 << 20;
  limits.groups[0] = limits.groups[1] = limits.groups[2] = 256;
  limits.offset_alignment = 64;
  return limits;
}

/// A dispatch of |rows| x |columns| floats to as many, one a unit: columns along x, rows along y.
slice_work map_work(const pipeline &pipeline, uint32_t rows, uint32_t columns) {
  const uint64_t bytes = uint64_t(rows) * columns * 4;
  slice_work work = {"map", &pipeline, {columns, rows, 1}, {}, {7}, 3, 0};
  work.operands.push_back({shader_binding::first_input, arena_buffer, 256, bytes, {4, columns * 4, 0}});
  work.operands.push_back({shader_binding::results, arena_buffer, 1 << 30, bytes, {4, columns * 4, 0}});
  return work;
}

std::vector<dispatch_command> dispatches_of(const schedule &schedule) {
  std::vector<dispatch_command> list;
  for (const command &command : schedule.commands)
    if (const auto *dispatch = std::get_if<dispatch_command>(&command.kind))
      list.push_back(*dispatch);
  return list;
}

TEST(Slicing, LeavesSmallWorkWhole) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {16, 4, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  ASSERT_EQ(slicer.cut(map_work(pipeline, 10, 100)), nullptr);
  const std::vector<dispatch_command> dispatches = dispatches_of(out);
  ASSERT_EQ(out.commands.size(), 1u);
  EXPECT_EQ(dispatches[0].groups[0], 7u);
  EXPECT_EQ(dispatches[0].groups[1], 3u);
  EXPECT_EQ(dispatches[0].words, (std::vector<uint32_t>{0, 0, 0, 0, 0, 7})) << "first group, elements 0, size";
  EXPECT_EQ(dispatches[0].bindings[1].offset, 256u);
  EXPECT_EQ(dispatches[0].bindings[1].bytes, 4000u);
  EXPECT_EQ(dispatches[0].bindings[0].bytes, 0u) << "no constants";
}

TEST(Slicing, CoversEveryGroupOnceWithinTheLimits) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {3, 2, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  const uint32_t rows = 1001;
  const uint32_t columns = 1500;
  ASSERT_EQ(slicer.cut(map_work(pipeline, rows, columns)), nullptr);
  std::vector<int> groups(size_t(500) * 501);
  for (const dispatch_command &dispatch : dispatches_of(out)) {
    const uint32_t x = dispatch.words[0];
    const uint32_t y = dispatch.words[1];
    ASSERT_LE(dispatch.groups[0], 256u);
    ASSERT_LE(dispatch.groups[1], 256u);
    for (uint32_t i = 0; i < dispatch.groups[0]; ++i)
      for (uint32_t j = 0; j < dispatch.groups[1]; ++j)
        ++groups[(y + j) * size_t(500) + x + i];
    for (size_t operand = 0; operand < 2; ++operand) {
      const buffer_range &range = dispatch.bindings[operand ? 3 : 1];
      const uint64_t base = operand ? 1 << 30 : 256;
      ASSERT_LE(range.bytes, limits.range);
      ASSERT_EQ(range.offset % limits.offset_alignment, 0u);
      // The first and the last element that the slice touches, by the word that it is told.
      const uint64_t first = (uint64_t(y) * 2 * columns + x * 3) * 4;
      const uint64_t last_row = std::min(rows, (y + dispatch.groups[1]) * 2) - 1;
      const uint64_t last_column = std::min(columns, (x + dispatch.groups[0]) * 3) - 1;
      const uint64_t last = (last_row * columns + last_column) * 4;
      const auto word = static_cast<int32_t>(dispatch.words[3 + operand]);
      EXPECT_EQ(range.offset + int64_t(word) * 4, base);
      EXPECT_GE(base + first, range.offset);
      EXPECT_LE(base + last + 4, range.offset + range.bytes);
    }
  }
  EXPECT_EQ(std::count(groups.begin(), groups.end(), 1), std::ptrdiff_t(groups.size()));
}

TEST(Slicing, CutsLongWork) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {1, 1, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  slice_work work = map_work(pipeline, 16, 16);
  work.seconds = 1;
  ASSERT_EQ(slicer.cut(work), nullptr);
  EXPECT_EQ(out.commands.size(), 16u);
  double total = 0;
  for (const command &command : out.commands)
    total += command.seconds;
  EXPECT_NEAR(total, 1, 1e-9);
}

TEST(Slicing, TimeAloneAsksForFewSlices) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {1, 1, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  slice_work work = map_work(pipeline, 256, 256);
  work.seconds = 1e15; // by an artifact's word
  ASSERT_EQ(slicer.cut(work), nullptr);
  EXPECT_EQ(out.commands.size(), 4096u);
}

TEST(Slicing, RefusesMoreCommandsThanMemoryHolds) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {1, 1, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  heddle_status_t status = slicer.cut({"map", &pipeline, {UINT32_MAX, 1 << 20, 1}, {}, {}, 0, 0});
  ASSERT_NE(status, nullptr);
  EXPECT_STREQ(heddle_status_error_code(status), "H0406");
  EXPECT_NE(std::strstr(heddle_status_message(status), "kernel 'map' has to be cut into more than"), nullptr);
  heddle_status_release(status);
}

TEST(Clock, CountsItsBitsAlone) {
  limits limits = small_limits();
  limits.timestamp_nanoseconds = 10;
  limits.timestamp_mask = (uint64_t(1) << 36) - 1;
  EXPECT_DOUBLE_EQ(seconds_between(limits, 1000, 1100), 1e-6);
  EXPECT_DOUBLE_EQ(seconds_between(limits, limits.timestamp_mask - 49, 50), 1e-6) << "it wrapped";
  EXPECT_DOUBLE_EQ(seconds_between(limits, (uint64_t(5) << 36) + 1000, 1100), 1e-6) << "the other bits say nothing";
  EXPECT_EQ(seconds_between(limits, 1100, 1000), 0) << "it went backwards";
  limits.timestamp_mask = UINT64_MAX;
  EXPECT_DOUBLE_EQ(seconds_between(limits, 1000, 1100), 1e-6);
  EXPECT_EQ(seconds_between(limits, 1100, 1000), 0);
}

TEST(Clock, WithoutOneNothingIsLearned) {
  const device device;
  for (int run = 0; run < 100; ++run)
    device.learn(0.05, 0);
  EXPECT_EQ(device.slowness(), 1);
  device.learn(0.05, 0.1);
  EXPECT_DOUBLE_EQ(device.slowness(), 1.25);
}

TEST(Slicing, BindsATableByRows) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {16, 4, 1}};
  const uint32_t row_bytes = 1000;
  slice_work work = map_work(pipeline, 8, 16);
  work.seconds = 0.01;
  // The last row lacks bytes. The other constant is needed with every row, and lies too far from most.
  work.operands.push_back({shader_binding::constants, first_block, 8 << 20, 4096, {0, 0, 0}});
  work.operands.push_back({shader_binding::constants, first_block, 256, uint64_t(5000) * row_bytes - 4, {}, row_bytes});
  schedule out;
  slicer slicer(limits, 0.1, 256, &out);
  ASSERT_EQ(slicer.cut(work), nullptr);
  uint32_t next = 0;
  uint64_t copied = 0;
  double total = 0;
  for (const command &command : out.commands) {
    total += command.seconds;
    if (const auto *copy = std::get_if<copy_command>(&command.kind)) {
      copied += copy->source.bytes;
      continue;
    }
    const auto &dispatch = std::get<dispatch_command>(command.kind);
    ASSERT_EQ(dispatch.words.size(), 10u) << "first groups, rows, operands, size";
    EXPECT_EQ(dispatch.groups[0], 1u);
    EXPECT_EQ(dispatch.groups[1], 2u);
    const uint64_t count = dispatch.words[4];
    ASSERT_EQ(dispatch.words[3], next);
    const buffer_range &range = dispatch.bindings[0];
    ASSERT_LE(range.bytes, limits.range);
    const int64_t element0 = int64_t(range.offset) + int64_t(static_cast<int32_t>(dispatch.words[8])) * 4;
    EXPECT_GE(element0 + int64_t(next) * row_bytes, int64_t(range.offset));
    next += static_cast<uint32_t>(count);
    const int64_t end = element0 + int64_t(next) * row_bytes - (next == 5000 ? 4 : 0);
    EXPECT_LE(end, int64_t(range.offset + range.bytes));
  }
  EXPECT_EQ(next, 5000u) << "every row once";
  const uint64_t slices = dispatches_of(out).size();
  EXPECT_EQ(copied, 5000u * row_bytes - 4 + slices * 4096);
  EXPECT_NEAR(total, 0.01, 1e-9);
}

TEST(Slicing, LeavesATableThatFitsWhole) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {16, 4, 1}};
  slice_work work = map_work(pipeline, 4, 16);
  work.operands.push_back({shader_binding::constants, first_block, 256, 500 * 1000, {}, 1000});
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  ASSERT_EQ(slicer.cut(work), nullptr);
  ASSERT_EQ(out.commands.size(), 1u);
  const dispatch_command dispatch = dispatches_of(out)[0];
  EXPECT_EQ(dispatch.words[3], 0u);
  EXPECT_EQ(dispatch.words[4], 500u);
  // A single row that doesn't fit leaves nothing to cut.
  work.operands.back() = {shader_binding::constants, first_block, 256, 3 << 20, {}, 2 << 20};
  heddle_status_t status = slicer.cut(work);
  EXPECT_STREQ(heddle_status_message(status),
               "kernel 'map' needs 2097152 bytes at once, and the device binds at most 1048576");
  heddle_status_release(status);
}

TEST(Slicing, RefusesWhatIsNeededWhole) {
  const limits limits = small_limits();
  const pipeline pipeline = {VK_NULL_HANDLE, {1, 1, 1}};
  schedule out;
  slicer slicer(limits, 0.1, 0, &out);
  slice_work work = map_work(pipeline, 4, 4);
  work.operands.push_back({shader_binding::constants, first_block, 0, 2 << 20, {0, 0, 0}});
  heddle_status_t status = slicer.cut(work);
  EXPECT_STREQ(heddle_status_message(status),
               "kernel 'map' needs 2097152 bytes at once, and the device binds at most 1048576");
  heddle_status_release(status);
}

command copy(uint64_t from, uint64_t to, uint64_t bytes) {
  return {copy_command{{arena_buffer, from, bytes}, arena_buffer, to}, 0, 0};
}

std::vector<bool> waits_of(std::vector<command> commands) {
  schedule schedule;
  schedule.commands = std::move(commands);
  schedule.segments.push_back({0, schedule.commands.size(), 0, 0, 0});
  mark_waits(&schedule);
  std::vector<bool> waits;
  for (const command &command : schedule.commands)
    waits.push_back(command.waits);
  return waits;
}

TEST(Waits, OnlyWhereBytesAreShared) {
  // Reads of the same, writes of others: nothing to wait for.
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(0, 110, 10), copy(5, 120, 10)}), (std::vector<bool>{false, false, false}));
  // Read after write, write after read, write after write.
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(109, 200, 10)}), (std::vector<bool>{false, true}));
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(50, 9, 10)}), (std::vector<bool>{false, true}));
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(50, 91, 10)}), (std::vector<bool>{false, true}));
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(50, 90, 10)}), (std::vector<bool>{false, false}));
  // A barrier covers all before it.
  EXPECT_EQ(waits_of({copy(0, 100, 10), copy(20, 120, 10), copy(100, 140, 10), copy(120, 160, 10)}),
            (std::vector<bool>{false, false, true, false}));
}

TEST(Arena, TensorsAliveTogetherAreApart) {
  entry_table entry = {};
  entry.inputs.resize(2);
  entry.outputs.resize(1);
  entry.buffers = {{0, 0, 1}, {0, 1, 2}};
  dispatch_step step = {};
  step.bindings = {{0, binding_kind::input}, {0, binding_kind::buffer}};
  entry.steps.push_back(step);
  step.bindings = {{0, binding_kind::buffer}, {1, binding_kind::buffer}};
  entry.steps.push_back(step);
  step.bindings = {{1, binding_kind::buffer}, {0, binding_kind::output}};
  entry.steps.push_back(step);
  plan plan;
  plan.input_bytes = {1000, 0};
  plan.output_bytes = {1000};
  plan.buffer_bytes = {1000, 1000};
  arena_layout layout;
  ASSERT_EQ(lay_out_arena(entry, plan, &layout), nullptr);
  for (const auto *places : {&layout.inputs, &layout.outputs, &layout.buffers})
    for (const tensor_place &place : *places) {
      EXPECT_EQ(place.offset % tensor_alignment, 0u);
      EXPECT_GE(place.offset, tensor_alignment) << "the first bytes belong to nobody";
      EXPECT_GE(place.record, place.offset + place.bytes);
      EXPECT_LE(place.record + record_bytes, layout.bytes);
    }
  // Input and output never live together, all others do with one of them: three places of 1280 bytes.
  EXPECT_EQ(layout.inputs[0].offset, layout.outputs[0].offset);
  EXPECT_NE(layout.buffers[0].offset, layout.buffers[1].offset);
  EXPECT_NE(layout.buffers[0].offset, layout.inputs[0].offset);
  EXPECT_NE(layout.buffers[1].offset, layout.outputs[0].offset);
  EXPECT_LE(layout.bytes, tensor_alignment + 3 * 1280 + 256) << "no more than one for the empty input's record";
}

TEST(Arena, HugeSizesAreRefused) {
  entry_table entry = {};
  entry.buffers = {{0, 0, 0}, {0, 0, 0}};
  plan plan;
  plan.buffer_bytes = {INT64_MAX - 600, INT64_MAX - 600};
  arena_layout layout;
  heddle_status_t status = lay_out_arena(entry, plan, &layout);
  EXPECT_STREQ(heddle_status_error_code(status), "H0308");
  heddle_status_release(status);
}

/// Constants of the given lengths, and one dispatch for each of |uses| with those as constants.
program_tables tables_of(const std::vector<uint64_t> &lengths, const std::vector<std::vector<uint32_t>> &uses) {
  program_tables tables = {};
  for (uint64_t length : lengths)
    tables.constants.push_back({0, length});
  tables.targets.emplace_back();
  tables.entries.emplace_back();
  for (const std::vector<uint32_t> &use : uses) {
    shader_table shader = {};
    dispatch_step step = {};
    step.kernel = static_cast<uint32_t>(tables.targets[0].shaders.size());
    for (uint32_t constant : use) {
      shader.operands.push_back({HEDDLE_ELEMENT_F32, shader_binding::constants});
      step.bindings.push_back({constant, binding_kind::constant});
    }
    tables.targets[0].shaders.push_back(shader);
    tables.entries[0].steps.push_back(step);
  }
  return tables;
}

TEST(Constants, SmallOnesLieBesideEachLargeOne) {
  // Constant 0 goes with three weights; it joins none of them to the others.
  const constant_layout layout =
      lay_out_constants(tables_of({4, 1 << 20, 1 << 20, 1 << 20}, {{0, 1}, {0, 2}, {3, 0}}), 0, 1u << 27);
  ASSERT_EQ(layout.groups.size(), 3u);
  for (const constant_group &group : layout.groups) {
    EXPECT_EQ(group.items.size(), 2u);
    EXPECT_EQ(group.bytes, (1u << 20) + 256);
  }
}

TEST(Constants, LargeOnesAreHeldOnce) {
  // Tied embeddings: 1 is used alone, and with 2.
  const constant_layout layout =
      lay_out_constants(tables_of({4, 1 << 20, 1 << 20}, {{1}, {1, 2, 0}, {2}}), 0, 1u << 27);
  ASSERT_EQ(layout.groups.size(), 1u);
  EXPECT_EQ(layout.groups[0].items.size(), 3u);
  // Where all together don't fit a binding, each dispatch has its own.
  EXPECT_EQ(lay_out_constants(tables_of({4, 1 << 20, 1 << 20}, {{1}, {1, 2, 0}, {2}}), 0, 1 << 20).groups.size(), 3u);
}

TEST(Elements, NarrowAndWiden) {
  const int64_t good[] = {INT32_MIN, INT32_MAX, -1};
  int32_t narrow[3];
  int64_t value = 0;
  EXPECT_TRUE(to_device(HEDDLE_ELEMENT_I64, good, sizeof(good), narrow, &value));
  int64_t wide[3];
  from_device(HEDDLE_ELEMENT_I64, narrow, sizeof(wide), wide);
  EXPECT_TRUE(std::equal(good, good + 3, wide));
  const int64_t bad[] = {0, int64_t(INT32_MAX) + 1};
  EXPECT_FALSE(to_device(HEDDLE_ELEMENT_I64, bad, sizeof(bad), narrow, &value));
  EXPECT_EQ(value, int64_t(INT32_MAX) + 1);
  const uint64_t large[] = {UINT32_MAX, uint64_t(UINT32_MAX) + 1};
  EXPECT_TRUE(to_device(HEDDLE_ELEMENT_U64, large, 8, narrow, &value));
  EXPECT_FALSE(to_device(HEDDLE_ELEMENT_U64, large, 16, narrow, &value));
}

/// A module by its instructions: opcode, then operands.
using instructions = std::vector<std::vector<uint32_t>>;

std::vector<uint32_t> module_of(const instructions &list) {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0};
  for (const std::vector<uint32_t> &one : list) {
    words.push_back(static_cast<uint32_t>(one.size()) << 16 | one[0]);
    words.insert(words.end(), one.begin() + 1, one.end());
  }
  return words;
}

constexpr uint32_t main_word = 0x6e69616d; // "main"

/// A workgroup of (constant 0, 2, 1), 4 bytes times constant 1 of shared memory, 2 words of push constants, a storage
/// buffer: numbers of instructions are places in this list.
instructions whole_module() {
  return {{17, 1},                  // 0: capability Shader
          {15, 5, 1, main_word, 0}, // 1: entry point
          {16, 1, 17, 1, 1, 1},     // 2: local size, which the composite replaces
          {71, 3, 1, 0},            // 3: specialisation constant 0
          {71, 4, 1, 1},            // 4: specialisation constant 1
          {71, 5, 11, 25},          // 5: the workgroup's size
          {72, 10, 0, 35, 4},       // 6: offset of the second word
          {71, 20, 34, 0},          // 7: descriptor set
          {71, 20, 33, 3},          // 8: binding
          {21, 2, 32, 0},           // 9: unsigned integers of 32 bits
          {50, 2, 3, 8},            // 10
          {50, 2, 4, 1},            // 11
          {43, 2, 6, 2},            // 12: 2
          {43, 2, 7, 1},            // 13: 1
          {51, 8, 5, 3, 6, 7},      // 14
          {28, 9, 2, 4},            // 15: words, constant 1 of them
          {30, 10, 2},              // 16: the block of push constants
          {32, 11, 4, 9},           // 17: pointers to shared memory
          {32, 12, 9, 10},          // 18: to push constants
          {29, 13, 2},              // 19: any number of words
          {30, 14, 13},             // 20: in a block
          {32, 15, 12, 14},         // 21: pointer to it
          {59, 11, 21, 4},          // 22: shared memory
          {59, 12, 22, 9},          // 23: push constants
          {59, 15, 20, 12}};        // 24: the storage buffer
}

const module_claims true_claims = {0, 2, {16, 2, 1}, {16, 50}, 200};

TEST(Spirv, WhatIsNoModuleReachesNoDriver) {
  std::vector<uint32_t> module = module_of(whole_module());
  EXPECT_EQ(fault_of_module(module, true_claims), "");
  EXPECT_EQ(fault_of_module({}, true_claims), "it isn't SPIR-V");
  auto with = [&](size_t at, uint32_t word) {
    std::vector<uint32_t> changed = module;
    changed[at] = word;
    return fault_of_module(changed, true_claims);
  };
  EXPECT_EQ(with(0, 0x03022307), "it isn't SPIR-V");
  EXPECT_EQ(with(1, 0x00010600), "its version is newer than SPIR-V 1.3");
  EXPECT_EQ(with(7, 1000u << 16 | 15), "an instruction reaches past its end");
  EXPECT_EQ(with(7, 15), "an instruction reaches past its end");
  EXPECT_EQ(with(5, 1u << 16 | 17), "an instruction lacks operands");
  // Whatever is changed or cut off, it is looked at within its words.
  for (size_t at = 0; at < module.size(); ++at) {
    fault_of_module({module.begin(), module.begin() + static_cast<std::ptrdiff_t>(at)}, true_claims);
    for (uint32_t word : {0u, 1u, 21u, UINT32_MAX, 3u << 16 | 28, 1u << 31})
      with(at, word);
  }
}

TEST(Spirv, AModuleIsWhatItsTableSays) {
  auto fault = [](size_t at, std::vector<uint32_t> instruction) {
    instructions changed = whole_module();
    changed[at] = std::move(instruction);
    return fault_of_module(module_of(changed), true_claims);
  };
  EXPECT_EQ(fault(1, {17, 1}), "it has no compute entry point 'main'");
  EXPECT_EQ(fault(1, {15, 4, 1, main_word, 0}), "it has another entry point than a compute shader 'main'");
  EXPECT_EQ(fault(8, {71, 20, 33, 4}), "it has more than four bindings");
  EXPECT_EQ(fault(8, {17, 1}), "it has more than four bindings") << "none is stated";
  EXPECT_EQ(fault(7, {71, 20, 34, 1}), "it has more than one descriptor set");
  EXPECT_EQ(fault(21, {32, 15, 12, 9}), "it has an array of bindings");
  EXPECT_EQ(fault(24, {59, 15, 20, 0}), "it has other data than storage buffers and push constants") << "an image, say";
  EXPECT_EQ(fault(24, {71, 20, 33, 3}), "its decorations come too late");
  EXPECT_EQ(fault(8, {73, 20}), "its decorations are in groups");
  EXPECT_EQ(fault(0, {17, 9}), "it needs capability 9 of SPIR-V, which isn't among its features");
  EXPECT_EQ(fault(0, {17, 4442}), "it needs capability 4442 of SPIR-V, which isn't among its features");
  EXPECT_EQ(fault(6, {72, 10, 0, 35, 8}), "it reads more push constants than the 2 words that it gets");
  EXPECT_EQ(fault(6, {17, 1}), "it reads more push constants than the 2 words that it gets") << "nobody knows where";
  EXPECT_EQ(fault(15, {28, 9, 2, 3}), "") << "16 words";
  EXPECT_EQ(fault(11, {52, 2, 4, 132, 3, 3}), "it takes more shared memory than the 200 bytes that are stated");
  EXPECT_EQ(fault(11, {52, 2, 4, 200, 3, 3}), "it takes more shared memory than the 200 bytes that are stated");
  EXPECT_EQ(fault(3, {71, 3, 1, 1}), "it has another workgroup size than is stated");
  EXPECT_EQ(fault(5, {17, 1}), "it has another workgroup size than is stated");
}

TEST(Spirv, SharedMemoryIsCountedWithTheConstantsGiven) {
  const std::vector<uint32_t> module = module_of(whole_module());
  EXPECT_EQ(shared_bytes_of_module(module, {}), 4u);
  EXPECT_EQ(shared_bytes_of_module(module, {1, 1000}), 4000u);
  EXPECT_EQ(shared_bytes_of_module({1, 2}, {}), std::nullopt);
}

} // namespace
} // namespace heddle::runtime::vulkan
