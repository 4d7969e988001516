// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What groups of nn's ops have in common, for passes that need no more than that.

#ifndef HEDDLE_DIALECTS_NN_NNINTERFACES_TD
#define HEDDLE_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

// Ops whose result is a map over the broadcast of all operands: element i of the result depends only on the elements of
// the operands that broadcasting puts there.
def Nn_Broadcasting : NativeOpTrait<"Broadcasting"> {
  let cppNamespace = "::heddle::nn";
}

def Nn_ShapeOperandsInterface : OpInterface<"ShapeOperandsInterface"> {
  let cppNamespace = "::heddle::nn";
  let description = [{
    Implemented by ops whose result shape depends on the values of some operands, not only on types: the shape
    analysis evaluates these, and the outliner keeps them in the shape program.
  }];
  let methods = [
    InterfaceMethod<
      [{The operands whose values decide the result's shape, absent optional ones left out.}],
      "::llvm::SmallVector<::mlir::Value>", "getShapeOperands">,
  ];
}

#endif // HEDDLE_DIALECTS_NN_NNINTERFACES_TD
