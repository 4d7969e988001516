// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated definitions of nn's ops, and checked creation.

#include "dialects/nn/NnOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::nn;

bool heddle::nn::areCompatible(TypeRange inferred, TypeRange declared) {
  return inferred.size() == declared.size() && llvm::all_of(llvm::zip(inferred, declared), [](auto pair) {
           auto [a, b] = pair;
           return getElementTypeOrSelf(a) == getElementTypeOrSelf(b) && succeeded(verifyCompatibleShape(a, b));
         });
}

LogicalResult heddle::nn::verifyResultTypes(Operation *op) {
  SmallVector<Type> inferred;
  if (failed(cast<InferTypeOpInterface>(op).inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                                             op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
                                                             op->getRegions(), inferred)))
    return failure();
  if (areCompatible(inferred, op->getResultTypes()))
    return success();
  return op->emitError("expects results of type ") << inferred << ", got " << op->getResultTypes();
}

Operation *heddle::nn::detail::createChecked(OpBuilder &builder, OperationState &state) {
  MLIRContext *context = builder.getContext();
  for (Value operand : state.operands) {
    // Inference relies on it, and runs before the verifier does.
    if (!isa<RankedTensorType>(operand.getType())) {
      emitError(state.location) << "expects ranked tensors, got " << operand.getType();
      return nullptr;
    }
  }
  std::optional<RegisteredOperationName> name = state.name.getRegisteredInfo();
  auto *inference = name ? name->getInterface<InferTypeOpInterface>() : nullptr;
  SmallVector<Type> types;
  if (!inference || failed(inference->inferReturnTypes(context, state.location, state.operands,
                                                       state.attributes.getDictionary(context),
                                                       state.getRawProperties(), state.regions, types)))
    return nullptr;
  state.types.assign(types.begin(), types.end());
  Operation *op = builder.create(state);
  // Inference has judged shapes; the op's own verifier judges element types and attributes.
  if (succeeded(name->verifyInvariants(op)))
    return op;
  op->erase();
  return nullptr;
}

#define GET_OP_CLASSES
#include "dialects/nn/NnOps.cpp.inc"
