// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and base classes of nn's ops.

#ifndef HEDDLE_DIALECTS_NN_NNOPBASE_TD
#define HEDDLE_DIALECTS_NN_NNOPBASE_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/NnAttributes.td"
include "dialects/nn/NnInterfaces.td"

//===------------------------------------------------------------------------------------------------------------===//
// Types. Signless integers are ONNX's signed ones; i1 is bool. 4-bit ones occur as quantised storage only.
//===------------------------------------------------------------------------------------------------------------===//

defvar Nn_Floats = [F64, F32, F16, BF16];
defvar Nn_SignedInts = [I8, I16, I32, I64];
defvar Nn_UnsignedInts = [UI8, UI16, UI32, UI64];
defvar Nn_Ints = !listconcat(Nn_SignedInts, Nn_UnsignedInts);
defvar Nn_QuantizedInts = [I8, UI8, I16, UI16, I<4>, UI<4>];
defvar Nn_Numbers = !listconcat(Nn_Floats, Nn_Ints);
defvar Nn_Elements = !listconcat(Nn_Numbers, [I1, I<4>, UI<4>]);

def Nn_Tensor : RankedTensorOf<Nn_Elements>;
def Nn_NumberTensor : RankedTensorOf<Nn_Numbers>;
def Nn_FloatTensor : RankedTensorOf<Nn_Floats>;
def Nn_IntTensor : RankedTensorOf<Nn_Ints>;
def Nn_BoolTensor : RankedTensorOf<[I1]>;
def Nn_QuantizedTensor : RankedTensorOf<Nn_QuantizedInts>;
def Nn_I64Tensor : RankedTensorOf<[I64]>;
def Nn_IndexTensor : RankedTensorOf<[I32, I64]>;   // ONNX's Tind
def Nn_ScalarNumber : 0DTensorOf<Nn_Numbers>;
def Nn_IndexScalar : 0DTensorOf<[I32, I64]>;
def Nn_ShapeVector : 1DTensorOf<[I64]>;            // one extent a dimension
def Nn_IndexVector : 1DTensorOf<[I32, I64]>;

//===------------------------------------------------------------------------------------------------------------===//
// Bases.
//===------------------------------------------------------------------------------------------------------------===//

// Result types follow from operands and attributes. inferReturnTypes also is the verifier: it reports whatever makes
// operands and attributes unfit. A declared type may be less or more exact than the inferred one (`?` fits every
// extent), so that a pass can refine types one op at a time.
defvar Nn_InferTypesDefinition = [{
  bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared) {
    return ::heddle::nn::areCompatible(inferred, declared);
  }

  // The interface verifies as well, but adds an error of its own to that of inferReturnTypes; this one comes first.
  ::llvm::LogicalResult $cppClass::verify() {
    return ::heddle::nn::verifyResultTypes(getOperation());
  }
}];

// An op without side effects whose result types are inferred.
class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic,
    !listconcat([Pure, InferTypeOpAdaptorWithIsCompatible], traits)> {
  let hasVerifier = 1;
  let extraClassDefinition = Nn_InferTypesDefinition;
}

// The same with operands whose values decide the result's shape.
class Nn_ShapedOp<string mnemonic, list<Trait> traits = []> : Nn_Op<mnemonic,
    !listconcat([DeclareOpInterfaceMethods<Nn_ShapeOperandsInterface>], traits)>;

// What most ops print: `nn.transpose %x {perm = ...} : (tensor<2x3xf32>) -> tensor<3x2xf32>`. Result types are always
// written, since they may be more exact than what operands tell.

#endif // HEDDLE_DIALECTS_NN_NNOPBASE_TD
