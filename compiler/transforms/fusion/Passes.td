// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the fusion phase.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstantsPass : Pass<"nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Replace ops of small constants by the constants that they give";
  let description = [{
    Evaluates nn ops whose operands are all constants with the reference evaluator. Exporters leave such chains: scales
    as a quotient of square roots, masks of a fixed length, shapes as concatenations.

        %size = nn.constant dense<64.0> : tensor<f32>
        %one = nn.constant dense<1.0> : tensor<f32>
        %root = nn.unary sqrt %size : (tensor<f32>) -> tensor<f32>
        %scale = nn.binary div %one, %root : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %y = nn.binary mul %x, %scale : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
      ==>
        %scale = nn.constant dense<1.250000e-01> : tensor<f32>
        %y = nn.binary mul %x, %scale : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>

    Integers are exact. A float result is the double-precision value rounded into its type, op by op, so the model's own
    rounding is kept to half a unit in the last place. Only results of at most 4 KiB are folded: what is larger stays an
    op, since copying weights into the IR is never worth it. A result may get a more exact shape than it had.

    Input invariant: one block of ops; locations name the model's nodes.
    Output IR: no nn op is left that gives at most 4 KiB from constants of at most max-operand-bytes alone.
    Fails where an op can't be evaluated, such as an index out of range: the model could never run.
  }];
  let options = [
    Option<"maxOperandBytes", "max-operand-bytes", "int64_t", /*default=*/"1048576",
           "Bytes of all constants that one folded op reads at most; evaluation holds up to eight times as much">];
  let statistics = [Statistic<"numFoldedOps", "num-folded-ops", "Ops replaced by constants">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD
