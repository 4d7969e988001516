// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How right sides of products are recognised as codes, and what is proved of them.

#include "compiler/transforms/outlining/ProductWeights.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

AffineIndex ColumnParameter::at(AffineExpr column) const {
  AffineIndex index(typeOf(value).getRank(), getAffineConstantExpr(0, column.getContext()));
  if (dim)
    index[*dim] = column;
  return index;
}

bool WeightCodes::isUnsigned() const { return typeOf(codes).getElementType().isUnsignedInteger(); }

ConstantRecipe WeightCodes::getSignedRecipe() const {
  ConstantRecipe recipe = *findConstantRecipe(codes);
  recipe.flatten();
  recipe.deinterleave(numOffsets);
  if (isUnsigned())
    recipe.flip();
  if (isTransposed)
    recipe.transpose({1, 0});
  return recipe;
}

//===----------------------------------------------------------------------===//
// Dequantised weights
//===----------------------------------------------------------------------===//

/// |value|, broadcast against a tensor of |type|, where it has one number for each column, of which |columnAxis| has
/// as many as its extent: nothing where it varies along another axis.
static std::optional<ColumnParameter> findColumnParameter(Value value, RankedTensorType type, unsigned columnAxis) {
  RankedTensorType parameter = typeOf(value);
  int64_t rank = parameter.getRank();
  if (rank > type.getRank() || !parameter.hasStaticShape())
    return std::nullopt;
  ColumnParameter result{value, std::nullopt};
  for (int64_t dim = 0; dim < rank; ++dim) {
    unsigned axis = type.getRank() - rank + dim;
    if (parameter.getDimSize(dim) == 1)
      continue;
    if (axis != columnAxis || parameter.getDimSize(dim) != type.getDimSize(axis))
      return std::nullopt;
    result.dim = dim;
  }
  return result;
}

static bool isCodeType(Type type, unsigned width) {
  return isa<IntegerType>(type) && type.getIntOrFloatBitWidth() == width;
}

static std::optional<WeightCodes> matchBlocks(nn::DequantizeLinearOp op, unsigned depthAxis) {
  std::optional<ConstantRecipe> scales = findConstantRecipe(op.getScale());
  Type code = typeOf(op.getInput()).getElementType();
  bool isHalf = isCodeType(code, 4);
  if (!scales || op.getAxis() != depthAxis || (!isHalf && !isCodeType(code, 8)))
    return std::nullopt;
  // A kernel knows codes around 0, where unsigned ones get by their highest bit, and blocks of whole bytes.
  std::optional<int64_t> zero = op.getZeroPoint() ? getUniformInt(op.getZeroPoint()) : 0;
  if (zero != (!code.isUnsignedInteger() ? 0 : isHalf ? 8 : 128) || (isHalf && op.getBlockSize() % 2 != 0))
    return std::nullopt;
  if (depthAxis == 1)
    scales->transpose({1, 0});
  WeightCodes weight;
  weight.codes = op.getInput();
  weight.blockSize = op.getBlockSize();
  weight.blockScales = scales;
  return weight;
}

/// Without blocks, where scales and zero points are for all codes or vary along |columnAxis|.
static std::optional<WeightCodes> matchDequantize(nn::DequantizeLinearOp op, unsigned columnAxis) {
  auto parameter = [&](Value value) -> std::optional<ColumnParameter> {
    RankedTensorType type = typeOf(value);
    if (type.getRank() == 0 || type.getShape()[0] == 1)
      return ColumnParameter{value, std::nullopt};
    return op.getAxis() == columnAxis ? std::optional(ColumnParameter{value, 0}) : std::nullopt;
  };
  if (op.getBlockSize() != 0 || !isCodeType(typeOf(op.getInput()).getElementType(), 8))
    return std::nullopt;
  std::optional<ColumnParameter> scale = parameter(op.getScale());
  std::optional<ColumnParameter> zero = op.getZeroPoint() ? parameter(op.getZeroPoint()) : ColumnParameter();
  if (!scale || !zero)
    return std::nullopt;
  WeightCodes weight;
  weight.codes = op.getInput();
  weight.scale = *scale;
  weight.zero = *zero;
  return weight;
}

/// cast(codes), or cast(codes) - zero.
static std::optional<WeightCodes> matchDifference(Value value, unsigned columnAxis) {
  WeightCodes weight;
  auto difference = value.getDefiningOp<nn::BinaryOp>();
  if (difference && difference.getKind() == nn::BinaryKind::Sub) {
    std::optional<ColumnParameter> zero = findColumnParameter(difference.getRhs(), typeOf(value), columnAxis);
    if (!zero)
      return std::nullopt;
    weight.zero = *zero;
    value = difference.getLhs();
  }
  auto codes = value.getDefiningOp<nn::CastOp>();
  if (!codes || !isCodeType(typeOf(codes.getInput()).getElementType(), 8))
    return std::nullopt;
  weight.codes = codes.getInput();
  return weight;
}

/// |value| is a matrix whose dimension |depthAxis| is K.
static std::optional<WeightCodes> matchWeight(Value value, unsigned depthAxis) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() != 2 || !type.hasStaticShape() || !type.getElementType().isF32())
    return std::nullopt;
  if (auto transpose = value.getDefiningOp<nn::TransposeOp>())
    return matchWeight(transpose.getInput(), transpose.getPerm()[depthAxis]);
  std::optional<WeightCodes> weight;
  if (auto dequantize = value.getDefiningOp<nn::DequantizeLinearOp>())
    weight = dequantize.getBlockSize() != 0 ? matchBlocks(dequantize, depthAxis)
                                            : matchDequantize(dequantize, 1 - depthAxis);
  if (auto product = value.getDefiningOp<nn::BinaryOp>(); product && product.getKind() == nn::BinaryKind::Mul)
    for (bool isSwapped : {false, true}) {
      Value codes = product->getOperand(isSwapped), scale = product->getOperand(!isSwapped);
      std::optional<ColumnParameter> parameter = findColumnParameter(scale, type, 1 - depthAxis);
      if (weight || !parameter || typeOf(codes) != type)
        continue;
      if ((weight = matchDifference(codes, 1 - depthAxis)))
        weight->scale = *parameter;
    }
  if (!weight || !findConstantRecipe(weight->codes))
    return std::nullopt;
  weight->isTransposed = depthAxis == 1;
  return weight;
}

std::optional<WeightCodes> heddle::findWeightCodes(Operation *product) {
  if (!isa_and_nonnull<nn::MatMulOp, nn::GemmOp>(product) || !typeOf(product->getResult(0)).getElementType().isF32())
    return std::nullopt;
  auto gemm = dyn_cast<nn::GemmOp>(product);
  return matchWeight(product->getOperand(1), gemm && gemm.getTransB() ? 1 : 0);
}

std::optional<QuantizedProduct> heddle::findQuantizedProduct(Operation *product) {
  std::optional<WeightCodes> weight = findWeightCodes(product);
  if (!weight || weight->blockSize != 0 ||
      (weight->zero.value && !isa<IntegerType>(typeOf(weight->zero.value).getElementType())))
    return std::nullopt;
  auto lhs = product->getOperand(0).getDefiningOp<nn::DequantizeLinearOp>();
  auto isOne = [](Value value) { return typeOf(value).hasStaticShape() && typeOf(value).getNumElements() == 1; };
  if (!lhs || lhs.getBlockSize() != 0 || !isCodeType(typeOf(lhs.getInput()).getElementType(), 8) ||
      !isOne(lhs.getScale()) || (lhs.getZeroPoint() && !isOne(lhs.getZeroPoint())))
    return std::nullopt;
  return QuantizedProduct{lhs, *weight};
}

/// Whether |zero|, a number of any integer type, is one that codes of |type| can be.
static bool isCode(Value zero, Type type) {
  if (typeOf(zero).getElementType() == type)
    return true;
  if (auto cast = zero.getDefiningOp<nn::CastOp>())
    return typeOf(cast.getInput()).getElementType() == type;
  std::optional<int64_t> number = getUniformInt(zero);
  int64_t least = type.isUnsignedInteger() ? 0 : -128;
  return number && *number >= least && *number < least + 256;
}

/// The operand |value| of a convolution, whose numbers may vary along the weight's features.
static std::optional<WeightCodes> matchConvolved(Value value) {
  Type type = typeOf(value).getElementType();
  if (auto op = value.getDefiningOp<nn::DequantizeLinearOp>(); op && type.isF32())
    return matchDequantize(op, /*columnAxis=*/0);
  return type.isSignlessInteger(32) ? matchDifference(value, /*columnAxis=*/0) : std::nullopt;
}

std::optional<CodeConvolution> heddle::findCodeConvolution(nn::ConvOp op) {
  RankedTensorType type = typeOf(op.getWeight());
  // Groups would be batches with a matrix each, and there are no packed ones.
  if (op.getGroup() != 1 || !type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  std::optional<WeightCodes> input = matchConvolved(op.getInput()), weight = matchConvolved(op.getWeight());
  if (!input || input->zero.dim || input->scale.dim || !weight)
    return std::nullopt;
  if (input->zero.value && !isCode(input->zero.value, typeOf(input->codes).getElementType()))
    return std::nullopt;
  std::optional<ConstantRecipe> recipe = findConstantRecipe(weight->codes);
  if (!recipe || !recipe->flatten())
    return std::nullopt;
  weight->isTransposed = true;
  // Channels last make runs of bytes where there are as many as a vector has lanes, and not too many sources.
  constexpr int64_t kMinChannels = 16, kMaxOffsets = 64;
  int64_t channels = type.getDimSize(1), numOffsets = type.getNumElements() / (type.getDimSize(0) * channels);
  if (channels >= kMinChannels && numOffsets <= kMaxOffsets)
    weight->numOffsets = numOffsets;
  return CodeConvolution{input->codes, input->zero.value, input->scale.value, *weight};
}

bool heddle::readsCodes(OpOperand &use) {
  if (auto conv = dyn_cast<nn::ConvOp>(use.getOwner()))
    return use.getOperandNumber() <= 1 && findCodeConvolution(conv);
  if (!isa<nn::MatMulOp, nn::GemmOp>(use.getOwner()))
    return false;
  if (use.getOperandNumber() == 1)
    return findWeightCodes(use.getOwner()).has_value();
  return use.getOperandNumber() == 0 && findQuantizedProduct(use.getOwner());
}

bool heddle::feedsCodes(Operation *op) {
  auto isReadAsCodes = [](Value value) { return llvm::any_of(value.getUses(), readsCodes); };
  if (isa<nn::DequantizeLinearOp>(op))
    return isReadAsCodes(op->getResult(0));
  // A cast, whether zero points are taken off behind it or not.
  return isa<nn::CastOp>(op) && llvm::any_of(op->getUses(), [&](OpOperand &use) {
           auto difference = dyn_cast<nn::BinaryOp>(use.getOwner());
           return readsCodes(use) || (difference && difference.getKind() == nn::BinaryKind::Sub &&
                                      use.getOperandNumber() == 0 && isReadAsCodes(difference.getResult()));
         });
}

//===----------------------------------------------------------------------===//
// What is known of codes
//===----------------------------------------------------------------------===//

/// Reads each byte once. Neighbours of k are neighbours of the row, or with |numOffsets| those of so many apart.
static bool hasSafePairs(nn::ConstantOp op, unsigned depthAxis, int64_t numOffsets) {
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(op);
  if (failed(data))
    return false;
  ArrayRef<uint8_t> bytes = data->getBytes();
  int64_t rows = data->getType().getDimSize(0), columns = data->getNumElements() / std::max<int64_t>(rows, 1);
  uint8_t flip = data->getType().getElementType().isUnsignedInteger() ? 0x80 : 0;
  // The products of codes of unequal sign cancel; 255 * 128 is within 16 bits, 255 * 129 is not.
  auto isSafe = [&](const uint8_t *first, const uint8_t *second, int64_t count, int64_t step) {
    int unsafe = 0;
    for (int64_t i = 0; i < count; i += step) {
      int sum = static_cast<int8_t>(first[i] ^ flip) + static_cast<int8_t>(second[i] ^ flip);
      unsafe |= (sum > 128) | (sum < -128);
    }
    return unsafe == 0;
  };
  if (depthAxis == 0) {
    for (int64_t row = 0; row + 1 < rows; row += 2)
      if (const uint8_t *first = bytes.data() + row * columns; !isSafe(first, first + columns, columns, 1))
        return false;
    return true;
  }
  // With an odd number of channels pairs would span offsets.
  if (numOffsets != 1 && columns / numOffsets % 2 != 0)
    return false;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t offset = 0; offset < numOffsets; ++offset)
      if (const uint8_t *first = bytes.data() + row * columns + offset;
          !isSafe(first, first + numOffsets, columns / (2 * numOffsets) * 2 * numOffsets, 2 * numOffsets))
        return false;
  return true;
}

/// Whether the codes |value|, whose dimension |depthAxis| is K with those behind it, are so.
static bool isPairSafe(Value value, unsigned depthAxis, int64_t numOffsets) {
  Operation *op = value.getDefiningOp();
  if (auto quantize = dyn_cast_or_null<nn::QuantizeWeightOp>(op))
    return quantize.getPairSafe() && quantize.getAxis() != depthAxis;
  if (auto transpose = dyn_cast_or_null<nn::TransposeOp>(op))
    return isPairSafe(transpose.getInput(), transpose.getPerm()[depthAxis], numOffsets);
  // Beside each other along K, odd extents would make other pairs.
  if (auto concat = dyn_cast_or_null<nn::ConcatOp>(op))
    return concat.getAxis() != depthAxis &&
           llvm::all_of(concat.getInputs(), [&](Value part) { return isPairSafe(part, depthAxis, numOffsets); });
  auto constant = dyn_cast_or_null<nn::ConstantOp>(op);
  return constant && typeOf(value).getRank() >= 2 && hasSafePairs(constant, depthAxis, numOffsets);
}

bool heddle::isPairSafe(const WeightCodes &weight) {
  return ::isPairSafe(weight.codes, weight.isTransposed ? 1 : 0, weight.numOffsets);
}

std::optional<int64_t> heddle::getUniformInt(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || !isa<IntegerType>(typeOf(value).getElementType()) || typeOf(value).getNumElements() == 0)
    return std::nullopt;
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(constant);
  if (failed(data))
    return std::nullopt;
  int64_t first = data->getInt(0);
  for (int64_t i = 1; i < data->getNumElements(); ++i)
    if (data->getInt(i) != first)
      return std::nullopt;
  return first;
}
