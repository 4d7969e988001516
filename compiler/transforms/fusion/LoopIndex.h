// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an element of one attention lies in a tensor: for each of the tensor's dimensions a linear expression over
// attention's loops. Exporters' transposes, reshapes, repeats and slices only change these expressions, so all
// spellings of one layout end in the same index.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_LOOPINDEX_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_LOOPINDEX_H

#include <array>
#include <optional>

#include "compiler/transforms/fusion/ConstantForms.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle::attn {

/// The loops of one attention. A query head is `key head * group size + group`, and Size is the head size of queries
/// and keys, or that of values where these are meant.
enum Loop : unsigned { kLoopBatch, kLoopKeyHead, kLoopGroup, kLoopQuery, kLoopKey, kLoopSize, kNumLoops };

/// `sum of factors[loop] * loop, plus offset`.
struct LinearIndex {
  std::array<ShapeExpr, kNumLoops> factors;
  ShapeExpr offset;

  bool operator==(const LinearIndex &other) const { return factors == other.factors && offset == other.offset; }
};

/// One entry for each dimension of a tensor.
using TensorIndex = llvm::SmallVector<LinearIndex, 4>;

using LoopDims = llvm::SmallVector<ShapeExpr, 4>;

/// Dimensions of the values of a function. The analysis knows those that it saw; passes note those that they create.
class KnownDims {
public:
  explicit KnownDims(ShapeAnalysis &analysis) : analysis(analysis) {}

  /// Empty for a scalar, and for values that nobody has described: these have no rank of 0.
  LoopDims get(mlir::Value value) const;
  /// The elements of a small integer tensor, where known.
  std::optional<llvm::ArrayRef<ShapeExpr>> getElements(mlir::Value value) const { return analysis.getElements(value); }
  void note(mlir::Value value, LoopDims dims) { noted[value] = std::move(dims); }
  ShapeContext &getContext() { return analysis.getContext(); }
  /// What the elements of constants say of their places.
  ConstantForms &getConstantForms() { return forms; }

private:
  ShapeAnalysis &analysis;
  ConstantForms forms;
  llvm::DenseMap<mlir::Value, LoopDims> noted;
};

/// The loops' extents, and index arithmetic under them.
class LoopSpace {
public:
  LoopSpace(ShapeContext &context, std::array<ShapeExpr, kNumLoops> extents) : context(&context), extents(extents) {}

  ShapeContext &getContext() const { return *context; }
  ShapeExpr extent(Loop loop) const { return extents[loop]; }
  /// Values have a head size of their own.
  LoopSpace withSize(ShapeExpr size) const;

  LinearIndex constant(ShapeExpr value) const;
  LinearIndex zero() const { return constant(context->constant(0)); }
  LinearIndex loop(Loop loop) const;
  /// The query head.
  LinearIndex head() const { return add(scale(loop(kLoopKeyHead), extents[kLoopGroup]), loop(kLoopGroup)); }
  LinearIndex add(const LinearIndex &a, const LinearIndex &b) const;
  LinearIndex scale(const LinearIndex &a, ShapeExpr factor) const;

  /// |index| without the loops that have one iteration.
  LinearIndex dropUnitLoops(LinearIndex index) const;
  bool isZero(const LinearIndex &index) const { return index == zero(); }
  /// True only if 0 <= |index| < |bound| for all iterations.
  bool isWithin(const LinearIndex &index, ShapeExpr bound) const;
  /// |index| floordiv |divisor| and |index| mod |divisor|; nothing where these aren't linear.
  std::optional<std::pair<LinearIndex, LinearIndex>> split(const LinearIndex &index, ShapeExpr divisor) const;
  /// Where the element at |index| of a tensor of |from| lies once reshaped to |to|.
  std::optional<TensorIndex> reshape(llvm::ArrayRef<ShapeExpr> from, llvm::ArrayRef<LinearIndex> index,
                                     llvm::ArrayRef<ShapeExpr> to) const;

private:
  ShapeContext *context;
  std::array<ShapeExpr, kNumLoops> extents;
};

/// Where the element at |index| of |operandDims| broadcast onto |resultDims| comes from.
TensorIndex broadcastSource(const LoopSpace &space, llvm::ArrayRef<ShapeExpr> operandDims,
                            llvm::ArrayRef<ShapeExpr> resultDims, llvm::ArrayRef<LinearIndex> index);

/// Where the element at |index| of a view's result lies in its operand 0; nothing where |result| isn't a view.
std::optional<TensorIndex> viewSource(const LoopSpace &space, KnownDims &dims, mlir::OpResult result,
                                      llvm::ArrayRef<LinearIndex> index);

/// Where the element at |index| of operand 0 lies in the result of |view|, an op that keeps all elements.
std::optional<TensorIndex> viewTarget(const LoopSpace &space, KnownDims &dims, mlir::Operation *view,
                                      llvm::ArrayRef<LinearIndex> index);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_LOOPINDEX_H
