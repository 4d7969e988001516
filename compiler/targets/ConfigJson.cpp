// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/ConfigJson.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

static llvm::json::Value toJson(Attribute attribute) {
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto word = dyn_cast<StringAttr>(attribute))
    return word.getValue();
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
    return llvm::json::Array(numbers.asArrayRef());
  if (auto entries = dyn_cast<DictionaryAttr>(attribute))
    return configToJson(entries);
  llvm::json::Array list;
  for (Attribute element : cast<ArrayAttr>(attribute))
    list.push_back(toJson(element));
  return list;
}

llvm::json::Object configToJson(DictionaryAttr config) {
  llvm::json::Object object;
  for (NamedAttribute entry : config)
    object[entry.getName().getValue()] = toJson(entry.getValue());
  return object;
}

std::string formatConfig(DictionaryAttr config) {
  std::string text;
  // Objects are printed in the order of their keys.
  llvm::raw_string_ostream(text) << llvm::json::Value(configToJson(config));
  return text;
}

/// A config has variants, which have lists of numbers; nothing is deeper.
static constexpr unsigned kMostDepth = 8;

static Attribute fromJson(const llvm::json::Value &value, Builder &b, unsigned depth);

static Attribute fromJson(const llvm::json::Array &list, Builder &b, unsigned depth) {
  SmallVector<int64_t> numbers;
  SmallVector<Attribute> elements;
  for (const llvm::json::Value &element : list) {
    if (std::optional<int64_t> number = element.getAsInteger())
      numbers.push_back(*number);
    elements.push_back(fromJson(element, b, depth));
    if (!elements.back())
      return nullptr;
  }
  if (!list.empty() && numbers.size() == list.size())
    return b.getDenseI64ArrayAttr(numbers);
  return b.getArrayAttr(elements);
}

static DictionaryAttr fromJson(const llvm::json::Object &object, Builder &b, unsigned depth) {
  NamedAttrList entries;
  for (const auto &[key, value] : object) {
    Attribute attribute = StringRef(key).empty() ? nullptr : fromJson(value, b, depth);
    if (!attribute)
      return nullptr;
    entries.set(StringRef(key), attribute);
  }
  return entries.getDictionary(b.getContext());
}

static Attribute fromJson(const llvm::json::Value &value, Builder &b, unsigned depth) {
  if (depth == 0)
    return nullptr;
  // 3.0 is a fraction that happens to be whole: no writer of ours makes one, but it is the same number.
  if (std::optional<int64_t> number = value.getAsInteger())
    return b.getI64IntegerAttr(*number);
  if (std::optional<llvm::StringRef> word = value.getAsString())
    return b.getStringAttr(*word);
  if (const llvm::json::Array *list = value.getAsArray())
    return fromJson(*list, b, depth - 1);
  const llvm::json::Object *object = value.getAsObject();
  return object ? fromJson(*object, b, depth - 1) : DictionaryAttr();
}

DictionaryAttr parseConfig(const llvm::json::Object &config, MLIRContext *context) {
  Builder builder(context);
  return fromJson(config, builder, kMostDepth);
}

} // namespace heddle
