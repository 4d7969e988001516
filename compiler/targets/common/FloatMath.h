// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small vocabulary for writing numerical formulas as arith ops, on scalars and vectors alike.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_FLOATMATH_H
#define HEDDLE_COMPILER_TARGETS_COMMON_FLOATMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace heddle {

/// Builds formulas on values of one type: f32, f64 or a vector of them.
class FloatMath {
public:
  FloatMath(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type) : b(builder), loc(loc), type(type) {}
  virtual ~FloatMath() = default;
  using Value = mlir::Value;

  bool isF64() const { return mlir::getElementTypeOrSelf(type).isF64(); }
  Value real(double value) const;
  Value integer(int64_t value) const;
  Value add(Value x, Value y) const { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) const { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) const { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  virtual Value div(Value x, Value y) const { return b.create<mlir::arith::DivFOp>(loc, x, y); }
  Value neg(Value x) const { return b.create<mlir::arith::NegFOp>(loc, x); }
  Value fma(Value x, Value y, Value z) const;
  /// x - n * part where n * part is exact, as parts of a constant are chosen: whether the product is rounded on its own
  /// doesn't matter then. Not fma(), which a driver may take apart and join with the next one's product.
  virtual Value subtractMultiple(Value x, Value n, double part) const { return sub(x, mul(n, real(part))); }
  Value abs(Value x) const;
  Value sqrt(Value x) const;
  Value floor(Value x) const;
  Value roundEven(Value x) const;
  Value trunc(Value x) const;
  /// |magnitude| with the sign of |sign|.
  Value copySign(Value magnitude, Value sign) const;
  Value select(Value condition, Value x, Value y) const;
  Value both(Value p, Value q) const { return b.create<mlir::arith::AndIOp>(loc, p, q); }
  Value less(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value greater(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::OGT, x, y); }
  Value equal(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value unequal(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::UNE, x, y); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) const {
    return b.create<mlir::arith::CmpFOp>(loc, predicate, x, y);
  }
  /// c[0] + x * (c[1] + x * (c[2] + ...)).
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const;
  Value toBits(Value x) const;
  Value fromBits(Value x) const;
  Value addBits(Value x, Value y) const { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  Value subBits(Value x, Value y) const { return b.create<mlir::arith::SubIOp>(loc, x, y); }
  Value andBits(Value x, Value y) const { return b.create<mlir::arith::AndIOp>(loc, x, y); }
  Value xorBits(Value x, Value y) const { return b.create<mlir::arith::XOrIOp>(loc, x, y); }
  Value shiftLeft(Value x, int64_t amount) const;
  Value shiftRight(Value x, int64_t amount) const; // arithmetic
  Value equalBits(Value x, Value y) const;
  Value lessBits(Value x, Value y) const; // signed

  /// |x| rounded to an integer n, and a value whose low bits are n: adding 1.5 * 2^(mantissa bits) rounds to units.
  /// |x| must be smaller than 2^(mantissa bits - 2).
  struct Rounded {
    Value value, bits;
  };
  Rounded round(Value x) const;
  /// x * 2^n, for results that are normal numbers; |n| as round's bits.
  Value scaleByPowerOfTwo(Value x, Value n) const;
  /// Single precision, for hot loops: x * 2^n where |kept|, else 0. |n| is an integer as a float, or NaN, which the
  /// result then is. Anything where a kept result isn't a normal number, and, without |kept|, for NaN. A target with an
  /// instruction for it has its own.
  virtual Value scaleWhere(Value kept, Value x, Value n) const { return scalePortably(kept, x, n); }
  Value scalePortably(Value kept, Value x, Value n) const;

  mlir::OpBuilder &b;
  const mlir::Location loc;
  const mlir::Type type;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_FLOATMATH_H
