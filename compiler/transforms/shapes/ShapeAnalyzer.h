// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk that fills a ShapeAnalysis, with what the rules of all op families share. Private to this room: the rules
// are the overloads at the end, one file a family.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYZER_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYZER_H

#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Twine.h"

namespace heddle {

using ShapeExprs = llvm::SmallVector<ShapeExpr, 4>;

/// A float that derives from sizes: numerator over denominator (at least 1). |isRounded|: the float may be a neighbour
/// of the fraction; its floor, ceiling and whole part are right all the same.
struct ShapeFraction {
  ShapeExpr numerator;
  int64_t denominator;
  bool isRounded;
};
using ShapeFractions = llvm::SmallVector<ShapeFraction, 1>;

class ShapeAnalyzer {
public:
  explicit ShapeAnalyzer(ShapeAnalysis &analysis) : context(analysis.context), analysis(analysis) {}

  mlir::LogicalResult run(mlir::func::FuncOp func);

  llvm::ArrayRef<ShapeExpr> getDims(mlir::Value value) const { return analysis.getDims(value); }
  std::optional<llvm::ArrayRef<ShapeExpr>> getElements(mlir::Value value) const { return analysis.getElements(value); }

  /// Records |dims| of |value|; static sizes of its type become checks where they aren't proved.
  mlir::LogicalResult setDims(mlir::Value value, llvm::ArrayRef<ShapeExpr> dims);
  /// Records |elements| of |value| unless one of them is null or the tensor is none of the shape program.
  mlir::LogicalResult setElements(mlir::Value value, llvm::ArrayRef<ShapeExpr> elements);

  /// The elements of a float tensor that derives from sizes; null where |value| isn't such.
  const ShapeFractions *getFractions(mlir::Value value) const {
    auto found = fractions.find(value);
    return found == fractions.end() ? nullptr : &found->second;
  }
  void setFractions(mlir::Value value, ShapeFractions elements) { fractions[value] = std::move(elements); }

  /// Demands a relation: an error if it never holds, nothing if it always does, else a run-time check. |message| says
  /// what is expected, `{a}` and `{b}` standing for the values.
  mlir::LogicalResult require(mlir::Operation *op, rt::CheckKind kind, ShapeExpr a, ShapeExpr b,
                              const llvm::Twine &message);
  mlir::LogicalResult requireEqual(mlir::Operation *op, ShapeExpr a, ShapeExpr b, const llvm::Twine &message) {
    return require(op, rt::CheckKind::Equal, a, b, message);
  }

  /// The simpler of two sizes that are required to be equal.
  mlir::FailureOr<ShapeExpr> unify(mlir::Operation *op, ShapeExpr a, ShapeExpr b, const llvm::Twine &message);
  /// The broadcast of two sizes. Sizes that aren't known to be 1 or equal are required to be equal: of a size that is
  /// 1 by chance the program would have to be another one.
  mlir::FailureOr<ShapeExpr> broadcast(mlir::Operation *op, ShapeExpr a, ShapeExpr b);
  mlir::FailureOr<ShapeExprs> broadcast(mlir::Operation *op, llvm::ArrayRef<ShapeExpr> a, llvm::ArrayRef<ShapeExpr> b);

  /// The elements of an operand that the result's shape depends on; an error at |op| where they aren't known.
  mlir::FailureOr<llvm::ArrayRef<ShapeExpr>> readElements(mlir::Operation *op, mlir::Value value, llvm::StringRef what);

  /// |index| counted from the start, where it may be negative and count from the end.
  ShapeExpr countFromStart(ShapeExpr index, ShapeExpr extent);
  /// Demands that a non-negative index or one counted from the end lies in an axis; gives it counted from the start.
  mlir::FailureOr<ShapeExpr> normalizeIndex(mlir::Operation *op, ShapeExpr index, ShapeExpr extent);

  /// The sizes that |value|'s type alone gives, where it is static.
  std::optional<ShapeExprs> getStaticTypeDims(mlir::Value value);
  /// The sizes of |value| where all are constants.
  std::optional<llvm::SmallVector<int64_t>> getStaticDims(mlir::Value value) const;
  /// Likewise, where they also leave |value| small enough for the shape program.
  std::optional<llvm::SmallVector<int64_t>> getSmallDims(mlir::Value value) const;

  ShapeContext &context;

private:
  void findShapeInputs(mlir::func::FuncOp func);
  mlir::LogicalResult visitArgument(mlir::func::FuncOp func, mlir::BlockArgument argument);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult inferDims(mlir::Operation *op);
  mlir::LogicalResult inferElements(mlir::Operation *op);
  void addCheck(mlir::Operation *op, rt::CheckKind kind, ShapeExpr a, ShapeExpr b, std::string message);

  ShapeAnalysis &analysis;
  /// Only the walk needs them: no shape and no kernel reads a float from here.
  llvm::DenseMap<mlir::Value, ShapeFractions> fractions;
  /// Arguments whose elements some shape depends on.
  llvm::DenseSet<mlir::Value> shapeInputs;
  llvm::DenseSet<std::pair<std::pair<ShapeExpr, ShapeExpr>, unsigned>> known;
};

//===----------------------------------------------------------------------===//
// Rules for sizes
//===----------------------------------------------------------------------===//

// Contractions (InferContractionShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::MatMulOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::MatMulIntegerOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::GemmOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::EinsumOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ConvOp op);

// Grids (InferResamplingShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ConvTransposeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::PoolOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ResizeOp op);

// Elements in another order (InferMovementShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ReshapeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::TransposeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::SqueezeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::UnsqueezeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::FlattenOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ExpandOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::TileOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ConcatOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::SplitOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ReduceOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ArgReduceOp op);

// Attention (InferAttentionShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, attn::SdpaOp op);

// The first operand's shape (InferUnchangedShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::LayerNormOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::RmsNormOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::QuantizeLinearOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::DequantizeLinearOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::DynamicQuantizeLinearOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::QuantizeRowsOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ScatterElementsOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ScatterNdOp op);

// Selections and sequences (InferIndexingShapes.cpp)
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::SliceOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::GatherOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::GatherElementsOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::GatherNdOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::PadOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::OneHotOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::TopKOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::RangeOp op);
mlir::LogicalResult inferDims(ShapeAnalyzer &analyzer, nn::ConstantOfShapeOp op);

//===----------------------------------------------------------------------===//
// Rules for elements. They leave a result without elements where an operand has none.
//===----------------------------------------------------------------------===//

/// One dimension of a slice: where it starts, and by what it moves on.
struct SliceRange {
  ShapeExpr start;
  int64_t step;
  ShapeExpr length;
};
/// All dimensions of a slice; an error where they depend on values that aren't known.
mlir::FailureOr<llvm::SmallVector<SliceRange>> resolveSlice(ShapeAnalyzer &analyzer, nn::SliceOp op);

/// Maps (InferMapElements.cpp).
mlir::LogicalResult inferMapElements(ShapeAnalyzer &analyzer, mlir::Operation *op);
/// All others (InferMovementElements.cpp).
mlir::LogicalResult inferMovementElements(ShapeAnalyzer &analyzer, mlir::Operation *op);
/// Floats on the way from integers to integers (InferFloatElements.cpp), and the cast that ends it.
mlir::LogicalResult inferFloatElements(ShapeAnalyzer &analyzer, mlir::Operation *op);
mlir::LogicalResult inferRoundedElements(ShapeAnalyzer &analyzer, nn::CastOp op);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEANALYZER_H
