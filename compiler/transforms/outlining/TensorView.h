// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a tensor of the model lies in memory: a contiguous row-major buffer and, for each of the buffer's dimensions, the
// index expression over the tensor's own dimensions. Transposes, slices, broadcasts and most reshapes only change these
// expressions, so none of them moves data.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_TENSORVIEW_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_TENSORVIEW_H

#include "compiler/transforms/shapes/ShapeExpr.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

using ShapeDims = llvm::SmallVector<ShapeExpr, 4>;
using AffineIndex = llvm::SmallVector<mlir::AffineExpr, 4>;

/// Numbers the shape expressions that index expressions of one function speak of: symbol i is expression i. Constants
/// are affine constants and have no number.
class ShapeSymbols {
public:
  explicit ShapeSymbols(mlir::MLIRContext *context) : context(context) {}

  mlir::AffineExpr get(ShapeExpr expr);
  ShapeExpr of(unsigned symbol) const { return exprs[symbol]; }
  unsigned size() const { return exprs.size(); }
  mlir::MLIRContext *getContext() const { return context; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<ShapeExpr> exprs;
  llvm::DenseMap<ShapeExpr, unsigned> numbers;
};

/// A tensor in memory. |indices| has one expression per entry of |baseDims|, over the tensor's dimensions d0, d1, ...
/// and the function's ShapeSymbols.
struct TensorView {
  mlir::Value buffer;
  mlir::Type elementType;
  ShapeDims baseDims;
  AffineIndex indices;

  /// A whole contiguous buffer of these dimensions.
  static TensorView contiguous(mlir::Value buffer, mlir::Type elementType, llvm::ArrayRef<ShapeExpr> dims);
};

/// d0 ... d(rank-1).
AffineIndex identityIndex(unsigned rank, mlir::MLIRContext *context);

/// Each of |indices| with |dims| put in place of its dimensions.
AffineIndex compose(llvm::ArrayRef<mlir::AffineExpr> indices, llvm::ArrayRef<mlir::AffineExpr> dims);

/// Joins neighbouring base dimensions A, B indexed by (e floordiv B, e mod B) into one of extent A*B indexed by e, and
/// drops base dimensions of extent 1, changing neither the addresses nor their order. What a reshape or a collapsed
/// loop split, this often puts together again.
void simplifyBase(ShapeDims &baseDims, AffineIndex &indices, ShapeSymbols &symbols, ShapeContext &context);

/// True if |expr| is a sum of products of dimensions with constants or symbols, so that code can walk it by strides.
bool isStrided(mlir::AffineExpr expr);

/// True if |view| read at |index| can be walked by strides.
bool isWalkable(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> index, ShapeSymbols &symbols,
                ShapeContext &context);

/// Index of an element of the tensor of |oldDims| that lies at |newIndex| once reshaped to |newDims| (row-major order
/// kept). |newIndex| entries are below |newDims|.
AffineIndex reshapeIndex(llvm::ArrayRef<ShapeExpr> oldDims, llvm::ArrayRef<ShapeExpr> newDims,
                         llvm::ArrayRef<mlir::AffineExpr> newIndex, ShapeSymbols &symbols, ShapeContext &context);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_TENSORVIEW_H
