// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of more rounds than some Vulkan drivers run: lavapipe leaves all loops of an invocation after 65,535 rounds of
// them together, without a word. What models have is right all the same, for kernels do several elements a round; what
// goes beyond ends with an error, never with numbers.

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/conformance/attention_text.h"
#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

constexpr char kScan[] = R"(
kernel.func @scan(%x: tensor<?x3xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x3xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.scan sizes(%n) bounds(affine_map<()[s0] -> (3, s0)>) ins(%x : tensor<?x3xf32>)
      attributes {indexing_maps = [affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (i, j)>],
                  input_count = 1 : i64, combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x3xf32>
  kernel.return %y : tensor<?x3xf32>
})";

/// Sums over the columns of x (n, 16), whose neighbours are reduced side by side.
constexpr char kColumns[] = R"(
kernel.func @reduce(%x: tensor<?x16xf32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<16xf32> {
  %y = kernel.reduce sizes(%n) bounds(affine_map<()[s0] -> (s0, 16)>) ins(%x : tensor<?x16xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (j)>],
                  reduction_loops = array<i64: 0>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<16xf32>
  kernel.return %y : tensor<16xf32>
})";

/// The sum of |n| integers, along the lanes of a workgroup.
constexpr char kTotal[] = R"(
kernel.func @reduce(%x: tensor<?xi32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<i32> {
  %y = kernel.reduce sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<?xi32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> ()>],
                  reduction_loops = array<i64: 0>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: i32):
    kernel.yield %e : i32
  } finish {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<i32>
  kernel.return %y : tensor<i32>
})";

/// The first |k| of x (1, n).
constexpr char kTopK[] = R"(
kernel.func @top(%x: tensor<1x?xf32> {kernel.dims = array<i64: 0>}, %n: index, %k: index)
    -> (tensor<1x?xf32> {kernel.dims = array<i64: 1>}, tensor<1x?xi64> {kernel.dims = array<i64: 1>}) {
  %v, %i = kernel.top_k sizes(%n, %k) bounds(affine_map<()[s0, s1] -> (1, s0, s1)>)
      ins(%x : tensor<1x?xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r)[s0, s1] -> (p, i)>, affine_map<(p, i, r)[s0, s1] -> (p, r)>,
                                   affine_map<(p, i, r)[s0, s1] -> (p, r)>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } precedes {
  ^bb0(%l: f32, %r: f32):
    %first = arith.cmpf ogt, %l, %r : f32
    kernel.yield %first : i1
  } : tensor<1x?xf32>, tensor<1x?xi64>
  kernel.return %v, %i : tensor<1x?xf32>, tensor<1x?xi64>
})";

/// Adds updates (n, 4) to rows of x (20, 4).
constexpr char kScatter[] = R"(
kernel.func @scatter(%x: tensor<20x4xi32>, %ids: tensor<?xi64> {kernel.dims = array<i64: 0>},
                     %u: tensor<?x4xi32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<20x4xi32> {
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (4, s0)>)
      ins(%x, %ids, %u : tensor<20x4xi32>, tensor<?xi64>, tensor<?x4xi32>)
      attributes {indexing_maps = [affine_map<(j, i)[s0] -> (0, j)>, affine_map<(j, i)[s0] -> (i)>,
                                   affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: i32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, i32
  } combine {
  ^bb0(%old: i32, %update: i32):
    %r = arith.addi %old, %update : i32
    kernel.yield %r : i32
  } : tensor<20x4xi32>
  kernel.return %y : tensor<20x4xi32>
})";

enum class Outcome { Right, RightOrError, ErrorOnLavapipe };

/// Runs a kernel on Vulkan. Results are right or there are none.
void check_long(const std::string &text, const std::string &name, const std::vector<int64_t> &sizes, double tolerance,
                Outcome outcome) {
  const char *chosen = std::getenv("HEDDLE_TEST_TARGET");
  if (!chosen || std::string(chosen) != "vulkan")
    GTEST_SKIP() << "CPUs run loops to their end";
  // A case of the kernel's own at these sizes would meet the same fate first.
  if (outcome == Outcome::ErrorOnLavapipe)
    setenv("HEDDLE_VULKAN_SELF_TEST", "off", 1);
  auto module = kernel_module::compile(text, "vulkan");
  ASSERT_TRUE(module);
  auto inputs = random_inputs(module->func(name), sizes, 1);
  kernel_result actual = module->run(name, inputs, sizes);
  unsetenv("HEDDLE_VULKAN_SELF_TEST");
  if (outcome == Outcome::ErrorOnLavapipe) {
    ASSERT_TRUE(actual.error) << name;
  }
  if (actual.error && outcome != Outcome::Right) {
    EXPECT_EQ(actual.error->code, HEDDLE_KERNEL_LOOP_CUT_SHORT) << name;
    return;
  }
  expect_near(actual, expected_on("vulkan", interpret(module->func(name), inputs, sizes)), tolerance, name);
}

TEST(LongLoops, ScansAreRight) { check_long(kScan, "scan", {70'000}, 1e-5, Outcome::Right); }

TEST(LongLoops, ReductionsAreRight) {
  check_long(kColumns, "reduce", {70'000}, 1e-5, Outcome::Right);
  // 64 lanes: more than 65,535 elements each.
  check_long(kTotal, "reduce", {4'200'000}, 0, Outcome::Right);
}

TEST(LongLoops, RankingsAreRight) {
  check_long(kTopK, "top", {70'000, 1}, 0, Outcome::Right);
  check_long(kTopK, "top", {50'000, 90}, 0, Outcome::Right);
}

TEST(LongLoops, ScattersAreRight) { check_long(kScatter, "scatter", {70'000}, 0, Outcome::Right); }

TEST(LongLoops, ProductsAreRight) {
  // Four k a round. Beyond 262,140 the kernel fails its self-test on lavapipe already.
  check_long(packed_product(4, 200'000), "product", {1}, 1e-4, Outcome::Right);
}

TEST(LongLoops, AttentionIsRightOrFails) {
  attention_text text;
  text.key_heads = 1;
  text.head_size = text.value_size = 8;
  check_long(text.build(), "attention", {1, 1, 70'000}, 1e-4, Outcome::RightOrError);
}

TEST(LongLoops, WhatADriverCutsIsAnError) {
  // 9,000 ranks, each of which takes a round for 512 elements and more to join the lanes.
  check_long(kTopK, "top", {9'000, 9'000}, 0, Outcome::ErrorOnLavapipe);
}

} // namespace
} // namespace heddle::conformance
