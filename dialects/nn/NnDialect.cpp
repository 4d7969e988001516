// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, its enums, attributes and interfaces, and checks of its discardable attributes.

#include "dialects/nn/NnDialect.h"

#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::nn;

#include "dialects/nn/NnDialect.cpp.inc"
#include "dialects/nn/NnEnums.cpp.inc"
#include "dialects/nn/NnInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NnAttributes.cpp.inc"

void NnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/NnOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NnAttributes.cpp.inc"
      >();
}

Operation *NnDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<ElementsAttr, ExternalAttr>(value))
    return nullptr;
  return builder.create<ConstantOp>(location, tensor, value);
}

LogicalResult ExternalAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef file, int64_t offset,
                                   int64_t length) {
  if (file.empty())
    return emitError() << "expects the path of a file";
  if (offset < 0 || length < 0 || offset > std::numeric_limits<int64_t>::max() - length)
    return emitError() << "expects an offset and a length of at least 0, got " << offset << " and " << length;
  return success();
}

/// Checks `nn.dims` against the type it describes: a symbol for each `?`, the extent otherwise.
static LogicalResult verifyDims(Operation *op, Attribute value, Type type) {
  auto dims = dyn_cast<ArrayAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!dims || !tensor || static_cast<int64_t>(dims.size()) != tensor.getRank())
    return op->emitError("expects '") << NnDialect::getDimsAttrName() << "' to have one entry a dimension of " << type;
  for (auto [dim, extent] : llvm::zip(dims, tensor.getShape())) {
    auto symbol = dyn_cast<StringAttr>(dim);
    auto number = dyn_cast<IntegerAttr>(dim);
    bool fits = ShapedType::isDynamic(extent) ? symbol && !symbol.empty() : number && number.getValue() == extent;
    if (!fits)
      return op->emitError("expects '") << NnDialect::getDimsAttrName() << "' to hold a symbol for each '?' of " << type
                                        << " and the extent otherwise, got " << dim;
  }
  return success();
}

/// Checks `nn.default` against the type of the argument that it stands for.
static LogicalResult verifyDefault(Operation *op, Attribute value, Type type) {
  auto constant = dyn_cast<DictionaryAttr>(value);
  auto typeAttr = constant ? constant.getAs<TypeAttr>("type") : TypeAttr();
  auto tensor = typeAttr ? dyn_cast<RankedTensorType>(typeAttr.getValue()) : RankedTensorType();
  if (!tensor || !constant.contains("value"))
    return op->emitError("expects '") << NnDialect::getDefaultAttrName() << "' to hold a type and a value, got "
                                      << value;
  auto argument = dyn_cast<RankedTensorType>(type);
  if (!argument || !tensor.hasStaticShape() || tensor.getElementType() != argument.getElementType() ||
      failed(verifyCompatibleShape(tensor, argument)))
    return op->emitError("expects '") << NnDialect::getDefaultAttrName() << "' to fit " << type << ", got " << tensor;
  return success();
}

static LogicalResult verifyBoundaryAttribute(Operation *op, NamedAttribute attribute, Type type) {
  if (attribute.getName() == NnDialect::getDimsAttrName())
    return verifyDims(op, attribute.getValue(), type);
  if (attribute.getName() != NnDialect::getNameAttrName())
    return op->emitError("expects no attribute ") << attribute.getName() << " on an argument or result";
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.empty())
    return op->emitError("expects '") << NnDialect::getNameAttrName() << "' to be a name, got " << attribute.getValue();
  return success();
}

LogicalResult NnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == getRaisedAttrName()) {
    auto counts = dyn_cast<DictionaryAttr>(attribute.getValue());
    if (counts && llvm::all_of(counts, [](NamedAttribute entry) { return isa<IntegerAttr>(entry.getValue()); }))
      return success();
    return op->emitError("expects '") << name << "' to hold numbers of ops by name, got " << attribute.getValue();
  }
  if (name == getQuantizationAttrName()) {
    auto isPlace = [](Attribute entry) {
      auto place = dyn_cast<DictionaryAttr>(entry);
      return place && place.getAs<StringAttr>("kind") && place.getAs<ArrayAttr>("nodes");
    };
    auto places = dyn_cast<ArrayAttr>(attribute.getValue());
    if (places && llvm::all_of(places, isPlace))
      return success();
    return op->emitError("expects '") << name << "' to hold places with a kind and nodes, got " << attribute.getValue();
  }
  if (name == getChannelRangesAttrName() || name == getValueRangesAttrName() || name == getKeyOffsetsAttrName()) {
    auto ranges = dyn_cast<DictionaryAttr>(attribute.getValue());
    auto areNumbers = [](NamedAttribute entry) { return isa<DenseF32ArrayAttr>(entry.getValue()); };
    if (ranges && llvm::all_of(ranges, areNumbers))
      return success();
    return op->emitError("expects '") << name << "' to hold f32 numbers by node, got " << attribute.getValue();
  }
  if (name == getSpecializesAttrName()) {
    if (isa<FlatSymbolRefAttr>(attribute.getValue()))
      return success();
    return op->emitError("expects '") << name << "' to name an entry point, got " << attribute.getValue();
  }
  if (name != getOutputsAttrName() && name != getConstantInputsAttrName())
    return op->emitError("expects no attribute ") << attribute.getName() << " on an op";
  auto names = dyn_cast<ArrayAttr>(attribute.getValue());
  bool areNames = names && llvm::all_of(names, [](Attribute entry) { return isa<StringAttr>(entry); });
  if (!areNames || (name == getOutputsAttrName() && names.size() != op->getNumResults()))
    return op->emitError("expects '") << name << "' to hold "
                                      << (name == getOutputsAttrName() ? "one name a result" : "names") << ", got "
                                      << attribute.getValue();
  return success();
}

// The hooks for arguments and results are called for functions alone.

LogicalResult NnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  if (attribute.getName() == getDefaultAttrName())
    return verifyDefault(op, attribute.getValue(), cast<FunctionOpInterface>(op).getArgumentTypes()[index]);
  return verifyBoundaryAttribute(op, attribute, cast<FunctionOpInterface>(op).getArgumentTypes()[index]);
}

LogicalResult NnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                     NamedAttribute attribute) {
  return verifyBoundaryAttribute(op, attribute, cast<FunctionOpInterface>(op).getResultTypes()[index]);
}
