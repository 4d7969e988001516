// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where elements lie, and the two ways to move them: any element of a tensor to any place of another (pick), and each
// axis by a list of its own (pickAxes). All ops that only move elements are written with these.

#ifndef HEDDLE_COMPILER_REFERENCE_INDEXING_H
#define HEDDLE_COMPILER_REFERENCE_INDEXING_H

#include "compiler/reference/HostTensor.h"

namespace heddle::reference {

/// The distance between neighbours along each axis of a row-major tensor.
Dims getStrides(llvm::ArrayRef<int64_t> dims);

/// The strides with which a tensor of |from| is read as one of |to|, aligned at the right: 0 where it is stretched.
/// |from| must broadcast to |to|.
Dims getBroadcastStrides(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// The offset sum_axis index[axis] * strides[axis] of each index within |dims|, in row-major order.
std::vector<int64_t> getOffsets(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> strides);

/// The shape that |lhs| and |rhs| broadcast to, or an error that prints both.
llvm::Expected<Dims> broadcastDims(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);

/// A tensor of |dims| whose element i is data[sources[i]], or |fill|'s only element (0 without |fill|) where sources[i]
/// is negative.
HostTensor pick(const HostTensor &data, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> sources,
                const HostTensor *fill = nullptr);

/// y[i, j, ...] = data[maps[0][i], maps[1][j], ...], or |fill| as in pick() where any of these is negative.
llvm::Expected<HostTensor> pickAxes(const HostTensor &data, llvm::ArrayRef<std::vector<int64_t>> maps,
                                    const HostTensor *fill = nullptr);

/// The map of an axis that pickAxes() leaves as it is.
std::vector<int64_t> getIdentityMap(int64_t extent);

/// Dimension i of the result is dimension perm[i] of |data|.
HostTensor transpose(const HostTensor &data, llvm::ArrayRef<int64_t> perm);

/// |data| repeated along stretched axes; its shape must broadcast to |dims|.
HostTensor broadcastTo(const HostTensor &data, llvm::ArrayRef<int64_t> dims);

/// A shape seen from one axis: (outer, extent, inner).
struct AxisSplit {
  int64_t outer = 1, extent = 1, inner = 1;

  AxisSplit(llvm::ArrayRef<int64_t> dims, int64_t axis);
};

/// |index| within [0, extent), a negative one counting from the back, or an error.
llvm::Expected<int64_t> resolveIndex(int64_t index, int64_t extent);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_INDEXING_H
