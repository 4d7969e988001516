// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// com.microsoft's MatMulNBits: a product with a weight of 4 or 8 bits, which has a scale and a zero point for each
// block of neighbours along K. The weight becomes a constant of integers behind nn.dequantize_linear, N x K.

#include "compiler/import/onnx/MicrosoftQuantizationOps.h"
#include "compiler/import/onnx/NodeMath.h"
#include "dialects/nn/ConstantData.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::importer {

namespace {

/// Attribute accuracy_level of products whose left side is quantised as well.
constexpr int64_t kInt8Activations = 4;

struct WeightForm {
  int64_t rows, depth;       // N and K
  int64_t blockSize, blocks; // in each row
  int64_t bits;
  Type code;

  /// The last block is whole in the file.
  int64_t paddedDepth() const { return blocks * blockSize; }
  int64_t packedBytes(int64_t codes) const { return llvm::divideCeil(codes * bits, 8); }
  int64_t middle() const { return int64_t(1) << (bits - 1); }
};

std::optional<WeightForm> readForm(NodeContext &node) {
  WeightForm form = {node.getInt("N"), node.getInt("K"), node.getInt("block_size"), 0, node.getInt("bits", 4), {}};
  auto isExtent = [](int64_t extent) { return extent >= 1 && extent <= INT32_MAX; };
  if (node.hasFailed())
    return std::nullopt;
  if (form.bits != 4 && form.bits != 8) {
    (void)node.unsupported("weights of " + llvm::Twine(form.bits) + " bits are not supported, 4 and 8 are");
    return std::nullopt;
  }
  if (!isExtent(form.rows) || !isExtent(form.depth) || form.blockSize < 16 || form.blockSize > (1 << 30) ||
      !llvm::isPowerOf2_64(form.blockSize)) {
    (void)node.malformed("N and K must be positive, and block_size a power of two from 16 on");
    return std::nullopt;
  }
  form.blocks = llvm::divideCeil(form.depth, form.blockSize);
  form.code = IntegerType::get(node.getBuilder().getContext(), form.bits, IntegerType::Unsigned);
  return form;
}

/// The elements of input |index|, which |what| names: |count| constants of u8 (|isFloat|: of any float).
std::optional<nn::ConstantData> readConstant(NodeContext &node, unsigned index, int64_t count, bool isFloat,
                                             llvm::StringRef what) {
  auto constant = node.getInput(index).getDefiningOp<nn::ConstantOp>();
  if (!constant) {
    (void)node.unsupported(what + " that is no constant is not supported");
    return std::nullopt;
  }
  Type type = node.getElementType(index);
  if (node.getType(index).getNumElements() != count || !(isFloat ? isa<FloatType>(type) : type.isUnsignedInteger(8))) {
    (void)node.fail(ErrorCode::H0204,
                    what + " must have " + llvm::Twine(count) + " elements of type " + (isFloat ? "float" : "uint8"));
    return std::nullopt;
  }
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(constant);
  if (succeeded(data))
    return *data;
  (void)node.malformed(what + " can't be read");
  return std::nullopt;
}

/// Input |index|, whose elements |data| has, as a constant of another |type| with the same bytes.
Value reinterpret(NodeContext &node, unsigned index, const nn::ConstantData &data, RankedTensorType type) {
  Attribute value = node.getInput(index).getDefiningOp<nn::ConstantOp>().getValue();
  if (!isa<nn::ExternalAttr>(value)) {
    ArrayRef<char> bytes(reinterpret_cast<const char *>(data.getBytes().data()), data.getBytes().size());
    value = makeConstantValue(type, bytes, node.getNode().name);
  }
  return node.createConstant(type, value);
}

/// |values| as a constant, called |name| behind the node's.
Value createFloats(NodeContext &node, ArrayRef<int64_t> shape, ArrayRef<float> values, llvm::StringRef name) {
  auto type = RankedTensorType::get(shape, node.getBuilder().getF32Type());
  ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  return node.createConstant(type, makeConstantValue(type, bytes, node.getNode().name + "." + name.str()));
}

/// What the file says of a weight, all of it constant.
struct Weight {
  WeightForm form;
  nn::ConstantData codes, scales;
  /// Empty where all are the middle of the codes' range.
  std::vector<float> zeroPoints;
};

/// Zero points of input 3, for each row and block: floats, or codes whose rows are whole bytes.
std::optional<std::vector<float>> readZeroPoints(NodeContext &node, const WeightForm &form) {
  std::vector<float> points;
  if (!node.getInput(3))
    return points;
  bool areFloats = isa<FloatType>(node.getElementType(3));
  int64_t rowBytes = form.packedBytes(form.blocks);
  std::optional<nn::ConstantData> data =
      readConstant(node, 3, form.rows * (areFloats ? form.blocks : rowBytes), areFloats, "a zero point");
  if (!data)
    return std::nullopt;
  for (int64_t i = 0; i < form.rows * form.blocks; ++i) {
    int64_t row = i / form.blocks, block = i % form.blocks;
    if (areFloats)
      points.push_back(static_cast<float>(data->getDouble(i)));
    else if (form.bits == 8)
      points.push_back(data->getBytes()[i]);
    else
      points.push_back(data->getBytes()[row * rowBytes + block / 2] >> (block % 2 * 4) & 15);
  }
  if (llvm::all_of(points, [&](float point) { return point == form.middle(); }))
    points.clear();
  return points;
}

std::optional<Weight> readWeight(NodeContext &node) {
  std::optional<WeightForm> form = readForm(node);
  if (!form)
    return std::nullopt;
  std::optional<nn::ConstantData> codes =
      readConstant(node, 1, form->rows * form->packedBytes(form->paddedDepth()), /*isFloat=*/false, "a weight");
  if (!codes)
    return std::nullopt;
  std::optional<nn::ConstantData> scales =
      readConstant(node, 2, form->rows * form->blocks, /*isFloat=*/true, "a scale");
  if (!scales)
    return std::nullopt;
  std::optional<std::vector<float>> zeroPoints = readZeroPoints(node, *form);
  if (!zeroPoints)
    return std::nullopt;
  return Weight{*form, *codes, *scales, std::move(*zeroPoints)};
}

/// The weight with the middle of the codes' range as zero point everywhere, K x N.
Value createCentredWeight(NodeContext &node, const Weight &weight) {
  const WeightForm &form = weight.form;
  // Its bytes are laid out like those of a tensor of 4-bit integers.
  Value codes = reinterpret(node, 1, weight.codes, RankedTensorType::get({form.rows, form.paddedDepth()}, form.code));
  llvm::SmallVector<int64_t> shape = {form.rows, form.blocks};
  Value scales;
  if (node.getElementType(2).isF32()) {
    scales = reinterpret(node, 2, weight.scales, RankedTensorType::get(shape, node.getElementType(2)));
  } else {
    std::vector<float> wide(form.rows * form.blocks);
    for (size_t i = 0; i < wide.size(); ++i)
      wide[i] = static_cast<float>(weight.scales.getDouble(i));
    scales = createFloats(node, shape, wide, "scales");
  }
  auto zeroType = RankedTensorType::get(shape, form.code);
  // Two codes to a byte where they have 4 bits; behind the last one alone there is nothing.
  int64_t count = form.rows * form.blocks;
  std::vector<char> middles(form.packedBytes(count), static_cast<char>(form.bits == 8 ? 0x80 : 0x88));
  if (form.bits == 4 && count % 2 == 1)
    middles.back() = 0x08;
  Value zeros = node.createConstant(zeroType, makeConstantValue(zeroType, middles, node.getNode().name + ".middle"));
  Value rows = node.createValue<nn::DequantizeLinearOp>(codes, scales, zeros, int64_t(1), form.blockSize);
  return node.createValue<nn::TransposeOp>(rows, llvm::ArrayRef<int64_t>{1, 0});
}

/// What the zero points of the file add to each sum of a block of the left side, blocks x N.
Value createCorrection(NodeContext &node, const Weight &weight) {
  const WeightForm &form = weight.form;
  std::vector<float> values(form.rows * form.blocks);
  for (int64_t row = 0; row < form.rows; ++row)
    for (int64_t block = 0; block < form.blocks; ++block) {
      int64_t i = row * form.blocks + block;
      auto scale = static_cast<float>(weight.scales.getDouble(i));
      values[block * form.rows + row] = (static_cast<float>(form.middle()) - weight.zeroPoints[i]) * scale;
    }
  return createFloats(node, {form.blocks, form.rows}, values, "zero_points");
}

/// The left side in f32, with zeros where the weight's last block goes on behind K.
Value createActivations(NodeContext &node, const WeightForm &form) {
  NodeMath math{node};
  int64_t rank = node.getRank(0);
  if (rank == 0 || node.getType(0).getShape().back() != form.depth) {
    (void)node.fail(ErrorCode::H0204, "the last dimension of the left side must be K, " + llvm::Twine(form.depth));
    return {};
  }
  Value x = math.cast(node.getInput(0), node.getBuilder().getF32Type());
  if (form.paddedDepth() == form.depth)
    return x;
  llvm::SmallVector<int64_t> pads(2 * rank);
  pads.back() = form.paddedDepth() - form.depth;
  return node.createValue<nn::PadOp>(nn::PadMode::Constant, x, node.createVector(pads), Value(), Value());
}

/// |x|'s rows cut into the weight's blocks, which become the last dimension.
Value splitBlocks(NodeContext &node, const WeightForm &form, Value x) {
  llvm::SmallVector<int64_t> shape(node.getRank(0) + 1, 0); // 0: as it is
  shape[node.getRank(0) - 1] = form.blocks;
  shape[node.getRank(0)] = form.blockSize;
  return node.createValue<nn::ReshapeOp>(x, node.createVector(shape), /*allowzero=*/false);
}

/// |x| with each block of a row rounded to 127 steps of its own in either direction.
Value roundBlocks(NodeContext &node, const WeightForm &form, Value x) {
  NodeMath math{node};
  int64_t rank = node.getRank(0);
  Value blocks = splitBlocks(node, form, x);
  Value greatest = node.createValue<nn::ReduceOp>(nn::ReduceKind::Max, math.unary(nn::UnaryKind::Abs, blocks),
                                                  llvm::ArrayRef<int64_t>(rank), /*keepdims=*/true);
  Value zero = math.number(0, x), steps = math.number(127, x);
  Value perUnit = math.select(nn::CompareKind::Eq, greatest, zero, zero, math.div(steps, greatest));
  Value codes = math.unary(nn::UnaryKind::Round, math.mul(blocks, perUnit));
  Value rounded = math.mul(codes, math.div(greatest, steps));
  llvm::SmallVector<int64_t> shape(rank, 0);
  shape[rank - 1] = form.paddedDepth();
  return node.createValue<nn::ReshapeOp>(rounded, node.createVector(shape), /*allowzero=*/false);
}

/// With c the middle of the codes' range: sum x (q - z) s = sum x (q - c) s + sum over blocks (c - z) s sum x. So the
/// weight is one that products read as codes whatever its zero points are, and what is added takes as much of the time
/// as a block has of its elements.
Value createProduct(NodeContext &node, const Weight &weight, Value x) {
  NodeMath math{node};
  Value product = node.createValue<nn::MatMulOp>(x, createCentredWeight(node, weight));
  if (weight.zeroPoints.empty())
    return product;
  Value sums = node.createValue<nn::ReduceOp>(nn::ReduceKind::Sum, splitBlocks(node, weight.form, x),
                                              llvm::ArrayRef<int64_t>(node.getRank(0)), /*keepdims=*/false);
  return math.add(product, node.createValue<nn::MatMulOp>(sums, createCorrection(node, weight)));
}

} // namespace

LogicalResult buildMatMulNBits(NodeContext &node) {
  NodeMath math{node};
  if (node.getInput(4))
    return node.unsupported("input g_idx is not supported: weights in another order than their blocks",
                            "quantize the model without act-order (desc_act)");
  if (node.getInt("weight_prepacked", 0) != 0)
    return node.unsupported("weights packed for a device are not supported", "export with weight_prepacked = 0");
  int64_t accuracy = node.getInt("accuracy_level", 0);
  std::optional<Weight> weight = readWeight(node);
  if (!weight)
    return failure();
  Value x = createActivations(node, weight->form);
  if (!x)
    return failure();
  if (accuracy == kInt8Activations)
    x = roundBlocks(node, weight->form, x);
  Value product = createProduct(node, *weight, x);
  product = math.addOptional(product, math.cast(node.getInput(5), node.getBuilder().getF32Type()));
  return node.setOutputs(math.cast(product, node.getElementType(0)));
}

} // namespace heddle::importer
