// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of `--shape` and its application to the entry point's signature. Types inside the function stay as they are:
// nn-infer-shapes makes them exact.

#include "compiler/pipelines/SpecializeShapes.h"

#include "compiler/targets/TargetRegistry.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;

static StringRef nameOf(func::FuncOp func, unsigned input) {
  auto name = func.getArgAttrOfType<StringAttr>(input, nn::NnDialect::getNameAttrName());
  return name ? name.getValue() : "";
}

std::optional<int64_t> heddle::parseSize(StringRef text) {
  int64_t size;
  if (text.getAsInteger(10, size) || size < 1 || size > INT32_MAX)
    return std::nullopt;
  return size;
}

std::string heddle::describeSizeMistake(StringRef text) {
  llvm::APInt number;
  bool isNegative = text.consume_front("-");
  if (text.getAsInteger(10, number))
    return "expects sizes, got '" + std::string(isNegative ? "-" : "") + text.str() + "'";
  if (isNegative || number.isZero())
    return "expects sizes of at least 1, got " + std::string(isNegative ? "-" : "") + text.str();
  return "expects sizes of at most " + std::to_string(INT32_MAX) + ", got " + text.str();
}

static std::string toString(ArrayAttr dims) {
  std::string text = "[";
  for (Attribute dim : dims) {
    text += text.size() > 1 ? ", " : "";
    if (auto symbol = dyn_cast<StringAttr>(dim))
      text += symbol.getValue();
    else
      text += std::to_string(cast<IntegerAttr>(dim).getInt());
  }
  return text + "]";
}

/// Which of |names| the argument |shape| is about, and the rest of it: "NAME=1x128", or "1x128" where there is one
/// input.
static FailureOr<std::pair<unsigned, StringRef>> findInput(StringRef shape, ArrayRef<StringRef> names,
                                                           ErrorList &errors) {
  size_t equals = shape.rfind('=');
  if (equals == StringRef::npos && names.size() == 1)
    return std::pair(0u, shape);
  std::string help = "inputs are " + llvm::join(names, ", ");
  if (equals == StringRef::npos)
    return errors.add({ErrorCode::H0111, "--shape " + shape.str() + " names no input", "", help});
  StringRef name = shape.take_front(equals);
  const auto *it = llvm::find(names, name);
  if (it == names.end())
    return errors.add({ErrorCode::H0111, "no input is named '" + name.str() + "'" + didYouMean(name, names), "", help});
  return std::pair(static_cast<unsigned>(it - names.begin()), shape.drop_front(equals + 1));
}

/// The sizes of |text|, "1x128", which |shape| gives input |name| of |dims|.
static FailureOr<SmallVector<int64_t>> parseSizes(StringRef text, StringRef shape, StringRef name, ArrayAttr dims,
                                                  ErrorList &errors) {
  SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, 'x');
  std::string help = "give one size per dimension, as in " + name.str() + "=1x128";
  SmallVector<int64_t> sizes;
  for (StringRef part : parts) {
    std::optional<int64_t> size = parseSize(part);
    if (!size)
      return errors.add({ErrorCode::H0111, "--shape " + shape.str() + " " + describeSizeMistake(part), "", help});
    sizes.push_back(*size);
  }
  if (sizes.size() == dims.size())
    return sizes;
  return errors.add({ErrorCode::H0111,
                     "--shape " + shape.str() + " doesn't fit input '" + name.str() + "' " + toString(dims), "", help});
}

/// Binds the symbols of one input's dimensions.
static LogicalResult bindShape(ArrayRef<StringRef> names, ArrayRef<ArrayAttr> allDims, StringRef shape,
                               llvm::StringMap<int64_t> &values, ErrorList &errors) {
  FailureOr<std::pair<unsigned, StringRef>> input = findInput(shape, names, errors);
  if (failed(input))
    return failure();
  ArrayAttr dims = allDims[input->first];
  FailureOr<SmallVector<int64_t>> sizes = parseSizes(input->second, shape, names[input->first], dims, errors);
  if (failed(sizes))
    return failure();
  for (auto [dim, size] : llvm::zip(dims, *sizes)) {
    auto symbol = dyn_cast<StringAttr>(dim);
    int64_t known =
        symbol ? values.try_emplace(symbol.getValue(), size).first->second : cast<IntegerAttr>(dim).getInt();
    if (known != size)
      return errors.add({ErrorCode::H0111,
                         "--shape " + shape.str() + " contradicts size " + std::to_string(known) + " of " +
                             (symbol ? "'" + symbol.str() + "'" : std::string("a dimension")),
                         "", "the model's dimensions are " + toString(dims)});
  }
  return success();
}

LogicalResult heddle::bindShapes(ArrayRef<StringRef> names, ArrayRef<ArrayAttr> dims, ArrayRef<std::string> shapes,
                                 llvm::StringMap<int64_t> &values, ErrorList &errors) {
  for (const std::string &shape : shapes)
    if (failed(bindShape(names, dims, shape, values, errors)))
      return failure();
  return success();
}

/// The dims attribute and the tensor type with symbols replaced.
static std::pair<ArrayAttr, Type> substitute(ArrayAttr dims, Type type, const llvm::StringMap<int64_t> &values) {
  Builder builder(type.getContext());
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<Attribute> newDims(dims.getValue());
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    auto symbol = dyn_cast<StringAttr>(dim);
    auto it = symbol ? values.find(symbol.getValue()) : values.end();
    if (it == values.end())
      continue;
    newDims[i] = builder.getI64IntegerAttr(it->second);
    shape[i] = it->second;
  }
  return {builder.getArrayAttr(newDims), tensor.clone(shape)};
}

/// A default of another shape than the one asked for can't stand for the input: from here on it must be given.
static void removeUnfitDefault(func::FuncOp func, unsigned input, Type type) {
  auto constant = func.getArgAttrOfType<DictionaryAttr>(input, nn::NnDialect::getDefaultAttrName());
  if (constant && failed(verifyCompatibleShape(constant.getAs<TypeAttr>("type").getValue(), type)))
    func.removeArgAttr(input, nn::NnDialect::getDefaultAttrName());
}

void heddle::fixDimensions(func::FuncOp func, const llvm::StringMap<int64_t> &values) {
  StringRef key = nn::NnDialect::getDimsAttrName();
  SmallVector<Type> inputs(func.getArgumentTypes());
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (auto dims = func.getArgAttrOfType<ArrayAttr>(i, key)) {
      auto [newDims, type] = substitute(dims, inputs[i], values);
      func.setArgAttr(i, key, newDims);
      removeUnfitDefault(func, i, type);
      func.getArgument(i).setType(type);
      inputs[i] = type;
    }
  // Results keep their types: nn-infer-shapes makes exact what is computed, the signature stays the model's.
  func.setType(FunctionType::get(func.getContext(), inputs, func.getResultTypes()));
}

LogicalResult heddle::specializeShapes(ModuleOp module, ArrayRef<std::string> shapes, ErrorList &errors) {
  auto func = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<StringRef> names;
  SmallVector<ArrayAttr> dims;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    names.push_back(nameOf(func, i));
    auto known = func.getArgAttrOfType<ArrayAttr>(i, nn::NnDialect::getDimsAttrName());
    dims.push_back(known ? known : ArrayAttr::get(func.getContext(), {}));
  }
  llvm::StringMap<int64_t> values;
  if (failed(bindShapes(names, dims, shapes, values, errors)))
    return failure();
  fixDimensions(func, values);
  return success();
}
