// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpolation to another resolution, as position embeddings of vision models need it.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

namespace {

/// What a Resize asks for beside its sizes.
struct Resampling {
  nn::ResizeKind kind = nn::ResizeKind::Nearest;
  nn::ResizeCoordinates coordinates = nn::ResizeCoordinates::Asymmetric;
  nn::ResizeRounding rounding = nn::ResizeRounding::Floor;
  double cubicCoefficient = -0.75;
  bool excludesOutside = false;
};

template <typename Enum>
void readEnum(NodeContext &node, llvm::StringRef name, llvm::StringRef text,
              std::optional<Enum> (*symbolize)(llvm::StringRef), Enum &value) {
  if (std::optional<Enum> known = symbolize(text))
    value = *known;
  else
    (void)node.unsupported("attribute '" + name + "' of '" + text + "' is not supported");
}

/// Attributes since opset 11; opset 10 has the mode alone, places being asymmetric and rounded down.
Resampling getResampling(NodeContext &node) {
  Resampling resampling;
  readEnum(node, "mode", node.getString("mode", "nearest"), nn::symbolizeResizeKind, resampling.kind);
  if (node.getOpset() < 11)
    return resampling;
  readEnum(node, "coordinate_transformation_mode", node.getString("coordinate_transformation_mode", "half_pixel"),
           nn::symbolizeResizeCoordinates, resampling.coordinates);
  readEnum(node, "nearest_mode", node.getString("nearest_mode", "round_prefer_floor"), nn::symbolizeResizeRounding,
           resampling.rounding);
  resampling.cubicCoefficient = node.getFloat("cubic_coeff_a", -0.75);
  resampling.excludesOutside = node.getFlag("exclude_outside", false);
  node.ignoreAttr("extrapolation_value"); // of tf_crop_and_resize, which isn't supported
  if (node.getOpset() >= 18 && node.getFlag("antialias", false))
    (void)node.unsupported("Resize with antialias is not supported");
  return resampling;
}

/// Sizes beyond this, which doubles hold exactly, are no extents of anything.
constexpr double kMaxExtent = double(int64_t(1) << 52);

/// |extent|, a vector, times |scale|, rounded down: exactly, as the fraction that a float is.
Value scaleExtent(NodeContext &node, Value extent, float scale) {
  NodeMath math{node};
  constexpr int kBits = 24; // of an f32's significand
  int exponent = 0;
  double significand = std::ldexp(std::frexp(static_cast<double>(scale), &exponent), kBits);
  exponent = kBits - exponent;
  Value product = math.mul(extent, node.createVector(static_cast<int64_t>(significand)));
  if (exponent <= 0)
    return math.mul(product, node.createVector(int64_t(1) << -exponent));
  return math.div(product, node.createVector(int64_t(1) << exponent));
}

/// The extents of |axes| times |scales|, rounded down, as a vector.
Value scaleExtents(NodeContext &node, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<float> scales) {
  llvm::SmallVector<Value> extents;
  for (auto [axis, scale] : llvm::zip_equal(axes, scales)) {
    int64_t extent = node.getType(0).getDimSize(static_cast<unsigned>(axis));
    if (static_cast<double>(extent) * scale > kMaxExtent) {
      (void)node.malformed("scales make an extent of " + std::to_string(static_cast<double>(extent) * scale));
      return {};
    }
    extents.push_back(ShapedType::isDynamic(extent)
                          ? scaleExtent(node, node.createValue<nn::ShapeOp>(node.getInput(0), axis, axis + 1), scale)
                          : node.createVector(static_cast<int64_t>(std::floor(static_cast<double>(extent) * scale))));
  }
  return extents.size() == 1 ? extents.front() : node.createValue<nn::ConcatOp>(ValueRange(extents), int64_t(0));
}

/// Drops the axes of scale 1.
void dropUnscaled(llvm::SmallVector<int64_t> &axes, llvm::SmallVector<float> &scales) {
  for (size_t i = axes.size(); i-- > 0;)
    if (scales[i] == 1) {
      axes.erase(axes.begin() + i);
      scales.erase(scales.begin() + i);
    }
}

LogicalResult emitResize(NodeContext &node, const Resampling &resampling, Value sizes, llvm::ArrayRef<int64_t> axes,
                         llvm::ArrayRef<float> scales) {
  auto scalesAttr = scales.empty() ? DenseF32ArrayAttr() : node.getBuilder().getDenseF32ArrayAttr(scales);
  llvm::APFloat coefficient(static_cast<float>(resampling.cubicCoefficient));
  return node.emit<nn::ResizeOp>(resampling.kind, node.getInput(0), sizes, axes, scalesAttr, resampling.coordinates,
                                 resampling.rounding, coefficient, resampling.excludesOutside);
}

LogicalResult emitScaled(NodeContext &node, const Resampling &resampling, llvm::SmallVector<int64_t> axes,
                         llvm::SmallVector<float> scales) {
  // The bounds keep extents within 64 bits.
  auto isBad = [](float scale) { return !(scale >= 1.0f / (1 << 16) && scale <= 1 << 16); };
  if (scales.size() != axes.size() || llvm::any_of(scales, isBad))
    return node.malformed("scales need " + llvm::Twine(axes.size()) + " positive numbers within 2^-16 and 2^16");
  dropUnscaled(axes, scales);
  if (axes.empty())
    return node.setOutputs(node.getInput(0));
  return emitResize(node, resampling, scaleExtents(node, axes, scales), axes, scales);
}

/// Sizes that keep the ratio of the extents: all are scaled by the smallest or greatest scale that was asked for.
std::optional<llvm::SmallVector<int64_t>> keepRatio(NodeContext &node, llvm::ArrayRef<int64_t> axes,
                                                    llvm::SmallVector<int64_t> sizes, bool isNotLarger) {
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    int64_t extent = node.getType(0).getDimSize(static_cast<unsigned>(axis));
    if (ShapedType::isDynamic(extent) || extent == 0) {
      (void)node.unsupported("keep_aspect_ratio_policy needs extents that are known");
      return std::nullopt;
    }
    double wanted = static_cast<double>(size) / static_cast<double>(extent);
    scale = !scale ? wanted : isNotLarger ? std::min(*scale, wanted) : std::max(*scale, wanted);
  }
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    double extent = static_cast<double>(node.getType(0).getDimSize(static_cast<unsigned>(axis)));
    double kept = std::floor(*scale * extent + 0.5);
    if (!(kept >= 0 && kept <= kMaxExtent)) {
      (void)node.malformed("sizes can't be negative or make an extent of " + std::to_string(kept));
      return std::nullopt;
    }
    size = static_cast<int64_t>(kept);
  }
  return sizes;
}

/// The axes that are resized, in the file's order: attribute axes since opset 18, or all.
llvm::SmallVector<int64_t> getAxes(NodeContext &node) {
  int64_t rank = node.getRank(0);
  std::optional<llvm::SmallVector<int64_t>> given;
  if (node.getOpset() >= 18)
    given = node.getInts("axes");
  if (!given)
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t &axis : *given)
    axis = node.normalizeAxis(axis, rank);
  return *given;
}

/// Sizes, constant ones or others, of which |policy| may keep the ratio.
LogicalResult buildSized(NodeContext &node, const Resampling &resampling, llvm::StringRef policy,
                         llvm::ArrayRef<int64_t> fileAxes, llvm::ArrayRef<int64_t> order) {
  llvm::SmallVector<int64_t> axes(fileAxes);
  llvm::sort(axes);
  if (policy == "stretch") {
    Value sizes = node.getInput(3);
    if (!llvm::is_sorted(order))
      sizes = node.createValue<nn::GatherOp>(sizes, node.createVector(order), int64_t(0));
    return emitResize(node, resampling, sizes, axes, {});
  }
  llvm::SmallVector<int64_t> wanted = node.getConstantInts(3, "sizes"), sizes;
  if (node.hasFailed() || wanted.size() != axes.size() || (policy != "not_larger" && policy != "not_smaller"))
    return node.hasFailed() ? failure() : node.malformed("sizes or keep_aspect_ratio_policy don't fit");
  for (int64_t position : order)
    sizes.push_back(wanted[static_cast<size_t>(position)]);
  auto kept = keepRatio(node, axes, sizes, policy == "not_larger");
  return kept ? emitResize(node, resampling, node.createVector(*kept), axes, {}) : failure();
}

/// Inputs are roi, scales and sizes since opset 11, scales alone before.
LogicalResult buildResize(NodeContext &node) {
  Resampling resampling = getResampling(node);
  llvm::SmallVector<int64_t> axes = getAxes(node);
  std::string policy = node.getOpset() >= 18 ? node.getString("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (node.hasFailed())
    return failure();
  // Entry i of the ascending axes is entry order[i] of the file's.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(axes.size())));
  llvm::sort(order, [&](int64_t a, int64_t b) { return axes[static_cast<size_t>(a)] < axes[static_cast<size_t>(b)]; });
  bool isSince11 = node.getOpset() >= 11;
  if (isSince11 && node.getInput(3))
    return buildSized(node, resampling, policy, axes, order);
  std::optional<llvm::SmallVector<float>> given = node.getConstantFloats(isSince11 ? 2 : 1, "scales");
  if (!given || given->size() != axes.size())
    return given ? node.malformed("scales need one number for each axis") : failure();
  llvm::SmallVector<float> scales;
  for (int64_t position : order)
    scales.push_back((*given)[static_cast<size_t>(position)]);
  llvm::sort(axes);
  return emitScaled(node, resampling, axes, scales);
}

/// The predecessor of Resize, with asymmetric places.
LogicalResult buildUpsample(NodeContext &node) {
  Resampling resampling;
  readEnum(node, "mode", node.getString("mode", "nearest"), nn::symbolizeResizeKind, resampling.kind);
  std::optional<llvm::SmallVector<float>> scales = node.getConstantFloats(1, "scales");
  if (!scales)
    return failure();
  return emitScaled(node, resampling, llvm::to_vector(llvm::seq<int64_t>(0, node.getRank(0))), *scales);
}

} // namespace

llvm::ArrayRef<OpRow> getResamplingOps() {
  static constexpr OpRow kRows[] = {
      {"", "Resize", 10, 1, 4, buildResize},
      {"", "Upsample", 9, 2, 2, buildUpsample},
  };
  return kRows;
}

} // namespace heddle::importer
