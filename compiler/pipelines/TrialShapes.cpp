// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs shape functions with sizes chosen here until one accepts them.

#include "compiler/pipelines/TrialShapes.h"

#include "compiler/pipelines/EvaluateSizes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle;

namespace {

/// Sizes that leave something over of every tile, then rounder ones, for models that ask for multiples, and one that is
/// more than a part of attention's keys.
constexpr int64_t kSizes[] = {19, 2, 37, 3, 16, 1, 32, 35, 300};
/// Combinations that are tried: all of up to three symbols.
constexpr unsigned kMostTrials = 729;

/// An entry's symbols, and sizes for them.
class Trial {
public:
  /// |given|: the sizes of symbols, which there is no choice of then; null: none are given.
  explicit Trial(rt::FuncOp entry, const llvm::StringMap<int64_t> *given = nullptr)
      : inputs(entry.getInputs()), given(given) {
    for (auto input : inputs.getAsRange<DictionaryAttr>())
      if (auto dims = input.getAs<ArrayAttr>("dims"))
        for (Attribute dim : dims)
          if (auto symbol = dyn_cast<StringAttr>(dim))
            numbers.try_emplace(symbol.getValue(), numbers.size());
  }

  /// Whether |function| accepts choice |number|; the values of its results are in |values| then.
  bool run(rt::ShapeFuncOp function, unsigned number, DenseMap<Value, int64_t> &values) const;

private:
  int64_t getSize(StringRef symbol, unsigned choice) const;

  ArrayAttr inputs;
  const llvm::StringMap<int64_t> *given;
  llvm::StringMap<unsigned> numbers;
};

} // namespace

/// Choice 0 is a batch of 2 for the first of several symbols and 19 for the others; further ones count through all.
int64_t Trial::getSize(StringRef symbol, unsigned choice) const {
  if (given)
    return std::max<int64_t>(given->lookup(symbol), 1);
  unsigned number = numbers.lookup(symbol);
  for (unsigned i = 0; i < number; ++i)
    choice /= std::size(kSizes);
  bool isBatch = number == 0 && numbers.size() > 1;
  return kSizes[(choice + (isBatch ? 1 : 0)) % std::size(kSizes)];
}

bool Trial::run(rt::ShapeFuncOp function, unsigned number, DenseMap<Value, int64_t> &values) const {
  auto getDim = [&](rt::InputDimOp op) {
    Attribute dim = cast<DictionaryAttr>(inputs[op.getInput()]).getAs<ArrayAttr>("dims")[op.getDim()];
    auto symbol = dyn_cast<StringAttr>(dim);
    return symbol ? getSize(symbol.getValue(), number) : cast<IntegerAttr>(dim).getInt();
  };
  values.clear();
  int64_t value = kSizes[(number + 1) % std::size(kSizes)];
  return evaluateSizes(function, {getDim, value}, SizeErrors::End, values);
}

std::optional<TrialShapes> TrialShapes::find(rt::FuncOp entry, Test suits) {
  auto functions = entry.getBody().getOps<rt::ShapeFuncOp>();
  TrialShapes shapes;
  if (functions.empty())
    return suits(shapes) ? std::optional(shapes) : std::nullopt;
  Trial trial(entry);
  for (unsigned number = 0; number < kMostTrials; ++number)
    if (trial.run(*functions.begin(), number, shapes.values) && suits(shapes))
      return shapes;
  return std::nullopt;
}

std::optional<TrialShapes> TrialShapes::at(rt::FuncOp entry, const llvm::StringMap<int64_t> &symbols) {
  auto functions = entry.getBody().getOps<rt::ShapeFuncOp>();
  TrialShapes shapes;
  if (functions.empty() || Trial(entry, &symbols).run(*functions.begin(), 0, shapes.values))
    return shapes;
  return std::nullopt;
}

SmallVector<int64_t> TrialShapes::get(ValueRange results) const {
  return llvm::map_to_vector(results, [&](Value result) { return get(result); });
}
