// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-raise-activations: makes one op of each GELU, SiLU and sigmoid that is spelled out.
//
// All of them are x times a gate, a function of a polynomial of x. So both sides of the function are written as
// polynomials, in which the order of sums and products and the place of constants have disappeared, and compared with
// those of the activations.

#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "compiler/transforms/fusion/ValueMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <cmath>

#define DEBUG_TYPE "nn-raise-activations"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_RAISEACTIVATIONSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

/// A polynomial of x up to x^3 and of the gate g up to g: the factor of x^i g^j is at [i][j].
using Polynomial = std::array<std::array<double, 2>, 4>;

Polynomial makeTerm(double factor, unsigned power, unsigned gates) {
  Polynomial term{};
  term[power][gates] = factor;
  return term;
}

/// |a| + |b| * |factor|
Polynomial add(Polynomial a, const Polynomial &b, double factor) {
  for (unsigned i = 0; i < a.size(); ++i)
    for (unsigned j = 0; j < a[i].size(); ++j)
      a[i][j] += b[i][j] * factor;
  return a;
}

/// Nothing where the product's degree is too high for any activation.
std::optional<Polynomial> multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product{};
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned j = 0; j < 8; ++j) {
      double factor = a[i / 2][i % 2] * b[j / 2][j % 2];
      if (factor == 0)
        continue;
      if (i / 2 + j / 2 > 3 || i % 2 + j % 2 > 1)
        return std::nullopt;
      product[i / 2 + j / 2][i % 2 + j % 2] += factor;
    }
  return product;
}

/// An activation: the gate's kind, its argument, and the whole.
struct Form {
  UnaryKind kind;
  UnaryKind gate;
  Polynomial argument;
  Polynomial whole;
};

// sqrt(2 / pi) and half of sqrt(2), to double precision.
constexpr double kTanhFactor = 0.79788456080286535588;
constexpr double kCubicFactor = 0.044715;
constexpr double kErfFactor = 0.70710678118654752440;

/// With products before sums of fewer ops: x * sigmoid(x) is silu, though sigmoid(x) alone is something too.
ArrayRef<Form> getForms() {
  auto odd = [](double linear, double cubic) { return add(makeTerm(linear, 1, 0), makeTerm(cubic, 3, 0), 1); };
  const Polynomial half = add(makeTerm(0.5, 1, 0), makeTerm(0.5, 1, 1), 1), gated = makeTerm(1, 1, 1);
  static const Form kForms[] = {
      {UnaryKind::GeluErf, UnaryKind::Erf, odd(kErfFactor, 0), half},
      {UnaryKind::GeluTanh, UnaryKind::Tanh, odd(kTanhFactor, kTanhFactor * kCubicFactor), half},
      // (1 + tanh(z)) / 2 is sigmoid(2 z).
      {UnaryKind::GeluTanh, UnaryKind::Sigmoid, odd(2 * kTanhFactor, 2 * kTanhFactor * kCubicFactor), gated},
      {UnaryKind::QuickGelu, UnaryKind::Sigmoid, odd(1.702, 0), gated},
      {UnaryKind::Silu, UnaryKind::Sigmoid, odd(1, 0), gated},
      {UnaryKind::Sigmoid, UnaryKind::Sigmoid, odd(1, 0), makeTerm(1, 0, 1)},
  };
  return kForms;
}

/// A function of |argument|, up to its sign: sigmoid(z) may be written as 1 / (1 + exp(-z)), and then |value| is the
/// denominator.
struct Gate {
  UnaryKind kind;
  Value value;
  Value argument;
  bool isDenominator = false;
};

std::optional<Gate> matchGate(UnaryOp op) {
  switch (op.getKind()) {
  case UnaryKind::Erf:
  case UnaryKind::Tanh:
  case UnaryKind::Sigmoid:
    return Gate{op.getKind(), op.getOutput(), op.getInput()};
  case UnaryKind::Exp:
    for (Operation *user : op.getOutput().getUsers()) {
      auto sum = dyn_cast<BinaryOp>(user);
      std::optional<NumberOperand> parts =
          sum && sum.getKind() == BinaryKind::Add ? matchNumberOperand(sum) : std::nullopt;
      if (parts && parts->number == 1)
        return Gate{UnaryKind::Sigmoid, sum.getOutput(), op.getInput(), /*isDenominator=*/true};
    }
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Writes values as polynomials of |x| and |gate|.
class Expander {
public:
  Expander(Value x, const Gate &gate) : x(x), gate(gate) {}

  std::optional<Polynomial> expand(Value value) {
    budget = 48;
    return expandStep(value);
  }

private:
  std::optional<Polynomial> expandStep(Value value);
  std::optional<Polynomial> expandBinary(BinaryOp op);
  std::optional<Polynomial> expandQuotient(BinaryOp op);
  std::optional<Polynomial> expandPower(BinaryOp op);

  Value x;
  const Gate &gate;
  unsigned budget = 0;
};

std::optional<Polynomial> Expander::expandStep(Value value) {
  if (budget == 0)
    return std::nullopt;
  --budget;
  if (value == gate.value)
    return gate.isDenominator ? std::nullopt : std::optional(makeTerm(1, 0, 1));
  if (areSame(value, x))
    return makeTerm(1, 1, 0);
  Operation *op = value.getDefiningOp();
  // A number may be a scalar; all else has x's elements.
  if (op && isa<FloatType>(getElementTypeOrSelf(value.getType())))
    if (std::optional<double> number = getNumber(value))
      return makeTerm(*number, 0, 0);
  if (!op || value.getType() != x.getType())
    return std::nullopt;
  if (auto binary = dyn_cast<BinaryOp>(op))
    return expandBinary(binary);
  auto unary = dyn_cast<UnaryOp>(op);
  if (unary && unary.getKind() == UnaryKind::Reciprocal && gate.isDenominator && unary.getInput() == gate.value)
    return makeTerm(1, 0, 1);
  if (!unary || unary.getKind() != UnaryKind::Neg)
    return std::nullopt;
  std::optional<Polynomial> operand = expandStep(unary.getInput());
  return operand ? std::optional(add({}, *operand, -1)) : std::nullopt;
}

std::optional<Polynomial> Expander::expandBinary(BinaryOp op) {
  if (op.getKind() == BinaryKind::Div)
    return expandQuotient(op);
  if (op.getKind() == BinaryKind::Pow)
    return expandPower(op);
  bool isProduct = op.getKind() == BinaryKind::Mul, isSum = op.getKind() == BinaryKind::Add;
  if (!isProduct && !isSum && op.getKind() != BinaryKind::Sub)
    return std::nullopt;
  std::optional<Polynomial> left = expandStep(op.getLhs()), right = left ? expandStep(op.getRhs()) : std::nullopt;
  if (!right)
    return std::nullopt;
  return isProduct ? multiply(*left, *right) : add(*left, *right, isSum ? 1 : -1);
}

std::optional<Polynomial> Expander::expandQuotient(BinaryOp op) {
  std::optional<Polynomial> left = expandStep(op.getLhs());
  if (left && gate.isDenominator && op.getRhs() == gate.value)
    return multiply(*left, makeTerm(1, 0, 1));
  std::optional<double> divisor = getNumber(op.getRhs());
  return left && divisor && *divisor != 0 ? std::optional(add({}, *left, 1 / *divisor)) : std::nullopt;
}

std::optional<Polynomial> Expander::expandPower(BinaryOp op) {
  std::optional<Polynomial> base = expandStep(op.getLhs());
  std::optional<double> exponent = getNumber(op.getRhs());
  if (!base || !exponent || (*exponent != 2 && *exponent != 3))
    return std::nullopt;
  std::optional<Polynomial> power = multiply(*base, *base);
  return power && *exponent == 3 ? multiply(*power, *base) : power;
}

/// How far a factor may be from the true one: files hold it as a product of a few numbers rounded to |element|. The
/// tightest look-alike is 1.7, which is 1.2e-3 away from 1.702 and another number in f16.
double getTolerance(Type element) {
  if (element.isF64())
    return 0x1p-50;
  if (element.isF32())
    return 0x1p-22;
  return element.isF16() ? 1.5 * 0x1p-11 : 1.5 * 0x1p-8;
}

bool isClose(const Polynomial &a, const Polynomial &b, double tolerance) {
  for (unsigned i = 0; i < a.size(); ++i)
    for (unsigned j = 0; j < a[i].size(); ++j)
      if (!(std::abs(a[i][j] - b[i][j]) <= tolerance * std::abs(b[i][j])))
        return false;
  return true;
}

/// True for ops that polynomials are made of.
bool isPolynomialStep(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](UnaryOp unary) { return unary.getKind() == UnaryKind::Neg || unary.getKind() == UnaryKind::Reciprocal; })
      .Case([](BinaryOp binary) {
        return llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Div, BinaryKind::Pow},
                                  binary.getKind());
      })
      .Default([](Operation *) { return false; });
}

/// What bounds the search around one gate; the longest spelling takes nine ops before it and four after.
constexpr unsigned kMaxVisited = 32;

/// The values that |argument| is computed from, itself first: each might be x.
llvm::SetVector<Value> collectSources(Value argument) {
  llvm::SetVector<Value> sources;
  sources.insert(argument);
  for (unsigned i = 0; i < sources.size() && i < kMaxVisited; ++i)
    if (Operation *op = sources[i].getDefiningOp(); op && isPolynomialStep(op))
      for (Value operand : op->getOperands())
        if (operand.getType() == argument.getType() && !getNumber(operand))
          sources.insert(operand);
  return sources;
}

/// The values that are computed from |gate|, nearest first.
llvm::SetVector<Value> collectTargets(Value gate) {
  llvm::SetVector<Value> targets;
  targets.insert(gate);
  for (unsigned i = 0; i < targets.size() && i < kMaxVisited; ++i)
    for (Operation *user : targets[i].getUsers())
      if (isPolynomialStep(user) && user->getResult(0).getType() == gate.getType())
        targets.insert(user->getResult(0));
  return targets;
}

struct RaiseActivationsPass : impl::RaiseActivationsPassBase<RaiseActivationsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      for (Block &block : func.getBody()) {
        for (Operation &op : llvm::make_early_inc_range(block))
          if (auto unary = dyn_cast<UnaryOp>(op))
            if (std::optional<Gate> gate = matchGate(unary))
              raise(*gate);
        eraseDeadOps(block);
      }
    SmallVector<std::pair<StringRef, int64_t>> counts;
    for (auto [kind, count] : raised) {
      counts.emplace_back(stringifyUnaryKind(kind), count);
      numRaised += count;
    }
    noteRaised(getOperation(), counts);
  }

private:
  void raise(const Gate &gate);
  bool raise(const Gate &gate, const Form &form, ArrayRef<Value> sources, ArrayRef<Value> targets);

  llvm::SmallMapVector<UnaryKind, int64_t, 4> raised;
};

void RaiseActivationsPass::raise(const Gate &gate) {
  llvm::SetVector<Value> sources = collectSources(gate.argument), targets = collectTargets(gate.value);
  for (const Form &form : getForms())
    if (form.gate == gate.kind && raise(gate, form, sources.getArrayRef(), targets.getArrayRef()))
      return;
}

bool RaiseActivationsPass::raise(const Gate &gate, const Form &form, ArrayRef<Value> sources, ArrayRef<Value> targets) {
  double tolerance = getTolerance(getElementTypeOrSelf(gate.value.getType()));
  // A sigmoid that is an op already needs no raising.
  if (form.kind == form.gate && !gate.isDenominator)
    return false;
  bool found = false;
  for (Value x : sources) {
    Expander expander(x, gate);
    std::optional<Polynomial> argument = expander.expand(gate.argument);
    if (!argument || !isClose(add({}, *argument, gate.isDenominator ? -1 : 1), form.argument, tolerance))
      continue;
    for (Value target : targets) {
      std::optional<Polynomial> whole = target.use_empty() ? std::nullopt : expander.expand(target);
      if (!whole || !isClose(*whole, form.whole, tolerance))
        continue;
      OpBuilder builder(target.getDefiningOp());
      replaceOutput(target, builder.create<UnaryOp>(target.getLoc(), target.getType(), form.kind, x));
      ++raised[form.kind];
      found = true;
    }
  }
  return found;
}

} // namespace
} // namespace heddle::nn
