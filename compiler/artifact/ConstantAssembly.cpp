// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of recipes. Those that move change where an element is read: transposing permutes strides, slicing moves
// the first element, concatenating appends parts. Those that compute add a stage, or leave a part of their own.

#include "compiler/artifact/ConstantAssembly.h"

#include "compiler/artifact/ConstantMatrix.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <limits>

using namespace heddle;
using namespace mlir;

SmallVector<int64_t> ConstantAssembly::getDims() const {
  SmallVector<int64_t> dims = parts.front().dims;
  for (const ConstantPart &part : llvm::drop_begin(parts))
    dims[axis] += part.dims[axis];
  return dims;
}

RankedTensorType ConstantAssembly::getType() const {
  SmallVector<int64_t> dims = getDims();
  if (!panels)
    return RankedTensorType::get(dims, elementType);
  int64_t count = llvm::divideCeil(dims[1], panels->columns), rows = llvm::divideCeil(dims[0], panels->group);
  if (elementType.isSignlessInteger(4))
    return RankedTensorType::get({count, rows, panels->columns}, IntegerType::get(elementType.getContext(), 8));
  if (panels->group == 1)
    return RankedTensorType::get({count, rows, panels->columns}, elementType);
  return RankedTensorType::get({count, rows, panels->columns, panels->group}, elementType);
}

void ConstantAssembly::transpose(ArrayRef<int64_t> permutation) {
  for (ConstantPart &part : parts) {
    SmallVector<int64_t> dims, strides;
    for (int64_t from : permutation) {
      dims.push_back(part.dims[from]);
      strides.push_back(part.strides[from]);
    }
    part.dims = dims;
    part.strides = strides;
  }
  auto place = [&](int64_t dim) { return llvm::find(permutation, dim) - permutation.begin(); };
  if (!permutation.empty())
    axis = place(axis);
  for (ElementStage &stage : stages)
    stage.factors.axis = place(stage.factors.axis);
}

/// |values| as a row-major tensor of their own.
template <typename T> static ConstantPart makePart(std::vector<T> values, ArrayRef<int64_t> dims) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(owner->data()), owner->size() * sizeof(T));
  SmallVector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0; stride *= dims[i])
    strides[i] = stride;
  return {std::move(owner), bytes, /*first=*/0, llvm::to_vector(dims), strides};
}

namespace {

/// As ChannelFactors::block.
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

/// Runs recipes for one constant; the first fault ends it.
class Assembler {
public:
  explicit Assembler(rt::ConstantOp op) : op(op) {}

  FailureOr<ConstantAssembly> run(Attribute source, Type type, ArrayAttr recipe);

private:
  LogicalResult open(Attribute source, RankedTensorType type, ConstantAssembly &result);
  LogicalResult apply(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult transpose(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult slice(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult concat(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult multiply(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult quantize(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult sums(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult flip(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult widen(DictionaryAttr step, ConstantAssembly &assembly);
  LogicalResult pack(DictionaryAttr step, ConstantAssembly &assembly);

  /// The axis of a step that computes of a matrix.
  FailureOr<int64_t> getAxis(DictionaryAttr step, const ConstantAssembly &assembly);

  rt::ConstantOp op;
};

} // namespace

FailureOr<ConstantAssembly> Assembler::run(Attribute source, Type type, ArrayAttr recipe) {
  auto tensorType = dyn_cast_if_present<RankedTensorType>(type);
  if (!source || !tensorType || !tensorType.hasStaticShape() || !recipe)
    return op.emitOpError() << "expects a source, its static type and a recipe";
  ConstantAssembly assembly;
  if (failed(open(source, tensorType, assembly)))
    return failure();
  for (Attribute attr : recipe) {
    auto step = dyn_cast<DictionaryAttr>(attr);
    if (!step)
      return op.emitOpError() << "expects dictionaries as steps, got " << attr;
    if (failed(apply(step, assembly)))
      return failure();
  }
  return assembly;
}

LogicalResult Assembler::open(Attribute source, RankedTensorType type, ConstantAssembly &result) {
  FailureOr<nn::ConstantData> data = rt::readSource(op, source, type);
  if (failed(data))
    return failure();
  unsigned width = type.getElementTypeBitWidth();
  if (width != 1 && width != 4 && width % 8 != 0)
    return op.emitOpError() << "expects elements of 1, 4 or a multiple of 8 bits, got " << type.getElementType();
  result.partBits = width == 1 ? 8 : width;
  // Kernels know no signs.
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  result.elementType = integer ? IntegerType::get(type.getContext(), width) : type.getElementType();
  SmallVector<int64_t> strides(type.getRank());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0; stride *= type.getDimSize(i))
    strides[i] = stride;
  ArrayRef<uint8_t> bytes = data->getBytes();
  auto owner = std::make_shared<nn::ConstantData>(*data);
  result.parts.push_back({std::move(owner), bytes, /*first=*/0, llvm::to_vector(type.getShape()), strides});
  return success();
}

LogicalResult Assembler::apply(DictionaryAttr step, ConstantAssembly &assembly) {
  if (assembly.panels)
    return op.emitOpError() << "expects packing to be the recipe's last step";
  auto kind = step.getAs<StringAttr>("kind");
  if (kind == "transpose")
    return transpose(step, assembly);
  if (kind == "multiply")
    return multiply(step, assembly);
  if (kind == "quantize" || kind == "scales")
    return quantize(step, assembly);
  if (kind == "sums")
    return sums(step, assembly);
  if (kind == "flip")
    return flip(step, assembly);
  if (kind == "widen")
    return widen(step, assembly);
  if (kind == "pack")
    return pack(step, assembly);
  if (!assembly.stages.empty())
    return op.emitOpError() << "expects slices and further sources before steps that compute, got " << step;
  return kind == "slice" ? slice(step, assembly) : concat(step, assembly);
}

LogicalResult Assembler::transpose(DictionaryAttr step, ConstantAssembly &assembly) {
  auto permutation = step.getAs<DenseI64ArrayAttr>("permutation");
  int64_t rank = assembly.parts.front().dims.size();
  SmallVector<bool> isUsed(rank);
  bool isValid = permutation && permutation.size() == rank;
  for (int64_t i = 0; isValid && i < rank; ++i) {
    int64_t axis = permutation[i];
    isValid = axis >= 0 && axis < rank && !isUsed[axis];
    if (isValid)
      isUsed[axis] = true;
  }
  if (!isValid)
    return op.emitOpError() << "expects a permutation of " << rank << " dimensions, got " << step;
  assembly.transpose(permutation.asArrayRef());
  return success();
}

LogicalResult Assembler::slice(DictionaryAttr step, ConstantAssembly &assembly) {
  auto axis = step.getAs<IntegerAttr>("axis"), begin = step.getAs<IntegerAttr>("begin"),
       size = step.getAs<IntegerAttr>("size"), every = step.getAs<IntegerAttr>("every");
  SmallVector<int64_t> dims = assembly.getDims();
  int64_t distance = every ? every.getInt() : 1;
  if (!axis || !begin || !size || axis.getInt() < 0 || axis.getInt() >= static_cast<int64_t>(dims.size()) ||
      begin.getInt() < 0 || size.getInt() < 0 || begin.getInt() > dims[axis.getInt()] || distance < 1 ||
      (distance > 1 && distance > dims[axis.getInt()]) ||
      size.getInt() > int64_t(llvm::divideCeil(dims[axis.getInt()] - begin.getInt(), distance)))
    return op.emitOpError() << "expects a slice inside the tensor, got " << step;
  int64_t dim = axis.getInt(), skip = begin.getInt(), left = size.getInt();
  if (distance != 1) {
    if (assembly.parts.size() != 1)
      return op.emitOpError() << "expects one source to take every so many of, got " << step;
    ConstantPart &part = assembly.parts.front();
    part.first += skip * part.strides[dim];
    part.dims[dim] = left;
    part.strides[dim] *= distance;
    return success();
  }
  for (ConstantPart &part : assembly.parts) {
    int64_t offset = std::min(skip, part.dims[dim]), extent = std::min(left, part.dims[dim] - offset);
    part.first += offset * part.strides[dim];
    part.dims[dim] = extent;
    // Parts share a range along their axis; along any other each is cut alike.
    if (dim == assembly.axis) {
      skip -= offset;
      left -= extent;
    }
  }
  return success();
}

LogicalResult Assembler::concat(DictionaryAttr step, ConstantAssembly &assembly) {
  auto axis = step.getAs<IntegerAttr>("axis");
  auto type = step.getAs<TypeAttr>("source_type");
  FailureOr<ConstantAssembly> next =
      run(step.get("source"), type ? type.getValue() : Type(), step.getAs<ArrayAttr>("recipe"));
  if (failed(next))
    return failure();
  SmallVector<int64_t> dims = assembly.getDims(), nextDims = next->getDims();
  int64_t rank = dims.size();
  bool fits = axis && axis.getInt() >= 0 && axis.getInt() < rank && rank == static_cast<int64_t>(nextDims.size()) &&
              next->elementType == assembly.elementType && next->stages.empty() && !next->panels;
  for (int64_t i = 0; fits && i < rank; ++i)
    fits = i == axis.getInt() || dims[i] == nextDims[i];
  // Parts are a list, not a grid.
  auto isAlong = [&](const ConstantAssembly &side) { return side.parts.size() == 1 || side.axis == axis.getInt(); };
  if (!fits || !isAlong(assembly) || !isAlong(*next))
    return op.emitOpError() << "expects parts that follow each other along one axis, got " << assembly.getType()
                            << " and " << next->getType();
  assembly.axis = axis.getInt();
  llvm::append_range(assembly.parts, next->parts);
  return success();
}

//===----------------------------------------------------------------------===//
// Steps that compute
//===----------------------------------------------------------------------===//

FailureOr<int64_t> Assembler::getAxis(DictionaryAttr step, const ConstantAssembly &assembly) {
  auto axis = step.getAs<IntegerAttr>("axis");
  if (assembly.parts.front().dims.size() != 2 || !axis || (axis.getInt() != 0 && axis.getInt() != 1))
    return op.emitOpError() << "expects a matrix and one of its axes, got " << step << " of " << assembly.getType();
  return axis.getInt();
}

LogicalResult Assembler::multiply(DictionaryAttr step, ConstantAssembly &assembly) {
  FailureOr<int64_t> axis = getAxis(step, assembly);
  if (failed(axis))
    return failure();
  auto type = step.getAs<TypeAttr>("source_type");
  FailureOr<ConstantAssembly> vector =
      run(step.get("source"), type ? type.getValue() : Type(), ArrayAttr::get(op.getContext(), {}));
  if (failed(vector))
    return failure();
  int64_t channels = assembly.getDims()[*axis];
  const ConstantPart &part = vector->parts.front();
  if (!assembly.elementType.isF32() || !vector->elementType.isF32() || part.bytes.size() != channels * sizeof(float))
    return op.emitOpError() << "expects a matrix of f32 and a number of f32 for each index along axis " << *axis
                            << ", got " << assembly.getType() << " and " << vector->getType();
  std::vector<float> values(channels);
  std::memcpy(values.data(), part.bytes.data(), part.bytes.size());
  assembly.stages.push_back({ElementStage::Kind::Multiply, {*axis, channels, kAll, std::move(values)}});
  return success();
}

LogicalResult Assembler::quantize(DictionaryAttr step, ConstantAssembly &assembly) {
  FailureOr<int64_t> axis = getAxis(step, assembly);
  if (failed(axis))
    return failure();
  auto block = step.getAs<IntegerAttr>("block"), bits = step.getAs<IntegerAttr>("bits");
  auto pairs = step.getAs<BoolAttr>("pair_safe");
  int64_t blockSize = block ? block.getInt() : kAll, width = bits ? bits.getInt() : 8;
  bool pairSafe = pairs && pairs.getValue();
  if (!assembly.elementType.isF32() || blockSize < 1 || (width != 4 && width != 8))
    return op.emitOpError() << "expects f32 to become codes of 4 or 8 bits in blocks of 1 or more, got " << step
                            << " of " << assembly.getType();
  if (pairSafe && (block || width != 8))
    return op.emitOpError() << "expects codes of 8 bits without blocks to be pair-safe, got " << step;
  int limit = width == 8 ? 127 : 7;
  ChannelFactors scales = computeScales(assembly, *axis, blockSize, limit, pairSafe);
  if (step.getAs<StringAttr>("kind") == "quantize") {
    assembly.stages.push_back({ElementStage::Kind::Quantize, std::move(scales), limit, pairSafe});
    assembly.elementType = IntegerType::get(op.getContext(), width);
    return success();
  }
  int64_t channels = scales.channels, blocks = llvm::divideCeil(scales.values.size(), std::max<int64_t>(channels, 1));
  ConstantAssembly result;
  result.partBits = 32;
  result.elementType = assembly.elementType;
  if (block)
    result.parts.push_back(makePart(std::move(scales.values), {blocks, channels}));
  else
    result.parts.push_back(makePart(std::move(scales.values), {channels}));
  if (block && *axis == 0)
    result.transpose({1, 0});
  assembly = std::move(result);
  return success();
}

LogicalResult Assembler::sums(DictionaryAttr step, ConstantAssembly &assembly) {
  FailureOr<int64_t> axis = getAxis(step, assembly);
  if (failed(axis))
    return failure();
  if (!assembly.elementType.isSignlessInteger(8))
    return op.emitOpError() << "expects i8 to sum up, got " << assembly.getType();
  ConstantAssembly result;
  result.partBits = 32;
  result.elementType = IntegerType::get(op.getContext(), 32);
  result.parts.push_back(makePart(computeSums(assembly, *axis), {assembly.getDims()[1 - *axis]}));
  assembly = std::move(result);
  return success();
}

LogicalResult Assembler::flip(DictionaryAttr step, ConstantAssembly &assembly) {
  unsigned width = assembly.elementType.isInteger() ? assembly.elementType.getIntOrFloatBitWidth() : 0;
  if (assembly.parts.front().dims.size() != 2 || (width != 4 && width != 8))
    return op.emitOpError() << "expects a matrix of i8 or i4 to flip, got " << assembly.getType();
  // The highest bit, which the bits above it repeat where a code has 4.
  ElementStage stage = {ElementStage::Kind::Flip};
  stage.bits = width == 4 ? 0xf8 : 0x80;
  assembly.stages.push_back(stage);
  return success();
}

LogicalResult Assembler::widen(DictionaryAttr step, ConstantAssembly &assembly) {
  auto isUnsigned = step.getAs<BoolAttr>("is_unsigned");
  if (assembly.parts.front().dims.size() != 2 || !assembly.elementType.isSignlessInteger(4))
    return op.emitOpError() << "expects a matrix of i4 to widen, got " << assembly.getType();
  ElementStage stage = {ElementStage::Kind::Mask};
  stage.bits = isUnsigned && isUnsigned.getValue() ? 0x0f : 0xff;
  assembly.stages.push_back(stage);
  assembly.elementType = IntegerType::get(op.getContext(), 8);
  return success();
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

LogicalResult Assembler::pack(DictionaryAttr step, ConstantAssembly &assembly) {
  auto panel = step.getAs<IntegerAttr>("panel");
  if (!panel || panel.getInt() < 1 || panel.getInt() > 4096)
    return op.emitOpError() << "expects a panel of 1 to 4096 columns, got " << step;
  size_t rank = assembly.parts.front().dims.size();
  if (rank != 2)
    return op.emitOpError() << "expects a matrix to pack, got rank " << rank;
  assembly.panels = {panel.getInt(), /*group=*/1};
  if (auto element = step.getAs<TypeAttr>("pairs_of")) {
    if (!element.getValue().isBF16() || !assembly.elementType.isF32())
      return op.emitOpError() << "expects pairs of bf16 from f32, got " << step << " of " << assembly.elementType;
    assembly.stages.push_back({ElementStage::Kind::RoundToBf16});
    assembly.elementType = element.getValue();
    assembly.panels->group = 2;
  }
  if (auto group = step.getAs<IntegerAttr>("group")) {
    if (group.getInt() != 4 || !assembly.elementType.isSignlessInteger(8))
      return op.emitOpError() << "expects groups of four i8, got " << step << " of " << assembly.elementType;
    assembly.panels->group = group.getInt();
  }
  auto nibbles = step.getAs<BoolAttr>("nibbles");
  bool hasNibbles = nibbles && nibbles.getValue();
  if (hasNibbles != assembly.elementType.isSignlessInteger(4))
    return op.emitOpError() << "expects codes of i4, and no others, as nibbles, got " << step << " of "
                            << assembly.elementType;
  if (hasNibbles)
    assembly.panels->group = 2;
  return success();
}

FailureOr<ConstantAssembly> heddle::assembleConstant(rt::ConstantOp constant) {
  FailureOr<ConstantAssembly> assembly =
      Assembler(constant).run(constant.getSource(), constant.getSourceType(), constant.getRecipe());
  if (failed(assembly))
    return failure();
  // Two of a byte can't be moved apart unless they get panels.
  if (!constant.getRecipe().empty() && !assembly->panels && assembly->elementType.isSignlessInteger(4))
    return constant.emitOpError() << "expects codes of i4 to be packed";
  if (assembly->getType() != constant.getType())
    return constant.emitOpError() << "expects the recipe to give " << constant.getType() << ", got "
                                  << assembly->getType();
  return assembly;
}
