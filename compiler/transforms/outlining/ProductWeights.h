// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant right sides of products that are kept as codes: what a product of floats reads of them, and what the codes
// of any product promise to the code that multiplies them.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PRODUCTWEIGHTS_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PRODUCTWEIGHTS_H

#include "compiler/transforms/outlining/ConstantRecipe.h"
#include "compiler/transforms/outlining/TensorView.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/Operation.h"

namespace heddle {

/// Numbers for the columns of a matrix: a value of the model.
struct ColumnParameter {
  mlir::Value value;
  /// The dimension of |value| that runs along the columns, its others having one entry; none where one number serves
  /// all columns.
  std::optional<unsigned> dim;

  /// The index of |column|'s number.
  AffineIndex at(mlir::AffineExpr column) const;
};

/// A constant matrix K x N, (codes - zero) * scale.
struct WeightCodes {
  /// Its recipe is known (findConstantRecipe). Of more than two dimensions those behind the first are one.
  mlir::Value codes;
  /// The codes lie as N x K.
  bool isTransposed = false;
  /// Of a convolution that reads channels last: the kernel's offsets, which lie side by side for each channel.
  int64_t numOffsets = 1;
  /// Without blocks.
  ColumnParameter scale;
  /// Of any type; null where it is 0.
  ColumnParameter zero;
  /// Neighbours along K that share one scale; 0 without blocks.
  int64_t blockSize = 0;
  /// With blocks: the recipe of the scales, blocks x N.
  std::optional<ConstantRecipe> blockScales;

  bool isUnsigned() const;
  /// The recipe of the codes, K x N, signed: those of u8 are 128 less.
  ConstantRecipe getSignedRecipe() const;
};

/// The codes that the matmul or gemm |product| of f32 has on its right, whether dequantised by nn.dequantize_linear or
/// by a cast, a difference and a product, as exporters write it; nothing where it has anything else there.
std::optional<WeightCodes> findWeightCodes(mlir::Operation *product);

/// A product of floats that are codes on both sides, those on the left with one scale and one zero point for all.
struct QuantizedProduct {
  nn::DequantizeLinearOp lhs;
  WeightCodes weight;
};
std::optional<QuantizedProduct> findQuantizedProduct(mlir::Operation *product);

/// A convolution of codes less one zero point for all, on the left, with constant codes that may have one for each
/// feature: in i32, or in f32 of what both stand for. What is padded is the zero point.
struct CodeConvolution {
  mlir::Value codes;
  /// Null where it is 0.
  mlir::Value zero;
  /// Of f32; null in i32.
  mlir::Value scale;
  WeightCodes weight;
};
std::optional<CodeConvolution> findCodeConvolution(nn::ConvOp op);

/// True if |use| is a side of a product or convolution that reads its codes instead.
bool readsCodes(mlir::OpOperand &use);
/// True if |op| widens or dequantises what some product or convolution reads as codes.
bool feedsCodes(mlir::Operation *op);

/// Whether in each column of |weight|, of 8 bits, the neighbours 2j and 2j + 1 of k can be multiplied with any two u8
/// and summed up within 16 bits. Unsigned codes count as 128 less. Reads the constant where no op says so.
bool isPairSafe(const WeightCodes &weight);

/// The integer that all elements of the constant |value| are; nothing where they aren't equal, or no integers.
std::optional<int64_t> getUniformInt(mlir::Value value);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PRODUCTWEIGHTS_H
