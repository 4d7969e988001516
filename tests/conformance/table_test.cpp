// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of constant tables that are larger than a device binds: on Vulkan each dispatch has some of the rows. CPUs run
// the same cases, for which nothing is too large.

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"

using namespace mlir;

namespace heddle::conformance {
namespace {

/// 640,000 bytes of floats, 16,000 of their scales: the larger one is cut.
constexpr char kEmbedding[] = R"(
#e = affine_map<(i, j)[s0] -> (i, j)>
kernel.func @embed(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000x40xf32> {kernel.constant},
                   %scales: tensor<4000xf32> {kernel.constant}, %n: index)
    -> (tensor<?x40xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 40)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i)>, #e]} {
  ^bb0(%id: i64):
    %one = arith.constant 1 : i64
    %next = arith.subi %id, %one : i64
    %j = kernel.index 1
    %e = kernel.gather %table[%next, %j] {site = 0 : i64} : tensor<4000x40xf32>, i64, index -> f32
    %s = kernel.gather %scales[%id] {site = 1 : i64} : tensor<4000xf32>, i64 -> f32
    %r = arith.mulf %e, %s : f32
    kernel.yield %r : f32
  } : tensor<?x40xf32>
  kernel.return %y : tensor<?x40xf32>
})";

/// Codes of |width| a row, read for a sum and again for the results: bytes, and one number for each row.
std::string sums_text(int64_t width) {
  std::string text = R"(
#e = affine_map<(i, j)[s0] -> (i, j)>
#i = affine_map<(i, j)[s0] -> (i)>
kernel.func @sums(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<4000xWIDTHxi8> {kernel.constant},
                  %n: index) -> (tensor<?xWIDTHxi8> {kernel.dims = array<i64: 0>},
                                 tensor<?xi32> {kernel.dims = array<i64: 0>}) {
  %c:2 = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, WIDTH)>) ins(%ids : tensor<?xi64>)
      attributes {indexing_maps = [#i, #e, #i], combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%id: i64):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 0 : i64} : tensor<4000xWIDTHxi8>, i64, index -> i8
    %w = arith.extsi %e : i8 to i32
    kernel.yield %w : i32
  }, {
  ^bb0(%id: i64, %sum: i32):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 1 : i64} : tensor<4000xWIDTHxi8>, i64, index -> i8
    %t = arith.trunci %sum : i32 to i8
    %r = arith.addi %e, %t : i8
    kernel.yield %r, %sum : i8, i32
  } : tensor<?xWIDTHxi8>, tensor<?xi32>
  kernel.return %c#0, %c#1 : tensor<?xWIDTHxi8>, tensor<?xi32>
})";
  for (size_t at = text.find("WIDTH"); at != std::string::npos; at = text.find("WIDTH"))
    text.replace(at, 5, std::to_string(width));
  return text;
}

/// Bindings of 64 KiB for as long as it lives.
class range_scope {
public:
  range_scope() {
    if (const char *limits = std::getenv(kLimits))
      before_ = limits;
    setenv(kLimits, (before_ + (before_.empty() ? "" : ",") + "range=65536").c_str(), 1);
  }
  ~range_scope() { before_.empty() ? unsetenv(kLimits) : setenv(kLimits, before_.c_str(), 1); }

private:
  static constexpr const char *kLimits = "HEDDLE_VULKAN_LIMITS";
  std::string before_;
};

/// Ids all over the table, from its begin and from its end.
void spread_ids(host_tensor &ids) {
  for (int64_t i = 0; i < ids.size(); ++i)
    ids.set_int(i, i % 3 == 2 ? -1 - i * 613 % 3999 : 1 + i * 1009 % 3999);
}

void check_table(const std::string &text, const std::string &name) {
  range_scope scope;
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(text, target);
    ASSERT_TRUE(module);
    for (int64_t n : {0, 1, 7, 33}) {
      auto inputs = random_inputs(module->func(name), {n}, 3);
      spread_ids(inputs[0]);
      kernel_result expected = expected_on(target, interpret(module->func(name), inputs, {n}));
      ASSERT_FALSE(expected.error);
      for (int64_t items_per_call : {0, 1})
        expect_near(module->run(name, inputs, {n}, items_per_call), expected, 2e-6,
                    name + " on " + target + " with " + std::to_string(n) + " rows");
    }
    // Whatever the slices, the limit is the whole table's.
    auto inputs = random_inputs(module->func(name), {7}, 3);
    spread_ids(inputs[0]);
    inputs[0].set_int(5, -4001);
    kernel_result result = module->run(name, inputs, {7});
    ASSERT_TRUE(result.error) << target;
    EXPECT_EQ(result.error->code, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE) << target;
    EXPECT_EQ(result.error->limit, 4000) << target;
  }
}

TEST(Table, IsReadInSlicesByMaps) { check_table(kEmbedding, "embed"); }

TEST(Table, IsReadInSlicesByRows) {
  // Rows of an invocation each, several rows to a workgroup, a row to a workgroup, and one that is no whole words.
  for (int64_t width : {3, 17, 24, 130})
    check_table(sums_text(width), "sums");
}

} // namespace
} // namespace heddle::conformance
