// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations: maps that nn has an op for, and those that are written out.

#include "compiler/import/onnx/NodeMath.h"
#include "compiler/import/onnx/OpTable.h"

using namespace mlir;

namespace heddle::importer {

namespace {

using nn::BinaryKind, nn::CompareKind, nn::UnaryKind;

template <UnaryKind kind> LogicalResult buildUnary(NodeContext &node) {
  return node.emit<nn::UnaryOp>(kind, node.getInput(0));
}

/// The two differ by up to 5e-4, so neither ever stands in for the other.
LogicalResult buildGelu(NodeContext &node) {
  std::string approximate = node.getString("approximate", "none");
  if (approximate == "none")
    return buildUnary<UnaryKind::GeluErf>(node);
  if (approximate == "tanh")
    return buildUnary<UnaryKind::GeluTanh>(node);
  return node.malformed("attribute 'approximate' must be 'none' or 'tanh', got '" + approximate + "'");
}

/// An activation as a formula over its input, which is f32 at least.
template <Value (*formula)(NodeMath math, Value x)> LogicalResult buildFormula(NodeContext &node) {
  NodeMath math{node};
  if (!isa<FloatType>(node.getElementType(0)))
    return node.fail(ErrorCode::H0206, "the input must be of floats");
  Value result = formula(math, math.widen(node.getInput(0)));
  return node.setOutputs(math.cast(result, node.getElementType(0)));
}

/// |below| where x is negative, else x itself: a NaN stays one.
Value bend(NodeMath math, Value x, Value below) { return math.select(CompareKind::Lt, x, math.number(0, x), below, x); }

/// exp(x) - 1
Value expMinusOne(NodeMath math, Value x) { return math.sub(math.unary(UnaryKind::Exp, x), math.number(1, x)); }

/// min(max(alpha x + beta, 0), 1)
Value hardSigmoid(NodeMath math, Value x, double alpha, double beta) {
  Value line = math.add(math.mul(x, math.number(alpha, x)), math.number(beta, x));
  return math.min(math.max(line, math.number(0, x)), math.number(1, x));
}

/// x sigmoid(factor x)
Value gate(NodeMath math, Value x, double factor) {
  return math.mul(x, math.unary(UnaryKind::Sigmoid, math.mul(x, math.number(factor, x))));
}

/// x sigmoid(alpha x), which has an op of its own where alpha is 1.
Value makeSwish(NodeMath math, Value x) {
  double alpha = math.node.getFloat("alpha", 1.0);
  return alpha == 1.0 ? math.unary(UnaryKind::Silu, x) : gate(math, x, alpha);
}

/// The same with another default, whose op knows 1.702 as an f32.
Value makeQuickGelu(NodeMath math, Value x) {
  double alpha = math.node.getFloat("alpha", 1.702f);
  return alpha == 1.702f ? math.unary(UnaryKind::QuickGelu, x) : gate(math, x, alpha);
}

Value makeLeakyRelu(NodeMath math, Value x) {
  return bend(math, x, math.mul(x, math.number(math.node.getFloat("alpha", 0.01f), x)));
}

Value makeElu(NodeMath math, Value x) {
  return bend(math, x, math.mul(expMinusOne(math, x), math.number(math.node.getFloat("alpha", 1.0), x)));
}

Value makeSelu(NodeMath math, Value x) {
  double alpha = math.node.getFloat("alpha", 1.67326319217681884765625);
  Value gamma = math.number(math.node.getFloat("gamma", 1.05070102214813232421875), x);
  return math.mul(gamma, bend(math, x, math.mul(expMinusOne(math, x), math.number(alpha, x))));
}

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1))
Value makeCelu(NodeMath math, Value x) {
  Value alpha = math.number(math.node.getFloat("alpha", 1.0), x), zero = math.number(0, x);
  Value curve = math.mul(alpha, expMinusOne(math, math.div(x, alpha)));
  return math.add(math.max(x, zero), math.min(curve, zero));
}

Value makeThresholdedRelu(NodeMath math, Value x) {
  Value alpha = math.number(math.node.getFloat("alpha", 1.0), x);
  return math.select(CompareKind::Gt, x, alpha, x, math.number(0, x));
}

Value makeHardSigmoid(NodeMath math, Value x) {
  return hardSigmoid(math, x, math.node.getFloat("alpha", 0.2f), math.node.getFloat("beta", 0.5f));
}

Value makeHardSwish(NodeMath math, Value x) { return math.mul(x, hardSigmoid(math, x, 1.0 / 6, 0.5)); }

Value makeMish(NodeMath math, Value x) {
  return math.mul(x, math.unary(UnaryKind::Tanh, math.unary(UnaryKind::Softplus, x)));
}

/// x / (1 + |x|)
Value makeSoftsign(NodeMath math, Value x) {
  return math.div(x, math.add(math.unary(UnaryKind::Abs, x), math.number(1, x)));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
Value makeShrink(NodeMath math, Value x) {
  double bound = math.node.getFloat("lambd", 0.5);
  Value bias = math.number(math.node.getFloat("bias", 0.0), x);
  Value above = math.select(CompareKind::Gt, x, math.number(bound, x), math.sub(x, bias), math.number(0, x));
  return math.select(CompareKind::Lt, x, math.number(-bound, x), math.add(x, bias), above);
}

/// The slope is a tensor that broadcasts onto x; integers are fine.
LogicalResult buildPRelu(NodeContext &node) {
  NodeMath math{node};
  Value x = node.getInput(0), result = bend(math, x, math.mul(x, node.getInput(1)));
  if (result && cast<RankedTensorType>(result.getType()).getRank() != node.getRank(0))
    return node.fail(ErrorCode::H0204, "the slope must broadcast onto the input");
  return node.setOutputs(result);
}

} // namespace

llvm::ArrayRef<OpRow> getActivationOps() {
  static constexpr OpRow kRows[] = {
      {"", "Relu", 6, 1, 1, buildUnary<UnaryKind::Relu>},
      {"", "Sigmoid", 6, 1, 1, buildUnary<UnaryKind::Sigmoid>},
      {"", "Softplus", 1, 1, 1, buildUnary<UnaryKind::Softplus>},
      {"", "Gelu", 20, 1, 1, buildGelu},
      {"", "Swish", 24, 1, 1, buildFormula<makeSwish>},
      {"", "LeakyRelu", 6, 1, 1, buildFormula<makeLeakyRelu>},
      {"", "Elu", 6, 1, 1, buildFormula<makeElu>},
      {"", "Selu", 6, 1, 1, buildFormula<makeSelu>},
      {"", "Celu", 12, 1, 1, buildFormula<makeCelu>},
      {"", "ThresholdedRelu", 10, 1, 1, buildFormula<makeThresholdedRelu>},
      {"", "HardSigmoid", 6, 1, 1, buildFormula<makeHardSigmoid>},
      {"", "HardSwish", 14, 1, 1, buildFormula<makeHardSwish>},
      {"", "Mish", 18, 1, 1, buildFormula<makeMish>},
      {"", "Softsign", 1, 1, 1, buildFormula<makeSoftsign>},
      {"", "Shrink", 9, 1, 1, buildFormula<makeShrink>},
      {"", "PRelu", 7, 2, 2, buildPRelu},

      {"com.microsoft", "Gelu", 1, 1, 1, buildUnary<UnaryKind::GeluErf>},
      {"com.microsoft", "QuickGelu", 1, 1, 1, buildFormula<makeQuickGelu>},
  };
  return kRows;
}

} // namespace heddle::importer
