// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The skeleton of attention around a softmax, and its operands behind views and factors.

#include "compiler/transforms/fusion/AttentionMatch.h"

#include "dialects/nn/EinsumEquation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

//===------------------------------------------------------------------------------------------------------------===//
// Products.
//===------------------------------------------------------------------------------------------------------------===//

static std::optional<Contraction> getMatMul(nn::MatMulOp op) {
  int64_t left = rankOf(op.getLhs()), right = rankOf(op.getRhs());
  if (left < 2 || right < 2)
    return std::nullopt;
  Contraction result;
  result.op = op;
  result.operands = {op.getLhs(), op.getRhs()};
  std::string batch;
  for (int64_t i = 0; i < std::max(left, right) - 2; ++i)
    batch += static_cast<char>('A' + i);
  result.letters = {batch.substr(batch.size() - (left - 2)) + "xz", batch.substr(batch.size() - (right - 2)) + "zy"};
  result.output = batch + "xy";
  return result;
}

static bool hasRepeats(StringRef letters) {
  return llvm::any_of(letters, [&](char letter) { return letters.count(letter) > 1; });
}

static std::optional<Contraction> getEinsum(nn::EinsumOp op) {
  std::string fault;
  std::optional<nn::EinsumEquation> equation = nn::EinsumEquation::parse(op.getEquation(), fault);
  if (!equation || equation->inputs.size() != 2)
    return std::nullopt;
  Contraction result;
  result.op = op;
  result.operands = {op.getInputs()[0], op.getInputs()[1]};
  result.letters = {equation->inputs[0], equation->inputs[1]};
  result.output = equation->output;
  for (StringRef letters : {StringRef(result.letters[0]), StringRef(result.letters[1]), StringRef(result.output)})
    if (hasRepeats(letters) || letters.contains('.'))
      return std::nullopt;
  return result;
}

std::optional<Contraction> Contraction::get(Operation *op) {
  if (auto matmul = dyn_cast_or_null<nn::MatMulOp>(op))
    return getMatMul(matmul);
  if (auto einsum = dyn_cast_or_null<nn::EinsumOp>(op))
    return getEinsum(einsum);
  return std::nullopt;
}

std::string Contraction::getSummed() const {
  std::string summed;
  for (const std::string &term : letters)
    for (char letter : term)
      if (!StringRef(output).contains(letter) && !StringRef(summed).contains(letter))
        summed += letter;
  return summed;
}

//===------------------------------------------------------------------------------------------------------------===//
// Operands.
//===------------------------------------------------------------------------------------------------------------===//

/// Index and extent of attention's dimension |dim| for |role|.
static std::pair<LinearIndex, ShapeExpr> describe(const LoopSpace &space, unsigned dim, Role role) {
  ShapeContext &context = space.getContext();
  switch (dim) {
  case kBatch:
    return {space.loop(kLoopBatch), space.extent(kLoopBatch)};
  case kHead:
    if (role == Role::KeyOrValue)
      return {space.loop(kLoopKeyHead), space.extent(kLoopKeyHead)};
    return {space.head(), context.mul(space.extent(kLoopKeyHead), space.extent(kLoopGroup))};
  case kQuery:
    return {space.loop(kLoopQuery), space.extent(kLoopQuery)};
  case kKey:
    return {space.loop(kLoopKey), space.extent(kLoopKey)};
  default:
    return {space.loop(kLoopSize), space.extent(kLoopSize)};
  }
}

std::optional<Placement> heddle::attn::findPlacement(const LoopSpace &space, ArrayRef<ShapeExpr> extents,
                                                     ArrayRef<LinearIndex> index, Role role) {
  SmallVector<unsigned> wanted = {kBatch, kHead, role == Role::KeyOrValue ? unsigned(kKey) : unsigned(kQuery),
                                  kHeadSize};
  auto take = [&](unsigned dim) { wanted.erase(llvm::find(wanted, dim)); };
  SmallVector<std::optional<unsigned>> axes(index.size());
  for (size_t axis = 0; axis < index.size(); ++axis) {
    LinearIndex plain = space.dropUnitLoops(index[axis]);
    if (space.isZero(plain) && extents[axis].isConstant(1))
      continue;
    auto match = llvm::find_if(wanted, [&](unsigned dim) {
      auto [loop, extent] = describe(space, dim, role);
      return plain == space.dropUnitLoops(loop) && extents[axis] == extent;
    });
    if (match == wanted.end())
      return std::nullopt;
    axes[axis] = *match;
    take(*match);
  }

  // An axis of extent 1 is as good a batch, head or row as any.
  Placement placement;
  for (auto [axis, dim] : llvm::enumerate(axes)) {
    if (!dim) {
      auto match = llvm::find_if(wanted, [&](unsigned dim) { return describe(space, dim, role).second.isConstant(1); });
      if (match != wanted.end()) {
        dim = *match;
        take(*match);
      }
    }
    if (dim)
      placement.dims.push_back(*dim);
    else
      placement.unitAxes.push_back(axis);
  }
  // Inputs without batch or head serve all of them alike; anything else that is missing has to be made.
  for (unsigned dim : llvm::reverse(wanted)) {
    if (role != Role::Output && (dim == kBatch || dim == kHead))
      continue;
    if (!describe(space, dim, role).second.isConstant(1))
      return std::nullopt;
    placement.dims.insert(placement.dims.begin(), dim);
    ++placement.numAdded;
  }
  return placement;
}

void Scale::multiply(const Scale &other) {
  number *= other.number;
  factors.append(other.factors);
  divisors.append(other.divisors);
}

bool Scale::fits(Type element) const { return !element.isF64() || static_cast<float>(number) == number; }

Value heddle::attn::takeScale(Operation *op, Scale &scale) {
  auto binary = dyn_cast_or_null<nn::BinaryOp>(op);
  bool isDivision = binary && binary.getKind() == nn::BinaryKind::Div;
  if (!binary || (binary.getKind() != nn::BinaryKind::Mul && !isDivision))
    return nullptr;
  for (auto [factor, other] : {std::pair(binary.getRhs(), binary.getLhs()), {binary.getLhs(), binary.getRhs()}}) {
    if ((isDivision && factor == binary.getLhs()) || other.getType() != binary.getOutput().getType())
      continue;
    if (auto number = dyn_cast_or_null<FloatAttr>(getSplat(factor))) {
      double value = number.getValueAsDouble();
      scale.number *= isDivision ? 1 / value : value;
      return other;
    }
    auto type = cast<RankedTensorType>(factor.getType());
    if (type.getElementType().isF32() && type.hasStaticShape() && type.getNumElements() == 1) {
      (isDivision ? scale.divisors : scale.factors).push_back(factor);
      return other;
    }
  }
  return nullptr;
}

std::optional<PlacedTensor> heddle::attn::traceOperand(const LoopSpace &space, KnownDims &dims, Element element,
                                                       Role role, Scale *scale) {
  std::optional<PlacedTensor> result;
  Scale taken;
  while (true) {
    LoopDims extents = dims.get(element.tensor);
    if (extents.size() != element.index.size())
      break;
    if (std::optional<Placement> placement = findPlacement(space, extents, element.index, role)) {
      result = PlacedTensor{element.tensor, *placement};
      if (scale)
        scale->multiply(taken);
      taken = Scale();
    }
    if (auto opResult = dyn_cast<OpResult>(element.tensor))
      if (std::optional<TensorIndex> index = viewSource(space, dims, opResult, element.index)) {
        element = {opResult.getOwner()->getOperand(0), *index};
        continue;
      }
    Value source = scale ? takeScale(element.tensor.getDefiningOp(), taken) : Value();
    if (!source || !taken.fits(getElementTypeOrSelf(source.getType())))
      break;
    element.tensor = source;
  }
  return result;
}

//===------------------------------------------------------------------------------------------------------------===//
// The skeleton.
//===------------------------------------------------------------------------------------------------------------===//

/// Finds the ways from |value| to products through score arithmetic; |paths| gets one a product. |budget| bounds the
/// work on graphs that part and meet again and again.
static void findProducts(Value value, SmallVectorImpl<Value> &path, SmallVectorImpl<SmallVector<Value>> &paths,
                         unsigned &budget) {
  constexpr unsigned kMaxLength = 32;
  Operation *op = value.getDefiningOp();
  if (!op || path.size() > kMaxLength || paths.size() > 1 || budget == 0)
    return;
  --budget;
  path.push_back(value);
  if (Contraction::get(op) && isa<FloatType>(getElementTypeOrSelf(value.getType())))
    paths.emplace_back(path.begin(), path.end());
  else if (isScoreStep(op))
    for (Value operand : getScoreOperands(op))
      findProducts(operand, path, paths, budget);
  path.pop_back();
}

/// `where(is_nan(p), 0, p)` for |probabilities| p; null where they aren't guarded.
static nn::WhereOp findGuard(Value probabilities) {
  for (Operation *user : probabilities.getUsers()) {
    auto guard = dyn_cast<nn::WhereOp>(user);
    if (!guard || guard.getOnFalse() != probabilities)
      continue;
    auto test = guard.getCondition().getDefiningOp<nn::UnaryOp>();
    auto zero = dyn_cast_or_null<FloatAttr>(getSplat(guard.getOnTrue()));
    if (test && test.getKind() == nn::UnaryKind::IsNan && test.getInput() == probabilities && zero &&
        zero.getValue().isZero())
      return guard;
  }
  return nullptr;
}

/// True if |user| makes |probability| a weight: a view, or a map that keeps the shape.
static bool isWeightStep(Operation *user, Value probability) {
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SqueezeOp, nn::UnsqueezeOp, nn::FlattenOp>(user))
    return user->getOperand(0) == probability;
  return isScoreStep(user) && !isa<nn::ExpandOp>(user) && getScoreOperands(user).contains(probability) &&
         cast<ShapedType>(user->getResult(0).getType()).getShape() ==
             cast<ShapedType>(probability.getType()).getShape();
}

/// The product that the last of |weights| goes into as it is or through steps, which are added.
static std::optional<Contraction> findOutputProduct(SmallVectorImpl<Value> &weights, unsigned &budget) {
  constexpr unsigned kMaxLength = 8; // as files have them: a mask, a factor, integers and back, heads merged
  Value last = weights.back();
  for (Operation *user : last.getUsers())
    if (std::optional<Contraction> product = Contraction::get(user))
      if (isa<FloatType>(getElementTypeOrSelf(last.getType())))
        return product;
  for (Operation *user : last.getUsers()) {
    if (budget == 0 || weights.size() > kMaxLength || !isWeightStep(user, last))
      continue;
    --budget;
    weights.push_back(user->getResult(0));
    if (auto product = findOutputProduct(weights, budget))
      return product;
    weights.pop_back();
  }
  return std::nullopt;
}

Value heddle::attn::getProbabilities(const SoftmaxPattern &pattern) {
  nn::SoftmaxOp softmax = pattern.softmax;
  nn::WhereOp guard = pattern.isGuarded ? findGuard(softmax.getOutput()) : nn::WhereOp();
  return guard ? guard.getOutput() : softmax.getOutput();
}

/// The users of |value| outside of the way to the output: any but one op.
static bool hasSecondUser(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return user != *value.getUsers().begin(); });
}

/// True where scores are read by softmaxes alone, after whatever happens to them, and by who wants no more than their
/// shape: one product under several masks is an attention for each.
static bool feedsSoftmaxesOnly(Value value, unsigned &budget) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<nn::SoftmaxOp, nn::ShapeOp>(user))
      return true;
    if (budget == 0 || !isScoreStep(user))
      return false;
    --budget;
    return feedsSoftmaxesOnly(user->getResult(0), budget);
  });
}

std::optional<SoftmaxPattern> heddle::attn::matchSoftmax(nn::SoftmaxOp softmax, std::string &reason) {
  SoftmaxPattern pattern;
  pattern.softmax = softmax;
  SmallVector<Value> path;
  SmallVector<SmallVector<Value>> paths;
  unsigned budget = 1024;
  findProducts(softmax.getInput(), path, paths, budget);
  pattern.isGuarded = findGuard(softmax.getOutput()) != nullptr;
  pattern.weights = {getProbabilities(pattern)};
  budget = 64;
  std::optional<Contraction> output = findOutputProduct(pattern.weights, budget);

  auto refuse = [&](StringRef why) {
    reason = why.str();
    return std::nullopt;
  };
  // 1. Classifiers and routers end or begin here: nothing looks like attention.
  if (paths.empty() || !output)
    return std::nullopt;
  if (paths.size() > 1)
    return refuse("the scores are a sum of several products");
  if (static_cast<int64_t>(softmax.getAxis()) != rankOf(softmax.getInput()) - 1)
    return refuse("the softmax isn't over the last axis");
  Type element = getElementTypeOrSelf(softmax.getInput().getType());
  if (!element.isF32() && !element.isF64())
    return refuse("the scores are neither f32 nor f64");

  // 2. Other readers need the scores in memory anyway.
  pattern.path = paths.front();
  budget = 1024;
  if (!feedsSoftmaxesOnly(pattern.path.back(), budget))
    return refuse("the scores have other users");
  if (pattern.isGuarded && llvm::range_size(softmax.getOutput().getUsers()) > 2)
    return refuse("the probabilities are used without their guard against NaN");
  pattern.scores = *Contraction::get(pattern.path.back().getDefiningOp());
  pattern.output = *output;
  pattern.hasOtherUsers = llvm::any_of(pattern.weights, hasSecondUser);
  return pattern;
}
