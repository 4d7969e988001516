// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.map on every target against plain loops: broadcasts, transposes, slices, all element types, table reads.

#include <cmath>
#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

/// A map of one input of |shape_in| by |in| to a result of |shape_out| by |out|, both tensors having all sizes dynamic.
constexpr char kBroadcast[] = R"(
kernel.func @add(%x: tensor<?x?x24xf32> {kernel.dims = array<i64: 0, 1>}, %row: tensor<24xf32>,
                 %col: tensor<?x1x1xf32> {kernel.dims = array<i64: 0>}, %b: index, %s: index)
    -> (tensor<?x?x24xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.map sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1, 24)>)
      ins(%x, %row, %col : tensor<?x?x24xf32>, tensor<24xf32>, tensor<?x1x1xf32>)
      attributes {indexing_maps = [affine_map<(i, j, k)[s0, s1] -> (i, j, k)>, affine_map<(i, j, k)[s0, s1] -> (k)>,
                                   affine_map<(i, j, k)[s0, s1] -> (i, 0, 0)>,
                                   affine_map<(i, j, k)[s0, s1] -> (i, j, k)>]} {
  ^bb0(%e: f32, %r: f32, %c: f32):
    %t = arith.addf %e, %r : f32
    %u = arith.mulf %t, %c : f32
    kernel.yield %u : f32
  } : tensor<?x?x24xf32>
  kernel.return %y : tensor<?x?x24xf32>
})";

TEST(Map, Broadcasts) { check_kernel(kBroadcast, "add", {{0, 3}, {1, 1}, {2, 3}, {3, 500}, {5, 7}}); }

constexpr char kFlat[] = R"(
kernel.func @twice(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %b: index, %s: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.map sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0, s1] -> (i, j)>, affine_map<(i, j)[s0, s1] -> (i, j)>]} {
  ^bb0(%e: f32):
    %t = arith.addf %e, %e : f32
    kernel.yield %t : f32
  } : tensor<?x?xf32>
  kernel.return %y : tensor<?x?xf32>
})";

TEST(Map, MergesLoopsThatLieFlat) {
  check_kernel(kFlat, "twice", {{1, 1}, {3, 5}, {1, 16}, {4, 4096}, {7, 4099}, {0, 4}});
  auto module = kernel_module::compile(kFlat, "cpu:x86-64-v3");
  ASSERT_TRUE(module);
}

constexpr char kTranspose[] = R"(
kernel.func @transpose(%x: tensor<?x?x3x5xf32> {kernel.dims = array<i64: 0, 1>}, %b: index, %s: index)
    -> (tensor<?x3x?x5xf32> {kernel.dims = array<i64: 0, 1>}, tensor<5x?x3x?xf32> {kernel.dims = array<i64: 1, 0>}) {
  %y:2 = kernel.map sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1, 3, 5)>) ins(%x : tensor<?x?x3x5xf32>)
      attributes {indexing_maps = [affine_map<(b, s, h, d)[s0, s1] -> (b, s, h, d)>,
                                   affine_map<(b, s, h, d)[s0, s1] -> (b, h, s, d)>,
                                   affine_map<(b, s, h, d)[s0, s1] -> (d, s, h, b)>]} {
  ^bb0(%e: f32):
    kernel.yield %e, %e : f32, f32
  } : tensor<?x3x?x5xf32>, tensor<5x?x3x?xf32>
  kernel.return %y#0, %y#1 : tensor<?x3x?x5xf32>, tensor<5x?x3x?xf32>
})";

TEST(Map, Transposes) { check_kernel(kTranspose, "transpose", {{1, 1}, {2, 9}, {40, 3}, {3, 40}, {17, 17}}); }

/// A slice with a step, a reversal-free offset, and a division along the innermost loop.
constexpr char kSlice[] = R"(
kernel.func @slice(%x: tensor<?x70xf32> {kernel.dims = array<i64: 0>}, %r: tensor<7xf32>, %n: index)
    -> (tensor<?x30xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 30)>) ins(%x, %r : tensor<?x70xf32>, tensor<7xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j * 2 + 3)>,
                                   affine_map<(i, j)[s0] -> ((j + 1) floordiv 5)>,
                                   affine_map<(i, j)[s0] -> (i, j)>]} {
  ^bb0(%e: f32, %f: f32):
    %t = arith.subf %e, %f : f32
    kernel.yield %t : f32
  } : tensor<?x30xf32>
  kernel.return %y : tensor<?x30xf32>
})";

TEST(Map, ReadsStepsAndDivisions) { check_kernel(kSlice, "slice", {{1}, {4}, {33}}); }

constexpr char kScalar[] = R"(
kernel.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %y = kernel.map bounds(affine_map<() -> ()>) ins(%x : tensor<f32>)
      attributes {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>]} {
  ^bb0(%e: f32):
    %t = math.exp %e : f32
    kernel.yield %t : f32
  } : tensor<f32>
  kernel.return %y : tensor<f32>
})";

TEST(Map, HandlesScalars) { check_kernel(kScalar, "scalar", {{}}); }

constexpr char kIndices[] = R"(
kernel.func @indices(%b: index, %s: index) -> (tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.map sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>)
      attributes {indexing_maps = [affine_map<(i, j)[s0, s1] -> (i, j)>]} {
    %i = kernel.index 0
    %j = kernel.index 1
    %p = arith.muli %i, %s : index
    %q = arith.addi %p, %j : index
    %r = arith.index_cast %q : index to i64
    kernel.yield %r : i64
  } : tensor<?x?xi64>
  kernel.return %y : tensor<?x?xi64>
})";

TEST(Map, KnowsItsIndices) { check_kernel(kIndices, "indices", {{1, 1}, {3, 20}, {2, 37}}); }

//===--- Element types ----------------------------------------------------===//

constexpr char kMixed[] = R"(
kernel.func @mixed(%a: tensor<?xi64> {kernel.dims = array<i64: 0>}, %b: tensor<?xi8> {kernel.dims = array<i64: 0>},
                   %c: tensor<?xi1> {kernel.dims = array<i64: 0>}, %d: tensor<?xf64> {kernel.dims = array<i64: 0>},
                   %e: tensor<?xi16> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xi32> {kernel.dims = array<i64: 0>}, tensor<?xi1> {kernel.dims = array<i64: 0>},
        tensor<?xf32> {kernel.dims = array<i64: 0>}, tensor<?xf64> {kernel.dims = array<i64: 0>},
        tensor<?xi8> {kernel.dims = array<i64: 0>}) {
  %y:5 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>)
      ins(%a, %b, %c, %d, %e : tensor<?xi64>, tensor<?xi8>, tensor<?xi1>, tensor<?xf64>, tensor<?xi16>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
          affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
          affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
          affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%l: i64, %s: i8, %p: i1, %x: f64, %h: i16):
    %w = arith.extsi %s : i8 to i64
    %sum = arith.addi %l, %w : i64
    %r0 = arith.trunci %sum : i64 to i32
    %r1 = arith.cmpi slt, %l, %w : i64
    %f = arith.sitofp %l : i64 to f32
    %g = arith.truncf %x : f64 to f32
    %k = arith.mulf %f, %g : f32
    %r2 = arith.select %p, %k, %f : f32
    %m = arith.sitofp %h : i16 to f64
    %r3 = arith.divf %m, %x : f64
    %z = arith.fptosi %r3 : f64 to i8
    kernel.yield %r0, %r1, %r2, %r3, %z : i32, i1, f32, f64, i8
  } : tensor<?xi32>, tensor<?xi1>, tensor<?xf32>, tensor<?xf64>, tensor<?xi8>
  kernel.return %y#0, %y#1, %y#2, %y#3, %y#4 : tensor<?xi32>, tensor<?xi1>, tensor<?xf32>, tensor<?xf64>, tensor<?xi8>
})";

TEST(Map, MixesElementTypes) { check_kernel(kMixed, "mixed", {{1}, {15}, {16}, {17}, {100}}); }

/// f32 rounded to both halves, and back; a half of each kind read and kept.
constexpr char kHalves[] = R"(
kernel.func @halves(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %h: tensor<?xf16> {kernel.dims = array<i64: 0>},
                    %b: tensor<?xbf16> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xf16> {kernel.dims = array<i64: 0>}, tensor<?xbf16> {kernel.dims = array<i64: 0>},
        tensor<?xf32> {kernel.dims = array<i64: 0>}, tensor<?xbf16> {kernel.dims = array<i64: 0>}) {
  %y:4 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>)
      ins(%x, %h, %b : tensor<?xf32>, tensor<?xf16>, tensor<?xbf16>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
          affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
          affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%e: f32, %f: f16, %g: bf16):
    %r0 = arith.truncf %e : f32 to f16
    %r1 = arith.truncf %e : f32 to bf16
    %wide = arith.extf %f : f16 to f32
    %wider = arith.extf %g : bf16 to f32
    %sum = arith.addf %wide, %wider : f32
    %product = arith.mulf %sum, %e : f32
    %r3 = arith.truncf %product : f32 to bf16
    kernel.yield %r0, %r1, %sum, %r3 : f16, bf16, f32, bf16
  } : tensor<?xf16>, tensor<?xbf16>, tensor<?xf32>, tensor<?xbf16>
  kernel.return %y#0, %y#1, %y#2, %y#3 : tensor<?xf16>, tensor<?xbf16>, tensor<?xf32>, tensor<?xbf16>
})";

// Rounded once, to nearest and ties to even, everywhere.
TEST(Map, RoundsToHalves) { check_kernel(kHalves, "halves", {{1}, {15}, {16}, {100}, {4099}}, 0); }

TEST(Map, KeepsWhatNoHalfHolds) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kHalves, target);
    ASSERT_TRUE(module);
    const double values[] = {INFINITY, -INFINITY, NAN,  1e39,       3.4e38,    65519.0,
                             65520.0,  -0.0,      6e-8, 1.00390625, 1.01171875};
    constexpr int64_t count = std::size(values);
    auto inputs = random_inputs(module->func("halves"), {count}, 1);
    for (int64_t i = 0; i < count; ++i)
      inputs[0].set_float(i, values[i]);
    kernel_result actual = module->run("halves", inputs, {count}),
                  expected = interpret(module->func("halves"), inputs, {count});
    expect_near(actual, expected, 0, target);
  }
}

constexpr char kCast[] = R"(
kernel.func @cast(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xi32> {kernel.dims = array<i64: 0>}, tensor<?xi64> {kernel.dims = array<i64: 0>},
        tensor<?xi8> {kernel.dims = array<i64: 0>}) {
  %y:3 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
                                   affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%e: f32):
    %a = arith.fptosi %e : f32 to i32
    %b = arith.fptosi %e : f32 to i64
    %c = arith.fptoui %e : f32 to i8
    kernel.yield %a, %b, %c : i32, i64, i8
  } : tensor<?xi32>, tensor<?xi64>, tensor<?xi8>
  kernel.return %y#0, %y#1, %y#2 : tensor<?xi32>, tensor<?xi64>, tensor<?xi8>
})";

TEST(Map, SaturatesCastsToIntegers) {
  const std::vector<double> values = {0.0,  -0.7, 1.9,      -1.9,      255.5,        256.0,        1e9,
                                      -1e9, 3e9,  -3e9,     1e18,      -1e18,        1e19,         -1e19,
                                      1e38, NAN,  INFINITY, -INFINITY, 2147483520.0, 2147483648.0, -2147483648.0};
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kCast, target);
    ASSERT_TRUE(module);
    std::vector<int64_t> sizes = {static_cast<int64_t>(values.size())};
    auto inputs = random_inputs(module->func("cast"), sizes, 1);
    for (size_t i = 0; i < values.size(); ++i)
      inputs[0].set_float(i, values[i]);
    kernel_result expected = expected_on(target, interpret(module->func("cast"), inputs, sizes));
    expect_near(module->run("cast", inputs, sizes), expected, 0, target);
  }
}

constexpr char kDivide[] = R"(
kernel.func @divide(%a: tensor<?xi32> {kernel.dims = array<i64: 0>}, %b: tensor<?xi32> {kernel.dims = array<i64: 0>},
                    %n: index)
    -> (tensor<?xi32> {kernel.dims = array<i64: 0>}, tensor<?xi32> {kernel.dims = array<i64: 0>}) {
  %y:2 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%a, %b : tensor<?xi32>, tensor<?xi32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
                                   affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%l: i32, %r: i32):
    %q = arith.divsi %l, %r : i32
    %m = arith.remsi %l, %r : i32
    kernel.yield %q, %m : i32, i32
  } : tensor<?xi32>, tensor<?xi32>
  kernel.return %y#0, %y#1 : tensor<?xi32>, tensor<?xi32>
})";

TEST(Map, DividesIntegersWithoutTraps) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kDivide, target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("divide"), {20}, 5);
    for (int64_t i = 0; i < 20; ++i)
      inputs[1].set_int(i, i % 7 - 8);
    inputs[0].set_int(7, INT32_MIN);
    inputs[1].set_int(7, -1);
    expect_near(module->run("divide", inputs, {20}), interpret(module->func("divide"), inputs, {20}), 0, target);
    inputs[1].set_int(18, 0);
    kernel_result result = module->run("divide", inputs, {20});
    ASSERT_TRUE(result.error) << target;
    EXPECT_EQ(result.error->code, HEDDLE_KERNEL_DIVISION_BY_ZERO) << target;
  }
}

//===--- Table reads ------------------------------------------------------===//

constexpr char kEmbedding[] = R"(
kernel.func @embed(%table: tensor<10x40xf32>, %ids: tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>}, %b: index,
                   %s: index) -> (tensor<?x?x40xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.map sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1, 40)>)
      ins(%ids : tensor<?x?xi64>)
      attributes {indexing_maps = [affine_map<(i, j, k)[s0, s1] -> (i, j)>,
                                   affine_map<(i, j, k)[s0, s1] -> (i, j, k)>]} {
  ^bb0(%id: i64):
    %k = kernel.index 2
    %e = kernel.gather %table[%id, %k] {site = 0 : i64} : tensor<10x40xf32>, i64, index -> f32
    kernel.yield %e : f32
  } : tensor<?x?x40xf32>
  kernel.return %y : tensor<?x?x40xf32>
})";

constexpr char kPick[] = R"(
kernel.func @pick(%table: tensor<?x10xf32> {kernel.dims = array<i64: 0>},
                  %ids: tensor<?xi32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%ids : tensor<?xi32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%id: i32):
    %i = kernel.index 0
    %e = kernel.gather %table[%i, %id] {site = 2 : i64} : tensor<?x10xf32>, index, i32 -> f32
    kernel.yield %e : f32
  } : tensor<?xf32>
  kernel.return %y : tensor<?xf32>
})";

/// Two tables one behind the other; both are read at clamped indices, even where one of them is empty.
constexpr char kConcatenation[] = R"(
kernel.func @concat(%a: tensor<?x20xf32> {kernel.dims = array<i64: 0>}, %b: tensor<?x20xf32> {kernel.dims = array<i64: 1>},
                    %m: index, %n: index, %sum: index) -> (tensor<?x20xf32> {kernel.dims = array<i64: 2>}) {
  %y = kernel.map sizes(%sum) bounds(affine_map<()[s0] -> (s0, 20)>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>]} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %i = kernel.index 0
    %j = kernel.index 1
    %lasta = arith.subi %m, %one : index
    %ia = arith.minsi %i, %lasta : index
    %va = kernel.gather %a[%ia, %j] : tensor<?x20xf32>, index, index -> f32
    %shifted = arith.subi %i, %m : index
    %ib = arith.maxsi %shifted, %zero : index
    %vb = kernel.gather %b[%ib, %j] : tensor<?x20xf32>, index, index -> f32
    %first = arith.cmpi slt, %i, %m : index
    %r = arith.select %first, %va, %vb : f32
    kernel.yield %r : f32
  } : tensor<?x20xf32>
  kernel.return %y : tensor<?x20xf32>
})";

TEST(Map, ReadsNothingOfEmptyTables) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kConcatenation, target);
    ASSERT_TRUE(module);
    for (auto [m, n] : {std::pair(0, 3), {3, 0}, {2, 5}}) {
      std::vector<int64_t> sizes = {m, n, m + n};
      auto inputs = random_inputs(module->func("concat"), sizes, 1);
      kernel_result result = module->run("concat", inputs, sizes);
      ASSERT_FALSE(result.error) << target;
      std::vector<std::byte> expected = inputs[0].bytes;
      expected.insert(expected.end(), inputs[1].bytes.begin(), inputs[1].bytes.end());
      EXPECT_EQ(result.outputs[0].bytes, expected) << target << " " << m << " and " << n;
    }
  }
}

TEST(Map, ReadsTables) {
  check_kernel(kEmbedding, "embed", {{1, 1}, {2, 9}, {0, 4}});
  check_kernel(kPick, "pick", {{1}, {16}, {37}});
}

TEST(Map, ReportsIndicesOutsideTheirTable) {
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kEmbedding, target);
    auto picks = kernel_module::compile(kPick, target);
    ASSERT_TRUE(module && picks);
    // What 32 bits don't hold never comes to a kernel on Vulkan.
    bool is_narrow = target == "vulkan";
    for (int64_t bad :
         {int64_t(10), int64_t(-11), is_narrow ? INT32_MAX : INT64_MAX, is_narrow ? INT32_MIN : INT64_MIN}) {
      auto inputs = random_inputs(module->func("embed"), {2, 5}, 1);
      inputs[1].set_int(7, bad);
      kernel_result result = module->run("embed", inputs, {2, 5});
      ASSERT_TRUE(result.error) << target;
      EXPECT_EQ(result.error->code, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE);
      EXPECT_EQ(result.error->value, bad);
      EXPECT_EQ(result.error->limit, 10);
    }
    auto inputs = random_inputs(picks->func("pick"), {21}, 1);
    inputs[1].set_int(19, 12);
    kernel_result result = picks->run("pick", inputs, {21});
    ASSERT_TRUE(result.error) << target;
    EXPECT_EQ(result.error->value, 12);
  }
}

} // namespace
// A coordinate as resizes compute it: what is whole in exact arithmetic stays so, whatever a device computes f64 with.
TEST(Map, ComputesCoordinatesInDoublePrecision) {
  check_kernel(R"(
    kernel.func @coordinates(%from: index, %to: index)
        -> (tensor<?xi64> {kernel.dims = array<i64: 1>}, tensor<?xf32> {kernel.dims = array<i64: 1>}) {
      %y:2 = kernel.map sizes(%from, %to) bounds(affine_map<()[s0, s1] -> (s1)>)
          attributes {indexing_maps = [affine_map<(i)[s0, s1] -> (i)>, affine_map<(i)[s0, s1] -> (i)>]} {
        %i = kernel.index 0
        %n = arith.index_cast %i : index to i64
        %x = arith.sitofp %n : i64 to f64
        %f = arith.index_cast %from : index to i64
        %g = arith.sitofp %f : i64 to f64
        %t = arith.index_cast %to : index to i64
        %h = arith.sitofp %t : i64 to f64
        %scale = arith.divf %h, %g : f64
        %place = arith.divf %x, %scale : f64
        %whole = math.floor %place : f64
        %r = arith.fptosi %whole : f64 to i64
        %p = arith.truncf %place : f64 to f32
        kernel.yield %r, %p : i64, f32
      } : tensor<?xi64>, tensor<?xf32>
      kernel.return %y#0, %y#1 : tensor<?xi64>, tensor<?xf32>
    })",
               "coordinates", {{14, 2}, {2, 14}, {37, 16}, {7, 7}, {3, 35}, {1000, 10}, {10, 1000}});
}

} // namespace heddle::conformance
