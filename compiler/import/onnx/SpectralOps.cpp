// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The discrete Fourier transform as products with the matrix of its waves, written out in plain ops: transforms inside
// Transformers are as long as a sequence or a hidden size, where a product is no slower than the butterfly's passes.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace heddle::importer {

namespace {

/// 0, 1, ... before |count|, as a row or a column.
Value createIndices(NodeContext &node, Value count, int64_t newAxis) {
  Type i64 = node.getBuilder().getI64Type();
  Value range = node.createValue<nn::RangeOp>(node.createScalar(i64, 0), count, node.createScalar(i64, 1));
  return node.createValue<nn::UnsqueezeOp>(range, llvm::ArrayRef<int64_t>(newAxis));
}

/// cos and sin of 2 pi n k / N for n below |length|, k below |columns|, in |type|.
struct Waves {
  Waves(NodeContext &node, Value length, Value columns, Type type) {
    NodeMath math{node};
    Value product = math.mul(createIndices(node, length, 1), createIndices(node, columns, 0));
    // In integers the phase loses nothing, however long the transform.
    Value phase = math.cast(math.binary(nn::BinaryKind::Mod, product, length), type);
    Value angle = math.mul(math.div(phase, math.cast(length, type)), node.createScalar(type, 2 * M_PI));
    cosine = math.unary(nn::UnaryKind::Cos, angle);
    sine = math.unary(nn::UnaryKind::Sin, angle);
  }
  Value cosine, sine;
};

/// The real (0) or imaginary (1) part of |x|, whose last dimension holds both.
Value takePart(NodeContext &node, Value x, int64_t part, int64_t rank) {
  Value index = node.createScalar(node.getBuilder().getI64Type(), static_cast<double>(part));
  return node.createValue<nn::GatherOp>(x, index, rank - 1);
}

/// |x| cut or continued with zeros to |length| elements along |axis|.
Value fitLength(NodeContext &node, Value x, int64_t axis, int64_t length, int64_t extent) {
  Value axes = node.createVector(axis);
  if (length < extent)
    return node.createValue<nn::SliceOp>(x, node.createVector(int64_t(0)), node.createVector(length), axes, Value());
  if (length == extent)
    return x;
  Value pads = node.createVector({0, length - extent});
  return node.createValue<nn::PadOp>(nn::PadMode::Constant, x, pads, Value(), axes);
}

/// The number of waves: all, or for a real signal those up to the middle.
Value countColumns(NodeContext &node, Value length, bool isOnesided) {
  if (!isOnesided)
    return length;
  NodeMath math{node};
  return math.add(math.div(length, math.number(2, length)), math.number(1, length));
}

struct Complex {
  Value real, imaginary; // no imaginary part where the signal is real
};

/// (a + bi) (cos - i sin), with an inverse's sine negative, along the last dimension.
Complex transform(NodeContext &node, Complex x, const Waves &waves, bool isInverse) {
  auto times = [&](Value part, Value wave) { return node.createValue<nn::MatMulOp>(part, wave); };
  NodeMath math{node};
  Complex y{times(x.real, waves.cosine), times(x.real, waves.sine)};
  if (!isInverse)
    y.imaginary = math.unary(nn::UnaryKind::Neg, y.imaginary);
  if (!x.imaginary)
    return y;
  nn::BinaryKind real = isInverse ? nn::BinaryKind::Sub : nn::BinaryKind::Add;
  y.real = math.binary(real, y.real, times(x.imaginary, waves.sine));
  y.imaginary = math.add(y.imaginary, times(x.imaginary, waves.cosine));
  return y;
}

/// The axis is an attribute before opset 20 and an input since.
std::optional<int64_t> getAxis(NodeContext &node) {
  int64_t rank = node.getRank(0), axis = 1;
  if (node.getOpset() < 20) {
    axis = node.getInt("axis", 1);
  } else if (node.getInput(2)) {
    llvm::SmallVector<int64_t> axes = node.getConstantInts(2, "axis");
    axis = axes.size() == 1 ? axes.front() : rank;
  } else {
    axis = -2;
  }
  axis = node.normalizeAxis(axis, rank);
  if (node.hasFailed() || axis == rank - 1)
    return std::nullopt;
  return axis;
}

LogicalResult buildDft(NodeContext &node) {
  RankedTensorType type = node.getType(0);
  int64_t rank = type.getRank(), parts = rank ? type.getShape().back() : 0;
  bool isInverse = node.getFlag("inverse", false), isOnesided = node.getFlag("onesided", false);
  if (rank < 2 || (parts != 1 && parts != 2))
    return node.unsupported("DFT needs a last dimension of 1 or 2 elements, the real and imaginary parts");
  if (isOnesided && (isInverse || parts == 2))
    return node.unsupported("a one-sided DFT is supported of real signals alone, and not inverse");
  std::optional<int64_t> axis = getAxis(node);
  if (!axis)
    return node.hasFailed() ? failure() : node.malformed("axis can't be the one that holds the parts");

  Value x = node.getInput(0);
  Type element = type.getElementType();
  Type computed = element.isF64() ? element : Type(node.getBuilder().getF32Type());
  NodeMath math{node};
  x = math.cast(x, computed);
  if (node.getInput(1)) {
    llvm::SmallVector<int64_t> length = node.getConstantInts(1, "dft_length");
    int64_t extent = type.getDimSize(static_cast<unsigned>(*axis));
    if (node.hasFailed() || length.size() != 1 || length.front() < 1 || ShapedType::isDynamic(extent))
      return node.hasFailed() ? failure()
                              : node.unsupported("dft_length needs an extent that is known and one positive number");
    x = fitLength(node, x, *axis, length.front(), extent);
  }
  Value length = node.createAsScalar(node.createValue<nn::ShapeOp>(x, *axis, *axis + 1));
  Waves waves(node, length, countColumns(node, length, isOnesided), computed);

  // The axis comes last, where a product reads it, and goes back afterwards.
  llvm::SmallVector<int64_t> toLast(static_cast<size_t>(rank) - 1), back(toLast.size());
  std::iota(toLast.begin(), toLast.end(), 0);
  std::rotate(toLast.begin() + *axis, toLast.begin() + *axis + 1, toLast.end());
  for (auto [i, dim] : llvm::enumerate(toLast))
    back[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  auto permute = [&](Value value, llvm::ArrayRef<int64_t> perm) {
    return node.createValue<nn::TransposeOp>(value, perm);
  };
  Complex signal{permute(takePart(node, x, 0, rank), toLast), Value()};
  if (parts == 2)
    signal.imaginary = permute(takePart(node, x, 1, rank), toLast);
  Complex spectrum = transform(node, signal, waves, isInverse);
  llvm::SmallVector<Value> results;
  for (Value part : {spectrum.real, spectrum.imaginary}) {
    if (isInverse)
      part = math.div(part, math.cast(length, computed));
    part = permute(part, back);
    results.push_back(node.createValue<nn::UnsqueezeOp>(part, llvm::ArrayRef<int64_t>(rank - 1)));
  }
  Value y = node.createValue<nn::ConcatOp>(ValueRange(results), rank - 1);
  return node.setOutputs(math.cast(y, element));
}

} // namespace

llvm::ArrayRef<OpRow> getSpectralOps() {
  static constexpr OpRow kRows[] = {{"", "DFT", 17, 1, 3, buildDft}};
  return kRows;
}

} // namespace heddle::importer
