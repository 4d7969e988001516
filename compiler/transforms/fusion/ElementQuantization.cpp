// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores and probabilities that a file rounds to integers and back, as scalar ops of their regions.

#include "compiler/transforms/fusion/ElementEmitter.h"
#include "compiler/transforms/outlining/ScalarOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The number that all elements of a constant are, also of unsigned integers.
static std::optional<double> getNumber(Value tensor) {
  auto constant = tensor.getDefiningOp<nn::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat() || dense.getNumElements() == 0)
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<FloatAttr>().getValueAsDouble();
  auto code = dense.getSplatValue<IntegerAttr>();
  return code.getType().isUnsignedInteger() ? static_cast<double>(code.getValue().getZExtValue())
                                            : static_cast<double>(code.getValue().getSExtValue());
}

template <typename OpTy>
Value ElementEmitter::emitParameter(OpTy op, Value parameter, ArrayRef<LinearIndex> index, Type type) {
  if (std::optional<double> number = getNumber(parameter))
    return emitNumber(builder, type, *number);
  // Blocks along the keys or the head would be divisions of indices, which captures don't have.
  if (op.getBlockSize() != 0)
    return nullptr;
  bool isScalar = cast<RankedTensorType>(parameter.getType()).getRank() == 0;
  Value element = emit(parameter, isScalar ? TensorIndex() : TensorIndex{index[op.getAxis()]});
  return element ? emitCast(builder, element, elementTypeOf(parameter), type) : Value();
}

Value ElementEmitter::emitQuantize(nn::QuantizeLinearOp op, ArrayRef<LinearIndex> index) {
  Type f32 = builder.getF32Type();
  Value x = emit(op.getInput(), index), scale = x ? emitParameter(op, op.getScale(), index, f32) : Value(), zero;
  if (scale && op.getZeroPoint()) {
    zero = emitParameter(op, op.getZeroPoint(), index, f32);
    if (!zero)
      return nullptr;
  }
  return scale
             ? emitQuantized(builder, emitCast(builder, x, elementTypeOf(op.getInput()), f32), scale, zero, op.getTo())
             : Value();
}

Value ElementEmitter::emitDequantize(nn::DequantizeLinearOp op, ArrayRef<LinearIndex> index) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value code = emit(op.getInput(), index), scale = code ? emitParameter(op, op.getScale(), index, f32) : Value(), zero;
  if (scale && op.getZeroPoint()) {
    zero = emitParameter(op, op.getZeroPoint(), index, i32);
    if (!zero)
      return nullptr;
  }
  if (!scale)
    return nullptr;
  Value x = emitDequantized(builder, emitCast(builder, code, elementTypeOf(op.getInput()), i32), scale, zero);
  return emitCast(builder, x, f32, elementTypeOf(op.getOutput()));
}
