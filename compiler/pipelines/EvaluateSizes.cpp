// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/pipelines/EvaluateSizes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

static std::optional<int64_t> compute(rt::ShapeKind kind, int64_t a, int64_t b) {
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
static std::optional<int64_t> evaluate(Operation *op, const SizeInputs &inputs,
                                       const llvm::DenseMap<Value, int64_t> &values) {
  using Result = std::optional<int64_t>;
  auto get = [&](Value value) { return values.lookup(value); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](rt::ShapeConstantOp op) -> Result { return op.getValue(); })
      .Case([&](rt::InputDimOp op) -> Result { return inputs.getDim(op); })
      .Case([&](rt::InputValueOp op) -> Result { return inputs.value; })
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

bool heddle::evaluateSizes(rt::ShapeFuncOp function, const SizeInputs &inputs, SizeErrors errors,
                           llvm::DenseMap<Value, int64_t> &values) {
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    std::optional<int64_t> value = evaluate(&op, inputs, values);
    if (!value && errors == SizeErrors::End)
      return false;
    if (op.getNumResults() == 1)
      values[op.getResult(0)] = value.value_or(0);
  }
  for (auto [result, yielded] : llvm::zip(function.getResults(), body.getTerminator()->getOperands()))
    values[result] = values.lookup(yielded);
  return true;
}
