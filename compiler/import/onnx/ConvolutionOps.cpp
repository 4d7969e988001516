// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators with windows over spatial dimensions: convolutions, their transposes and quantised forms, pooling.

#include "compiler/import/onnx/MicrosoftQuantizationOps.h"
#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

using Ints = llvm::SmallVector<int64_t>;

/// The attributes that all windows have, one entry a spatial dimension; pads are all begins, then all ends.
struct Window {
  Ints kernel, strides, dilations, pads;
};

/// Strides, extents and whatever else is added and multiplied is kept below this: then no sum of products overflows.
constexpr int64_t kMaxExtent = INT32_MAX;

/// The extent of spatial dimension |i| of input 0, for an attribute that |what| names; nothing where it isn't known.
std::optional<int64_t> getSpatialExtent(NodeContext &node, size_t i, llvm::StringRef what) {
  int64_t extent = node.getType(0).getDimSize(static_cast<unsigned>(i + 2));
  if (ShapedType::isDynamic(extent))
    (void)node.unsupported(what + " needs extents that are known", "export the model with explicit pads");
  else if (extent > kMaxExtent)
    (void)node.unsupported(what + " is not supported for an extent of " + llvm::Twine(extent));
  else
    return extent;
  return std::nullopt;
}

/// The padding that makes the result's extents ceil(extent / stride), for the spatial dimensions of input 0.
Ints makeSamePads(NodeContext &node, const Window &window, bool isUpper) {
  size_t count = window.kernel.size();
  Ints pads(2 * count, 0);
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> known = getSpatialExtent(node, i, "auto_pad");
    if (!known)
      return pads;
    int64_t extent = *known;
    int64_t stride = window.strides[i], reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t outputs = (extent + stride - 1) / stride;
    int64_t total = std::max<int64_t>((outputs - 1) * stride + reach - extent, 0);
    // What is odd goes to the end with SAME_UPPER, to the beginning with SAME_LOWER.
    pads[i] = isUpper ? total / 2 : total - total / 2;
    pads[count + i] = total - pads[i];
  }
  return pads;
}

/// |weightKernel| is the kernel's shape as the weight has it, which kernel_shape repeats; empty where there is none.
std::optional<Window> getWindow(NodeContext &node, llvm::ArrayRef<int64_t> weightKernel) {
  size_t count = static_cast<size_t>(node.getRank(0)) - 2;
  Window window;
  window.kernel = node.getInts("kernel_shape").value_or(Ints(weightKernel));
  window.strides = node.getInts("strides").value_or(Ints(count, 1));
  window.dilations = node.getInts("dilations").value_or(Ints(count, 1));
  window.pads = node.getInts("pads").value_or(Ints(2 * count, 0));
  auto isBad = [&](llvm::ArrayRef<int64_t> list) {
    return list.size() != count || llvm::any_of(list, [](int64_t value) { return value < 1 || value > kMaxExtent; });
  };
  if (isBad(window.strides) || isBad(window.dilations) || isBad(window.kernel)) {
    (void)node.malformed("strides, dilations and kernel_shape need " + llvm::Twine(count) + " positive numbers each");
    return std::nullopt;
  }
  if (!weightKernel.empty() && llvm::ArrayRef<int64_t>(window.kernel) != weightKernel) {
    (void)node.fail(ErrorCode::H0204, "kernel_shape is not that of the weight");
    return std::nullopt;
  }
  return window;
}

/// Padding by attribute auto_pad, for windows that step over the input.
void applyAutoPad(NodeContext &node, Window &window) {
  std::string autoPad = node.getString("auto_pad", "NOTSET");
  if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
    window.pads = makeSamePads(node, window, autoPad == "SAME_UPPER");
  else if (autoPad == "VALID")
    window.pads.assign(window.pads.size(), 0);
  else if (autoPad != "NOTSET")
    (void)node.malformed("attribute 'auto_pad' can't be '" + autoPad + "'");
}

/// The window of a convolution whose weight is input |weight|.
std::optional<Window> getConvWindow(NodeContext &node, unsigned weight) {
  RankedTensorType type = node.getType(weight);
  if (node.getRank(0) < 3 || type.getRank() != node.getRank(0)) {
    (void)node.fail(ErrorCode::H0204, "input and weight must have one rank of at least 3");
    return std::nullopt;
  }
  return getWindow(node, type.getShape().drop_front(2));
}

Value createConv(NodeContext &node, Value input, Value weight, Value bias, Window &window) {
  applyAutoPad(node, window);
  int64_t group = node.getInt("group", 1);
  return node.createValue<nn::ConvOp>(input, weight, bias, llvm::ArrayRef<int64_t>(window.strides),
                                      llvm::ArrayRef<int64_t>(window.pads), llvm::ArrayRef<int64_t>(window.dilations),
                                      group);
}

//===------------------------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult buildConv(NodeContext &node) {
  std::optional<Window> window = getConvWindow(node, 1);
  if (!window)
    return failure();
  return node.setOutputs(createConv(node, node.getInput(0), node.getInput(1), node.getInput(2), *window));
}

/// Pads that give the wanted extents, by output_shape or by auto_pad: what is cut off of the whole result.
void fitTransposed(NodeContext &node, Window &window, Ints &outputPadding) {
  size_t count = window.kernel.size();
  std::optional<Ints> shape = node.getInts("output_shape");
  std::string autoPad = node.getString("auto_pad", "NOTSET");
  if (autoPad == "VALID")
    window.pads.assign(2 * count, 0);
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!shape && !isSame)
    return;
  if (shape && shape->size() == count + 2)
    shape->erase(shape->begin(), shape->begin() + 2);
  auto isBad = [](int64_t value) { return value < 0 || value > kMaxExtent; };
  if (shape && (shape->size() != count || llvm::any_of(*shape, isBad)))
    return (void)node.malformed("output_shape needs " + llvm::Twine(count) + " numbers that are no less than 0");
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> known = getSpatialExtent(node, i, shape ? "output_shape" : "auto_pad");
    if (!known)
      return;
    int64_t extent = *known;
    int64_t wanted = shape ? (*shape)[i] : extent * window.strides[i];
    int64_t whole = (extent - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    // What is missing is padded at the end, what is too much is cut off; the odd one by the mode.
    int64_t total = whole + outputPadding[i] - wanted;
    outputPadding[i] += std::max<int64_t>(-total, 0);
    total = std::max<int64_t>(total, 0);
    window.pads[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.pads[count + i] = total - window.pads[i];
  }
}

LogicalResult buildConvTranspose(NodeContext &node) {
  std::optional<Window> window = getConvWindow(node, 1);
  if (!window)
    return failure();
  Ints outputPadding = node.getInts("output_padding").value_or(Ints(window->kernel.size(), 0));
  auto isBad = [](int64_t value) { return value < 0 || value > kMaxExtent; };
  if (outputPadding.size() != window->kernel.size() || window->pads.size() != 2 * window->kernel.size() ||
      llvm::any_of(outputPadding, isBad))
    return node.malformed("pads and output_padding need one number for each side that they pad");
  fitTransposed(node, *window, outputPadding);
  int64_t group = node.getInt("group", 1);
  return node.emit<nn::ConvTransposeOp>(node.getInput(0), node.getInput(1), node.getInput(2),
                                        llvm::ArrayRef<int64_t>(window->strides), llvm::ArrayRef<int64_t>(window->pads),
                                        llvm::ArrayRef<int64_t>(window->dilations),
                                        llvm::ArrayRef<int64_t>(outputPadding), group);
}

//===------------------------------------------------------------------------------------------------------------===//
// Quantised convolutions. Integers are multiplied exactly in i32, with zero points subtracted first: so the padding,
// which is the zero point, is 0.
//===------------------------------------------------------------------------------------------------------------===//

/// |parameter|, one for all or one for each of the weight's features, in front of the |rank| - 1 dimensions behind.
Value alongFeatures(NodeContext &node, Value parameter, int64_t rank) {
  if (node.hasFailed())
    return {};
  auto type = cast<RankedTensorType>(parameter.getType());
  if (type.getRank() != 1 || type.getDimSize(0) == 1)
    return node.createAsScalar(parameter);
  Ints axes;
  for (int64_t axis = 1; axis < rank; ++axis)
    axes.push_back(axis);
  return node.createValue<nn::UnsqueezeOp>(parameter, llvm::ArrayRef<int64_t>(axes));
}

/// |x| less |zeroPoint| as i32.
Value centre(NodeContext &node, Value x, Value zeroPoint) {
  NodeMath math{node};
  Type i32 = node.getBuilder().getI32Type();
  Value wide = math.cast(x, i32);
  return zeroPoint ? math.sub(wide, math.cast(zeroPoint, i32)) : wide;
}

/// The exact products of inputs |x| and |weight|, whose zero points are one input further and at the end.
Value createIntegerConv(NodeContext &node, unsigned x, unsigned xZero, unsigned weight, unsigned weightZero,
                        Value bias) {
  std::optional<Window> window = getConvWindow(node, weight);
  if (!window)
    return {};
  Value zeroOfX = node.getInput(xZero) ? node.createAsScalar(node.getInput(xZero)) : Value();
  Value zeroOfWeight =
      node.getInput(weightZero) ? alongFeatures(node, node.getInput(weightZero), node.getRank(weight)) : Value();
  return createConv(node, centre(node, node.getInput(x), zeroOfX), centre(node, node.getInput(weight), zeroOfWeight),
                    bias, *window);
}

LogicalResult buildConvInteger(NodeContext &node) {
  return node.setOutputs(createIntegerConv(node, 0, 2, 1, 3, Value()));
}

LogicalResult buildQLinearConv(NodeContext &node) {
  NodeMath math{node};
  Value sums = createIntegerConv(node, 0, 2, 3, 5, node.getInput(8));
  if (!sums)
    return failure();
  Type f32 = node.getBuilder().getF32Type();
  int64_t rank = node.getRank(0);
  // One factor for the whole way from sums to codes: it is rounded once.
  Value weightScale = alongFeatures(node, math.cast(node.getInput(4), f32), rank - 1);
  Value scales = math.mul(math.cast(node.createAsScalar(node.getInput(1)), f32), weightScale);
  Value factor = math.div(scales, math.cast(node.createAsScalar(node.getInput(6)), f32));
  Value zero = node.createAsScalar(node.getInput(7));
  Value one = node.createScalar(f32, 1);
  return node.emit<nn::QuantizeLinearOp>(math.mul(math.cast(sums, f32), factor), one, zero, int64_t(0), int64_t(0),
                                         node.getElementType(7));
}

//===------------------------------------------------------------------------------------------------------------===//
// Pooling
//===------------------------------------------------------------------------------------------------------------===//

/// |input| has the shape of input 0.
template <nn::PoolKind kind> Value createPool(NodeContext &node, Value input) {
  if (node.getRank(0) < 3) {
    (void)node.fail(ErrorCode::H0204, "input must have a rank of at least 3");
    return {};
  }
  node.ignoreAttr("storage_order"); // of output Indices, which isn't supported
  std::optional<Window> window = getWindow(node, {});
  if (!window)
    return {};
  bool isCeil = node.getFlag("ceil_mode", false);
  bool countsPads = kind == nn::PoolKind::Average && node.getFlag("count_include_pad", false);
  int64_t p = kind == nn::PoolKind::Lp ? node.getInt("p", 2) : 2;
  applyAutoPad(node, *window);
  return node.createValue<nn::PoolOp>(kind, input, llvm::ArrayRef<int64_t>(window->kernel),
                                      llvm::ArrayRef<int64_t>(window->strides), llvm::ArrayRef<int64_t>(window->pads),
                                      llvm::ArrayRef<int64_t>(window->dilations), p, isCeil, countsPads);
}

template <nn::PoolKind kind> LogicalResult buildPool(NodeContext &node) {
  Value result = createPool<kind>(node, node.getInput(0));
  return result ? node.setOutputs(result) : failure();
}

/// One window over all spatial dimensions.
template <nn::ReduceKind kind> LogicalResult buildGlobalPool(NodeContext &node) {
  if (node.getRank(0) < 3)
    return node.fail(ErrorCode::H0204, "input must have a rank of at least 3");
  if (kind == nn::ReduceKind::L2 && node.getInt("p", 2) != 2)
    return node.unsupported("a global pool by another norm than p = 2 is not supported");
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(2, node.getRank(0)));
  return node.emit<nn::ReduceOp>(kind, node.getInput(0), llvm::ArrayRef<int64_t>(axes), /*keepdims=*/true);
}

/// The same as the standard operator's, where channels come first.
LogicalResult buildMicrosoftQLinearConv(NodeContext &node) {
  return failed(refuseChannelsLast(node)) ? failure() : buildQLinearConv(node);
}

} // namespace

Value createAveragePool(NodeContext &node, Value input) { return createPool<nn::PoolKind::Average>(node, input); }

llvm::ArrayRef<OpRow> getConvolutionOps() {
  static constexpr OpRow kRows[] = {
      {"", "Conv", 1, 2, 3, buildConv},
      {"", "ConvTranspose", 1, 2, 3, buildConvTranspose},
      {"", "ConvInteger", 10, 2, 4, buildConvInteger},
      {"", "QLinearConv", 10, 8, 9, buildQLinearConv},
      {"com.microsoft", "QLinearConv", 1, 8, 9, buildMicrosoftQLinearConv},
      {"", "MaxPool", 1, 1, 1, buildPool<nn::PoolKind::Max>},
      {"", "AveragePool", 1, 1, 1, buildPool<nn::PoolKind::Average>},
      {"", "LpPool", 2, 1, 1, buildPool<nn::PoolKind::Lp>},
      {"", "GlobalMaxPool", 1, 1, 1, buildGlobalPool<nn::ReduceKind::Max>},
      {"", "GlobalAveragePool", 1, 1, 1, buildGlobalPool<nn::ReduceKind::Mean>},
      {"", "GlobalLpPool", 2, 1, 1, buildGlobalPool<nn::ReduceKind::L2>},
  };
  return kRows;
}

} // namespace heddle::importer
