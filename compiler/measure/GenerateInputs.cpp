// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated inputs. What an integer input may hold is read off the graph: the tables that it indexes.

#include "compiler/measure/GenerateInputs.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <random>

using namespace mlir;
using namespace heddle;

/// The smallest extent of a table that |value| indexes, through casts; 0 if it indexes none.
static int64_t findIndexLimit(Value value) {
  int64_t limit = 0;
  auto bound = [&](int64_t extent) {
    if (!ShapedType::isDynamic(extent))
      limit = limit ? std::min(limit, extent) : extent;
  };
  for (OpOperand &use : value.getUses()) {
    if (auto gather = dyn_cast<nn::GatherOp>(use.getOwner()); gather && use.getOperandNumber() == 1)
      bound(cast<RankedTensorType>(gather.getData().getType()).getDimSize(gather.getAxis()));
    if (auto cast = dyn_cast<nn::CastOp>(use.getOwner()))
      if (int64_t inner = findIndexLimit(cast.getOutput()))
        bound(inner);
  }
  return limit;
}

/// Sizes of an argument; equal symbols get equal sizes.
static reference::Dims chooseDims(func::FuncOp function, unsigned argument, llvm::StringMap<int64_t> &symbols,
                                  GeneratedSizes sizes) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  auto names = function.getArgAttrOfType<ArrayAttr>(argument, nn::NnDialect::getDimsAttrName());
  reference::Dims dims;
  bool isFirst = true;
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      dims.push_back(extent);
      continue;
    }
    int64_t size = isFirst ? sizes.batch : sizes.length;
    isFirst = false;
    auto symbol = names && i < names.size() ? dyn_cast<StringAttr>(names[i]) : StringAttr();
    dims.push_back(symbol ? symbols.try_emplace(symbol.getValue(), size).first->second : size);
  }
  return dims;
}

/// Gives the names of an argument's dimensions the sizes of |type|.
static void bindSymbols(func::FuncOp function, unsigned argument, RankedTensorType type,
                        llvm::StringMap<int64_t> &symbols) {
  auto names = function.getArgAttrOfType<ArrayAttr>(argument, nn::NnDialect::getDimsAttrName());
  if (!names)
    return;
  for (auto [name, extent] : llvm::zip(names, type.getShape()))
    if (auto symbol = dyn_cast<StringAttr>(name))
      symbols.try_emplace(symbol.getValue(), extent);
}

/// Ones, but for the last quarter of the last row: padding on the right.
static std::vector<int64_t> makeMask(ArrayRef<int64_t> dims, int64_t count) {
  std::vector<int64_t> values(count, 1);
  int64_t length = dims.empty() ? 1 : dims.back();
  for (int64_t i = 0; i < length / 4 && i < count; ++i)
    values[count - 1 - i] = 0;
  return values;
}

/// The default of an argument.
static FailureOr<reference::HostTensor> readDefault(func::FuncOp function, DictionaryAttr constant) {
  auto type = cast<RankedTensorType>(constant.getAs<TypeAttr>("type").getValue());
  FailureOr<nn::ConstantData> data =
      nn::ConstantData::get(constant.get("value"), type, [&] { return function.emitOpError(); });
  if (failed(data))
    return failure();
  ArrayRef<uint8_t> bytes = data->getBytes();
  llvm::Expected<reference::HostTensor> tensor = reference::HostTensor::fromBytes(
      type.getElementType(), type.getShape(), ArrayRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  if (!tensor)
    return function.emitOpError(llvm::toString(tensor.takeError()));
  return std::move(*tensor);
}

FailureOr<std::vector<reference::HostTensor>> heddle::generateInputs(func::FuncOp function, std::string &description,
                                                                     GeneratedSizes sizes) {
  std::mt19937_64 random(20240229);
  llvm::StringMap<int64_t> symbols;
  std::vector<reference::HostTensor> inputs;
  auto getDefault = [&](unsigned number) {
    return function.getArgAttrOfType<DictionaryAttr>(number, nn::NnDialect::getDefaultAttrName());
  };
  // First, since the sizes of defaults are given.
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (DictionaryAttr constant = getDefault(i))
      bindSymbols(function, i, cast<RankedTensorType>(constant.getAs<TypeAttr>("type").getValue()), symbols);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (DictionaryAttr constant = getDefault(number)) {
      FailureOr<reference::HostTensor> tensor = readDefault(function, constant);
      if (failed(tensor))
        return failure();
      inputs.push_back(std::move(*tensor));
      continue;
    }
    reference::Dims dims = chooseDims(function, number, symbols, sizes);
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    auto name = function.getArgAttrOfType<StringAttr>(number, nn::NnDialect::getNameAttrName());
    Type type = cast<RankedTensorType>(argument.getType()).getElementType();
    std::string content;
    if (isa<FloatType>(type)) {
      std::normal_distribution<double> normal;
      std::vector<double> values(count);
      for (double &value : values)
        value = static_cast<float>(normal(random)); // exact in f32
      inputs.emplace_back(type, dims, std::move(values));
      content = "normal numbers";
    } else if (int64_t limit = findIndexLimit(argument); limit > 0 && !type.isInteger(1)) {
      std::vector<int64_t> values(count);
      for (int64_t &value : values)
        value = random() % limit;
      inputs.emplace_back(type, dims, std::move(values));
      content = "ids below " + std::to_string(limit);
    } else {
      inputs.emplace_back(type, dims, makeMask(dims, count));
      content = "ones with the end of the last row 0";
    }
    description += (description.empty() ? "" : "; ") + (name ? name.str() : "input") + " " + reference::toString(dims) +
                   " " + content;
  }
  return inputs;
}
