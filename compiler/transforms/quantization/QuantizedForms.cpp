// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the quantised forms. Scales are undone by plain element-wise ops, which fuse like any others.

#include "compiler/transforms/quantization/QuantizedForms.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Locations.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

/// Rows of a column that share a scale in w4a32.
static constexpr int64_t kBlockSize = 32;

static Value multiply(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  return builder.create<BinaryOp>(loc, BinaryKind::Mul, lhs, rhs);
}

/// |value| times |factor|, where that isn't 1.
static Value multiply(OpBuilder &builder, Location loc, Value value, const llvm::APFloat &factor) {
  if (factor.isExactlyValue(1.0))
    return value;
  auto type = RankedTensorType::get({}, builder.getF32Type());
  return multiply(builder, loc, value, builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, factor)));
}

static Value transpose(OpBuilder &builder, Location loc, Value matrix) {
  return builder.create<TransposeOp>(loc, matrix, builder.getDenseI64ArrayAttr({1, 0}));
}

/// A constant of one dimension, or a matrix of one column.
static Value makeVector(OpBuilder &builder, Location loc, ArrayRef<float> values, bool isColumn) {
  SmallVector<int64_t> shape{static_cast<int64_t>(values.size())};
  if (isColumn)
    shape.push_back(1);
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  if (*getRawSize(type) <= ConstantOp::kMaxLiteralBytes)
    return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, values));
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyInferAlign(values);
  return builder.create<ConstantOp>(loc, DenseResourceElementsAttr::get(type, "smoothing", std::move(blob)));
}

ProductForm QuantizedForms::getProduct(OpBuilder &builder, Operation *op) {
  ProductForm product{op->getOperand(0), op->getOperand(1)};
  if (auto gemm = dyn_cast<GemmOp>(op)) {
    if (gemm.getTransA())
      product.lhs = transpose(builder, op->getLoc(), product.lhs);
    if (gemm.getTransB())
      product.weight = transpose(builder, op->getLoc(), product.weight);
  }
  return product;
}

/// The name of |value|; where it has none, of the node at |loc|.
static std::string getName(Value value, Location loc) {
  if (StringRef name = getOutputName(value); !name.empty())
    return name.str();
  std::optional<OnnxNode> node = findOnnxNode(loc);
  return node ? node->name.str() : "";
}

/// Names the results of |op| by |suffixes| after |name|: who compares kernels sees the codes and their very source.
static void nameResults(Operation *op, StringRef name, ArrayRef<StringRef> suffixes) {
  if (name.empty())
    return;
  SmallVector<std::string> names =
      llvm::map_to_vector(suffixes, [&](StringRef suffix) { return (name + suffix).str(); });
  op->setAttr(NnDialect::getOutputsAttrName(),
              Builder(op->getContext()).getStrArrayAttr(llvm::to_vector_of<StringRef>(names)));
}

Value QuantizedForms::buildIntegerProduct(OpBuilder &builder, Location loc, const ProductForm &product) {
  auto factors = smoothing.find(product.lhs);
  bool isSmoothed = factors != smoothing.end();
  QuantizeRowsOp &codes = rows[product.lhs];
  if (!codes) {
    Value activation = product.lhs;
    std::string name = getName(activation, loc);
    if (isSmoothed) {
      SmallVector<float> inverses;
      for (float factor : factors->second)
        inverses.push_back(1 / factor);
      activation = multiply(builder, loc, activation, makeVector(builder, loc, inverses, /*isColumn=*/false));
      nameResults(activation.getDefiningOp(), name, {" smoothed"});
    }
    codes = builder.create<QuantizeRowsOp>(loc, activation);
    nameResults(codes, name, {" codes", " scales", " zero points"});
  }
  Value matrix = product.weight;
  if (isSmoothed)
    matrix = multiply(builder, loc, matrix, makeVector(builder, loc, factors->second, /*isColumn=*/true));
  auto weight =
      builder.create<QuantizeWeightOp>(loc, matrix, /*axis=*/1, /*block_size=*/0, pairSafe, builder.getI8Type());
  Value sums = builder.create<MatMulIntegerOp>(loc, codes.getOutput(), weight.getOutput(), codes.getZeroPoint(),
                                               /*rhs_zero_point=*/Value());
  Value floats = builder.create<CastOp>(loc, sums, builder.getF32Type());
  return multiply(builder, loc, multiply(builder, loc, floats, codes.getScale()), weight.getScale());
}

Value QuantizedForms::buildFloatProduct(OpBuilder &builder, Location loc, const ProductForm &product) {
  bool isNarrow = scheme == QuantizationScheme::W4A32;
  int64_t block = isNarrow ? kBlockSize : 0;
  auto weight = builder.create<QuantizeWeightOp>(loc, product.weight, /*axis=*/1, block, /*pair_safe=*/false,
                                                 isNarrow ? builder.getIntegerType(4) : builder.getI8Type());
  // nn.dequantize_linear counts blocks along its axis, a scale a column is one entry along it.
  Value floats = builder.create<DequantizeLinearOp>(loc, weight.getOutput(), weight.getScale(), /*zero_point=*/Value(),
                                                    /*axis=*/isNarrow ? 0 : 1, block);
  return builder.create<MatMulOp>(loc, product.lhs, floats);
}

Value QuantizedForms::buildProduct(OpBuilder &builder, Operation *op, const ProductForm &product) {
  Location loc = op->getLoc();
  Value result = scheme == QuantizationScheme::W8A8 ? buildIntegerProduct(builder, loc, product)
                                                    : buildFloatProduct(builder, loc, product);
  auto gemm = dyn_cast<GemmOp>(op);
  if (!gemm)
    return result;
  result = multiply(builder, loc, result, gemm.getAlpha());
  if (!gemm.getAddend() || gemm.getBeta().isZero())
    return result;
  Value addend = multiply(builder, loc, gemm.getAddend(), gemm.getBeta());
  return builder.create<BinaryOp>(loc, BinaryKind::Add, result, addend);
}

Value QuantizedForms::buildTable(OpBuilder &builder, GatherOp op) {
  Location loc = op.getLoc();
  auto table = builder.create<QuantizeWeightOp>(loc, op.getData(), /*axis=*/0, /*block_size=*/0, /*pair_safe=*/false,
                                                builder.getI8Type());
  Value codes = builder.create<GatherOp>(loc, table.getOutput(), op.getIndices(), /*axis=*/0);
  Value floats = builder.create<CastOp>(loc, codes, builder.getF32Type());
  Value scales = builder.create<GatherOp>(loc, table.getScale(), op.getIndices(), /*axis=*/0);
  int64_t last = cast<RankedTensorType>(scales.getType()).getRank();
  Value column = builder.create<UnsqueezeOp>(loc, scales, builder.getDenseI64ArrayAttr({last}));
  return multiply(builder, loc, floats, column);
}
