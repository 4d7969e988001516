// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases for self-tests: their inputs fit the kernel, what is compared is right and certain, and both stay small.

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <heddle/self_test.h>

#include "compiler/reference/KernelCase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle::reference {
namespace {

class KernelCaseTest : public ::testing::Test {
protected:
  KernelCaseTest() { context.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>(); }

  std::optional<SelfTest> make(const std::string &text, std::vector<int64_t> sizes, std::vector<uint32_t> axes) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    EXPECT_TRUE(module) << text;
    if (!module)
      return std::nullopt;
    return makeKernelCase({*module->getOps<kernel::FuncOp>().begin(), sizes, axes, 1e-4f});
  }

  /// A map over |count| elements of |in| to |out|, with |body| between the element %e and the result %r.
  static std::string mapText(const std::string &in, const std::string &out, const std::string &body,
                             const std::string &count = "1000") {
    return "kernel.func @f(%x: tensor<" + count + "x" + in + ">) -> tensor<" + count + "x" + out +
           "> {\n%y = kernel.map sizes() bounds(affine_map<() -> (" + count + ")>) ins(%x : tensor<" + count + "x" +
           in +
           ">) attributes {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]} {\n^bb0(%e: " + in +
           "):\n" + body + "\nkernel.yield %r : " + out + "\n} : tensor<" + count + "x" + out +
           ">\nkernel.return %y : tensor<" + count + "x" + out + ">\n}";
  }

  template <typename T> static std::vector<T> valuesOf(const SelfTestOutput &output) {
    std::vector<T> values(output.values.size() / sizeof(T));
    std::memcpy(values.data(), output.values.data(), output.values.size());
    return values;
  }

  static double fraction(uint32_t seed, uint64_t i) { return heddle_self_test_fraction(seed, i, 16) / 65536.0; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(KernelCaseTest, ExpectsWhatTheKernelComputes) {
  auto test = make(mapText("f32", "f32", "%r = math.exp %e : f32"), {}, {1000, 1, 1, 4, 0, 0, 4, 0, 0});
  ASSERT_TRUE(test);
  ASSERT_EQ(test->inputs.size(), 1u);
  EXPECT_EQ(test->inputs[0].bytes, 4000u);
  ASSERT_EQ(test->outputs.size(), 1u);
  EXPECT_EQ(test->outputs[0].bytes, 4000u);
  EXPECT_EQ(test->outputs[0].runs, (std::vector<uint32_t>{0, 1000}));
  EXPECT_EQ(test->outputs[0].tolerance, 1e-4f);
  std::vector<float> values = valuesOf<float>(test->outputs[0]);
  ASSERT_EQ(values.size(), 1000u);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], static_cast<float>(std::exp(fraction(test->inputs[0].seed, i)))) << i;
}

TEST_F(KernelCaseTest, ComparesWhatItsUnitsComputeAlone) {
  auto test = make(mapText("f32", "f32", "%r = arith.negf %e : f32"), {}, {64, 1, 1, 4, 0, 0, 4, 0, 0});
  ASSERT_TRUE(test);
  EXPECT_EQ(test->inputs[0].bytes, 256u);
  EXPECT_EQ(test->outputs[0].bytes, 256u);
  EXPECT_EQ(test->outputs[0].runs, (std::vector<uint32_t>{0, 64}));
}

TEST_F(KernelCaseTest, LeavesOutWhatASmallErrorChanges) {
  // x / 2^-15 is a number and a half, or next to one on a machine whose quotients aren't exact.
  const std::string tie = "%c = arith.constant 3.0517578125e-05 : f32\n%q = arith.divf %e, %c : f32\n";
  const std::string code = "%n = math.roundeven %q : f32\n%r = arith.fptosi %n : f32 to i32";
  EXPECT_FALSE(make(mapText("f32", "i32", tie + code), {}, {1000, 1, 1, 4, 0, 0, 4, 0, 0}));
  // As a product it is exact everywhere, and the tie is one.
  const std::string exact = "%c = arith.constant 32768.0 : f32\n%q = arith.mulf %e, %c : f32\n";
  auto kept = make(mapText("f32", "i32", exact + code), {}, {1000, 1, 1, 4, 0, 0, 4, 0, 0});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->outputs[0].runs, (std::vector<uint32_t>{0, 1000}));
  EXPECT_EQ(kept->outputs[0].tolerance, 0);
  // Logarithms of negative numbers aren't compared, those of the others are.
  auto half = make(mapText("f32", "f32", "%r = math.log %e : f32"), {}, {1000, 1, 1, 4, 0, 0, 4, 0, 0});
  ASSERT_TRUE(half);
  EXPECT_GT(half->outputs[0].values.size(), 1200u);
  EXPECT_LT(half->outputs[0].values.size(), 2800u);
}

TEST_F(KernelCaseTest, IntegersFitTables) {
  const std::string text = R"(
    kernel.func @f(%ids: tensor<?xi64> {kernel.dims = array<i64: 0>}, %table: tensor<ROWSx8xf32>, %n: index)
        -> (tensor<?x8xf32> {kernel.dims = array<i64: 0>}) {
      %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 8)>) ins(%ids : tensor<?xi64>)
          attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
      ^bb0(%id: i64):
        %j = kernel.index 1
        %r = kernel.gather %table[%id, %j] {site = 0 : i64} : tensor<ROWSx8xf32>, i64, index -> f32
        kernel.yield %r : f32
      } : tensor<?x8xf32>
      kernel.return %y : tensor<?x8xf32>
    })";
  auto makeFor = [&](const std::string &rows) {
    std::string replaced = text;
    for (size_t at; (at = replaced.find("ROWS")) != std::string::npos;)
      replaced.replace(at, 4, rows);
    return make(replaced, {19}, {152, 1, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0});
  };
  // Of a large table the case has the rows that it reads.
  auto large = makeFor("100000000");
  ASSERT_TRUE(large);
  EXPECT_EQ(large->sizes, std::vector<int64_t>{19});
  EXPECT_EQ(large->inputs[0].bytes, 152u);
  EXPECT_EQ(large->inputs[0].limit, 61u);
  EXPECT_LE(large->inputs[1].bytes, 61u * 32);
  std::vector<float> values = valuesOf<float>(large->outputs[0]);
  ASSERT_EQ(values.size(), 152u);
  for (uint32_t i = 0; i < 152; ++i) {
    uint64_t row = heddle_self_test_integer(large->inputs[0].seed, i / 8, 61);
    EXPECT_EQ(values[i], static_cast<float>(fraction(large->inputs[1].seed, row * 8 + i % 8))) << i;
  }
  auto small = makeFor("2");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->inputs[0].limit, 2u);
  EXPECT_FALSE(makeFor("0"));
}

TEST_F(KernelCaseTest, ProductsAreSampledAndPackedWeightsPadded) {
  // 20 columns in panels of 16, 768 deep.
  const std::string text = R"(
    kernel.func @f(%x: tensor<?x768xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2x768x16xf32>, %m: index)
        -> (tensor<?x20xf32> {kernel.dims = array<i64: 0>}) {
      %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 20, 768)>)
          ins(%x, %w : tensor<?x768xf32>, tensor<2x768x16xf32>)
          attributes {packed_rhs = 20 : i64,
                      indexing_maps = [affine_map<(d0, d1, d2)[s0] -> (d0, d2)>,
                                       affine_map<(d0, d1, d2)[s0] -> (0, 0, 0)>,
                                       affine_map<(d0, d1, d2)[s0] -> (d0, d1)>]} epilogue {
      ^bb0(%acc: f32):
        kernel.yield %acc : f32
      } : tensor<?x20xf32>
      kernel.return %y : tensor<?x20xf32>
    })";
  const std::vector<uint32_t> axes = {2, 38, 1, 0, 3072, 0, 49152, 0, 0, 64, 80, 0};
  auto test = make(text, {38}, axes);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->inputs[1].columns, 20u);
  EXPECT_EQ(test->inputs[1].depth, 768u);
  EXPECT_EQ(test->inputs[1].width, 16u);
  EXPECT_EQ(test->inputs[1].group, 1u);
  EXPECT_EQ(test->inputs[1].bytes, 98304u);
  std::vector<float> values = valuesOf<float>(test->outputs[0]);
  EXPECT_GE(values.size(), 4u);
  EXPECT_LE(values.size(), 64u);
  size_t next = 0;
  for (size_t run = 0; run < test->outputs[0].runs.size(); run += 2)
    for (uint32_t i = 0; i < test->outputs[0].runs[run + 1]; ++i) {
      uint32_t element = test->outputs[0].runs[run] + i, m = element / 20, n = element % 20;
      double sum = 0;
      for (uint32_t k = 0; k < 768; ++k)
        sum += fraction(test->inputs[0].seed, m * 768 + k) *
               fraction(test->inputs[1].seed, ((n / 16) * 768 + k) * 16 + n % 16);
      EXPECT_EQ(values[next++], static_cast<float>(sum)) << m << " " << n;
    }
  auto again = make(text, {38}, axes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->outputs[0].runs, test->outputs[0].runs);
  EXPECT_EQ(again->outputs[0].values, test->outputs[0].values);
}

TEST_F(KernelCaseTest, AttentionInPartsHasCasesForEachOfItsKernels) {
  // One head of 4, |use| of the states of parts of 256 keys: sizes are those of queries, keys and parts.
  auto attention = [](const std::string &use) {
    const std::string row = "tensor<?x4xf32>", states = "tensor<?x1x1x?x6xf32>";
    bool takes = use == "takes_parts";
    const std::string type = takes ? row : states, dims = takes ? "0" : "2, 0";
    auto map = [](const std::string &to) { return "affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (" + to + ")>"; };
    return "kernel.func @f(%q: " + row + " {kernel.dims = array<i64: 0>}, %k: " + row +
           " {kernel.dims = array<i64: 1>}, %v: " + row + " {kernel.dims = array<i64: 1>}" +
           (takes ? ", %s: " + states + " {kernel.dims = array<i64: 2, 0>}" : "") +
           ", %m: index, %n: index, %p: index) -> (" + type + " {kernel.dims = array<i64: " + dims + ">}) {\n" +
           "%o = kernel.attention sizes(%m, %n) bounds(affine_map<()[s0, s1] -> (1, 1, 1, s0, s1, 4, 4)>) ins(%q, %k, "
           "%v" +
           (takes ? ", %s" : "") + " : " + row + ", " + row + ", " + row + (takes ? ", " + states : "") +
           ") attributes {indexing_maps = [" + map("m, d") + ", " + map("n, d") + ", " + map("n, e") +
           (takes ? ", " + map("n, b, g, m, e") : "") + ", " + map(takes ? "m, e" : "n, b, g, m, e") +
           "], scale = 0.5 : f32, fully_masked = \"literal\", part_size = 256 : i64, " + use +
           "} score {\n^bb0(%x: f32):\nkernel.yield %x : f32\n} mask {\n%t = arith.constant true\n"
           "kernel.yield %t : i1\n} : " +
           type + "\nkernel.return %o : " + type + "\n}";
  };
  // Rows along x, parts along y.
  const std::vector<uint32_t> gives = {2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 48, 0};
  auto test = make(attention("gives_parts"), {2, 300, 2}, gives);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->outputs[0].bytes, 96u);
  // With states, which this kernel doesn't make, it has none; without it computes everything itself.
  const std::vector<uint32_t> takes = {2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0};
  EXPECT_FALSE(make(attention("takes_parts"), {2, 300, 2}, takes));
  test = make(attention("takes_parts"), {2, 19, 0}, takes);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->inputs[3].bytes, 0u);
  EXPECT_EQ(test->outputs[0].bytes, 32u);
  EXPECT_EQ(test->outputs[0].runs, (std::vector<uint32_t>{0, 8}));
}

TEST_F(KernelCaseTest, WhatNeedsTooMuchMemoryHasNone) {
  // 100 million elements, needed whole.
  const std::string count = "100000000";
  EXPECT_FALSE(make(mapText("f32", "f32", "%r = arith.negf %e : f32", count), {}, {256, 1, 1, 0, 0, 0, 4, 0, 0}));
  EXPECT_TRUE(make(mapText("f32", "f32", "%r = arith.negf %e : f32", count), {}, {256, 1, 1, 4, 0, 0, 4, 0, 0}));
}

} // namespace
} // namespace heddle::reference
