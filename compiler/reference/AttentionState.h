// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of attention in running form: accumulator, maximum and sum of each query row, and how two states join.

#ifndef HEDDLE_COMPILER_REFERENCE_ATTENTIONSTATE_H
#define HEDDLE_COMPILER_REFERENCE_ATTENTIONSTATE_H

#include <tuple>

#include "compiler/reference/AttentionRows.h"

namespace heddle::reference {

/// One row: sum of exp(score - maximum) * value, the maximum, and the sum of exp(score - maximum). A sum of 0 is the
/// empty row, a negative one that of masked keys alone (attn.online_sdpa, the literal rule).
struct StateRow {
  std::vector<double> accumulator;
  double maximum, sum;
};

/// The row of two disjoint sets of keys.
StateRow merge(const StateRow &lhs, const StateRow &rhs);

/// The three tensors of a state, row by row.
class AttentionState {
public:
  /// An error where the shapes of maximum and sum, (b, n, q), don't fit the accumulator through |map|.
  static llvm::Expected<AttentionState> create(const HostTensor &accumulator, const HostTensor &maximum,
                                               const HostTensor &sum, mlir::AffineMap map);
  /// An error where the state isn't one of an attention with |extents|.
  llvm::Error checkExtents(const Place &extents) const;

  int64_t getNumRows() const { return maximum.size(); }
  /// (b, n, q) of row |index|.
  std::tuple<int64_t, int64_t, int64_t> getPlace(int64_t index) const;
  StateRow getRow(int64_t index) const;
  void setRow(int64_t index, const StateRow &row);

  /// Accumulator, maximum and sum; the state is used up.
  llvm::SmallVector<HostTensor, 2> takeResults();

private:
  /// Where element 0 of row |index| lies in the accumulator.
  int64_t getStart(int64_t index) const;

  mlir::Type elementType;
  Dims accumulatorDims, rowDims;
  MappedLayout layout;
  std::vector<double> accumulator, maximum, sum;
};

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_ATTENTIONSTATE_H
