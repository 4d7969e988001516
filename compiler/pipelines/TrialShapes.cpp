// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs shape functions with sizes chosen here until one accepts them.

#include "compiler/pipelines/TrialShapes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

namespace {

/// Sizes that leave something over of every tile, then rounder ones, for models that ask for multiples.
constexpr int64_t kSizes[] = {19, 2, 37, 3, 16, 1, 32, 35};
/// Combinations that are tried: all of up to three symbols.
constexpr unsigned kMostTrials = 600;

/// The entry's symbols and the shape function under one choice of sizes for them.
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

  /// Whether the function accepts choice |number|; its results are in |out| then.
  bool run(rt::ShapeFuncOp function, unsigned number, DenseMap<Value, int64_t> &out);
  unsigned count() const { return numbers.size(); }

private:
  int64_t getSize(StringRef symbol) const;
  int64_t getDim(rt::InputDimOp op) const;
  std::optional<int64_t> evaluate(Operation *op);
  std::optional<int64_t> compute(rt::ShapeKind kind, int64_t a, int64_t b) const;
  int64_t get(Value value) const { return values.lookup(value); }

  ArrayAttr inputs;
  const llvm::StringMap<int64_t> *given;
  llvm::StringMap<unsigned> numbers;
  unsigned choice = 0;
  DenseMap<Value, int64_t> values;
};

} // namespace

/// Choice 0 is a batch of 2 for the first of several symbols and 19 for the others; further ones count through all.
int64_t Trial::getSize(StringRef symbol) const {
  if (given)
    return std::max<int64_t>(given->lookup(symbol), 1);
  unsigned number = numbers.lookup(symbol);
  unsigned digits = choice;
  for (unsigned i = 0; i < number; ++i)
    digits /= std::size(kSizes);
  bool isBatch = number == 0 && numbers.size() > 1;
  return kSizes[(digits + (isBatch ? 1 : 0)) % std::size(kSizes)];
}

int64_t Trial::getDim(rt::InputDimOp op) const {
  auto dims = cast<DictionaryAttr>(inputs[op.getInput()]).getAs<ArrayAttr>("dims");
  Attribute dim = dims[op.getDim()];
  if (auto symbol = dyn_cast<StringAttr>(dim))
    return getSize(symbol.getValue());
  return cast<IntegerAttr>(dim).getInt();
}

std::optional<int64_t> Trial::compute(rt::ShapeKind kind, int64_t a, int64_t b) const {
  int64_t result = 0;
  switch (kind) {
  case rt::ShapeKind::Add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case rt::ShapeKind::Sub:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case rt::ShapeKind::Mul:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case rt::ShapeKind::FloorDiv:
    return b == 0 ? std::nullopt : std::optional(llvm::divideFloorSigned(a, b));
  case rt::ShapeKind::CeilDiv:
    return b == 0 ? std::nullopt : std::optional(llvm::divideCeilSigned(a, b));
  case rt::ShapeKind::Mod:
    return b == 0 ? std::nullopt : std::optional(a - b * llvm::divideFloorSigned(a, b));
  case rt::ShapeKind::Min:
    return std::min(a, b);
  case rt::ShapeKind::Max:
    return std::max(a, b);
  case rt::ShapeKind::Equal:
    return a == b;
  case rt::ShapeKind::Less:
    return a < b;
  }
  return std::nullopt;
}

/// The result of |op|, 1 for a check that holds.
std::optional<int64_t> Trial::evaluate(Operation *op) {
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](rt::ShapeConstantOp op) -> Result { return op.getValue(); })
      .Case([&](rt::InputDimOp op) -> Result { return getDim(op); })
      // Values of inputs are sizes as a rule.
      .Case([&](rt::InputValueOp op) -> Result { return kSizes[(choice + 1) % std::size(kSizes)]; })
      .Case([&](rt::ShapeArithOp op) { return compute(op.getKind(), get(op.getLhs()), get(op.getRhs())); })
      .Case([&](rt::ShapeSelectOp op) -> Result {
        return get(op.getCondition()) ? get(op.getOnTrue()) : get(op.getOnFalse());
      })
      .Case([&](rt::CheckOp op) -> Result {
        int64_t a = get(op.getLhs()), b = get(op.getRhs());
        bool holds = op.getKind() == rt::CheckKind::Equal ? a == b : a <= b;
        return holds ? Result(1) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool Trial::run(rt::ShapeFuncOp function, unsigned number, DenseMap<Value, int64_t> &out) {
  choice = number;
  values.clear();
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    std::optional<int64_t> value = evaluate(&op);
    if (!value)
      return false;
    if (op.getNumResults() == 1)
      values[op.getResult(0)] = *value;
  }
  for (auto [result, yielded] : llvm::zip(function.getResults(), body.getTerminator()->getOperands()))
    out[result] = get(yielded);
  return true;
}

std::optional<TrialShapes> TrialShapes::find(rt::FuncOp entry) {
  auto functions = entry.getBody().getOps<rt::ShapeFuncOp>();
  TrialShapes shapes;
  if (functions.empty())
    return shapes;
  Trial trial(entry);
  for (unsigned number = 0; number < kMostTrials; ++number)
    if (trial.run(*functions.begin(), number, shapes.values))
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
