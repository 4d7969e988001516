// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row-major positions in small tensors of static shape. Private to this room.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_TENSORINDEX_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_TENSORINDEX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

using Coordinates = llvm::SmallVector<int64_t, 4>;

/// Number of elements of a tensor of |dims|, whose sizes are small.
inline int64_t getNumElements(llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

/// The coordinates of element |position|.
inline Coordinates getCoordinates(int64_t position, llvm::ArrayRef<int64_t> dims) {
  Coordinates coordinates(dims.size());
  for (size_t i = dims.size(); i-- > 0; position /= dims[i])
    coordinates[i] = position % dims[i];
  return coordinates;
}

/// The position of the element at |coordinates|, aligned at the right: leading ones that |dims| lacks are dropped, and
/// of a dimension of 1 there is only element 0, as broadcasting has it.
inline int64_t getPosition(llvm::ArrayRef<int64_t> coordinates, llvm::ArrayRef<int64_t> dims) {
  coordinates = coordinates.take_back(dims.size());
  int64_t position = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    position = position * dims[i] + (dims[i] == 1 ? 0 : coordinates[i]);
  return position;
}

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_TENSORINDEX_H
