// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn's ops, and how to create one from unchecked input. See NnOps.td for what each computes.

#ifndef HEDDLE_DIALECTS_NN_NNOPS_H
#define HEDDLE_DIALECTS_NN_NNOPS_H

#include "dialects/nn/NnDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle::nn {

/// True where each declared type could be the inferred one at run time: equal rank and element type, and extents that
/// are equal unless one is `?`.
bool areCompatible(mlir::TypeRange inferred, mlir::TypeRange declared);

/// Infers |op|'s result types and compares them with those it has: an error at |op| where that fails.
mlir::LogicalResult verifyResultTypes(mlir::Operation *op);

/// Marks ops whose result is a map over the broadcast of all operands: element i of the result depends only on the
/// elements that broadcasting puts there.
template <typename ConcreteOp> class Broadcasting : public mlir::OpTrait::TraitBase<ConcreteOp, Broadcasting> {};

} // namespace heddle::nn

#define GET_OP_CLASSES
#include "dialects/nn/NnOps.h.inc"

namespace heddle::nn {

namespace detail {

/// Infers |state|'s result types, creates and inserts the op, and verifies it; null after a diagnostic.
mlir::Operation *createChecked(mlir::OpBuilder &builder, mlir::OperationState &state);

/// How many result types OpTy's builders want.
template <typename OpTy> constexpr unsigned countResults() {
  if constexpr (OpTy::template hasTrait<mlir::OpTrait::NResults<2>::template Impl>())
    return 2;
  if constexpr (OpTy::template hasTrait<mlir::OpTrait::NResults<3>::template Impl>())
    return 3;
  return 1;
}

} // namespace detail

/// Creates an op with inferred result types from operands and attributes that nobody has checked yet; |args| are those
/// of OpTy's builders after the result types. On a fault a diagnostic is emitted at |loc|, nothing is inserted, and
/// failure returned, where builder.create would end the process.
template <typename OpTy, typename... Args>
mlir::FailureOr<OpTy> createChecked(mlir::OpBuilder &builder, mlir::Location loc, Args &&...args) {
  mlir::OperationState state(loc, OpTy::getOperationName());
  // The builders want types. Any will do: what is inferred takes their place.
  mlir::SmallVector<mlir::Type, 3> placeholders(detail::countResults<OpTy>(), builder.getNoneType());
  OpTy::build(builder, state, mlir::TypeRange(placeholders), std::forward<Args>(args)...);
  mlir::Operation *op = detail::createChecked(builder, state);
  if (!op)
    return mlir::failure();
  return llvm::cast<OpTy>(op);
}

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_NNOPS_H
