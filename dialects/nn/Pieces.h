// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of tensors, however a model writes them.

#ifndef HEDDLE_DIALECTS_NN_PIECES_H
#define HEDDLE_DIALECTS_NN_PIECES_H

#include "mlir/IR/Value.h"

#include <optional>

namespace heddle::nn {

/// A range along one axis of a tensor.
struct Piece {
  mlir::Value source;
  int64_t axis, begin, size;
};

/// |value| as a piece: a result of a split, or a slice along one axis, with bounds that are known. Nothing where it is
/// neither.
std::optional<Piece> getPiece(mlir::Value value);

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_PIECES_H
