// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes about shapes.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_TD
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapesPass : Pass<"nn-infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "Replace what the sizes of the inputs decide: dimensions by static ones, shape arithmetic by constants";
  let description = [{
    Analyses all shapes as expressions over the entry's dimensions and writes down what is proved for all of them:

    - a result's dimension that is a constant becomes static;
    - an integer tensor whose elements are all constants becomes an nn.constant;
    - the shape operand of a reshape or expand becomes a constant where extents copied from the input (0, or 1 in an
      expand) and one left over (-1) say the same;
    - a reshape, expand or slice that gives back its input is removed, and shape arithmetic that nobody reads any more.

        func.func @main(%x: tensor<?x?x384xf32> {nn.name = "x", nn.dims = ["B", "S", 384]}) -> tensor<?x?x12x32xf32> {
          %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
          %heads = nn.constant dense<[12, -1]> : tensor<2xi64>
          %t = nn.concat %s, %heads {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
          %y = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x?xf32>
          %z = nn.unary tanh %y : (tensor<?x?x12x?xf32>) -> tensor<?x?x12x?xf32>
          ...
      ==>
          %t = nn.constant dense<[0, 0, 12, 32]> : tensor<4xi64>
          %y = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x32xf32>
          %z = nn.unary tanh %y : (tensor<?x?x12x32xf32>) -> tensor<?x?x12x32xf32>

    The function's signature stays, and so does the type of what it returns.

    Input invariant: one function of nn ops, constants folded: a shape that depends on a kernel's result is an error.
    Output IR: the same ops and values, with the most static types that the analysis proves.
  }];
  let statistics = [
    Statistic<"numRefinedResults", "num-refined-results", "Results that got a more static type">,
    Statistic<"numFoldedValues", "num-folded-values", "Values of the shape program that became constants">,
    Statistic<"numRemovedOps", "num-removed-ops", "Reshapes, expands and slices that gave back their input">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_PASSES_TD
