// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readings of the axes, tried one after the other: each is followed from the scores to query, key, value and output.

#include "compiler/transforms/fusion/SdpaPlan.h"

#include "dialects/nn/NnOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

using AxisKind = AxisReading::Kind;

//===------------------------------------------------------------------------------------------------------------===//
// Readings.
//===------------------------------------------------------------------------------------------------------------===//

/// Numbers of heads that reshapes near |value| speak of, for products whose batches and heads are one axis.
static void collectHeadCounts(KnownDims &dims, Value value, SmallVectorImpl<int64_t> &counts, unsigned depth = 0) {
  LoopDims extents = dims.get(value);
  if (extents.size() == 4)
    for (unsigned axis : {1, 2})
      if (auto count = extents[axis].getConstant(); count && *count > 1 && !llvm::is_contained(counts, *count))
        counts.push_back(*count);
  constexpr unsigned kMaxDepth = 8;
  Operation *op = value.getDefiningOp();
  if (op && depth < kMaxDepth && (isScoreStep(op) || Contraction::get(op)))
    for (Value operand : op->getOperands())
      collectHeadCounts(dims, operand, counts, depth + 1);
}

static SmallVector<AxisReading> getReadings(const SoftmaxPattern &pattern, KnownDims &dims) {
  nn::SoftmaxOp softmax = pattern.softmax;
  LoopDims extents = dims.get(softmax.getInput());
  auto headsAt = [&](unsigned axis) { return extents[axis].getConstant().value_or(0); };
  SmallVector<AxisReading> readings;
  switch (extents.size()) {
  case 2:
    readings.push_back({{AxisKind::Query}, 1});
    break;
  case 3: {
    SmallVector<int64_t> counts;
    collectHeadCounts(dims, softmax.getInput(), counts);
    for (int64_t count : counts)
      if (dims.getContext().divideExactly(extents[0], dims.getContext().constant(count)))
        readings.push_back({{AxisKind::BatchAndHead, AxisKind::Query}, count});
    readings.push_back({{AxisKind::Batch, AxisKind::Query}, 1});
    readings.push_back({{AxisKind::Head, AxisKind::Query}, headsAt(0)});
    break;
  }
  case 4:
    readings.push_back({{AxisKind::Batch, AxisKind::Head, AxisKind::Query}, headsAt(1)});
    readings.push_back({{AxisKind::Batch, AxisKind::Query, AxisKind::Head}, headsAt(2)});
    break;
  case 5:
    readings.push_back(
        {{AxisKind::Batch, AxisKind::KeyHead, AxisKind::Group, AxisKind::Query}, headsAt(1) * headsAt(2), headsAt(2)});
    break;
  default:
    break;
  }
  llvm::erase_if(readings, [](const AxisReading &reading) { return reading.numHeads < 1; });
  return readings;
}

static std::unique_ptr<LoopSpace> getSpace(const AxisReading &reading, KnownDims &dims, ArrayRef<ShapeExpr> extents,
                                           int64_t groupSize) {
  ShapeContext &context = dims.getContext();
  std::array<ShapeExpr, kNumLoops> loops;
  loops.fill(context.constant(1));
  loops[kLoopKeyHead] = context.constant(reading.numHeads / groupSize);
  loops[kLoopGroup] = context.constant(groupSize);
  loops[kLoopKey] = extents.back();
  for (auto [axis, kind] : llvm::enumerate(reading.axes)) {
    if (kind == AxisKind::Batch)
      loops[kLoopBatch] = extents[axis];
    if (kind == AxisKind::BatchAndHead)
      loops[kLoopBatch] = context.divideExactly(extents[axis], context.constant(reading.numHeads));
    if (kind == AxisKind::Query)
      loops[kLoopQuery] = extents[axis];
  }
  return std::make_unique<LoopSpace>(context, loops);
}

static TensorIndex getIndex(const AxisReading &reading, const LoopSpace &space) {
  TensorIndex index;
  for (AxisKind kind : reading.axes) {
    switch (kind) {
    case AxisKind::Batch:
      index.push_back(space.loop(kLoopBatch));
      break;
    case AxisKind::Head:
      index.push_back(space.head());
      break;
    case AxisKind::KeyHead:
      index.push_back(space.loop(kLoopKeyHead));
      break;
    case AxisKind::Group:
      index.push_back(space.loop(kLoopGroup));
      break;
    case AxisKind::Query:
      index.push_back(space.loop(kLoopQuery));
      break;
    case AxisKind::BatchAndHead:
      index.push_back(
          space.add(space.scale(space.loop(kLoopBatch), space.getContext().constant(reading.numHeads)), space.head()));
      break;
    }
  }
  index.push_back(space.loop(kLoopKey));
  return index;
}

//===------------------------------------------------------------------------------------------------------------===//
// Products.
//===------------------------------------------------------------------------------------------------------------===//

namespace {
/// Index of each letter of a product.
using LetterMap = std::map<char, LinearIndex>;

/// Follows one reading.
class Planner {
public:
  Planner(const SoftmaxPattern &pattern, KnownDims &dims, std::string &reason)
      : pattern(pattern), dims(dims), reason(reason) {}

  std::optional<SdpaPlan> plan(const AxisReading &reading, int64_t groupSize);

private:
  bool followScores(SdpaPlan &plan, Element &product);
  bool placeQueryAndKey(SdpaPlan &plan, const Element &product);
  bool placeValue(SdpaPlan &plan, Element &output);
  bool placeOutput(SdpaPlan &plan, Element output);
  TensorIndex operandIndex(const LoopSpace &space, const Contraction &product, unsigned side, const LetterMap &letters);
  bool refuse(StringRef why) {
    reason = why.str();
    return false;
  }

  const SoftmaxPattern &pattern;
  KnownDims &dims;
  std::string &reason;
};
} // namespace

static bool dependsOn(ArrayRef<LinearIndex> index, Loop loop) {
  return llvm::any_of(index, [&](const LinearIndex &entry) { return !entry.factors[loop].isConstant(0); });
}

/// From the softmax's input to the product, and back up over factors that come first.
bool Planner::followScores(SdpaPlan &plan, Element &product) {
  const LoopSpace &space = *plan.space;
  SmallVector<Element> steps = {plan.softmaxInput};
  for (Value next : ArrayRef(pattern.path).drop_front()) {
    const Element &last = steps.back();
    auto result = cast<OpResult>(last.tensor);
    std::optional<TensorIndex> index = viewSource(space, dims, result, last.index);
    if (!index && isa<nn::QuantizeLinearOp, nn::DequantizeLinearOp>(result.getOwner()))
      index = last.index;
    if (!index && result.getOwner()->hasTrait<nn::Broadcasting>())
      index = broadcastSource(space, dims.get(next), dims.get(last.tensor), last.index);
    if (!index || dims.get(next).size() != index->size())
      return refuse("the scores are reshaped in a way that mixes their axes");
    steps.push_back({next, *index});
  }
  product = steps.back();
  size_t scaled = steps.size() - 1;
  for (size_t i = scaled; i-- > 0;) {
    Operation *op = steps[i].tensor.getDefiningOp();
    Scale taken;
    if (takeScale(op, taken) == steps[i + 1].tensor &&
        taken.fits(getElementTypeOrSelf(pattern.path.front().getType()))) {
      plan.scale.multiply(taken);
      scaled = i;
    } else if (!viewSource(space, dims, cast<OpResult>(steps[i].tensor), steps[i].index)) {
      break;
    }
  }
  plan.score = steps[scaled];
  return true;
}

TensorIndex Planner::operandIndex(const LoopSpace &space, const Contraction &product, unsigned side,
                                  const LetterMap &letters) {
  LoopDims operandDims = dims.get(product.operands[side]), outputDims = dims.get(product.op->getResult(0));
  TensorIndex index;
  for (auto [axis, letter] : llvm::enumerate(product.letters[side])) {
    size_t place = product.output.find(letter);
    bool stretches = place != std::string::npos && operandDims[axis].isConstant(1) && !outputDims[place].isConstant(1);
    index.push_back(stretches ? space.zero() : letters.at(letter));
  }
  return index;
}

bool Planner::placeQueryAndKey(SdpaPlan &plan, const Element &product) {
  const Contraction &scores = pattern.scores;
  std::string summed = scores.getSummed();
  if (summed.size() != 1)
    return refuse("the product of query and key sums over several axes");
  LetterMap letters;
  for (auto [letter, entry] : llvm::zip_equal(scores.output, product.index))
    letters[letter] = entry;
  size_t place = scores.letters[0].find(summed[0]);
  if (place == std::string::npos || scores.letters[1].find(summed[0]) == std::string::npos)
    return refuse("the product of query and key sums over one of them alone");
  *plan.space = plan.space->withSize(dims.get(scores.operands[0])[place]);
  letters[summed[0]] = plan.space->loop(kLoopSize);

  const LoopSpace &space = *plan.space;
  TensorIndex sides[] = {operandIndex(space, scores, 0, letters), operandIndex(space, scores, 1, letters)};
  unsigned keySide = dependsOn(sides[0], kLoopKey) ? 0 : 1;
  if (!dependsOn(sides[keySide], kLoopKey) || dependsOn(sides[1 - keySide], kLoopKey) ||
      dependsOn(sides[keySide], kLoopQuery))
    return refuse("the scores aren't a product of queries and keys");
  // Letters that swap a head size for a length run where the two are equal, and mean something else.
  StringRef keyLetters = scores.letters[keySide];
  int64_t sizeAxis = keyLetters.find(summed[0]), keyAxis = -1;
  for (auto [axis, entry] : llvm::enumerate(sides[keySide]))
    if (!entry.factors[kLoopKey].isConstant(0))
      keyAxis = axis;
  if (isa<nn::EinsumOp>(scores.op) && sizeAxis < keyAxis - 1)
    return refuse("the equation sums over an axis before the heads of the key: its letters look swapped");

  auto query = traceOperand(space, dims, {scores.operands[1 - keySide], sides[1 - keySide]}, Role::Query, &plan.scale);
  auto key = traceOperand(space, dims, {scores.operands[keySide], sides[keySide]}, Role::KeyOrValue, &plan.scale);
  if (!query || !key)
    return refuse(query ? "the key isn't a tensor of heads" : "the query isn't a tensor of heads");
  if (key->tensor.getDefiningOp<nn::ConstantOp>())
    return refuse("the key is a constant");
  plan.query = *query;
  plan.key = *key;
  return true;
}

/// Index of the last of |weights|, each of which is a view or map of the one before; |element| is the first one, and
/// becomes the last that isn't a view.
static std::optional<TensorIndex> followWeights(const LoopSpace &space, KnownDims &dims, ArrayRef<Value> weights,
                                                Element &element) {
  TensorIndex index = element.index;
  for (auto [from, to] : llvm::zip(weights.drop_back(), weights.drop_front())) {
    if (std::optional<TensorIndex> next = viewTarget(space, dims, to.getDefiningOp(), index)) {
      index = *next;
      continue;
    }
    // A map's other operand must not stretch it.
    if (!isScoreStep(to.getDefiningOp()) || dims.get(from) != dims.get(to))
      return std::nullopt;
    element = {to, index};
  }
  return index;
}

bool Planner::placeValue(SdpaPlan &plan, Element &output) {
  const Contraction &product = pattern.output;
  unsigned side = product.operands[0] == pattern.weights.back() ? 0 : 1;
  plan.probabilities = plan.weights = {pattern.weights.front(), plan.softmaxInput.index};
  std::optional<TensorIndex> weights = followWeights(*plan.space, dims, pattern.weights, plan.weights);
  if (!weights)
    return refuse("the probabilities are reshaped in a way that mixes their axes");
  LetterMap letters;
  for (auto [letter, entry] : llvm::zip_equal(product.letters[side], *weights))
    letters[letter] = entry;
  std::string summed = product.getSummed();
  if (summed.size() != 1 || !letters.count(summed[0]) || !(letters[summed[0]] == plan.space->loop(kLoopKey)))
    return refuse("the product of probabilities and value doesn't sum over the keys");

  StringRef valueLetters = product.letters[1 - side];
  LoopDims valueDims = dims.get(product.operands[1 - side]);
  std::optional<LoopSpace> space;
  for (auto [axis, letter] : llvm::enumerate(valueLetters)) {
    if (letters.count(letter))
      continue;
    if (space)
      return refuse("the value has batches or heads that the scores lack");
    space = plan.space->withSize(valueDims[axis]);
    letters[letter] = space->loop(kLoopSize);
  }
  if (!space)
    return refuse("the value has no head size");
  auto value =
      traceOperand(*space, dims, {product.operands[1 - side], operandIndex(*space, product, 1 - side, letters)},
                   Role::KeyOrValue, nullptr);
  if (!value)
    return refuse("the value isn't a tensor of heads");
  plan.value = *value;
  output.tensor = product.op->getResult(0);
  for (char letter : product.output)
    output.index.push_back(letters.at(letter));
  *plan.space = *space;
  return true;
}

/// The only op that reads |tensor|'s elements; null where there are several. Its shape may be asked for by any number:
/// exporters do so for the reshape that follows, and these questions go with it.
static Operation *getOnlyReader(Value tensor) {
  Operation *reader = nullptr;
  for (Operation *user : tensor.getUsers()) {
    if (isa<nn::ShapeOp>(user))
      continue;
    if (reader && reader != user)
      return nullptr;
    reader = user;
  }
  return reader;
}

/// Follows the output over the views that merge heads, as long as a permutation of attention's axes is left.
bool Planner::placeOutput(SdpaPlan &plan, Element output) {
  while (true) {
    LoopDims extents = dims.get(output.tensor);
    if (extents.size() == output.index.size())
      if (auto placement = findPlacement(*plan.space, extents, output.index, Role::Output)) {
        plan.target = output.tensor;
        plan.targetPlacement = *placement;
        plan.targetIndex = output.index;
      }
    Operation *view = getOnlyReader(output.tensor);
    std::optional<TensorIndex> next;
    if (view && view->getNumOperands() > 0 && view->getOperand(0) == output.tensor)
      next = viewTarget(*plan.space, dims, view, output.index);
    if (!next)
      break;
    output = {view->getResult(0), *next};
  }
  return plan.target || refuse("the output isn't a tensor of heads");
}

std::optional<SdpaPlan> Planner::plan(const AxisReading &reading, int64_t groupSize) {
  SdpaPlan plan;
  plan.reading = reading;
  plan.kvNumHeads = reading.numHeads / groupSize;
  Value input = pattern.path.front();
  plan.space = getSpace(reading, dims, dims.get(input), groupSize);
  plan.softmaxInput = {input, getIndex(reading, *plan.space)};
  Element product, output;
  if (!followScores(plan, product) || !placeQueryAndKey(plan, product) || !placeValue(plan, output) ||
      !placeOutput(plan, output))
    return std::nullopt;
  return plan;
}

std::optional<SdpaPlan> heddle::attn::planSdpa(const SoftmaxPattern &pattern, KnownDims &dims, std::string &reason) {
  reason.clear();
  for (const AxisReading &reading : getReadings(pattern, dims)) {
    // Keys that many heads share are found by reading them so: large groups first.
    std::string why;
    for (int64_t groupSize = reading.numHeads; groupSize >= 1; --groupSize) {
      if (reading.numHeads % groupSize != 0 || (reading.groupSize != 0 && reading.groupSize != groupSize))
        continue;
      if (std::optional<SdpaPlan> plan = Planner(pattern, dims, why).plan(reading, groupSize))
        return plan;
    }
    // The first reading is the usual one, without groups it is the plainest: its reason is what a user can act on.
    if (reason.empty())
      reason = why;
  }
  if (reason.empty())
    reason = "the number of heads isn't constant";
  return std::nullopt;
}
