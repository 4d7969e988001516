// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and elements of tensors that are moved, picked or made from sizes.

#include "tests/compiler/transforms/shapes/shape_analysis_test.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;
using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

TEST_F(ShapeAnalysisTest, ReshapeCopiesAndInfers) {
  analyze(R"(%s = nn.constant dense<[0, 0, 12, -1]> : tensor<4xi64>
             %y = nn.reshape %x, %s : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x?xf32>
             %f = nn.constant dense<[-1, 32]> : tensor<2xi64>
             %z = nn.reshape %y, %f : (tensor<?x?x12x?xf32>, tensor<2xi64>) -> tensor<?x32xf32>
             return %y, %z : tensor<?x?x12x?xf32>, tensor<?x32xf32>)",
          "tensor<?x?x12x?xf32>, tensor<?x32xf32>");
  EXPECT_EQ(dims(0), "B, S, 12, 32");
  EXPECT_EQ(dims(1), "12*B*S, 32");
  EXPECT_EQ(checks(), "");
}

TEST_F(ShapeAnalysisTest, ReshapeThatMayNotFitIsChecked) {
  analyze(R"(%s = nn.constant dense<[-1, 5]> : tensor<2xi64>
             %y = nn.reshape %x, %s : (tensor<?x?x384xf32>, tensor<2xi64>) -> tensor<?x5xf32>
             %t = nn.constant dense<[2, 384]> : tensor<2xi64>
             %z = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<2xi64>) -> tensor<2x384xf32>
             return %y, %z : tensor<?x5xf32>, tensor<2x384xf32>)",
          "tensor<?x5xf32>, tensor<2x384xf32>");
  EXPECT_EQ(dims(0), "76*B*S + floordiv(4*B*S, 5), 5");
  EXPECT_EQ(checks(), "384*B*S == 380*B*S + 5*floordiv(4*B*S, 5) @ nn.reshape: expects an extent for -1 that gives {a} "
                      "elements, got {b} at most\n"
                      "384*B*S == 768 @ nn.reshape: expects a shape of {a} elements, got {b}");
}

TEST_F(ShapeAnalysisTest, ReshapeWithAllowzeroTakesZeroLiterally) {
  analyze(R"(%empty = nn.constant dense<> : tensor<0x4xf32>
             %s = nn.constant dense<[3, 0]> : tensor<2xi64>
             %y = nn.reshape %empty, %s {allowzero} : (tensor<0x4xf32>, tensor<2xi64>) -> tensor<3x0xf32>
             return %y : tensor<3x0xf32>)",
          "tensor<3x0xf32>");
  EXPECT_EQ(dims(), "3, 0");
}

TEST_F(ShapeAnalysisTest, ReshapeToAnExtentThatTheCallerChooses) {
  analyze(R"(%u = nn.unsqueeze %n axes [0] : (tensor<i64>) -> tensor<1xi64>
             %w = nn.constant dense<[384]> : tensor<1xi64>
             %t = nn.concat %u, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
             %y = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<2xi64>) -> tensor<?x384xf32>
             return %y : tensor<?x384xf32>)",
          "tensor<?x384xf32>");
  ASSERT_TRUE(analysis);
  auto valueWith = [](int64_t n) {
    return [n](ShapeExpr leaf) {
      return leaf.getKind() == ShapeExprKind::InputValue ? n : leaf.getName() == "B" ? 2 : 5;
    };
  };
  // -1 takes what is left, 0 copies dimension 0, which doesn't fit, nor does 3.
  ShapeExpr rows = analysis->getDims(returned(0))[0];
  EXPECT_EQ(evaluate(rows, valueWith(-1)), 10);
  EXPECT_EQ(evaluate(rows, valueWith(10)), 10);
  EXPECT_EQ(evaluate(rows, valueWith(0)), 2);
  auto allHold = [&](int64_t n) {
    return llvm::all_of(analysis->getChecks(), [&](const ShapeCheck &check) {
      auto a = evaluate(check.lhs, valueWith(n)), b = evaluate(check.rhs, valueWith(n));
      return check.kind == rt::CheckKind::Equal ? a == b : a <= b;
    });
  };
  EXPECT_TRUE(allHold(-1));
  EXPECT_TRUE(allHold(10));
  EXPECT_FALSE(allHold(0));
  EXPECT_FALSE(allHold(3));
  EXPECT_FALSE(allHold(-2));
}

TEST_F(ShapeAnalysisTest, ReshapeByAComputedShape) {
  // As the TorchScript exporter writes it: each extent by Shape, Gather, Unsqueeze, then Concat.
  analyze(R"(%s = nn.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<?x?x384xf32>) -> tensor<3xi64>
             %i0 = nn.constant dense<0> : tensor<i64>
             %i1 = nn.constant dense<-2> : tensor<i64>
             %b = nn.gather %s, %i0 {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
             %q = nn.gather %s, %i1 {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
             %b1 = nn.unsqueeze %b axes [0] : (tensor<i64>) -> tensor<1xi64>
             %q1 = nn.unsqueeze %q axes [0] : (tensor<i64>) -> tensor<1xi64>
             %c = nn.constant dense<[12, 32]> : tensor<2xi64>
             %t = nn.concat %b1, %q1, %c {axis = 0 : i64}
               : (tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<4xi64>
             %y = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x32xf32>
             return %y, %t : tensor<?x?x12x32xf32>, tensor<4xi64>)",
          "tensor<?x?x12x32xf32>, tensor<4xi64>");
  EXPECT_EQ(dims(0), "B, S, 12, 32");
  EXPECT_EQ(elements(1), "B, S, 12, 32");
  EXPECT_EQ(checks(), "");
}

TEST_F(ShapeAnalysisTest, ExpandByWhereOfMinusOne) {
  // Where(Equal(shape, -1), ones, shape): a size is never -1.
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<2xi64>
             %m = nn.constant dense<-1> : tensor<2xi64>
             %len = nn.constant dense<2> : tensor<1xi64>
             %ones = nn.constant_of_shape %len {value = 1 : i64} : (tensor<1xi64>) -> tensor<2xi64>
             %eq = nn.compare eq %s, %m : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
             %w = nn.where %eq, %ones, %s : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
             %p = nn.constant dense<7> : tensor<1x1xi64>
             %y = nn.expand %p, %w : (tensor<1x1xi64>, tensor<2xi64>) -> tensor<?x?xi64>
             return %y, %w : tensor<?x?xi64>, tensor<2xi64>)",
          "tensor<?x?xi64>, tensor<2xi64>");
  EXPECT_EQ(dims(0), "B, S");
  EXPECT_EQ(elements(1), "B, S");
}

TEST_F(ShapeAnalysisTest, ConcatAddsAndSplitDivides) {
  analyze(R"(%y = nn.concat %x, %x {axis = 1 : i64} : (tensor<?x?x384xf32>, tensor<?x?x384xf32>) -> tensor<?x?x384xf32>
             %a, %b = nn.split %y {axis = 1 : i64, num_outputs = 2 : i64}
               : (tensor<?x?x384xf32>) -> (tensor<?x?x384xf32>, tensor<?x?x384xf32>)
             %c, %d = nn.split %x {axis = 1 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 3, 4>}
               : (tensor<?x?x384xf32>) -> (tensor<?x3x384xf32>, tensor<?x4x384xf32>)
             return %y, %a, %b, %d
               : tensor<?x?x384xf32>, tensor<?x?x384xf32>, tensor<?x?x384xf32>, tensor<?x4x384xf32>)",
          "tensor<?x?x384xf32>, tensor<?x?x384xf32>, tensor<?x?x384xf32>, tensor<?x4x384xf32>");
  EXPECT_EQ(dims(0), "B, 2*S, 384");
  EXPECT_EQ(dims(1), "B, S, 384");
  EXPECT_EQ(dims(2), "B, S, 384");
  EXPECT_EQ(dims(3), "B, 4, 384");
  EXPECT_EQ(checks(), "S == 7 @ nn.split: expects sizes that sum to {a}, got {b}");
}

TEST_F(ShapeAnalysisTest, SqueezeFlattenTileReduce) {
  analyze(R"(%y = nn.squeeze %ids axes [0] : (tensor<?x?xi64>) -> tensor<?xi64>
             %f = nn.flatten %x {axis = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<?x384xf32>
             %r = nn.constant dense<[2, 3]> : tensor<2xi64>
             %t = nn.tile %ids, %r : (tensor<?x?xi64>, tensor<2xi64>) -> tensor<?x?xi64>
             %m = nn.reduce mean %x axes [1] {keepdims} : (tensor<?x?x384xf32>) -> tensor<?x1x384xf32>
             return %y, %f, %t, %m : tensor<?xi64>, tensor<?x384xf32>, tensor<?x?xi64>, tensor<?x1x384xf32>)",
          "tensor<?xi64>, tensor<?x384xf32>, tensor<?x?xi64>, tensor<?x1x384xf32>");
  EXPECT_EQ(dims(0), "S");
  EXPECT_EQ(dims(1), "B*S, 384");
  EXPECT_EQ(dims(2), "2*B, 3*S");
  EXPECT_EQ(dims(3), "B, 1, 384");
  EXPECT_EQ(checks(), "B == 1 @ nn.squeeze: expects extent {b} at axis 0, got {a}");
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

TEST_F(ShapeAnalysisTest, SliceClampsToTheExtent) {
  analyze(R"(%z = nn.constant dense<0> : tensor<1xi64>
             %e = nn.constant dense<9223372036854775807> : tensor<1xi64>
             %l = nn.constant dense<-1> : tensor<1xi64>
             %f = nn.constant dense<512> : tensor<1xi64>
             %a = nn.constant dense<1> : tensor<1xi64>
             %all = nn.slice %ids, %z, %e axes(%a : tensor<1xi64>)
               : (tensor<?x?xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xi64>
             %most = nn.slice %ids, %z, %l axes(%a : tensor<1xi64>)
               : (tensor<?x?xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xi64>
             %some = nn.slice %ids, %z, %f axes(%a : tensor<1xi64>)
               : (tensor<?x?xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xi64>
             %last = nn.slice %ids, %l, %e axes(%a : tensor<1xi64>)
               : (tensor<?x?xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xi64>
             %two = nn.constant dense<2> : tensor<1xi64>
             %half = nn.slice %x, %z, %e axes(%two : tensor<1xi64>) steps(%two : tensor<1xi64>)
               : (tensor<?x?x384xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x192xf32>
             return %all, %most, %some, %last, %half
               : tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?x192xf32>)",
          "tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?x192xf32>");
  EXPECT_EQ(dims(0), "B, S");
  EXPECT_EQ(dims(1), "B, max(0, S - 1)");
  EXPECT_EQ(dims(2), "B, min(S, 512)");
  EXPECT_EQ(dims(3), "B, S - max(0, S - 1)");
  EXPECT_EQ(dims(4), "B, S, 192");
  EXPECT_EQ(checks(), "");
}

TEST_F(ShapeAnalysisTest, SliceBackwards) {
  analyze(R"(%l = nn.constant dense<-1> : tensor<1xi64>
             %e = nn.constant dense<-9223372036854775808> : tensor<1xi64>
             %a = nn.constant dense<1> : tensor<1xi64>
             %y = nn.slice %ids, %l, %e axes(%a : tensor<1xi64>) steps(%l : tensor<1xi64>)
               : (tensor<?x?xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xi64>
             %s = nn.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<?x?x384xf32>) -> tensor<3xi64>
             %t = nn.slice %s, %l, %e steps(%l : tensor<1xi64>)
               : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
             return %y, %t : tensor<?x?xi64>, tensor<3xi64>)",
          "tensor<?x?xi64>, tensor<3xi64>");
  EXPECT_EQ(elements(1), "384, S, B");
  auto length = analysis->getDims(returned(0))[1];
  for (int64_t size : {0, 1, 7})
    EXPECT_EQ(evaluate(length, [&](ShapeExpr) { return size; }), size);
}

TEST_F(ShapeAnalysisTest, SliceUpToASizeOfAnotherInputChecksTheEmbedding) {
  // position_ids[:, 0:S] of a table of 512 positions, added to embeddings of S positions.
  analyze(R"(%table = nn.constant dense<1> : tensor<1x512xi64>
             %z = nn.constant dense<0> : tensor<1xi64>
             %a = nn.constant dense<1> : tensor<1xi64>
             %s = nn.shape %ids {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<1xi64>
             %p = nn.slice %table, %z, %s axes(%a : tensor<1xi64>)
               : (tensor<1x512xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?xi64>
             %y = nn.binary add %ids, %p : (tensor<?x?xi64>, tensor<1x?xi64>) -> tensor<?x?xi64>
             return %y : tensor<?x?xi64>)",
          "tensor<?x?xi64>");
  EXPECT_EQ(dims(), "B, S");
  EXPECT_EQ(checks(), "S <= 512 @ nn.binary: expects a size of at most {b}, got {a}");
}

TEST_F(ShapeAnalysisTest, GathersTakeTheShapeOfTheirIndices) {
  analyze(R"(%g = nn.gather %x, %ids {axis = 1 : i64} : (tensor<?x?x384xf32>, tensor<?x?xi64>) -> tensor<?x?x?x384xf32>
             %e = nn.gather_elements %ids, %ids {axis = 1 : i64} : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
             %t = nn.constant dense<0> : tensor<5x2xi64>
             %d = nn.gather_nd %x, %t {batch_dims = 0 : i64} : (tensor<?x?x384xf32>, tensor<5x2xi64>) -> tensor<5x384xf32>
             return %g, %e, %d : tensor<?x?x?x384xf32>, tensor<?x?xi64>, tensor<5x384xf32>)",
          "tensor<?x?x?x384xf32>, tensor<?x?xi64>, tensor<5x384xf32>");
  EXPECT_EQ(dims(0), "B, B, S, 384");
  EXPECT_EQ(dims(1), "B, S");
  EXPECT_EQ(dims(2), "5, 384");
}

TEST_F(ShapeAnalysisTest, GatherByAHostInputChoosesAndChecks) {
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<2xi64>
             %v = nn.gather %s, %n {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
             %u = nn.unsqueeze %v axes [0] : (tensor<i64>) -> tensor<1xi64>
             %y = nn.constant_of_shape %u {value = 1.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
             return %y : tensor<?xf32>)",
          "tensor<?xf32>");
  ASSERT_TRUE(analysis);
  ShapeExpr size = analysis->getDims(returned(0))[0];
  for (auto [index, expected] : {std::pair(0, 3), {1, 5}, {-1, 5}, {-2, 3}})
    EXPECT_EQ(evaluate(size,
                       [&, index = index](ShapeExpr leaf) {
                         return leaf.getKind() == ShapeExprKind::InputValue ? index : leaf.getName() == "B" ? 3 : 5;
                       }),
              expected);
  EXPECT_EQ(analysis->getChecks().size(), 2u);
}

TEST_F(ShapeAnalysisTest, GatherFromNothingIsLeftToTheCheck) {
  analyze(R"(%nothing = nn.constant dense<> : tensor<0xi64>
             %one = nn.unsqueeze %n axes [0] : (tensor<i64>) -> tensor<1xi64>
             %v = nn.gather %nothing, %n {axis = 0 : i64} : (tensor<0xi64>, tensor<i64>) -> tensor<i64>
             %u = nn.unsqueeze %v axes [0] : (tensor<i64>) -> tensor<1xi64>
             %t = nn.tile %u, %one : (tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
             return %v, %t : tensor<i64>, tensor<?xi64>)",
          "tensor<i64>, tensor<?xi64>");
  EXPECT_EQ(elements(), "<unknown>");
}

TEST_F(ShapeAnalysisTest, PadOneHotTopKAndConstantOfShape) {
  analyze(R"(%p = nn.constant dense<[0, 1, 0, 2]> : tensor<4xi64>
             %y = nn.pad constant %ids, %p : (tensor<?x?xi64>, tensor<4xi64>) -> tensor<?x?xi64>
             %depth = nn.constant dense<5> : tensor<i64>
             %values = nn.constant dense<[0, 1]> : tensor<2xi64>
             %h = nn.one_hot %ids, %depth, %values {axis = 1 : i64}
               : (tensor<?x?xi64>, tensor<i64>, tensor<2xi64>) -> tensor<?x5x?xi64>
             %k = nn.constant dense<2> : tensor<i64>
             %v, %i = nn.top_k %x, %k {axis = 1 : i64, largest}
               : (tensor<?x?x384xf32>, tensor<i64>) -> (tensor<?x2x384xf32>, tensor<?x2x384xi64>)
             return %y, %h, %i : tensor<?x?xi64>, tensor<?x5x?xi64>, tensor<?x2x384xi64>)",
          "tensor<?x?xi64>, tensor<?x5x?xi64>, tensor<?x2x384xi64>");
  EXPECT_EQ(dims(0), "B, S + 3");
  EXPECT_EQ(dims(1), "B, 5, S");
  EXPECT_EQ(dims(2), "B, 2, 384");
  EXPECT_EQ(checks(), "2 <= S @ nn.top_k: expects k of at most {b}, got {a}");
}

TEST_F(ShapeAnalysisTest, RangeCountsItsSteps) {
  analyze(R"(%s = nn.shape %ids {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<1xi64>
             %q = nn.squeeze %s axes [0] : (tensor<1xi64>) -> tensor<i64>
             %zero = nn.constant dense<0> : tensor<i64>
             %one = nn.constant dense<1> : tensor<i64>
             %two = nn.constant dense<2> : tensor<i64>
             %y = nn.range %zero, %q, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
             %z = nn.range %q, %zero, %two : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
             return %y, %z : tensor<?xi64>, tensor<?xi64>)",
          "tensor<?xi64>, tensor<?xi64>");
  EXPECT_EQ(dims(0), "S");
  EXPECT_EQ(dims(1), "0");
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

TEST_F(ShapeAnalysisTest, ArithmeticOfSizes) {
  analyze(R"(%s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
             %c = nn.constant dense<[2, 3]> : tensor<2xi64>
             %m = nn.binary mul %s, %c : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
             %d = nn.binary div %m, %c : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
             %r = nn.binary mod %s, %c : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
             %u = nn.unary neg %s : (tensor<2xi64>) -> tensor<2xi64>
             %h = nn.binary div %u, %c : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
             %p = nn.reduce prod %s axes [0] : (tensor<2xi64>) -> tensor<i64>
             %size = nn.size %x : (tensor<?x?x384xf32>) -> tensor<i64>
             return %d, %r, %h, %p, %size : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>, tensor<i64>)",
          "tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>, tensor<i64>");
  EXPECT_EQ(elements(0), "B, S");
  EXPECT_EQ(elements(1), "mod(B, 2), mod(S, 3)");
  EXPECT_EQ(elements(3), "B*S");
  EXPECT_EQ(elements(4), "384*B*S");
  // Towards zero: -5 / 2 is -2.
  ShapeExpr half = (*analysis->getElements(returned(2)))[0];
  EXPECT_EQ(evaluate(half, [](ShapeExpr) { return 5; }), -2);
}

TEST_F(ShapeAnalysisTest, NarrowIntegersMustHoldTheSizes) {
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 1 : i64} : (tensor<?x?xi64>) -> tensor<1xi64>
             %c = nn.cast %s {to = i32} : (tensor<1xi64>) -> tensor<1xi32>
             %b = nn.cast %s {to = i1} : (tensor<1xi64>) -> tensor<1xi1>
             %wide = nn.constant dense<4294967297> : tensor<1xi64>
             %w = nn.cast %wide {to = i32} : (tensor<1xi64>) -> tensor<1xi32>
             return %c, %b, %w : tensor<1xi32>, tensor<1xi1>, tensor<1xi32>)",
          "tensor<1xi32>, tensor<1xi1>, tensor<1xi32>");
  EXPECT_EQ(elements(0), "B");
  EXPECT_EQ(elements(1), "-equal(B, 0) + 1");
  EXPECT_EQ(elements(2), "1");
  EXPECT_EQ(checks(), "B <= 2147483647 @ nn.cast: expects numbers that fit i32, got {a}");
}

TEST_F(ShapeAnalysisTest, MatricesAreTransposedExpandedAndSummed) {
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<2xi64>
             %c = nn.unsqueeze %s axes [1] : (tensor<2xi64>) -> tensor<2x1xi64>
             %to = nn.constant dense<[2, 3]> : tensor<2xi64>
             %e = nn.expand %c, %to : (tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x3xi64>
             %t = nn.transpose %e perm [1, 0] : (tensor<2x3xi64>) -> tensor<3x2xi64>
             %k = nn.cumsum %t {axis = 0 : i64} : (tensor<3x2xi64>) -> tensor<3x2xi64>
             %x2 = nn.cumsum %t {axis = 0 : i64, exclusive, reverse} : (tensor<3x2xi64>) -> tensor<3x2xi64>
             %r = nn.reduce max %t axes [1] : (tensor<3x2xi64>) -> tensor<3xi64>
             return %e, %t, %k, %x2, %r
               : tensor<2x3xi64>, tensor<3x2xi64>, tensor<3x2xi64>, tensor<3x2xi64>, tensor<3xi64>)",
          "tensor<2x3xi64>, tensor<3x2xi64>, tensor<3x2xi64>, tensor<3x2xi64>, tensor<3xi64>");
  EXPECT_EQ(elements(0), "B, B, B, S, S, S");
  EXPECT_EQ(elements(1), "B, S, B, S, B, S");
  EXPECT_EQ(elements(2), "B, S, 2*B, 2*S, 3*B, 3*S");
  EXPECT_EQ(elements(3), "2*B, 2*S, B, S, 0, 0");
  EXPECT_EQ(elements(4), "max(B, S), max(B, S), max(B, S)");
}

TEST_F(ShapeAnalysisTest, SizesComeBackFromFloats) {
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<2xi64>
             %f = nn.cast %s {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
             %three = nn.constant dense<3.0> : tensor<f32>
             %half = nn.constant dense<0.5> : tensor<f32>
             %third = nn.binary div %f, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
             %floor = nn.unary floor %third : (tensor<2xf32>) -> tensor<2xf32>
             %a = nn.cast %floor {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             %h = nn.binary mul %f, %half : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
             %ceil = nn.unary ceil %h : (tensor<2xf32>) -> tensor<2xf32>
             %b = nn.cast %ceil {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             %c = nn.cast %h {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             return %a, %b, %c : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)",
          "tensor<2xi64>, tensor<2xi64>, tensor<2xi64>");
  EXPECT_EQ(elements(0), "floordiv(B, 3), floordiv(S, 3)");
  EXPECT_EQ(elements(1), "B - floordiv(B, 2), S - floordiv(S, 2)");
  EXPECT_EQ(elements(2), "floordiv(B, 2), floordiv(S, 2)");
  // Beyond, float arithmetic gives something else; once for each size.
  ASSERT_GE(analysis->getChecks().size(), 2u);
  EXPECT_EQ(analysis->getChecks()[0].rhs.str(), "16777216");
}

TEST_F(ShapeAnalysisTest, FloatsThatAreNoFractionsOfSizesAreNotFollowed) {
  analyze(R"(%s = nn.shape %ids {start = 0 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<2xi64>
             %f = nn.cast %s {to = f32} : (tensor<2xi64>) -> tensor<2xf32>
             %three = nn.constant dense<3.0> : tensor<f32>
             %tenth = nn.constant dense<0.1> : tensor<f32>
             %third = nn.binary div %f, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
             %again = nn.binary mul %third, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
             %a = nn.cast %again {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             %t = nn.binary mul %f, %tenth : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
             %b = nn.cast %t {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             %r = nn.unary sqrt %f : (tensor<2xf32>) -> tensor<2xf32>
             %c = nn.cast %r {to = i64} : (tensor<2xf32>) -> tensor<2xi64>
             return %a, %b, %c : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)",
          "tensor<2xi64>, tensor<2xi64>, tensor<2xi64>");
  EXPECT_EQ(elements(0), "<unknown>");
  EXPECT_EQ(elements(1), "<unknown>");
  EXPECT_EQ(elements(2), "<unknown>");
}

TEST(FloatFloor, OfAQuotientIsThatOfTheFraction) {
  // What the analysis relies on, up to the limit that it checks.
  for (int64_t divisor : {1, 3, 7, 10, 255, 65535})
    for (int64_t base : {int64_t(0), int64_t(1) << 12, (int64_t(1) << 24) - 3 * divisor})
      for (int64_t n = base; n <= base + 2 * divisor && n <= int64_t(1) << 24; ++n) {
        ASSERT_EQ(std::floor(static_cast<float>(n) / static_cast<float>(divisor)), n / divisor) << n << ", " << divisor;
        ASSERT_EQ(std::ceil(static_cast<float>(n) / static_cast<float>(divisor)), (n + divisor - 1) / divisor) << n;
      }
}

TEST_F(ShapeAnalysisTest, LargeTensorsHaveNoElements) {
  analyze(R"(%c = nn.constant dense<1> : tensor<65xi64>
             %d = nn.constant dense<1> : tensor<64xi64>
             return %c, %d : tensor<65xi64>, tensor<64xi64>)",
          "tensor<65xi64>, tensor<64xi64>");
  EXPECT_EQ(elements(0), "<unknown>");
  EXPECT_NE(elements(1), "<unknown>");
}

TEST_F(ShapeAnalysisTest, ResultsOfKernelsHaveNoElements) {
  analyze(R"(%zero = nn.constant dense<0> : tensor<i64>
             %row = nn.gather %ids, %zero {axis = 0 : i64} : (tensor<?x?xi64>, tensor<i64>) -> tensor<?xi64>
             %one = nn.gather %row, %zero {axis = 0 : i64} : (tensor<?xi64>, tensor<i64>) -> tensor<i64>
             return %one : tensor<i64>)",
          "tensor<i64>");
  EXPECT_EQ(elements(), "<unknown>");
}

} // namespace
