// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the generators that end in kernel.contract or in a kernel.reduce of products share.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H

#include "compiler/transforms/outlining/Outliner.h"

namespace heddle {

/// The loops of a product, batch..., m, n, k, and the index of each operand and of the result over them.
struct ProductLoops {
  ShapeDims bounds;
  AffineIndex lhsIndex, rhsIndex, resultIndex;
};

/// Loops of a matmul, gemm or matmul_integer: one per batch dimension, or with |collapse| all leading dimensions of the
/// result as rows.
ProductLoops describeProduct(Outliner &outliner, mlir::Operation *root, bool collapse);

/// One product on its way to kernel.contract, which multiplies f32.
struct Contraction : ProductLoops {
  TensorView lhs;
  /// The right side, a value of the model; where |storedRhs| is given that copy of it is read.
  mlir::Value rhs;
  std::optional<TensorView> storedRhs;
  /// The right side is stored as N x K.
  bool transposeRhs = false;
  /// The right side is one matrix for all batches: a constant is packed.
  bool mayPackRhs = false;
};

/// Gives a root's value, in its element type, for the f32 sum of products.
using EmitProduct = llvm::function_ref<mlir::Value(ScalarEmitter &emitter, mlir::Value product)>;

enum class WhenUnstrided { GiveUp, Compute };

/// Makes the kernel for |c|, |root| with what follows it up to |end|. False, and nothing done, where some access can't
/// be walked by strides and |whenUnstrided| says so.
bool buildContraction(Outliner &outliner, const Contraction &c, mlir::Operation *root, mlir::Operation *end,
                      EmitProduct emitProduct, WhenUnstrided whenUnstrided);

/// The product itself, for root |op|, as a tensor of |dims| that is none of the model's.
TensorView storeContraction(Outliner &outliner, const Contraction &c, mlir::Operation *op,
                            llvm::ArrayRef<ShapeExpr> dims);

/// The value of a gemm for the product of its factors, computed in |type|: alpha acc + beta C.
mlir::Value emitScaledProduct(ScalarEmitter &emitter, nn::GemmOp gemm, mlir::Value product, mlir::Type type,
                              llvm::ArrayRef<mlir::AffineExpr> index);

/// f16 and bf16 compute in f32, all else in its own type (which keeps the sign of integers).
mlir::Type getSumType(mlir::Type type);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_CONTRACTION_H
