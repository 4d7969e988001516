// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of recipes. Each only changes where an element is read: transposing permutes strides, slicing moves the
// first element, concatenating appends parts.

#include "compiler/artifact/ConstantAssembly.h"

#include "llvm/ADT/STLExtras.h"

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
  if (pairs)
    return RankedTensorType::get({(dims[1] + panel - 1) / panel, (dims[0] + 1) / 2, panel, 2},
                                 BFloat16Type::get(elementType.getContext()));
  if (panel != 0)
    dims = {(dims[1] + panel - 1) / panel, dims[0], panel};
  return RankedTensorType::get(dims, elementType);
}

namespace {

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
  LogicalResult pack(DictionaryAttr step, ConstantAssembly &assembly);

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
  result.elementBytes = width == 1 ? 1 : width / 8;
  // Kernels know no signs.
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  result.elementType = integer ? IntegerType::get(type.getContext(), width) : type.getElementType();
  SmallVector<int64_t> strides(type.getRank());
  int64_t stride = result.elementBytes;
  for (size_t i = strides.size(); i-- > 0; stride *= type.getDimSize(i))
    strides[i] = stride;
  result.parts.push_back({*data, data->getBytes().data(), llvm::to_vector(type.getShape()), strides});
  return success();
}

LogicalResult Assembler::apply(DictionaryAttr step, ConstantAssembly &assembly) {
  unsigned width = assembly.elementType.getIntOrFloatBitWidth();
  if (width != 1 && width % 8 != 0)
    return op.emitOpError() << "expects elements of whole bytes for a recipe, got " << assembly.elementType;
  if (assembly.panel != 0)
    return op.emitOpError() << "expects packing to be the recipe's last step";
  auto kind = step.getAs<StringAttr>("kind");
  if (kind == "transpose")
    return transpose(step, assembly);
  if (kind == "slice")
    return slice(step, assembly);
  if (kind == "concat")
    return concat(step, assembly);
  return pack(step, assembly);
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
  for (ConstantPart &part : assembly.parts) {
    SmallVector<int64_t> dims, strides;
    for (int64_t axis : permutation.asArrayRef()) {
      dims.push_back(part.dims[axis]);
      strides.push_back(part.strides[axis]);
    }
    part.dims = dims;
    part.strides = strides;
  }
  if (rank > 0)
    assembly.axis = llvm::find(permutation.asArrayRef(), assembly.axis) - permutation.asArrayRef().begin();
  return success();
}

LogicalResult Assembler::slice(DictionaryAttr step, ConstantAssembly &assembly) {
  auto axis = step.getAs<IntegerAttr>("axis"), begin = step.getAs<IntegerAttr>("begin"),
       size = step.getAs<IntegerAttr>("size");
  SmallVector<int64_t> dims = assembly.getDims();
  if (!axis || !begin || !size || axis.getInt() < 0 || axis.getInt() >= static_cast<int64_t>(dims.size()) ||
      begin.getInt() < 0 || size.getInt() < 0 || begin.getInt() > dims[axis.getInt()] - size.getInt())
    return op.emitOpError() << "expects a slice inside the tensor, got " << step;
  int64_t dim = axis.getInt(), skip = begin.getInt(), left = size.getInt();
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
              next->elementType == assembly.elementType && next->panel == 0;
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

LogicalResult Assembler::pack(DictionaryAttr step, ConstantAssembly &assembly) {
  auto panel = step.getAs<IntegerAttr>("panel");
  if (!panel || panel.getInt() < 1 || panel.getInt() > 4096)
    return op.emitOpError() << "expects a panel of 1 to 4096 columns, got " << step;
  size_t rank = assembly.parts.front().dims.size();
  if (rank != 2)
    return op.emitOpError() << "expects a matrix to pack, got rank " << rank;
  assembly.panel = panel.getInt();
  if (auto element = step.getAs<TypeAttr>("pairs_of")) {
    if (!element.getValue().isBF16() || !assembly.elementType.isF32())
      return op.emitOpError() << "expects pairs of bf16 from f32, got " << step << " of " << assembly.elementType;
    assembly.pairs = true;
  }
  return success();
}

FailureOr<ConstantAssembly> heddle::assembleConstant(rt::ConstantOp constant) {
  FailureOr<ConstantAssembly> assembly =
      Assembler(constant).run(constant.getSource(), constant.getSourceType(), constant.getRecipe());
  if (failed(assembly))
    return failure();
  if (assembly->getType() != constant.getType())
    return constant.emitOpError() << "expects the recipe to give " << constant.getType() << ", got "
                                  << assembly->getType();
  return assembly;
}
