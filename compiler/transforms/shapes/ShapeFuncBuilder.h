// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes shape expressions into an rt.shape_func: each expression once, each slot once.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEFUNCBUILDER_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEFUNCBUILDER_H

#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "compiler/transforms/shapes/ShapeExpr.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace heddle {

/// Builds the shape function of one rt.func while its steps are being built.
///
/// The number of an op's results is fixed at creation and the slots aren't known by then: slot() hands out place
/// holders, and finish() creates the rt.shape_func in their stead. finish() must be called exactly once; slots may be
/// used by any op after the shape function's place.
class ShapeFuncBuilder {
public:
  /// The shape function goes to the start of |body|, the body of an rt.func.
  ShapeFuncBuilder(mlir::Block *body, mlir::Location loc);
  ~ShapeFuncBuilder();

  /// The size |expr| for use by steps and memory ops; one value per expression. A null |expr| is a size that overflows:
  /// a run that needs it ends with an error.
  mlir::Value slot(ShapeExpr expr);
  llvm::SmallVector<mlir::Value> slots(llvm::ArrayRef<ShapeExpr> exprs);

  /// Adds a run-time check; a check comes before the arithmetic that follows it.
  void check(const ShapeCheck &check);

  rt::ShapeFuncOp finish();

private:
  /// The value of |expr| inside the shape function.
  mlir::Value emit(ShapeExpr expr);
  mlir::Value emitNew(ShapeExpr expr);
  mlir::Value emitSum(ShapeExpr expr);
  mlir::Value emitMonomial(llvm::ArrayRef<ShapeExpr> atoms);
  mlir::Value emitInteger(int64_t value);
  mlir::Value emitArith(rt::ShapeKind kind, mlir::Value lhs, mlir::Value rhs);

  mlir::Location loc;
  mlir::Block *body;
  /// Holds the ops of the shape function until finish().
  mlir::Region region;
  mlir::OpBuilder builder;
  llvm::DenseMap<ShapeExpr, mlir::Value> emitted;
  /// Products that sums share, by their atoms' ids.
  std::map<std::vector<unsigned>, mlir::Value> monomials;
  /// Not a DenseMap: any i64 is a key here.
  std::map<int64_t, mlir::Value> constants;
  /// In order of slots: the inner value and its place holder.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Operation *>> yielded;
  llvm::DenseMap<ShapeExpr, mlir::Value> placeholders;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEFUNCBUILDER_H
