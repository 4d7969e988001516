// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that the artifact writer can put together from the model's constants, which cost nothing when the model runs:
// moves of constants, and matrices quantised.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace heddle {

/// The attributes of nn.quantize_weight.
struct WeightScales {
  /// A scale for each index along it.
  int64_t axis;
  bool pairSafe = false;
  /// So many neighbours along the other axis share one; 0: all do.
  int64_t block = 0;
  /// Of a code: 4 or 8.
  unsigned bits = 8;
};

/// Source, its type and the steps of an rt.constant.
struct ConstantRecipe {
  mlir::Attribute source;
  mlir::RankedTensorType sourceType;
  llvm::SmallVector<mlir::Attribute> steps;
  /// Of what the steps give.
  mlir::RankedTensorType type;
  /// Where the steps put further sources behind the first; none without such a step.
  std::optional<int64_t> axis;
  /// Whether a step computes elements, so that neither slices nor further sources can follow.
  bool isComputed = false;

  void transpose(llvm::ArrayRef<int64_t> permutation);
  /// The dimensions behind the first become one: a convolution's weight as a matrix. False, and nothing done, behind
  /// steps.
  bool flatten();
  /// The columns of a matrix without steps, of which those at c |count| + i become those at i (columns / |count|) + c.
  void deinterleave(int64_t count);

  /// A matrix of f32 times the elements of |vector|, a vector of f32 without steps, one for each index along |axis|.
  void multiply(int64_t axis, const ConstantRecipe &vector);
  /// The codes of nn.quantize_weight of a matrix of f32. What follows may only be transposed, summed up and packed.
  void quantize(WeightScales form);
  /// The scales of the same codes.
  void scales(WeightScales form);
  /// A matrix of signed i8 summed up along |axis|: a vector of i32.
  void sums(int64_t axis);
  /// The bytes of u8 to those of i8 that are 128 less, or codes of u4 to those of i4 that are 8 less. What follows is
  /// as after quantize.
  void flip();
  /// A matrix of i4, or of u4 if |isUnsigned|, to bytes. What follows is as after quantize.
  void widen(bool isUnsigned);

  /// K x N to panels of |panel| columns; the last step, as is each below.
  void pack(int64_t panel);
  /// The same in bf16, with the elements of two neighbouring k side by side.
  void packPairs(int64_t panel);
  /// The same of i8, with the elements of four neighbouring k side by side.
  void packGroups(int64_t panel);
  /// The same of i4, two neighbouring k to a byte, the first in its low half, 8 more than they are.
  void packNibbles(int64_t panel);

private:
  /// What the steps gave is a tensor of its own now.
  void becomeStored(mlir::RankedTensorType stored);
};

/// How |value| is made: a constant; constants transposed, concatenated along one axis, and cut at fixed places; a
/// matrix of these cast from 4 bits to 8; codes or scales of such a matrix quantised, or of one multiplied by a
/// constant for each row or column. Nothing where it is anything else.
std::optional<ConstantRecipe> findConstantRecipe(mlir::Value value);

/// Whether |op| concatenates constants or widens one of 4 bits: its result is a constant in the artifact.
bool makesConstant(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONSTANTRECIPE_H
