// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node's inputs, attributes and results, checked as they are asked for.

#include "compiler/import/onnx/NodeContext.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Locations.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using ::onnx::AttributeProto;

namespace heddle::importer {

/// "f32[?,12]".
static std::string describeType(Value value) {
  if (!value)
    return "absent";
  auto type = cast<RankedTensorType>(value.getType());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleave(
      type.getShape(), os,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          os << "?";
        else
          os << extent;
      },
      ",");
  os << "]";
  return text;
}

std::string describeNode(const Node &node, llvm::ArrayRef<Value> inputs) {
  std::string text = "op " + describeOp(node);
  // A Concat of a hundred inputs would drown the message.
  constexpr size_t kShown = 6;
  std::vector<std::string> types;
  for (Value input : inputs.take_front(kShown))
    types.push_back(describeType(input));
  if (inputs.size() > kShown)
    types.push_back("...");
  return types.empty() ? text : text + ", inputs " + llvm::join(types, ", ");
}

NodeContext::NodeContext(const Node &node, llvm::ArrayRef<Value> inputs,
                         const llvm::StringMap<const ::onnx::TypeProto *> &declaredTypes, OpBuilder &builder,
                         TensorReader &reader, llvm::StringRef file, ErrorList &errors)
    : node(node), inputs(inputs), declaredTypes(declaredTypes), builder(builder), reader(reader), file(file),
      errors(errors),
      loc(nn::getNodeLocation(builder.getContext(), {node.name, node.type, node.domain, node.opset, node.path})) {}

LogicalResult NodeContext::fail(ErrorCode code, const llvm::Twine &message, llvm::StringRef help) {
  if (!isFailed)
    (void)errors.add({code, ("node '" + node.name + "': " + message).str(),
                      ("in " + file + ", " + describeNode(node, inputs)).str(), help.str()});
  isFailed = true;
  return failure();
}

RankedTensorType NodeContext::getType(unsigned index) const { return cast<RankedTensorType>(inputs[index].getType()); }

Value NodeContext::getInputAsDeclared(unsigned index, llvm::ArrayRef<unsigned> axes) {
  RankedTensorType type = getType(index);
  const ::onnx::TypeProto *declared = declaredTypes.lookup(node.inputs[index]);
  if (!declared || declared->tensor_type().shape().dim_size() != type.getRank())
    return inputs[index];
  // A 0 copies the extent.
  llvm::SmallVector<int64_t> shape(type.getRank(), 0);
  for (unsigned axis : axes)
    if (int64_t extent = declared->tensor_type().shape().dim(static_cast<int>(axis)).dim_value();
        type.isDynamicDim(axis) && extent > 0)
      shape[axis] = extent;
  if (llvm::all_of(shape, [](int64_t extent) { return extent == 0; }))
    return inputs[index];
  return createValue<nn::ReshapeOp>(inputs[index], createVector(shape), /*allowzero=*/false);
}

llvm::StringRef NodeContext::getDeclaredDim(unsigned index, unsigned axis) const {
  const ::onnx::TypeProto *declared = index < node.inputs.size() ? declaredTypes.lookup(node.inputs[index]) : nullptr;
  if (!declared || static_cast<int>(axis) >= declared->tensor_type().shape().dim_size())
    return {};
  return declared->tensor_type().shape().dim(static_cast<int>(axis)).dim_param();
}

llvm::SmallVector<int64_t> NodeContext::getConstantInts(unsigned index, llvm::StringRef what) {
  if (auto values = nn::getConstantInts(getInput(index)))
    return *values;
  // Computed, but from extents that are known.
  auto values = nn::getKnownInts(getInput(index));
  if (values && !llvm::is_contained(*values, ShapedType::kDynamic))
    return *values;
  (void)unsupported(what + " must be a constant, but is computed when the model runs",
                    "run onnxsim or onnxruntime's basic optimisations over the model: they fold what is constant");
  return {};
}

std::optional<llvm::SmallVector<float>> NodeContext::getConstantFloats(unsigned index, llvm::StringRef what) {
  Value input = getInput(index);
  auto constant = input ? input.getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  auto type = constant ? cast<RankedTensorType>(input.getType()) : RankedTensorType();
  constexpr int64_t kMaxFloats = 64;
  if (!type || type.getRank() != 1 || !type.getElementType().isF32() || type.getNumElements() > kMaxFloats) {
    (void)unsupported(what + " must be a constant vector of floats",
                      "run onnxsim or onnxruntime's basic optimisations over the model: they fold what is constant");
    return std::nullopt;
  }
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(constant);
  isFailed = failed(data);
  if (isFailed)
    return std::nullopt;
  llvm::SmallVector<float> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(static_cast<float>(data->getDouble(i)));
  return values;
}

/// The attribute |name|, noted as read; null where it is absent or of another type, which is reported.
const AttributeProto *NodeContext::readAttribute(llvm::StringRef name, AttributeProto::AttributeType type,
                                                 llvm::StringRef typeName, bool isRequired) {
  readAttributes.insert(name);
  const AttributeProto *attribute = node.findAttribute(name);
  if (!attribute) {
    if (isRequired)
      (void)malformed("required attribute '" + name + "' is missing");
    return nullptr;
  }
  // Files of IR version 1 leave the type out.
  if (attribute->type() == type || attribute->type() == AttributeProto::UNDEFINED)
    return attribute;
  (void)malformed("attribute '" + name + "' must be " + typeName);
  return nullptr;
}

int64_t NodeContext::getInt(llvm::StringRef name, std::optional<int64_t> fallback) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::INT, "an integer", !fallback);
  return attribute ? attribute->i() : fallback.value_or(0);
}

double NodeContext::getFloat(llvm::StringRef name, std::optional<double> fallback) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::FLOAT, "a float", !fallback);
  return attribute ? attribute->f() : fallback.value_or(0);
}

std::string NodeContext::getString(llvm::StringRef name, std::optional<llvm::StringRef> fallback) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::STRING, "a string", !fallback);
  return attribute ? attribute->s() : fallback.value_or("").str();
}

std::optional<llvm::SmallVector<int64_t>> NodeContext::getInts(llvm::StringRef name) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::INTS, "a list of integers", false);
  if (!attribute)
    return std::nullopt;
  return llvm::SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<llvm::SmallVector<float>> NodeContext::getFloats(llvm::StringRef name) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::FLOATS, "a list of floats", false);
  if (!attribute)
    return std::nullopt;
  return llvm::SmallVector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<Constant> NodeContext::getTensor(llvm::StringRef name) {
  const AttributeProto *attribute = readAttribute(name, AttributeProto::TENSOR, "a tensor", false);
  if (!attribute)
    return std::nullopt;
  FailureOr<Constant> constant = reader.read(attribute->t(), "node '" + node.name + "'");
  isFailed |= failed(constant);
  return constant;
}

int64_t NodeContext::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  (void)fail(ErrorCode::H0204, "axis " + llvm::Twine(axis) + " is outside the range [" + llvm::Twine(-rank) + ", " +
                                   llvm::Twine(rank) + ")");
  return 0;
}

llvm::SmallVector<int64_t> NodeContext::normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  llvm::SmallVector<int64_t> normalized;
  for (int64_t axis : axes)
    normalized.push_back(normalizeAxis(axis, rank));
  llvm::sort(normalized);
  auto repeated = std::adjacent_find(normalized.begin(), normalized.end());
  if (repeated != normalized.end())
    (void)fail(ErrorCode::H0204, "axis " + llvm::Twine(*repeated) + " is listed twice");
  return normalized;
}

Value NodeContext::createConstant(RankedTensorType type, Attribute value) {
  if (isFailed)
    return {};
  return builder.create<nn::ConstantOp>(loc, type, value);
}

Value NodeContext::createScalar(Type elementType, double value) {
  auto type = RankedTensorType::get({}, elementType);
  if (auto floatType = dyn_cast<FloatType>(elementType))
    return createConstant(type, DenseElementsAttr::get(type, builder.getFloatAttr(floatType, value).getValue()));
  // Towards zero, and into range: an infinity meets a type that it wasn't meant for, which the op's verifier reports.
  llvm::APSInt integer(elementType.getIntOrFloatBitWidth(), elementType.isUnsignedInteger());
  bool isExact;
  (void)APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &isExact);
  return createConstant(type, DenseElementsAttr::get(type, APInt(integer)));
}

Value NodeContext::createVector(llvm::ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
  return createConstant(type, DenseElementsAttr::get(type, values));
}

Value NodeContext::createAsScalar(Value value) {
  if (isFailed || cast<RankedTensorType>(value.getType()).getRank() == 0)
    return value;
  return createValue<nn::SqueezeOp>(value, llvm::ArrayRef<int64_t>{0});
}

LogicalResult NodeContext::setOutputs(ValueRange values) {
  if (isFailed)
    return failure();
  outputs.assign(values.begin(), values.end());
  return success();
}

LogicalResult NodeContext::finish() {
  // An attribute that nobody asked for might change what the node computes.
  for (const auto &[name, proto] : node.attributes)
    if (!isFailed && !readAttributes.contains(name))
      return unsupported("attribute '" + name + "' is not supported in opset " + llvm::Twine(node.opset));
  for (Value output : outputs)
    if (int64_t rank = cast<RankedTensorType>(output.getType()).getRank(); !isFailed && rank > kMaxRank)
      return unsupported("a result of " + llvm::Twine(rank) + " dimensions is not supported, at most " +
                         llvm::Twine(kMaxRank) + " are");
  for (auto [value, name] : llvm::zip(outputs, node.outputs)) {
    auto result = dyn_cast<OpResult>(value);
    // What only hands on another node's result keeps that node's name.
    if (!result || result.getOwner()->getLoc() != loc)
      continue;
    Operation *op = result.getOwner();
    llvm::SmallVector<Attribute> names(op->getNumResults(), builder.getStringAttr(""));
    if (auto known = op->getAttrOfType<ArrayAttr>(nn::NnDialect::getOutputsAttrName()))
      names.assign(known.begin(), known.end());
    names[result.getResultNumber()] = builder.getStringAttr(name);
    op->setAttr(nn::NnDialect::getOutputsAttrName(), builder.getArrayAttr(names));
  }
  return success(!isFailed);
}

} // namespace heddle::importer
