// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that the artifact writer can put together from the model's constants: moves of constants, which cost nothing
// when the model runs.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace heddle {

/// Source, its type and the steps of an rt.constant.
struct ConstantRecipe {
  mlir::Attribute source;
  mlir::RankedTensorType sourceType;
  llvm::SmallVector<mlir::Attribute> steps;
  /// Of what the steps give.
  mlir::RankedTensorType type;
  /// Where the steps put further sources behind the first; none without such a step.
  std::optional<int64_t> axis;

  void transpose(llvm::ArrayRef<int64_t> permutation);
  /// K x N to panels of |panel| columns; the last step.
  void pack(int64_t panel);
  /// The same in bf16, with the elements of two neighbouring k side by side.
  void packPairs(int64_t panel);
};

/// How |value| is made: a constant, or constants transposed, concatenated along one axis, and cut at fixed places.
/// Nothing where it is anything else.
std::optional<ConstantRecipe> findConstantRecipe(mlir::Value value);

/// Whether |op| concatenates constants: it's kept as one in the artifact.
bool isConstantConcat(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H
