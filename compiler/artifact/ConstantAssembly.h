// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an rt.constant's recipe makes of its sources, as strides only: nothing is copied before it is streamed.

#ifndef HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H
#define HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H

#include "dialects/rt/ConstantSource.h"

namespace heddle {

/// One source as a strided tensor of bytes.
struct ConstantPart {
  /// Holds the bytes alive.
  nn::ConstantData data;
  /// The first element.
  const uint8_t *first;
  llvm::SmallVector<int64_t> dims;
  /// In bytes.
  llvm::SmallVector<int64_t> strides;
};

/// Parts that follow each other along |axis|; their other extents are equal.
struct ConstantAssembly {
  llvm::SmallVector<ConstantPart, 1> parts;
  int64_t axis = 0;
  int64_t elementBytes = 1;
  mlir::Type elementType;
  /// Columns of a panel if packed, else 0.
  int64_t panel = 0;
  /// Packed as bf16, two rows of a matrix of f32 side by side.
  bool pairs = false;

  /// The shape of all parts together, before packing.
  llvm::SmallVector<int64_t> getDims() const;
  /// The type that the recipe gives.
  mlir::RankedTensorType getType() const;
};

/// Opens |constant|'s sources and runs its recipe. On a fault (a source that can't be read, a step that doesn't fit) a
/// diagnostic at |constant|.
mlir::FailureOr<ConstantAssembly> assembleConstant(rt::ConstantOp constant);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_CONSTANTASSEMBLY_H
