// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of a constant, wherever they lie: in a literal, a file, or a resource.

#ifndef HEDDLE_DIALECTS_NN_CONSTANTDATA_H
#define HEDDLE_DIALECTS_NN_CONSTANTDATA_H

#include "dialects/nn/NnOps.h"

#include <memory>
#include <optional>

namespace heddle::nn {

/// How many bytes a tensor takes as ONNX's raw data: a bool one, two 4-bit integers one. Nothing for a dynamic shape or
/// a size beyond int64_t.
std::optional<int64_t> getRawSize(mlir::RankedTensorType type);

/// A view of a constant's elements in row-major order. Cheap to copy; holds alive what it views, but for resources,
/// which the context owns. Safe to read from several threads.
class ConstantData {
public:
  /// Reads |op|'s value; on a fault (no such file, range outside it, missing resource) a diagnostic at |op|.
  static mlir::FailureOr<ConstantData> get(ConstantOp op);

  /// Reads |value| as a tensor of |type|; on a fault a diagnostic through |emitError|.
  static mlir::FailureOr<ConstantData> get(mlir::Attribute value, mlir::RankedTensorType type,
                                           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  mlir::RankedTensorType getType() const { return type; }
  int64_t getNumElements() const { return type.getNumElements(); }

  /// All elements as ONNX's raw data: little-endian, a bool in one byte, two 4-bit integers in one (the first in the
  /// low bits). Not aligned.
  llvm::ArrayRef<uint8_t> getBytes() const { return bytes; }

  /// Element |index|, which must be in range, of an integer or bool tensor, extended to 64 bits. Elements of ui64 above
  /// the greatest int64_t come out as their bit pattern.
  int64_t getInt(int64_t index) const;

  /// Element |index|, which must be in range, of a tensor of any type.
  double getDouble(int64_t index) const;

private:
  mlir::RankedTensorType type;
  llvm::ArrayRef<uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

/// The elements of |value| where it is a constant of integers, at most 64 of them, that can be read.
std::optional<llvm::SmallVector<int64_t>> getConstantInts(mlir::Value value);

/// What is known of the elements of a small integer tensor, `ShapedType::kDynamic` standing for an unknown one: looks
/// through shapes, concatenations, casts and constant selections. Nothing where not even their number is known.
std::optional<llvm::SmallVector<int64_t>> getKnownInts(mlir::Value value);

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_CONSTANTDATA_H
