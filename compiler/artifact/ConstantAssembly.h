// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an rt.constant's recipe makes of its sources: where each element is read, what is computed of it, and the order
// that the elements are stored in. Nothing is copied before it is streamed.

#ifndef HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H
#define HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H

#include "dialects/rt/ConstantSource.h"

#include <memory>
#include <optional>
#include <vector>

namespace heddle {

/// One source as a strided tensor of elements.
struct ConstantPart {
  /// Holds the bytes alive.
  std::shared_ptr<const void> owner;
  /// The whole source.
  llvm::ArrayRef<uint8_t> bytes;
  /// Number of the first element.
  int64_t first;
  llvm::SmallVector<int64_t> dims;
  /// In elements.
  llvm::SmallVector<int64_t> strides;
};

/// One factor for each index of a matrix along |axis|, or for each block of neighbours along the other axis.
struct ChannelFactors {
  int64_t axis;
  int64_t channels;
  /// How many neighbours along the other axis share a factor; all: the greatest number.
  int64_t block;
  /// Of channel c in block b at b * |channels| + c.
  std::vector<float> values;
};

/// What becomes of each element of a matrix when it is read.
struct ElementStage {
  enum class Kind { Multiply, Quantize, Flip, Mask, RoundToBf16 };
  Kind kind;
  /// Multiply and Quantize: what it is multiplied with, or the scale of its code.
  ChannelFactors factors = {};
  /// Quantize: codes from -limit to limit, ...
  int limit = 0;
  /// ... those of neighbours 2j and 2j + 1 along the other axis tuned to each other.
  bool pairSafe = false;
  /// Flip and Mask: the bits of a byte that change, or that stay. Codes of 4 bits are read as signed bytes.
  uint8_t bits = 0;
};

/// Panels of so many columns, one after the other. In a panel the elements of |group| neighbouring rows lie side by
/// side; those of 4 bits share bytes.
struct PanelLayout {
  int64_t columns;
  int64_t group;
};

/// Parts that follow each other along |axis|; their other extents are equal.
struct ConstantAssembly {
  llvm::SmallVector<ConstantPart, 1> parts;
  int64_t axis = 0;
  /// Of an element of the parts: 4, of which two lie in a byte, or a multiple of 8.
  unsigned partBits = 8;
  /// In order. Only matrices have any.
  llvm::SmallVector<ElementStage, 1> stages;
  /// Of an element behind the stages.
  mlir::Type elementType;
  /// Row by row where there is none. Only matrices have any.
  std::optional<PanelLayout> panels;

  /// The shape of all parts together, before packing.
  llvm::SmallVector<int64_t> getDims() const;
  /// The type that the recipe gives.
  mlir::RankedTensorType getType() const;
  /// Dimension i becomes what dimension |permutation|[i] was, which must be one.
  void transpose(llvm::ArrayRef<int64_t> permutation);
};

/// Opens |constant|'s sources and runs its recipe; scales and sums are computed then, by a pass over the source each.
/// On a fault (a source that can't be read, a step that doesn't fit) a diagnostic at |constant|.
mlir::FailureOr<ConstantAssembly> assembleConstant(rt::ConstantOp constant);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H
