// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a constant's elements say of their own place: positions that a file stores as numbers, and triangles, bands and
// windows that it stores element by element. Every element is looked at, and one that differs spoils the form.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_CONSTANTFORMS_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_CONSTANTFORMS_H

#include "dialects/nn/NnOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace heddle::attn {

/// Element (i0, i1, ...) is `offset + sum of factors[d] * id`.
struct AffineSequence {
  int64_t offset;
  llvm::SmallVector<int64_t, 4> factors;
};

/// Element (..., i, j) is |inside| where first <= j - i <= last, else |outside|. A bound that is absent holds always;
/// one is there.
struct DiagonalBand {
  std::optional<int64_t> first, last;
  double inside, outside;
};

/// Forms of constants, each found in time linear in what is stored and remembered. Files that can't be read are
/// diagnosed and have no form. Keeps values by address: not for longer than the function stays as it is. What is
/// returned is valid until the next call.
class ConstantForms {
public:
  /// Of i32 and i64 constants whose numbers are so small that sums of some can't wrap; others have none.
  const std::optional<AffineSequence> &getSequence(nn::ConstantOp op);
  /// Of bools, integers of at least a byte and floats. A constant of equal elements has none.
  const std::optional<DiagonalBand> &getBand(nn::ConstantOp op);

private:
  llvm::DenseMap<mlir::Operation *, std::optional<AffineSequence>> sequences;
  llvm::DenseMap<mlir::Operation *, std::optional<DiagonalBand>> bands;
};

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_CONSTANTFORMS_H
