// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.rowwise on every target against plain loops: softmax, layer norm, several results; padding changes no bit.

#include <cmath>
#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

/// Softmax along the last dimension; rows of |length|, which may be "s1" for a size argument.
constexpr char kSoftmax[] = R"(
#x = affine_map<(i, h, j)[s0, s1] -> (i, h, j)>
kernel.func @softmax(%x: tensor<?x2x?xf32> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index)
    -> (tensor<?x2x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %p = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, 2, s1)>) ins(%x : tensor<?x2x?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %d = arith.subf %e, %max : f32
    %x1 = math.exp %d : f32
    kernel.yield %x1 : f32
  }, {
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %d = arith.subf %e, %max : f32
    %x1 = math.exp %d : f32
    %r = arith.divf %x1, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x2x?xf32>
  kernel.return %p : tensor<?x2x?xf32>
})";

TEST(Rowwise, ComputesSoftmax) {
  check_kernel(kSoftmax, "softmax", {{1, 1}, {2, 7}, {1, 16}, {3, 63}, {1, 64}, {2, 65}, {1, 100}, {2, 513}, {0, 3}});
}

TEST(Rowwise, GivesTheSameBitsWhenMaskedKeysPadTheRow) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kSoftmax, target);
    ASSERT_TRUE(module);
    for (auto [length, padded] : {std::pair(7, 16), {7, 128}, {50, 250}, {100, 128}, {16, 17}}) {
      auto inputs = random_inputs(module->func("softmax"), {1, length}, 9);
      std::vector<host_tensor> longer = {host_tensor(inputs[0].type, {1, 2, padded})};
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t j = 0; j < padded; ++j)
          longer[0].set_float(h * padded + j, j < length ? inputs[0].get_float(h * length + j) : -INFINITY);
      kernel_result alone = module->run("softmax", inputs, {1, length});
      kernel_result beside = module->run("softmax", longer, {1, padded});
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t j = 0; j < padded; ++j)
          ASSERT_EQ(beside.outputs[0].get_float(h * padded + j),
                    j < length ? alone.outputs[0].get_float(h * length + j) : 0.0)
              << target << " " << length << " in " << padded << " at " << j;
    }
  }
}

/// Layer norm with scale and bias, and the mean of each row as a second result.
std::string layer_norm(int64_t width) {
  return llvm::formatv(R"(
kernel.func @norm(%x: tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}, %g: tensor<{0}xf32>, %b: tensor<{0}xf32>, %n: index)
    -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}, tensor<?xf32> {{kernel.dims = array<i64: 0>}) {{
  %y:2 = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, {0})>)
      ins(%x, %g, %b : tensor<?x{0}xf32>, tensor<{0}xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (j)>,
                                   affine_map<(i, j)[s0] -> (j)>, affine_map<(i, j)[s0] -> (i, j)>,
                                   affine_map<(i, j)[s0] -> (i)>],
                  combiners = [#kernel.combiner<sum>, #kernel.combiner<sum>]} regions {{
  ^bb0(%e: f32, %s: f32, %o: f32):
    kernel.yield %e : f32
  }, {{
  ^bb0(%e: f32, %s: f32, %o: f32, %sum: f32):
    %w = arith.constant {0}.0 : f32
    %mean = arith.divf %sum, %w : f32
    %d = arith.subf %e, %mean : f32
    %q = arith.mulf %d, %d : f32
    kernel.yield %q : f32
  }, {{
  ^bb0(%e: f32, %s: f32, %o: f32, %sum: f32, %sq: f32):
    %w = arith.constant {0}.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %mean = arith.divf %sum, %w : f32
    %var = arith.divf %sq, %w : f32
    %v = arith.addf %var, %eps : f32
    %inv = math.rsqrt %v : f32
    %d = arith.subf %e, %mean : f32
    %m = arith.mulf %d, %inv : f32
    %t = arith.mulf %m, %s : f32
    %r = arith.addf %t, %o : f32
    kernel.yield %r, %mean : f32, f32
  } : tensor<?x{0}xf32>, tensor<?xf32>
  kernel.return %y#0, %y#1 : tensor<?x{0}xf32>, tensor<?xf32>
})",
                       width);
}

TEST(Rowwise, ComputesLayerNormAndItsMean) {
  for (int64_t width : {3, 16, 17, 64, 100, 384})
    check_kernel(layer_norm(width), "norm", {{0}, {1}, {5}, {40}}, 5e-6);
}

/// Rows along a dimension that isn't the last in memory.
constexpr char kColumns[] = R"(
#x = affine_map<(i, j)[s0, s1] -> (j, i)>
kernel.func @columns(%x: tensor<?x?xf32> {kernel.dims = array<i64: 1, 0>}, %n: index, %s: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 1, 0>}) {
  %p = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<minimum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %min: f32):
    %d = arith.subf %e, %min : f32
    kernel.yield %d : f32
  } : tensor<?x?xf32>
  kernel.return %p : tensor<?x?xf32>
})";

TEST(Rowwise, RunsAlongAnyDimension) { check_kernel(kColumns, "columns", {{1, 1}, {3, 20}, {20, 3}, {33, 70}}); }

/// Rows of one element, whose place in the result no loop is needed for: it isn't a number of the whole row.
constexpr char kSingles[] = R"(
#x = affine_map<(i, j)[s0] -> (i)>
kernel.func @singles(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %p = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 1)>) ins(%x : tensor<?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    %half = arith.constant 0.5 : f32
    %h = arith.mulf %e, %half : f32
    kernel.yield %h : f32
  }, {
  ^bb0(%e: f32, %sum: f32):
    %d = arith.subf %e, %sum : f32
    kernel.yield %d : f32
  } : tensor<?xf32>
  kernel.return %p : tensor<?xf32>
})";

TEST(Rowwise, ComputesRowsOfOneElement) { check_kernel(kSingles, "singles", {{0}, {1}, {7}, {40}}); }

/// Least and greatest of a row, which share a pass, a sum that needs both, and then codes and one result for each row.
constexpr char kRanges[] = R"(
kernel.func @ranges(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index)
    -> (tensor<?x?xi8> {kernel.dims = array<i64: 0, 1>}, tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %c:2 = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0, s1] -> (i, j)>, affine_map<(i, j)[s0, s1] -> (i, j)>,
                                   affine_map<(i, j)[s0, s1] -> (i)>],
                  combiners = [#kernel.combiner<minimum>, #kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %low: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %low: f32, %high: f32):
    %a = arith.subf %e, %low : f32
    %b = arith.subf %high, %e : f32
    %r = arith.mulf %a, %b : f32
    kernel.yield %r : f32
  }, {
  ^bb0(%e: f32, %low: f32, %high: f32, %sum: f32):
    %steps = arith.constant 64.0 : f32
    %q = arith.mulf %e, %steps : f32
    %i = arith.fptosi %q : f32 to i32
    %code = arith.trunci %i : i32 to i8
    kernel.yield %code, %sum : i8, f32
  } : tensor<?x?xi8>, tensor<?xf32>
  kernel.return %c#0, %c#1 : tensor<?x?xi8>, tensor<?xf32>
})";

TEST(Rowwise, SharesPassesOfStagesThatDontNeedEachOther) {
  check_kernel(kRanges, "ranges", {{1, 1}, {3, 15}, {2, 16}, {2, 33}, {3, 64}, {1, 129}, {2, 300}});
}

/// Embeddings of a token and its position, added and centred in one kernel, and codes of 16 bits.
constexpr char kEmbeddings[] = R"(
kernel.func @embed(%tokens: tensor<?xi64> {kernel.dims = array<i64: 0>}, %words: tensor<10x50xf32>,
                   %places: tensor<?x50xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x50xf32> {kernel.dims = array<i64: 0>}, tensor<?x50xi16> {kernel.dims = array<i64: 0>}) {
  %y:2 = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 50)>) ins(%tokens : tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i)>, affine_map<(i, j)[s0] -> (i, j)>,
                                   affine_map<(i, j)[s0] -> (i, j)>],
                  combiners = [#kernel.combiner<sum>]} regions {
  ^bb0(%id: i64):
    %i = kernel.index 0
    %j = kernel.index 1
    %w = kernel.gather %words[%id, %j] {site = 0 : i64} : tensor<10x50xf32>, i64, index -> f32
    %p = kernel.gather %places[%i, %j] : tensor<?x50xf32>, index, index -> f32
    %e = arith.addf %w, %p : f32
    kernel.yield %e : f32
  }, {
  ^bb0(%id: i64, %sum: f32):
    %width = arith.constant 50.0 : f32
    %i = kernel.index 0
    %j = kernel.index 1
    %w = kernel.gather %words[%id, %j] {site = 0 : i64} : tensor<10x50xf32>, i64, index -> f32
    %p = kernel.gather %places[%i, %j] : tensor<?x50xf32>, index, index -> f32
    %e = arith.addf %w, %p : f32
    %mean = arith.divf %sum, %width : f32
    %d = arith.subf %e, %mean : f32
    %steps = arith.constant 64.0 : f32
    %q = arith.mulf %w, %steps : f32
    %h = arith.fptosi %q : f32 to i16
    kernel.yield %d, %h : f32, i16
  } : tensor<?x50xf32>, tensor<?x50xi16>
  kernel.return %y#0, %y#1 : tensor<?x50xf32>, tensor<?x50xi16>
})";

TEST(Rowwise, ReadsTablesInItsStages) {
  check_kernel(kEmbeddings, "embed", {{0}, {1}, {7}, {33}});
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kEmbeddings, target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("embed"), {9}, 1);
    inputs[0].set_int(8, 10);
    kernel_result result = module->run("embed", inputs, {9});
    ASSERT_TRUE(result.error) << target;
    EXPECT_EQ(result.error->code, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE) << target;
    EXPECT_EQ(result.error->value, 10) << target;
  }
}

} // namespace
} // namespace heddle::conformance
