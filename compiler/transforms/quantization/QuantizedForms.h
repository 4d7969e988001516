// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The quantised forms of products and tables, as IR.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZEDFORMS_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZEDFORMS_H

#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/quantization/Smoothing.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::nn {

/// A product as matrix times matrix: what nn.matmul and nn.gemm have in common.
struct ProductForm {
  mlir::Value lhs;    ///< rows by terms
  mlir::Value weight; ///< terms by columns
};

/// Builds quantised forms for one function. Codes of an activation are made once and shared by all that read them,
/// so an object serves one function from its beginning to its end.
class QuantizedForms {
public:
  /// |smoothing| goes for w8a8 alone: where activations are floats, they have no range to save.
  QuantizedForms(QuantizationScheme scheme, bool pairSafe, SmoothingFactors smoothing)
      : scheme(scheme), pairSafe(pairSafe), smoothing(std::move(smoothing)) {}

  /// The operands of |op|, an nn.matmul or nn.gemm, transposed where it says so.
  static ProductForm getProduct(mlir::OpBuilder &builder, mlir::Operation *op);

  /// What stands for the result of |op|, an nn.matmul or nn.gemm of rank-2 constants, whose operands are |product|.
  mlir::Value buildProduct(mlir::OpBuilder &builder, mlir::Operation *op, const ProductForm &product);

  /// What stands for the result of |op|, a gather of rows of a constant table.
  mlir::Value buildTable(mlir::OpBuilder &builder, GatherOp op);

private:
  mlir::Value buildIntegerProduct(mlir::OpBuilder &builder, mlir::Location loc, const ProductForm &product);
  mlir::Value buildFloatProduct(mlir::OpBuilder &builder, mlir::Location loc, const ProductForm &product);

  QuantizationScheme scheme;
  bool pairSafe;
  SmoothingFactors smoothing;
  llvm::DenseMap<mlir::Value, QuantizeRowsOp> rows;
};

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZEDFORMS_H
