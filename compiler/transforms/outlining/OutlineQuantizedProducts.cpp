// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with a constant of codes on the right, as kernel.contract: codes times codes exactly, and floats times
// codes. The codes multiply without zero points, which the epilogue corrects with sums of rows and columns.

#include "compiler/transforms/outlining/IntegerProduct.h"
#include "compiler/transforms/outlining/ScalarOps.h"

using namespace mlir;
using namespace heddle;

/// Panels are 16 columns wide for every CPU target (Outliner::getPackedConstant).
static constexpr int64_t kPanel = 16;
/// What a byte's value changes by where its highest bit is flipped, so that a signed one becomes unsigned or back.
static constexpr int64_t kFlip = 128;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A scalar, or a vector that is as good as one.
static bool isOne(Value value) {
  return typeOf(value).getRank() == 0 || typeOf(value).getShape() == ArrayRef<int64_t>(1);
}

static AffineExpr columnLoop(const Contraction &c, MLIRContext *context) {
  return getAffineDimExpr(c.bounds.size() - 2, context);
}

/// The dimension of the left side that K runs along.
static int64_t depthAxisOfLhs(Operation *root) {
  int64_t rank = typeOf(root->getOperand(0)).getRank();
  auto gemm = dyn_cast<nn::GemmOp>(root);
  return rank - (gemm && gemm.getTransA() ? 2 : 1);
}

/// The sum of the left side's row, of the model's value |lhs|.
static Value emitRowSum(Outliner &outliner, ScalarEmitter &emitter, const Contraction &c, Operation *root, Value lhs) {
  int64_t axis = depthAxisOfLhs(root);
  AffineIndex row(c.lhsIndex);
  row.erase(row.begin() + axis);
  return emitter.emitElement(outliner.getSums(root, lhs, axis), row);
}

/// The number for |c|'s column out of |parameter|, in f32.
static Value emitColumnAsF32(Outliner &outliner, ScalarEmitter &emitter, const ColumnParameter &parameter,
                             const Contraction &c) {
  OpBuilder &b = emitter.getBuilder();
  Value value = emitter.emitParameter(parameter.value, parameter.at(columnLoop(c, outliner.getContext())));
  return emitCast(b, value, typeOf(parameter.value).getElementType(), b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Codes times codes
//===----------------------------------------------------------------------===//

namespace {
/// i32 arithmetic.
struct Int32 {
  OpBuilder &b;
  Type type = b.getI32Type();
  Value number(int64_t value) { return emitNumber(b, type, static_cast<double>(value)); }
  Value bin(nn::BinaryKind kind, Value x, Value y) { return emitBinary(b, kind, x, y, type, type); }
  Value add(Value x, Value y) { return bin(nn::BinaryKind::Add, x, y); }
  Value sub(Value x, Value y) { return bin(nn::BinaryKind::Sub, x, y); }
  Value mul(Value x, Value y) { return bin(nn::BinaryKind::Mul, x, y); }
};
} // namespace

/// The left side's zero point as the model has it; null if it is 0.
Value IntegerProduct::emitLeftZero(ScalarEmitter &emitter) {
  if (!lhsZero || getUniformInt(lhsZero) == 0)
    return nullptr;
  AffineIndex index = rowParameterIndex(outliner, lhsZero, c.lhsIndex);
  OpBuilder &b = emitter.getBuilder();
  return emitCast(b, emitter.emitParameter(lhsZero, index), typeOf(lhsZero).getElementType(), b.getI32Type());
}

/// What the right side's zero point loses as its bytes become signed.
static int64_t getShift(const WeightCodes &weight) { return weight.isUnsigned() ? kFlip : 0; }

std::optional<int64_t> IntegerProduct::getKnownRightZero() const {
  Value zero = weight.zero.value;
  std::optional<int64_t> known = zero ? getUniformInt(zero) : 0;
  return known ? std::optional(*known - getShift(weight)) : std::nullopt;
}

/// The right side's zero point as its signed bytes have it; null if it is 0.
Value IntegerProduct::emitRightZero(ScalarEmitter &emitter) {
  Int32 i32{emitter.getBuilder()};
  if (std::optional<int64_t> known = getKnownRightZero())
    return *known == 0 ? Value() : i32.number(*known);
  Value zero = weight.zero.value;
  AffineIndex index = weight.zero.at(columnLoop(c, outliner.getContext()));
  Value value = emitCast(i32.b, emitter.emitParameter(zero, index), typeOf(zero).getElementType(), i32.type);
  int64_t shift = getShift(weight);
  return shift == 0 ? value : i32.sub(value, i32.number(shift));
}

Value IntegerProduct::emitPatchSum(ScalarEmitter &emitter) {
  auto emitCode = [&](ScalarEmitter &at, ArrayRef<AffineExpr> index) { return at.emitElement(*patches, index); };
  TensorView sums = outliner.storeSums(root, typeOf(lhs).getElementType(), patches->baseDims, /*axis=*/1, emitCode);
  return emitter.emitElement(sums, c.lhsIndex.front());
}

Value IntegerProduct::emit(ScalarEmitter &emitter, Value product) {
  Int32 i32{emitter.getBuilder()};
  Value left = emitLeftZero(emitter), right = emitRightZero(emitter);
  // A zero point that the left side's bytes get with their highest bit flipped.
  Value leftByte = left;
  if (c.signedLhs)
    leftByte = left ? i32.add(left, i32.number(kFlip)) : i32.number(kFlip);
  if (leftByte) {
    ConstantRecipe columnSums = weight.getSignedRecipe();
    columnSums.sums(0);
    Value sum = emitter.emitElement(outliner.getConstant(columnSums), columnLoop(c, outliner.getContext()));
    product = i32.sub(product, i32.mul(leftByte, sum));
  }
  if (right) {
    // Differences to the zero point don't change as bits flip: they are those of the model's own numbers.
    Value row = patches ? emitPatchSum(emitter) : emitRowSum(outliner, emitter, c, root, lhs);
    if (left)
      row = i32.sub(row, i32.mul(left, emitter.emitSize(c.bounds.back(), i32.type)));
    product = i32.sub(product, i32.mul(right, row));
  }
  return product;
}

Value IntegerProduct::emitScaled(ScalarEmitter &emitter, Value product, Value lhsScale) {
  OpBuilder &b = emitter.getBuilder();
  Type f32 = b.getF32Type();
  auto mul = [&](Value x, Value y) { return emitBinary(b, nn::BinaryKind::Mul, x, y, f32, f32); };
  Value value = emitCast(b, emit(emitter, product), b.getI32Type(), f32);
  AffineIndex first(typeOf(lhsScale).getRank(), getAffineConstantExpr(0, outliner.getContext()));
  value = mul(value, emitter.emitParameter(lhsScale, first));
  return mul(value, emitColumnAsF32(outliner, emitter, weight.scale, c));
}

AffineIndex heddle::rowParameterIndex(Outliner &outliner, Value parameter, ArrayRef<AffineExpr> lhsIndex) {
  ShapeDims dims = outliner.getDims(parameter);
  AffineIndex index;
  // One for each row, or as many dimensions as the left side has.
  if (dims.size() == 1 && lhsIndex.size() > 1)
    index = {lhsIndex[lhsIndex.size() - 2]};
  else if (!dims.empty())
    index.assign(lhsIndex.begin(), lhsIndex.end());
  for (auto [expr, dim] : llvm::zip(index, dims))
    if (dim.isConstant(1))
      expr = getAffineConstantExpr(0, outliner.getContext());
  return index;
}

void IntegerProduct::prepare() {
  ConstantRecipe recipe = weight.getSignedRecipe();
  int64_t columns = recipe.type.getDimSize(1);
  recipe.packGroups(kPanel);
  c.lhs = patches ? *patches : *outliner.findView(lhs);
  c.rhs = root->getOperand(1);
  c.signedLhs = !typeOf(lhs).getElementType().isUnsignedInteger();
  bool pairSafe = isPairSafe(weight);
  c.packedRhs = PackedRhs{outliner.getConstant(recipe), columns, pairSafe};
}

void heddle::outlineMatMulInteger(Outliner &outliner, nn::MatMulIntegerOp root, Operation *end) {
  // What isn't constant would have to be packed each time.
  if (typeOf(root.getRhs()).getRank() != 2 || !findConstantRecipe(root.getRhs()))
    return outlineProductSum(outliner, root, end);
  IntegerProduct product{outliner, root, root.getLhs(), root.getLhsZeroPoint(), {}};
  product.weight.codes = root.getRhs();
  if (Value zero = root.getRhsZeroPoint())
    product.weight.zero = {zero, isOne(zero) ? std::nullopt : std::optional<unsigned>(0)};
  product.prepare();
  buildProduct(outliner, product.c, root, end,
               [&](ScalarEmitter &emitter, Value sum) { return product.emit(emitter, sum); });
}

void heddle::outlineQuantizedProduct(Outliner &outliner, Operation *root, Operation *end,
                                     const QuantizedProduct &quantized) {
  nn::DequantizeLinearOp lhs = quantized.lhs;
  IntegerProduct product{outliner, root, lhs.getInput(), lhs.getZeroPoint(), quantized.weight};
  product.prepare();
  buildProduct(outliner, product.c, root, end, [&](ScalarEmitter &emitter, Value sum) {
    Value value = product.emitScaled(emitter, sum, lhs.getScale());
    auto gemm = dyn_cast<nn::GemmOp>(root);
    return gemm ? emitScaledProduct(emitter, gemm, value, value.getType(), product.c.resultIndex) : value;
  });
}

//===----------------------------------------------------------------------===//
// Floats times codes
//===----------------------------------------------------------------------===//

PackedRhs heddle::packWeightCodes(Outliner &outliner, const WeightCodes &weight) {
  ConstantRecipe recipe = weight.getSignedRecipe();
  int64_t columns = recipe.type.getDimSize(1);
  if (weight.blockSize == 0) {
    recipe.pack(kPanel);
    return {outliner.getConstant(recipe), columns};
  }
  ConstantRecipe scales = *weight.blockScales;
  scales.pack(kPanel);
  PackedRhs packed = {{}, columns, false, weight.blockSize, outliner.getConstant(scales)};
  if (typeOf(weight.codes).getElementTypeBitWidth() == 4) {
    recipe.packNibbles(kPanel);
    packed.panels = outliner.getConstant(recipe);
    return packed;
  }
  // Groups of one, so that they aren't taken for half bytes.
  recipe.pack(kPanel);
  TensorView bytes = outliner.getConstant(recipe);
  bytes.baseDims.push_back(outliner.getShapes().constant(1));
  packed.panels = TensorView::contiguous(bytes.buffer, bytes.elementType, bytes.baseDims);
  return packed;
}

Value heddle::emitDequantizedProduct(Outliner &outliner, ScalarEmitter &emitter, const WeightCodes &weight,
                                     const Contraction &c, Operation *root, Value product) {
  if (weight.blockSize != 0)
    return product;
  OpBuilder &b = emitter.getBuilder();
  Type f32 = b.getF32Type();
  auto emitColumn = [&](const ColumnParameter &parameter) { return emitColumnAsF32(outliner, emitter, parameter, c); };
  auto bin = [&](nn::BinaryKind kind, Value x, Value y) { return emitBinary(b, kind, x, y, f32, f32); };
  // sum x (code - zero) = sum x code - zero sum x
  int64_t shift = weight.isUnsigned() ? kFlip : 0;
  std::optional<int64_t> known = weight.zero.value ? getUniformInt(weight.zero.value) : 0;
  Value zero;
  if (!known) {
    zero = emitColumn(weight.zero);
    zero = shift == 0 ? zero : bin(nn::BinaryKind::Sub, zero, emitNumber(b, f32, kFlip));
  } else if (*known != shift) {
    zero = emitNumber(b, f32, static_cast<double>(*known - shift));
  }
  if (zero)
    product = bin(nn::BinaryKind::Sub, product,
                  bin(nn::BinaryKind::Mul, zero, emitRowSum(outliner, emitter, c, root, root->getOperand(0))));
  return bin(nn::BinaryKind::Mul, product, emitColumn(weight.scale));
}
