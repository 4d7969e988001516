// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result types of the maps, and which element types each kind takes.

#include "dialects/nn/NnOps.h"
#include "dialects/nn/ShapeInference.h"

using namespace mlir;
using namespace heddle::nn;

/// A set of element types, as diagnostics name it.
struct ElementClass {
  llvm::StringLiteral name;
  bool floats, signedInts, unsignedInts, bools;

  bool contains(Type type) const {
    if (isa<FloatType>(type))
      return floats;
    if (type.isInteger(1))
      return bools;
    return type.isUnsignedInteger() ? unsignedInts : signedInts;
  }
};

static constexpr ElementClass kNumber{"a number", true, true, true, false};
static constexpr ElementClass kSigned{"a float or signed integer", true, true, false, false};
static constexpr ElementClass kFloat{"a float", true, false, false, false};
static constexpr ElementClass kInteger{"an integer", false, true, true, false};
static constexpr ElementClass kBool{"an i1", false, false, false, true};
static constexpr ElementClass kAny{"any", true, true, true, true};

static ElementClass getElementClass(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::Abs:
  case UnaryKind::Sign:
  case UnaryKind::Relu:
    return kNumber;
  case UnaryKind::Neg:
    return kSigned;
  case UnaryKind::Not:
    return kBool;
  case UnaryKind::BitwiseNot:
    return kInteger;
  default:
    return kFloat;
  }
}

static ElementClass getElementClass(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
    return kBool;
  case BinaryKind::BitwiseAnd:
  case BinaryKind::BitwiseOr:
  case BinaryKind::BitwiseXor:
  case BinaryKind::Mod:
    return kInteger;
  default:
    return kNumber;
  }
}

static LogicalResult checkElement(OptionalLocation location, Value operand, ElementClass allowed, StringRef kind) {
  Type element = getTensorType(operand).getElementType();
  if (allowed.contains(element))
    return success();
  return emitOptionalError(location, "expects ", allowed.name, " operand for kind '", kind, "', got ", element);
}

LogicalResult UnaryOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  UnaryKind kind = adaptor.getKind();
  RankedTensorType input = getTensorType(adaptor.getInput());
  if (failed(checkElement(location, adaptor.getInput(), getElementClass(kind), stringifyUnaryKind(kind))))
    return failure();
  bool isTest = kind == UnaryKind::IsNan || kind == UnaryKind::IsInf;
  types.push_back(isTest ? input.clone(IntegerType::get(context, 1)) : input);
  return success();
}

LogicalResult BinaryOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  BinaryKind kind = adaptor.getKind();
  RankedTensorType lhs = getTensorType(adaptor.getLhs());
  for (Value operand : adaptor.getOperands())
    if (failed(checkElement(location, operand, getElementClass(kind), stringifyBinaryKind(kind))))
      return failure();
  if (kind != BinaryKind::Pow && failed(checkSameElementType(location, adaptor.getLhs(), adaptor.getRhs())))
    return failure();
  Extents shape;
  if (failed(broadcast(location, lhs.getShape(), getTensorType(adaptor.getRhs()).getShape(), shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, OptionalLocation location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  CompareKind kind = adaptor.getKind();
  bool isEquality = kind == CompareKind::Eq || kind == CompareKind::Ne;
  if (failed(checkElement(location, adaptor.getLhs(), isEquality ? kAny : kNumber, stringifyCompareKind(kind))) ||
      failed(checkSameElementType(location, adaptor.getLhs(), adaptor.getRhs())))
    return failure();
  Extents shape;
  if (failed(broadcast(location, getTensorType(adaptor.getLhs()).getShape(), getTensorType(adaptor.getRhs()).getShape(),
                       shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 1)));
  return success();
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType onTrue = getTensorType(adaptor.getOnTrue()), onFalse = getTensorType(adaptor.getOnFalse());
  Extents values, shape;
  if (failed(checkSameElementType(location, adaptor.getOnTrue(), adaptor.getOnFalse())) ||
      failed(broadcast(location, onTrue.getShape(), onFalse.getShape(), values)) ||
      failed(broadcast(location, getTensorType(adaptor.getCondition()).getShape(), values, shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, onTrue.getElementType()));
  return success();
}

LogicalResult CastOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Type to = adaptor.getTo();
  if (!to.isIntOrFloat())
    return emitOptionalError(location, "expects an integer or float type to cast to, got ", to);
  types.push_back(getTensorType(adaptor.getInput()).clone(to));
  return success();
}

LogicalResult ClipOp::inferReturnTypes(MLIRContext *, OptionalLocation location, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput());
  for (Value bound : {adaptor.getMin(), adaptor.getMax()})
    if (bound && getTensorType(bound).getElementType() != input.getElementType())
      return emitOptionalError(location, "expects bounds of element type ", input.getElementType(), ", got ",
                               getTensorType(bound).getElementType());
  types.push_back(input);
  return success();
}
