// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the generators that end in kernel.contract or in a kernel.reduce of products share.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ProductWeights.h"

namespace heddle {

/// The loops of a product, batch..., m, n, k, and the index of each operand and of the result over them.
struct ProductLoops {
  ShapeDims bounds;
  AffineIndex lhsIndex, rhsIndex, resultIndex;
};

/// Loops of a matmul, gemm or matmul_integer: one per batch dimension, or with |collapse| all leading dimensions of the
/// result as rows.
ProductLoops describeProduct(Outliner &outliner, mlir::Operation *root, bool collapse);

/// A constant right side, packed as one of the forms of kernel.contract.
struct PackedRhs {
  /// The packed codes or numbers.
  TensorView panels;
  /// Of the matrix.
  int64_t columns;
  /// Codes of neighbouring k are pair-safe (kernel.contract).
  bool pairSafe = false;
  /// Neighbours along K under one of |scales|; 0 without.
  int64_t blockSize = 0;
  TensorView scales = {};
};

/// One product on its way to kernel.contract, which multiplies f32, codes with codes, and f32 with codes.
struct Contraction : ProductLoops {
  TensorView lhs;
  /// The left side is codes of i8, not u8: they multiply as 128 more.
  bool signedLhs = false;
  /// The right side, a value of the model; where |storedRhs| or |packedRhs| is given that copy of it is read.
  mlir::Value rhs;
  std::optional<TensorView> storedRhs;
  std::optional<PackedRhs> packedRhs;
  /// The right side is stored as N x K.
  bool transposeRhs = false;
  /// The right side is one matrix for all batches: a constant is packed.
  bool mayPackRhs = false;
};

/// Gives a root's value, in its element type, for the sum of products: f32, for codes i32.
using EmitProduct = llvm::function_ref<mlir::Value(ScalarEmitter &emitter, mlir::Value product)>;

enum class WhenUnstrided { GiveUp, Compute };

/// Makes the kernel for |c|, |root| with what follows it up to |end|. False, and nothing done, where some access can't
/// be walked by strides and |whenUnstrided| says so.
bool buildContraction(Outliner &outliner, const Contraction &c, mlir::Operation *root, mlir::Operation *end,
                      EmitProduct emitProduct, WhenUnstrided whenUnstrided);

/// The same for a matmul, gemm or matmul_integer, whose loops are described here: rows of all batches are one loop
/// where one matrix serves them all and accesses allow it.
void buildProduct(Outliner &outliner, Contraction &c, mlir::Operation *root, mlir::Operation *end,
                  EmitProduct emitProduct);

/// The product itself, for root |op|, as a tensor of |dims| that is none of the model's.
TensorView storeContraction(Outliner &outliner, const Contraction &c, mlir::Operation *op,
                            llvm::ArrayRef<ShapeExpr> dims);

/// The value of a gemm for the product of its factors, computed in |type|: alpha acc + beta C.
mlir::Value emitScaledProduct(ScalarEmitter &emitter, nn::GemmOp gemm, mlir::Value product, mlir::Type type,
                              llvm::ArrayRef<mlir::AffineExpr> index);

/// The index of the number that serves the row of the left side's element at |lhsIndex|: |parameter| is a scalar, has
/// one entry for each row, or the left side's shape but for its last extent, 1.
AffineIndex rowParameterIndex(Outliner &outliner, mlir::Value parameter, llvm::ArrayRef<mlir::AffineExpr> lhsIndex);

/// The product of floats |root| by its codes.
void outlineQuantizedProduct(Outliner &outliner, mlir::Operation *root, mlir::Operation *end,
                             const QuantizedProduct &product);

/// |weight| packed for a left side of f32.
PackedRhs packWeightCodes(Outliner &outliner, const WeightCodes &weight);
/// The product of f32 with |weight| for the sum of products with its codes.
mlir::Value emitDequantizedProduct(Outliner &outliner, ScalarEmitter &emitter, const WeightCodes &weight,
                                   const Contraction &c, mlir::Operation *root, mlir::Value product);

/// f16 and bf16 compute in f32, all else in its own type (which keeps the sign of integers).
mlir::Type getSumType(mlir::Type type);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H
