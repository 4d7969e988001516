// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what nn ops compute for one pair of query and key as arith and math ops of one of its regions. Tensors as
// large as the scores are never read: they are computed where the region is, from indices and captures.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_ELEMENTEMITTER_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_ELEMENTEMITTER_H

#include "compiler/transforms/fusion/LoopIndex.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace heddle::attn {

/// A value and where in it the element lies.
struct Element {
  mlir::Value tensor;
  TensorIndex index;
};

/// Builds one region. It isn't part of the function until the op that takes it is made; what isn't taken is dropped.
class ElementEmitter {
public:
  /// A region with arguments of |leading| types, then batch, query head, query and key.
  ElementEmitter(KnownDims &dims, const LoopSpace &space, mlir::MLIRContext *context, mlir::TypeRange leading);

  /// From here on, |element|, a score or a probability, is argument 0 of the region.
  void bindScore(Element element) { score = std::move(element); }

  /// The element of |tensor| at |index|; null where it can't be had, which is not final: a caller may capture a tensor
  /// nearer to the scores.
  mlir::Value emit(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);

  /// Logical operations that keep regions free of what is known.
  mlir::Value emitNot(mlir::Value a);
  mlir::Value emitAnd(mlir::Value a, mlir::Value b);
  mlir::Value emitOr(mlir::Value a, mlir::Value b);
  bool isTrue(mlir::Value value) const;
  bool isFalse(mlir::Value value) const;
  /// |comparison|, an arith comparison with a constant on its right, as a condition of what its left side selects.
  mlir::Value simplify(mlir::Value comparison);

  /// |lhs| kind |rhs| for indices, true or false where the loops' bounds decide it; null where they aren't plain.
  mlir::Value emitComparison(nn::CompareKind kind, const LinearIndex &lhs, const LinearIndex &rhs);

  /// Whether the element at |index| of |constant| lies inside of its |band|; null where positions can't tell.
  mlir::Value emitInside(nn::ConstantOp constant, const DiagonalBand &band, llvm::ArrayRef<LinearIndex> index);

  /// The element of |tensor| that |map| over (b, n, q, kv) reads, as it is.
  mlir::Value emitCapture(mlir::Value tensor, mlir::AffineMap map);

  /// Ends the region, which thereby has no more than it needs.
  void finish(mlir::Value yielded);

  /// From here on, |selection| gives its operand |kept|: the mask region sees to the rest.
  void assumeKept(mlir::Operation *selection, mlir::Value kept) { assumed[selection] = kept; }

  /// True where |tensor| is computed from the bound score.
  bool holdsScore(mlir::Value tensor);

  mlir::OpBuilder &getBuilder() { return builder; }
  const LoopSpace &getSpace() const { return space; }
  KnownDims &getDims() { return dims; }
  mlir::Region &getRegion() { return region; }
  llvm::ArrayRef<mlir::Value> getCaptures() const { return captures; }
  llvm::ArrayRef<mlir::AffineMap> getCaptureMaps() const { return maps; }

private:
  mlir::Value emitUncached(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitSource(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitComputed(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitElementwise(mlir::Operation *op, llvm::ArrayRef<LinearIndex> index);
  /// The comparison of two positions; null where a side is something else.
  mlir::Value emitPositions(nn::CompareOp op, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitCompareOp(nn::CompareOp op, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitQuantize(nn::QuantizeLinearOp op, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitDequantize(nn::DequantizeLinearOp op, llvm::ArrayRef<LinearIndex> index);
  /// The element of a scale or zero point that serves the element at |index|, as |type|.
  template <typename OpTy>
  mlir::Value emitParameter(OpTy op, mlir::Value parameter, llvm::ArrayRef<LinearIndex> index, mlir::Type type);
  mlir::Value emitTrilu(nn::TriluOp op, llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitSplat(mlir::Value tensor);
  mlir::Value emitBand(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  /// |condition| ? |a| : |b| for conditions.
  mlir::Value emitChoice(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value distribute(mlir::Value value, mlir::Operation *comparison, unsigned depth);
  mlir::Value emitIndex(const LinearIndex &index);
  mlir::Value emitPosition(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::Value capture(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::Value captureSource(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  mlir::AffineExpr getAffine(const LinearIndex &index) const;
  mlir::Value constant(mlir::TypedAttr value);

  KnownDims &dims;
  const LoopSpace &space;
  mlir::Region region;
  mlir::OpBuilder builder;
  mlir::Location loc;
  unsigned numLeading;
  unsigned depth = 0;
  bool trustsSizes = true; // sizes of a tensor that broadcasts onto the scores are theirs, or a run ends
  std::optional<Element> score;
  llvm::SmallVector<mlir::Value> captures;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<std::pair<Element, mlir::Value>> cache;
  llvm::DenseMap<mlir::Value, bool> scoreHolders;
  llvm::DenseMap<mlir::Operation *, mlir::Value> assumed;
};

/// The element of an integer tensor as a linear expression of the loops, where it is one: ranges, sizes, sums.
std::optional<LinearIndex> getLinearElement(const LoopSpace &space, KnownDims &dims, mlir::Value tensor,
                                            llvm::ArrayRef<LinearIndex> index);

/// Where |element| is read from: through views, and gathers at linear places. Nothing where it is computed or stored.
std::optional<Element> getElementSource(const LoopSpace &space, KnownDims &dims, const Element &element);

/// The one value that all elements of |tensor| have, as a float or integer attribute; null where they may differ.
mlir::TypedAttr getSplat(mlir::Value tensor);

/// True for ops on the way from a product to its softmax, or on to the next product: maps and views of floats, and
/// floats as integers and back.
bool isScoreStep(mlir::Operation *op);

/// The operands of |op|, a score step, that may be scores: floats, or the integers that stand for them.
llvm::SmallSetVector<mlir::Value, 4> getScoreOperands(mlir::Operation *op);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_ELEMENTEMITTER_H
