// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and run-time checks of inputs, maps, products and attention.

#include "tests/compiler/transforms/shapes/shape_analysis_test.h"

using namespace heddle;
using namespace heddle::test;
using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

TEST_F(ShapeAnalysisTest, ArgumentsOfOneNameShareASymbol) {
  analyze("return %x, %ids : tensor<?x?x384xf32>, tensor<?x?xi64>", "tensor<?x?x384xf32>, tensor<?x?xi64>");
  EXPECT_EQ(dims(0), "B, S, 384");
  EXPECT_EQ(dims(1), "B, S");
  EXPECT_EQ(analysis->getDims(returned(0))[0], analysis->getDims(returned(1))[0]);
  EXPECT_EQ(checks(), "");
}

TEST_F(ShapeAnalysisTest, BoolsOfInputsAreAnyByte) {
  module = parseSourceString<ModuleOp>(R"(
    func.func @main(%c: tensor<i1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %three = nn.constant dense<3> : tensor<1xi64>
      %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
      %n = nn.where %c, %three, %s : (tensor<i1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
      %r = nn.constant_of_shape %n {value = 0.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    })",
                                       &context);
  ASSERT_TRUE(module);
  func = *module->getOps<func::FuncOp>().begin();
  analysis = ShapeAnalysis::create(func);
  ASSERT_TRUE(analysis);
  EXPECT_NE(analysis->getDims(func.getArgument(1))[0], analysis->getDims(func.getArgument(2))[0]);
  for (auto [flag, expected] : {std::pair(0, 5), {1, 3}, {2, 3}})
    EXPECT_EQ(
        evaluate(analysis->getDims(returned(0))[0],
                 [&, flag = flag](ShapeExpr leaf) { return leaf.getKind() == ShapeExprKind::InputValue ? flag : 5; }),
        expected);
}

TEST_F(ShapeAnalysisTest, InputsAreReadOnlyWhereAShapeNeedsThem) {
  analyze("return %n : tensor<i64>", "tensor<i64>");
  EXPECT_EQ(elements(), "<unknown>");
  analyze(R"(%zero = nn.constant dense<0> : tensor<i64>
             %one = nn.constant dense<1> : tensor<i64>
             %y = nn.range %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
             return %n, %y : tensor<i64>, tensor<?xi64>)",
          "tensor<i64>, tensor<?xi64>");
  EXPECT_EQ(elements(0), "input2[0]");
  EXPECT_EQ(dims(1), "max(input2[0], 0)");
}

//===----------------------------------------------------------------------===//
// Broadcasting and contractions
//===----------------------------------------------------------------------===//

TEST_F(ShapeAnalysisTest, BroadcastStretchesOnesAndChecksTheRest) {
  analyze(R"(%one = nn.constant dense<1> : tensor<1x1xi64>
             %y = nn.binary add %ids, %one : (tensor<?x?xi64>, tensor<1x1xi64>) -> tensor<?x?xi64>
             %t = nn.transpose %ids perm [1, 0] : (tensor<?x?xi64>) -> tensor<?x?xi64>
             %z = nn.binary mul %y, %t : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
             return %y, %z : tensor<?x?xi64>, tensor<?x?xi64>)",
          "tensor<?x?xi64>, tensor<?x?xi64>");
  EXPECT_EQ(dims(0), "B, S");
  EXPECT_EQ(dims(1), "B, B");
  EXPECT_EQ(checks(), "B == S @ nn.binary: expects operands that broadcast, got sizes {a} and {b}\n"
                      "S == B @ nn.binary: expects operands that broadcast, got sizes {a} and {b}");
}

TEST_F(ShapeAnalysisTest, StaticSizeWinsOverASymbol) {
  analyze(R"(%mask = nn.constant dense<0> : tensor<1x16xi64>
             %y = nn.binary add %ids, %mask : (tensor<?x?xi64>, tensor<1x16xi64>) -> tensor<?x16xi64>
             return %y : tensor<?x16xi64>)",
          "tensor<?x16xi64>");
  EXPECT_EQ(dims(), "B, 16");
  EXPECT_EQ(checks(), "S == 16 @ nn.binary: expects operands that broadcast, got sizes {a} and {b}");
}

TEST_F(ShapeAnalysisTest, ProductsBroadcastAndCheckInnerDimensions) {
  analyze(R"(%t = nn.transpose %x perm [0, 2, 1] : (tensor<?x?x384xf32>) -> tensor<?x384x?xf32>
             %p = nn.matmul %x, %t : (tensor<?x?x384xf32>, tensor<?x384x?xf32>) -> tensor<?x?x?xf32>
             %q = nn.matmul %t, %t : (tensor<?x384x?xf32>, tensor<?x384x?xf32>) -> tensor<?x384x?xf32>
             %e = nn.einsum "bij,bkj->kib" %x, %x : (tensor<?x?x384xf32>, tensor<?x?x384xf32>) -> tensor<?x?x?xf32>
             return %p, %q, %e : tensor<?x?x?xf32>, tensor<?x384x?xf32>, tensor<?x?x?xf32>)",
          "tensor<?x?x?xf32>, tensor<?x384x?xf32>, tensor<?x?x?xf32>");
  EXPECT_EQ(dims(0), "B, S, S");
  EXPECT_EQ(dims(1), "B, 384, S");
  EXPECT_EQ(dims(2), "S, S, B");
  EXPECT_EQ(checks(), "S == 384 @ nn.matmul: expects equal inner dimensions, got {a} and {b}");
}

TEST_F(ShapeAnalysisTest, VectorsDropTheirExtraDimension) {
  analyze(R"(%v = nn.constant dense<1.0> : tensor<384xf32>
             %p = nn.matmul %x, %v : (tensor<?x?x384xf32>, tensor<384xf32>) -> tensor<?x?xf32>
             return %p : tensor<?x?xf32>)",
          "tensor<?x?xf32>");
  EXPECT_EQ(dims(), "B, S");
}

TEST_F(ShapeAnalysisTest, ConvolutionCountsItsPlaces) {
  analyze(R"(%t = nn.transpose %x perm [0, 2, 1] : (tensor<?x?x384xf32>) -> tensor<?x384x?xf32>
             %wide = nn.constant dense<1.0> : tensor<1x384x2xf32>
             %y = nn.conv %t, %wide {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 1, 0>,
                                     strides = array<i64: 2>}
               : (tensor<?x384x?xf32>, tensor<1x384x2xf32>) -> tensor<?x1x?xf32>
             return %y : tensor<?x1x?xf32>)",
          "tensor<?x1x?xf32>");
  EXPECT_EQ(dims(), "B, 1, floordiv(S + 1, 2)");
  EXPECT_EQ(checks(), "2 <= S + 1 @ nn.conv: expects a kernel that fits the padded input, got extent {a} in {b} at "
                      "spatial dimension 0");
}

TEST_F(ShapeAnalysisTest, ParametersOfUnknownSizeAreChecked) {
  analyze(R"(%s = nn.shape %ids {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64>) -> tensor<1xi64>
             %g = nn.constant_of_shape %s {value = 1.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
             %l = nn.layer_norm %x, %g, %g {axis = 2 : i64, epsilon = 1.0e-5 : f32}
               : (tensor<?x?x384xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x?x384xf32>
             %r = nn.rms_norm %x, %g {axis = 2 : i64, epsilon = 1.0e-5 : f32}
               : (tensor<?x?x384xf32>, tensor<?xf32>) -> tensor<?x?x384xf32>
             %q = nn.quantize_linear %x, %g {axis = 0 : i64, block_size = 0 : i64, to = ui8}
               : (tensor<?x?x384xf32>, tensor<?xf32>) -> tensor<?x?x384xui8>
             return %l, %q : tensor<?x?x384xf32>, tensor<?x?x384xui8>)",
          "tensor<?x?x384xf32>, tensor<?x?x384xui8>");
  EXPECT_EQ(dims(0), "B, S, 384");
  EXPECT_EQ(dims(1), "B, S, 384");
  EXPECT_EQ(checks(),
            "S == 384 @ nn.layer_norm: expects scale to broadcast onto the input, got sizes {a} and {b}\n"
            "S == B @ nn.quantize_linear: expects scales and zero points of size {b} at dimension 0, got {a}");
}

TEST_F(ShapeAnalysisTest, DynamicQuantisationGivesScalarsToo) {
  analyze(R"(%y, %s, %z = nn.dynamic_quantize_linear %x
               : (tensor<?x?x384xf32>) -> (tensor<?x?x384xui8>, tensor<f32>, tensor<ui8>)
             return %y, %s : tensor<?x?x384xui8>, tensor<f32>)",
          "tensor<?x?x384xui8>, tensor<f32>");
  EXPECT_EQ(dims(0), "B, S, 384");
  EXPECT_EQ(dims(1), "");
}

TEST_F(ShapeAnalysisTest, UpdatesOfAScatterHaveTheSizesOfItsIndices) {
  analyze(R"(%t = nn.transpose %ids perm [1, 0] : (tensor<?x?xi64>) -> tensor<?x?xi64>
             %e = nn.scatter_elements none %ids, %ids, %t {axis = 1 : i64}
               : (tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
             %i = nn.constant dense<0> : tensor<5x1xi64>
             %u = nn.constant dense<0> : tensor<5x7xi64>
             %d = nn.scatter_nd none %ids, %i, %u
               : (tensor<?x?xi64>, tensor<5x1xi64>, tensor<5x7xi64>) -> tensor<?x?xi64>
             return %e, %d : tensor<?x?xi64>, tensor<?x?xi64>)",
          "tensor<?x?xi64>, tensor<?x?xi64>");
  EXPECT_EQ(dims(1), "B, S");
  EXPECT_EQ(checks(), "S == B @ nn.scatter_elements: expects updates of size {b} at dimension 0, got {a}\n"
                      "B == S @ nn.scatter_elements: expects updates of size {b} at dimension 1, got {a}\n"
                      "7 == S @ nn.scatter_nd: expects updates of size {b} at dimension 1, got {a}");
}

TEST_F(ShapeAnalysisTest, IntegerProductsCheckTheirZeroPoints) {
  analyze(R"(%a = nn.cast %x {to = ui8} : (tensor<?x?x384xf32>) -> tensor<?x?x384xui8>
             %w = nn.constant dense<1> : tensor<384x5xi8>
             %f = nn.constant dense<3> : tensor<1xi64>
             %s = nn.shape %ids {start = 0 : i64, end = 1 : i64} : (tensor<?x?xi64>) -> tensor<1xi64>
             %z = nn.constant_of_shape %s {value = 0 : i8} : (tensor<1xi64>) -> tensor<?xi8>
             %p = nn.matmul_integer %a, %w rhs_zero_point(%z : tensor<?xi8>)
               : (tensor<?x?x384xui8>, tensor<384x5xi8>) -> tensor<?x?x5xi32>
             return %p : tensor<?x?x5xi32>)",
          "tensor<?x?x5xi32>");
  EXPECT_EQ(dims(), "B, S, 5");
  EXPECT_EQ(checks(), "B == 5 @ nn.matmul_integer: expects {b} zero points, got {a}");
}

TEST_F(ShapeAnalysisTest, AttentionUnifiesItsTensorsAndChecksCaptures) {
  context.loadDialect<attn::AttnDialect, arith::ArithDialect>();
  module = parseSourceString<ModuleOp>(R"(
    func.func @main(%q: tensor<?x?x4x8xf32> {nn.name = "q", nn.dims = ["B", "S", 4, 8]},
                    %k: tensor<?x?x2x8xf32> {nn.name = "k", nn.dims = ["B", "T", 2, 8]},
                    %v: tensor<?x?x2x6xf32> {nn.name = "v", nn.dims = ["B", "U", 2, 6]},
                    %m: tensor<?x?xi1> {nn.name = "m", nn.dims = ["C", "T"]}) -> tensor<?x?x4x6xf32> {
      %o = attn.sdpa %q, %k, %v mask_captures(%m : tensor<?x?xi1>) mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i1):
        attn.yield %keep : i1
      } {q_num_heads = 4 : i64, kv_num_heads = 2 : i64, scale = 0.5 : f32,
         mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
         : tensor<?x?x4x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x6xf32> -> tensor<?x?x4x6xf32>
      return %o : tensor<?x?x4x6xf32>
    })",
                                       &context);
  ASSERT_TRUE(module);
  func = *module->getOps<func::FuncOp>().begin();
  analysis = ShapeAnalysis::create(func);
  EXPECT_EQ(dims(), "B, S, 4, 6");
  EXPECT_EQ(checks(), "T == U @ attn.sdpa: expects query, key and value of equal sizes, got {a} and {b}\n"
                      "C == B @ attn.sdpa: expects captures of the attention's sizes, got {a} instead of {b}");
}

} // namespace
