// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated definitions of nn's ops, and checked creation.

#include "dialects/nn/NnOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"

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

/// Whether operands and attributes satisfy what ODS says of them; a diagnostic otherwise. Inference relies on it, and
/// runs before the verifier can: that one wants results. So it is asked about an op whose results have no type yet; it
/// looks at them last, and if they are all it complains of, the rest is fine.
static LogicalResult verifyOperands(RegisteredOperationName name, const OperationState &state) {
  std::string fault;
  {
    ScopedDiagnosticHandler handler(state.getContext(), [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
      // Other threads may be at work in this context.
      if (llvm::get_threadid() != thread)
        return failure();
      fault = diagnostic.str();
      return success();
    });
    Operation *probe = Operation::create(state);
    (void)name.verifyInvariants(probe);
    probe->destroy();
  }
  if (fault.empty() || llvm::StringRef(fault).contains("' op result #"))
    return success();
  return emitError(state.location) << fault;
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
  if (name && failed(verifyOperands(*name, state)))
    return nullptr;
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
