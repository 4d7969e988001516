// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights of single heads within the projections around attention.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADWEIGHTS_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADWEIGHTS_H

#include "compiler/transforms/fusion/Projection.h"
#include "dialects/nn/ConstantData.h"

namespace heddle::nn {

/// A projection whose columns (or, behind attention, whose weight's rows) are heads: head h has |headSize| of them from
/// |begin| + h * |headSize| on.
class HeadWeights {
public:
  /// The heads of the tensor (..., heads, head size) |value|, which is nothing but a projection parted into heads.
  static std::optional<HeadWeights> before(mlir::Value value);
  /// The product that reads the heads of |output| (..., heads, head size) and nothing else.
  static std::optional<HeadWeights> behind(mlir::Value output);

  int64_t getNumHeads() const { return numHeads; }
  /// True if all weights of |head|, and its bias, are zero: before attention the head is zero, behind it goes nowhere.
  bool isZero(int64_t head) const;
  /// True if two heads have the same weights and bias, bit for bit.
  bool areEqual(int64_t a, int64_t b) const;

  /// The product with the weights of |heads| alone, in this order: before attention a tensor (..., heads, head size),
  /// behind it what takes |input|, a tensor of such heads, to the end of the projection.
  mlir::Value project(mlir::OpBuilder &builder, llvm::ArrayRef<int64_t> heads) const;
  mlir::Value project(mlir::OpBuilder &builder, llvm::ArrayRef<int64_t> heads, mlir::Value input) const;
  const Projection &getProjection() const { return projection; }

private:
  static std::optional<HeadWeights> create(const Projection &projection, bool isBehind);
  void setHeads(ReshapeOp op, mlir::RankedTensorType type);
  mlir::Value reshapeAs(mlir::OpBuilder &builder, mlir::Value tensor, llvm::ArrayRef<int64_t> last) const;
  /// Weights that each row (before: column) has.
  int64_t getDepth() const;
  /// Element |i| of row (before: column) |line| of the weight.
  float at(int64_t line, int64_t i) const;
  mlir::Value pick(mlir::OpBuilder &builder, mlir::Value tensor, int64_t axis, llvm::ArrayRef<int64_t> heads) const;
  mlir::Value pickWeight(mlir::OpBuilder &builder, llvm::ArrayRef<int64_t> heads) const;

  Projection projection;
  ConstantData weight;
  std::optional<ConstantData> bias;
  bool isBehind = false;
  int64_t numHeads = 0, headSize = 0, begin = 0;
  /// What parts, or joins, the heads.
  ReshapeOp reshape;
};

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADWEIGHTS_H
