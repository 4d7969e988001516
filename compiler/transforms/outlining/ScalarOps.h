// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nn's element-wise ops do to one element, as arith and math ops on scalars. Element types are those of nn:
// unsigned integers compute on signless values and differ in the ops chosen. f16 and bf16 are computed in f32 and
// rounded once per op, as ONNX's types ask.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_SCALAROPS_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_SCALAROPS_H

#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"

namespace heddle {

/// A scalar constant of nn element type |type| (signless in the IR), converted from |value|.
mlir::Value emitNumber(mlir::OpBuilder &builder, mlir::Type type, double value);

mlir::Value emitUnary(mlir::OpBuilder &builder, nn::UnaryKind kind, mlir::Value x, mlir::Type type);
/// |exponentType| is the right operand's type, which differs from |type| for pow only.
mlir::Value emitBinary(mlir::OpBuilder &builder, nn::BinaryKind kind, mlir::Value lhs, mlir::Value rhs, mlir::Type type,
                       mlir::Type exponentType);
mlir::Value emitCompare(mlir::OpBuilder &builder, nn::CompareKind kind, mlir::Value lhs, mlir::Value rhs,
                        mlir::Type type);
/// An unsigned integer as a signed one of the same order, and back; anything else as it is. Combiners compare signed.
mlir::Value emitOrdered(mlir::OpBuilder &builder, mlir::Value x, mlir::Type type);
/// Float to integer saturates and takes NaN to 0; integer to integer keeps the low bits.
mlir::Value emitCast(mlir::OpBuilder &builder, mlir::Value x, mlir::Type from, mlir::Type to);
/// saturate(round_half_even(x / scale) + zero) as |to|; the zero point itself where x is a NaN. All but the result are
/// f32, |zero| is null where there is none.
mlir::Value emitQuantized(mlir::OpBuilder &builder, mlir::Value x, mlir::Value scale, mlir::Value zero, mlir::Type to);
/// Code, scale and zero point, by nn.quantize_rows, of the element |x| of a row from |low|, at most 0, to |high|, at
/// least 0; codes as |to|.
llvm::SmallVector<mlir::Value> emitRowCodes(mlir::OpBuilder &builder, mlir::Value x, mlir::Value low, mlir::Value high,
                                            mlir::Type to);
/// (code - zero) * scale in f32. |code| and |zero|, which is null where there is none, are i32.
mlir::Value emitDequantized(mlir::OpBuilder &builder, mlir::Value code, mlir::Value scale, mlir::Value zero);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_SCALAROPS_H
