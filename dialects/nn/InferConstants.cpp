// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constant's form and checks, and the result types of ops without a data operand.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ShapeInference.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>

using namespace mlir;
using namespace heddle::nn;

//===------------------------------------------------------------------------------------------------------------===//
// nn.constant
//===------------------------------------------------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, ElementsAttr value) {
  build(builder, state, value.getShapedType(), value);
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  Attribute value;
  Type type;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseAttribute(value))
    return failure();
  // A file range has no type of its own. The parser takes a colon after it for one, hence the arrow.
  if (auto typed = dyn_cast<TypedAttr>(value))
    type = typed.getType();
  else if (parser.parseArrow() || parser.parseType(type))
    return failure();
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << " " << getValue();
  if (!isa<TypedAttr>(getValue()))
    printer << " -> " << getType();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::verify() {
  std::optional<int64_t> size = getRawSize(getType());
  if (!size)
    return emitOpError("expects a static shape, got ") << getType();
  if (auto elements = dyn_cast<ElementsAttr>(getValue()); elements && elements.getShapedType() != getType())
    return emitOpError("expects a value of the result's type ") << getType() << ", got " << elements.getShapedType();
  if (isa<DenseElementsAttr>(getValue())) {
    if (*size > kMaxLiteralBytes)
      return emitOpError("expects at most ") << kMaxLiteralBytes << " bytes as a literal, got " << *size;
    return success();
  }
  if (auto external = dyn_cast<ExternalAttr>(getValue())) {
    if (external.getLength() != *size)
      return emitOpError("expects a file range of ")
             << *size << " bytes for " << getType() << ", got " << external.getLength();
    return success();
  }
  // A resource's data may come after the op in a text, so its size is checked when it is read.
  if (!isa<DenseResourceElementsAttr>(getValue()))
    return emitOpError("expects a dense literal, a file range or a dense resource");
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// Filled tensors, sequences, shapes.
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult ConstantOfShapeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                                  SmallVectorImpl<Type> &types) {
  if (failed(getStaticLength(location, adaptor.getShape(), "a shape")))
    return failure();
  auto value = dyn_cast<TypedAttr>(adaptor.getValue());
  if (!value || !isa<IntegerAttr, FloatAttr>(value))
    return emitOptionalError(location, "expects a number as value, got ", adaptor.getValue());
  Extents shape;
  if (auto known = getKnownInts(adaptor.getShape()))
    shape.assign(known->begin(), known->end());
  else
    shape.assign(getTensorType(adaptor.getShape()).getDimSize(0), kDynamic);
  for (int64_t extent : shape)
    if (extent < 0 && extent != kDynamic)
      return emitOptionalError(location, "expects extents of at least 0, got ", extent);
  types.push_back(RankedTensorType::get(shape, value.getType()));
  return success();
}

SmallVector<Value> ConstantOfShapeOp::getShapeOperands() { return {getShape()}; }

/// The value of a constant scalar.
static std::optional<double> getConstantScalar(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || getTensorType(value).getRank() != 0)
    return std::nullopt;
  ScopedDiagnosticHandler silence(value.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<ConstantData> data = ConstantData::get(constant);
  if (failed(data))
    return std::nullopt;
  return data->getDouble(0);
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  if (failed(checkSameElementType(location, adaptor.getStart(), adaptor.getLimit())) ||
      failed(checkSameElementType(location, adaptor.getStart(), adaptor.getDelta())))
    return failure();
  std::optional<double> start = getConstantScalar(adaptor.getStart()), limit = getConstantScalar(adaptor.getLimit()),
                        delta = getConstantScalar(adaptor.getDelta());
  if (delta && *delta == 0)
    return emitOptionalError(location, "expects a delta other than 0");
  int64_t extent = kDynamic;
  if (start && limit && delta) {
    double count = std::max(std::ceil((*limit - *start) / *delta), 0.0);
    // Larger counts, and NaN, are left to run time.
    if (count < double(int64_t(1) << 53))
      extent = static_cast<int64_t>(count);
  }
  types.push_back(RankedTensorType::get(extent, getTensorType(adaptor.getStart()).getElementType()));
  return success();
}

SmallVector<Value> RangeOp::getShapeOperands() { return {getStart(), getLimit(), getDelta()}; }

LogicalResult ShapeOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  int64_t rank = getTensorType(adaptor.getInput()).getRank();
  int64_t start = adaptor.getStart(), end = adaptor.getEnd();
  if (start < 0 || start > end || end > rank)
    return emitOptionalError(location, "expects 0 <= start <= end <= ", rank, ", got ", start, " and ", end);
  types.push_back(RankedTensorType::get(end - start, IntegerType::get(context, 64)));
  return success();
}

LogicalResult SizeOp::inferReturnTypes(MLIRContext *context, OptionalLocation, Adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
  return success();
}
