// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading declared types. A dimension may have an extent, a name (any text, long expressions included), or neither;
// some exporters write -1 for the latter.

#include "compiler/import/onnx/EntryTypes.h"

#include "compiler/import/onnx/TensorData.h"
#include "dialects/nn/NnDialect.h"

using namespace mlir;

namespace heddle::importer {

/// The name of a dimension; empty where it has none that tells it from others.
static std::string readName(const ::onnx::TensorShapeProto::Dimension &dim) {
  return dim.has_dim_param() && dim.dim_param() != "-1" && dim.dim_param() != "?" ? dim.dim_param() : "";
}

FailureOr<EntryType> readEntryType(const ::onnx::ValueInfoProto &input, MLIRContext *context, llvm::StringRef file,
                                   ErrorList &errors) {
  auto fail = [&](ErrorCode code, const llvm::Twine &message, llvm::StringRef help) {
    return errors.add({code, ("input '" + input.name() + "' " + message).str(), ("in " + file).str(), help.str()});
  };
  if (!input.type().has_tensor_type())
    return fail(ErrorCode::H0207, "is no tensor", "export the model with tensors only");
  const ::onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
  Type element = getElementType(tensor.elem_type(), context);
  if (!element)
    return fail(ErrorCode::H0206,
                "has elements of type " + getDataTypeName(tensor.elem_type()) + ", which are not supported", "");
  if (!tensor.has_shape())
    return fail(ErrorCode::H0205, "has no shape",
                "give it one; dimensions may be symbolic, but their number must be known");
  if (tensor.shape().dim_size() > kMaxRank)
    return fail(ErrorCode::H0518,
                "has " + llvm::Twine(tensor.shape().dim_size()) + " dimensions, at most " + llvm::Twine(kMaxRank) +
                    " are possible",
                "");
  EntryType type;
  llvm::SmallVector<int64_t> shape;
  for (const ::onnx::TensorShapeProto::Dimension &dim : tensor.shape().dim()) {
    // Zero is an extent: that of the past before the first token.
    bool isStatic = dim.has_dim_value() && dim.dim_value() >= 0;
    shape.push_back(isStatic ? dim.dim_value() : ShapedType::kDynamic);
    type.dims.push_back(readName(dim));
  }
  type.type = RankedTensorType::get(shape, element);
  return type;
}

FailureOr<EntryType> readResultType(const ::onnx::ValueInfoProto &output, Value value, llvm::StringRef file,
                                    ErrorList &errors) {
  EntryType type;
  type.type = cast<RankedTensorType>(value.getType());
  type.dims.resize(type.type.getRank());
  const ::onnx::TypeProto::Tensor &tensor = output.type().tensor_type();
  Type declared = getElementType(tensor.elem_type(), value.getContext());
  if (tensor.elem_type() != ::onnx::TensorProto::UNDEFINED && declared != type.type.getElementType()) {
    std::string actual;
    llvm::raw_string_ostream(actual) << type.type.getElementType();
    return errors.add({ErrorCode::H0204,
                       "output '" + output.name() + "' is declared with elements of type " +
                           getDataTypeName(tensor.elem_type()) + ", but has " + actual,
                       ("in " + file).str(), ""});
  }
  // A declaration of another rank says nothing about the dimensions that there are.
  if (tensor.has_shape() && tensor.shape().dim_size() == type.type.getRank())
    for (auto [name, dim] : llvm::zip_equal(type.dims, tensor.shape().dim()))
      name = readName(dim);
  return type;
}

DimensionNames::DimensionNames(const std::vector<const ::onnx::ValueInfoProto *> &inputs,
                               const std::vector<const ::onnx::ValueInfoProto *> &outputs) {
  for (const auto *list : {&inputs, &outputs})
    for (const ::onnx::ValueInfoProto *info : *list)
      for (const ::onnx::TensorShapeProto::Dimension &dim : info->type().tensor_type().shape().dim())
        used.insert(dim.dim_param());
}

DictionaryAttr DimensionNames::makeAttributes(llvm::StringRef name, const EntryType &type, Builder &builder) {
  llvm::SmallVector<Attribute> dims;
  for (auto [index, extent] : llvm::enumerate(type.type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      dims.push_back(builder.getI64IntegerAttr(extent));
      continue;
    }
    std::string symbol = type.dims[index];
    if (symbol.empty()) {
      symbol = (name + "_dim" + llvm::Twine(index)).str();
      while (!used.insert(symbol).second)
        symbol += "_";
    }
    dims.push_back(builder.getStringAttr(symbol));
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(nn::NnDialect::getNameAttrName(), builder.getStringAttr(name)),
       builder.getNamedAttr(nn::NnDialect::getDimsAttrName(), builder.getArrayAttr(dims))});
}

} // namespace heddle::importer
