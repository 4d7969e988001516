// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets are exact: an entry point for 64 serves runs of length 64 and no other. Padding shorter runs up to it would
// change what models without a mask compute, and the general entry point serves every length anyway.

#include "compiler/pipelines/Buckets.h"

#include "compiler/pipelines/SpecializeShapes.h"
#include "compiler/targets/TargetRegistry.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;

/// Each size is compiled like a model of its own.
static constexpr size_t kMaxBuckets = 32;

std::string Buckets::str() const {
  return dimension + "=" + llvm::join(llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }), ",");
}

namespace {
/// Names of the dynamic dimensions of @main's inputs, in their order.
struct DynamicDims {
  llvm::SetVector<StringRef> all, leading;
};
} // namespace

static DynamicDims findDynamicDims(func::FuncOp func) {
  DynamicDims found;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (auto dims = func.getArgAttrOfType<ArrayAttr>(i, nn::NnDialect::getDimsAttrName()))
      for (auto [axis, dim] : llvm::enumerate(dims))
        if (auto symbol = dyn_cast<StringAttr>(dim)) {
          found.all.insert(symbol.getValue());
          if (axis == 0)
            found.leading.insert(symbol.getValue());
        }
  return found;
}

/// The dimension that |name| names or, where it is empty, that is meant.
static FailureOr<std::string> selectDimension(StringRef name, const DynamicDims &dims, StringRef context,
                                              ErrorList &errors) {
  ArrayRef<StringRef> all = dims.all.getArrayRef();
  std::string help = all.empty() ? "every input's shape is static" : "dynamic dimensions are " + llvm::join(all, ", ");
  if (!name.empty()) {
    if (dims.all.contains(name))
      return name.str();
    return errors.add({ErrorCode::H0111,
                       "no dynamic dimension of an input is named '" + name.str() + "'" + didYouMean(name, all),
                       context.str(), help});
  }
  SmallVector<StringRef> lengths;
  for (StringRef dim : all)
    if (!dims.leading.contains(dim))
      lengths.push_back(dim);
  if (lengths.size() == 1)
    return lengths.front().str();
  if (lengths.empty())
    return errors.add({ErrorCode::H0111, "no input has a dynamic dimension behind its batch", context.str(), help});
  return errors.add({ErrorCode::H0111,
                     "inputs have several dynamic dimensions behind their batch: " + llvm::join(lengths, ", "),
                     context.str(), "name the one that is meant, as in --bucket " + lengths.front().str() + "=32,64"});
}

static LogicalResult parseSizes(StringRef text, std::vector<int64_t> &sizes, StringRef context, ErrorList &errors) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    std::optional<int64_t> size = parseSize(part);
    if (!size)
      return errors.add({ErrorCode::H0111, "--bucket " + describeSizeMistake(part), context.str(),
                         "give sizes, as in --bucket 32,64,128 or --bucket sequence=32,64,128"});
    sizes.push_back(*size);
  }
  llvm::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() <= kMaxBuckets)
    return success();
  return errors.add(
      {ErrorCode::H0111,
       "--bucket expects at most " + std::to_string(kMaxBuckets) + " sizes, got " + std::to_string(sizes.size()),
       context.str(), "other sizes run as well, through the entry point for all of them"});
}

FailureOr<Buckets> heddle::parseBuckets(ModuleOp module, StringRef text, ErrorList &errors) {
  std::string context = "in --bucket " + text.str();
  size_t equals = text.rfind('=');
  bool isNamed = equals != StringRef::npos;
  Buckets buckets;
  if (failed(parseSizes(isNamed ? text.drop_front(equals + 1) : text, buckets.sizes, context, errors)))
    return failure();
  FailureOr<std::string> dimension =
      selectDimension(isNamed ? text.take_front(equals) : "",
                      findDynamicDims(module.lookupSymbol<func::FuncOp>("main")), context, errors);
  if (failed(dimension))
    return failure();
  buckets.dimension = std::move(*dimension);
  return buckets;
}

void heddle::addBuckets(ModuleOp module, const Buckets &buckets) {
  auto general = module.lookupSymbol<func::FuncOp>("main");
  for (int64_t size : buckets.sizes) {
    func::FuncOp special = general.clone();
    special.setSymName("main_" + std::to_string(size));
    special->setAttr(nn::NnDialect::getSpecializesAttrName(), FlatSymbolRefAttr::get(general.getSymNameAttr()));
    fixDimensions(special, {{buckets.dimension, size}});
    module.push_back(special);
  }
}
