// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.reduce on every target against plain loops: along any loops, with every combiner, with captures.

#include <cstdlib>
#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

/// Reduces x (i, j, k) over |loops| with |combiner|; the result keeps the loops of |map|.
std::string reduction(const std::string &loops, const std::string &map, const std::string &result,
                      const std::string &dims, const std::string &combiner, const std::string &type = "f32") {
  return llvm::formatv(R"(
kernel.func @reduce(%x: tensor<?x?x40x{5}> {{kernel.dims = array<i64: 0, 1>}, %a: index, %b: index)
    -> (tensor<{2}x{5}> {{kernel.dims = array<i64{3}>}) {{
  %y = kernel.reduce sizes(%a, %b) bounds(affine_map<()[s0, s1] -> (s0, s1, 40)>) ins(%x : tensor<?x?x40x{5}>)
      attributes {{indexing_maps = [affine_map<(i, j, k)[s0, s1] -> (i, j, k)>, affine_map<(i, j, k)[s0, s1] -> ({1})>],
                  reduction_loops = array<i64: {0}>, input_count = 1 : i64,
                  combiners = [#kernel.combiner<{4}>]} body {{
  ^bb0(%e: {5}):
    kernel.yield %e : {5}
  } finish {{
  ^bb0(%acc: {5}):
    kernel.yield %acc : {5}
  } : tensor<{2}x{5}>
  kernel.return %y : tensor<{2}x{5}>
})",
                       loops, map, result, dims, combiner, type);
}

const std::vector<std::vector<int64_t>> kShapes = {{1, 1}, {2, 3}, {5, 17}, {3, 130}, {2, 0}};

TEST(Reduce, RunsOverTheLastLoop) {
  check_kernel(reduction("2", "i, j", "?x?", ": 0, 1", "sum"), "reduce", kShapes);
  check_kernel(reduction("2", "j, i", "?x?", ": 1, 0", "maximum"), "reduce", kShapes);
}

TEST(Reduce, RunsOverAnOuterLoop) {
  check_kernel(reduction("1", "i, k", "?x40", ": 0", "sum"), "reduce", kShapes);
  check_kernel(reduction("0", "j, k", "?x40", ": 1", "minimum"), "reduce", kShapes);
}

TEST(Reduce, RunsOverSeveralLoops) {
  check_kernel(reduction("1, 2", "i", "?", ": 0", "sum"), "reduce", kShapes, 1e-5);
  check_kernel(reduction("0, 2", "j", "?", ": 1", "sum"), "reduce", kShapes, 1e-5);
  check_kernel(reduction("0, 1", "k", "40", "", "product"), "reduce", {{1, 1}, {2, 3}, {2, 0}});
  // Thousands of numbers of both signs: what is left of them is small beside what was added.
  check_kernel(reduction("0, 1, 2", "0", "1", "", "sum"), "reduce", kShapes, 2e-4);
}

TEST(Reduce, ReducesIntegersExactly) {
  for (const char *type : {"i64", "i32", "i16", "i8"})
    for (const char *combiner : {"maximum", "minimum"})
      for (const char *loop : {"1", "2"})
        check_kernel(reduction(loop, loop[0] == '1' ? "i, k" : "i, j", loop[0] == '1' ? "?x40" : "?x?",
                               loop[0] == '1' ? ": 0" : ": 0, 1", combiner, type),
                     "reduce", kShapes);
  check_kernel(reduction("1", "i, k", "?x40", ": 0", "sum", "i64"), "reduce", kShapes);
}

TEST(Reduce, TreatsMaximumAndMinimumOfBooleansAsAnyAndAll) {
  for (const char *combiner : {"maximum", "minimum"}) {
    check_kernel(reduction("1", "i, k", "?x40", ": 0", combiner, "i1"), "reduce", kShapes);
    check_kernel(reduction("2", "i, j", "?x?", ": 0, 1", combiner, "i1"), "reduce", kShapes);
  }
}

/// The bits of row |row|'s sum over (j, 40) where it is the only one.
std::vector<std::byte> sum_alone(kernel_module &module, const host_tensor &rows, int64_t row) {
  host_tensor alone(rows.type, {1, rows.dims[1], rows.dims[2]});
  size_t bytes = alone.bytes.size();
  std::copy_n(rows.bytes.begin() + static_cast<std::ptrdiff_t>(row * bytes), bytes, alone.bytes.begin());
  return module.run("reduce", {alone}, {1, rows.dims[1]}).outputs[0].bytes;
}

TEST(Reduce, GivesTheSameBitsInEveryVariantAndBatch) {
  // Along lanes, over the last loops; one chain each, over an outer one whose results are neighbours.
  const std::string texts[] = {reduction("1, 2", "i", "?", ": 0", "sum"), reduction("1", "i, k", "?x40", ": 0", "sum")};
  for (const std::string &target : runnable_targets())
    for (const std::string &text : texts) {
      auto module = kernel_module::compile(text, target);
      ASSERT_TRUE(module);
      auto inputs = random_inputs(module->func("reduce"), {5, 130}, 1);
      std::vector<std::byte> sums = module->run("reduce", inputs, {5, 130}).outputs[0].bytes;
      if (target == "vulkan") {
        const char *before = std::getenv("HEDDLE_VULKAN_DISABLE");
        std::string kept = before ? before : "";
        setenv("HEDDLE_VULKAN_DISABLE", "subgroup", 1);
        EXPECT_EQ(module->run("reduce", inputs, {5, 130}).outputs[0].bytes, sums) << "by shared memory";
        before ? setenv("HEDDLE_VULKAN_DISABLE", kept.c_str(), 1) : unsetenv("HEDDLE_VULKAN_DISABLE");
      }
      size_t bytes = sums.size() / 5;
      for (int64_t row : {0, 3, 4}) {
        auto first = sums.begin() + static_cast<std::ptrdiff_t>(row * bytes);
        EXPECT_EQ(sum_alone(*module, inputs[0], row),
                  std::vector<std::byte>(first, first + static_cast<std::ptrdiff_t>(bytes)))
            << target << ", row " << row;
      }
    }
}

/// Mean pooling: sum of x * mask over the sequence, divided by a capture.
constexpr char kPooling[] = R"(
kernel.func @pool(%x: tensor<?x?x70xf32> {kernel.dims = array<i64: 0, 1>},
                  %m: tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>}, %c: tensor<?xf32> {kernel.dims = array<i64: 0>},
                  %b: index, %s: index)
    -> (tensor<?x70xf32> {kernel.dims = array<i64: 0>}, tensor<?x70xi64> {kernel.dims = array<i64: 0>}) {
  %y:2 = kernel.reduce sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1, 70)>)
      ins(%x, %m, %c : tensor<?x?x70xf32>, tensor<?x?xi64>, tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i, j, k)[s0, s1] -> (i, j, k)>, affine_map<(i, j, k)[s0, s1] -> (i, j)>,
                                   affine_map<(i, j, k)[s0, s1] -> (i)>, affine_map<(i, j, k)[s0, s1] -> (i, k)>,
                                   affine_map<(i, j, k)[s0, s1] -> (i, k)>],
                  reduction_loops = array<i64: 1>, input_count = 2 : i64,
                  combiners = [#kernel.combiner<sum>, #kernel.combiner<sum>]} body {
  ^bb0(%e: f32, %w: i64):
    %f = arith.sitofp %w : i64 to f32
    %p = arith.mulf %e, %f : f32
    kernel.yield %p, %w : f32, i64
  } finish {
  ^bb0(%acc: f32, %count: i64, %scale: f32):
    %r = arith.mulf %acc, %scale : f32
    kernel.yield %r, %count : f32, i64
  } : tensor<?x70xf32>, tensor<?x70xi64>
  kernel.return %y#0, %y#1 : tensor<?x70xf32>, tensor<?x70xi64>
})";

TEST(Reduce, FinishesWithCaptures) { check_kernel(kPooling, "pool", {{1, 1}, {3, 9}, {2, 128}, {1, 0}}, 1e-5); }

} // namespace
} // namespace heddle::conformance
