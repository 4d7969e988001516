// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of `--shape` and its application to the entry point's signature. Types inside the function stay as they are:
// nn-infer-shapes makes them exact.

#include "compiler/pipelines/SpecializeShapes.h"

#include "compiler/targets/TargetRegistry.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle;

static StringRef nameOf(func::FuncOp func, unsigned input) {
  auto name = func.getArgAttrOfType<StringAttr>(input, nn::NnDialect::getNameAttrName());
  return name ? name.getValue() : "";
}

/// The sizes of "1x128"; failure where it is no list of sizes.
static FailureOr<SmallVector<int64_t>> parseSizes(StringRef text) {
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0)
      return failure();
    sizes.push_back(size);
  }
  return sizes;
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

/// Binds the symbols of one input's dimensions.
static LogicalResult bindShape(func::FuncOp func, StringRef shape, llvm::StringMap<int64_t> &values,
                               ErrorList &errors) {
  auto [name, text] = shape.split('=');
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    names.push_back(nameOf(func, i));
  auto *it = llvm::find(names, name);
  if (it == names.end())
    return errors.add({ErrorCode::H0111, "no input is named '" + name.str() + "'" + didYouMean(name, names), "",
                       "inputs are " + llvm::join(names, ", ")});
  FailureOr<SmallVector<int64_t>> sizes = parseSizes(text);
  auto dims = func.getArgAttrOfType<ArrayAttr>(it - names.begin(), nn::NnDialect::getDimsAttrName());
  if (failed(sizes) || !dims || sizes->size() != dims.size())
    return errors.add(
        {ErrorCode::H0111,
         "--shape " + shape.str() + " doesn't fit input '" + name.str() + "' " + (dims ? toString(dims) : "[]"), "",
         "give one size per dimension, as in " + name.str() + "=1x128"});
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

LogicalResult heddle::specializeShapes(ModuleOp module, ArrayRef<std::string> shapes, ErrorList &errors) {
  auto func = module.lookupSymbol<func::FuncOp>("main");
  llvm::StringMap<int64_t> values;
  for (const std::string &shape : shapes)
    if (failed(bindShape(func, shape, values, errors)))
      return failure();
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
  return success();
}
