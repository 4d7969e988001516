// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/ExpandMath.h"

#include "compiler/targets/common/SingleMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle {

static bool isNative(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RoundOp, math::SqrtOp, math::TruncOp, math::CtPopOp>(op);
}

static Value buildPower(const FloatMath &m, math::PowFOp op) {
  FloatAttr exponent;
  if (matchPattern(op.getRhs(), m_Constant(&exponent)))
    if (Value simple = buildConstantPower(m, op.getLhs(), exponent.getValueAsDouble()))
      return simple;
  return buildPow32(m, op.getLhs(), op.getRhs());
}

/// The result of |op| on numbers of single precision; null where it has no expansion.
static Value expand(OpBuilder &b, Operation *op) {
  Value x = op->getOperand(0);
  FloatMath m(b, op->getLoc(), x.getType());
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return buildExp32(m, x); })
      .Case([&](math::Exp2Op) { return buildExp232(m, x); })
      .Case([&](math::ExpM1Op) { return buildExpm132(m, x); })
      .Case([&](math::TanhOp) { return buildTanh32(m, x); })
      .Case([&](math::ErfOp) { return buildErfOf32(m, op, x); })
      .Case([&](math::LogOp) { return buildLog32(m, x); })
      .Case([&](math::Log2Op) { return buildLog232(m, x); })
      .Case([&](math::Log10Op) { return buildLog1032(m, x); })
      .Case([&](math::Log1pOp) { return buildLog1p32(m, x); })
      .Case([&](math::SinOp) { return buildSine32(m, x, false); })
      .Case([&](math::CosOp) { return buildSine32(m, x, true); })
      .Case([&](math::RsqrtOp) { return m.div(m.real(1.0), m.sqrt(x)); })
      .Case([&](math::PowFOp power) { return buildPower(m, power); })
      .Case([&](arith::RemFOp) { return buildRemainder32(m, x, op->getOperand(1)); })
      .Default([](Operation *) { return Value(); });
}

/// Whether a number that |value| decides is rounded to an integer in its region.
static bool isRoundedLater(Value value, llvm::SmallPtrSetImpl<Operation *> &seen) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<math::RoundEvenOp, math::RoundOp, math::FloorOp, math::CeilOp, math::TruncOp, arith::FPToSIOp,
            arith::FPToUIOp>(user))
      return true;
    return user->getNumResults() == 1 && isa<FloatType>(user->getResult(0).getType()) && seen.insert(user).second &&
           isRoundedLater(user->getResult(0), seen);
  });
}

void roundCodeDivisions(kernel::FuncOp func) {
  SmallVector<arith::DivFOp> divisions;
  func.getRoot()->walk([&](arith::DivFOp op) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    if (op.getType().isF32() && isRoundedLater(op, seen))
      divisions.push_back(op);
  });
  for (arith::DivFOp op : divisions) {
    OpBuilder b(op);
    FloatMath m(b, op.getLoc(), op.getType());
    op.replaceAllUsesWith(buildDivide32(m, op.getLhs(), op.getRhs()));
    op.erase();
  }
}

LogicalResult expandRegionMath(kernel::FuncOp func) {
  SmallVector<Operation *> calls;
  Operation *wide = nullptr;
  func.getRoot()->walk([&](Operation *op) {
    auto isDouble = [](Type type) { return type.isF64(); };
    if (!wide && llvm::any_of(op->getResultTypes(), isDouble))
      wide = op;
    if ((isa<math::MathDialect>(op->getDialect()) && !isNative(op)) || isa<arith::RemFOp>(op))
      calls.push_back(op);
  });
  if (wide)
    return wide->emitOpError("has no form on this target for elements of type 'f64'");
  for (Operation *op : calls) {
    Type type = op->getOperand(0).getType();
    if (isa<FloatType>(type) && !type.isF32())
      return op->emitOpError() << "has no form on this target for elements of type " << type;
    OpBuilder b(op);
    Value result = type.isF32() ? expand(b, op) : Value();
    if (!result)
      return op->emitOpError("has no expansion on this target");
    op->replaceAllUsesWith(ValueRange(result));
    op->erase();
  }
  return success();
}

} // namespace heddle
