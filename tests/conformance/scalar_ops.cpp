// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::conformance {

namespace {

unsigned width_of(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

/// |value| as an integer of |type|; i1 is 0 or 1.
scalar wrap(int64_t value, Type type) {
  unsigned width = width_of(type);
  if (width == 1)
    return scalar::of_int(value & 1);
  return scalar::of_int(width == 64 ? value : llvm::SignExtend64(static_cast<uint64_t>(value), width));
}

uint64_t as_unsigned(int64_t value, Type type) {
  unsigned width = width_of(type);
  return width == 64 ? value : static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

int64_t saturate(double value, Type type, bool is_signed) {
  unsigned width = width_of(type);
  if (std::isnan(value))
    return 0;
  double whole = std::trunc(value), bound = std::ldexp(1.0, is_signed ? width - 1 : width);
  if (whole >= bound)
    return is_signed ? llvm::maxIntN(width) : static_cast<int64_t>(llvm::maxUIntN(width));
  if (whole < (is_signed ? -bound : 0.0))
    return is_signed ? llvm::minIntN(width) : 0;
  return is_signed ? static_cast<int64_t>(whole) : static_cast<int64_t>(static_cast<uint64_t>(whole));
}

bool compare_floats(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  default:
    std::fprintf(stderr, "predicate not known to the interpreter\n");
    std::abort();
  }
}

bool compare_integers(arith::CmpIPredicate predicate, int64_t a, int64_t b, Type type) {
  uint64_t ua = as_unsigned(a, type), ub = as_unsigned(b, type);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

scalar evaluate_constant(arith::ConstantOp op) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    return scalar::of(real.getValueAsDouble());
  return wrap(cast<IntegerAttr>(op.getValue()).getValue().getSExtValue(), op.getType());
}

/// Functions of the math dialect, by the C library in double precision.
double evaluate_math(Operation *op, const std::vector<scalar> &x) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](math::ExpOp) { return std::exp(x[0].f); })
      .Case([&](math::Exp2Op) { return std::exp2(x[0].f); })
      .Case([&](math::ExpM1Op) { return std::expm1(x[0].f); })
      .Case([&](math::LogOp) { return std::log(x[0].f); })
      .Case([&](math::Log2Op) { return std::log2(x[0].f); })
      .Case([&](math::Log10Op) { return std::log10(x[0].f); })
      .Case([&](math::Log1pOp) { return std::log1p(x[0].f); })
      .Case([&](math::TanhOp) { return std::tanh(x[0].f); })
      .Case([&](math::ErfOp) { return std::erf(x[0].f); })
      .Case([&](math::SinOp) { return std::sin(x[0].f); })
      .Case([&](math::CosOp) { return std::cos(x[0].f); })
      .Case([&](math::PowFOp) { return std::pow(x[0].f, x[1].f); })
      .Case([&](math::SqrtOp) { return std::sqrt(x[0].f); })
      .Case([&](math::RsqrtOp) { return 1.0 / std::sqrt(x[0].f); })
      .Case([&](math::AbsFOp) { return std::fabs(x[0].f); })
      .Case([&](math::FloorOp) { return std::floor(x[0].f); })
      .Case([&](math::CeilOp) { return std::ceil(x[0].f); })
      .Case([&](math::RoundOp) { return std::round(x[0].f); })
      .Case([&](math::RoundEvenOp) { return std::nearbyint(x[0].f); })
      .Default([](Operation *op) -> double {
        std::fprintf(stderr, "op not known to the interpreter: %s\n", op->getName().getStringRef().str().c_str());
        std::abort();
      });
}

} // namespace

bool is_integer_division(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
      op);
}

scalar evaluate_scalar(Operation *op, const std::vector<scalar> &x) {
  Type type = op->getResult(0).getType();
  Type from = op->getNumOperands() ? op->getOperand(0).getType() : type;
  auto real = [](double value) { return scalar::of(value); };
  auto integer = [&](int64_t value) { return wrap(value, type); };
  // Sums and products wrap around, which signed numbers of C++ may not.
  auto bits = [](int64_t value) { return static_cast<uint64_t>(value); };
  using S = scalar;
  return llvm::TypeSwitch<Operation *, S>(op)
      .Case([&](arith::ConstantOp op) { return evaluate_constant(op); })
      .Case([&](arith::AddFOp) { return real(x[0].f + x[1].f); })
      .Case([&](arith::SubFOp) { return real(x[0].f - x[1].f); })
      .Case([&](arith::MulFOp) { return real(x[0].f * x[1].f); })
      .Case([&](arith::DivFOp) { return real(x[0].f / x[1].f); })
      .Case([&](arith::RemFOp) { return real(std::fmod(x[0].f, x[1].f)); })
      .Case([&](arith::NegFOp) { return real(-x[0].f); })
      .Case([&](arith::MaximumFOp) { return real(maximum(x[0].f, x[1].f)); })
      .Case([&](arith::MinimumFOp) { return real(minimum(x[0].f, x[1].f)); })
      .Case([&](arith::AddIOp) { return integer(bits(x[0].i) + bits(x[1].i)); })
      .Case([&](arith::SubIOp) { return integer(bits(x[0].i) - bits(x[1].i)); })
      .Case([&](arith::MulIOp) { return integer(bits(x[0].i) * bits(x[1].i)); })
      .Case([&](arith::DivSIOp) { return integer(x[1].i == -1 ? 0 - bits(x[0].i) : x[0].i / x[1].i); })
      .Case([&](arith::RemSIOp) { return integer(x[1].i == -1 ? 0 : x[0].i % x[1].i); })
      .Case([&](arith::DivUIOp) { return integer(as_unsigned(x[0].i, type) / as_unsigned(x[1].i, type)); })
      .Case([&](arith::RemUIOp) { return integer(as_unsigned(x[0].i, type) % as_unsigned(x[1].i, type)); })
      .Case([&](arith::AndIOp) { return integer(x[0].i & x[1].i); })
      .Case([&](arith::OrIOp) { return integer(x[0].i | x[1].i); })
      .Case([&](arith::XOrIOp) { return integer(x[0].i ^ x[1].i); })
      .Case([&](arith::MaxSIOp) { return integer(std::max(x[0].i, x[1].i)); })
      .Case([&](arith::CmpFOp op) { return S::of_int(compare_floats(op.getPredicate(), x[0].f, x[1].f)); })
      .Case([&](arith::CmpIOp op) { return S::of_int(compare_integers(op.getPredicate(), x[0].i, x[1].i, from)); })
      .Case([&](arith::SelectOp) { return x[0].i ? x[1] : x[2]; })
      .Case([&](arith::ExtSIOp) { return integer(from.isInteger(1) ? -x[0].i : x[0].i); })
      .Case([&](arith::ExtUIOp) { return integer(as_unsigned(x[0].i, from)); })
      .Case([&](arith::TruncIOp) { return integer(x[0].i); })
      .Case([&](arith::IndexCastOp) { return integer(x[0].i); })
      .Case([&](arith::SIToFPOp) { return real(from.isInteger(1) ? -x[0].i : x[0].i); })
      .Case([&](arith::UIToFPOp) { return real(as_unsigned(x[0].i, from)); })
      .Case([&](arith::FPToSIOp) { return integer(saturate(x[0].f, type, true)); })
      .Case([&](arith::FPToUIOp) { return integer(saturate(x[0].f, type, false)); })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return x[0]; })
      .Default([&](Operation *op) -> S {
        if (isa<math::MathDialect>(op->getDialect()))
          return scalar::of(evaluate_math(op, x));
        std::fprintf(stderr, "op not known to the interpreter: %s\n", op->getName().getStringRef().str().c_str());
        std::abort();
      });
}

scalar neutral(kernel::Combiner combiner, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool is_bool = type.isInteger(1);
  unsigned width = isa<FloatType>(type) ? 64 : width_of(type);
  switch (combiner) {
  case kernel::Combiner::Sum:
    return {0.0, 0};
  case kernel::Combiner::Product:
    return {1.0, 1};
  case kernel::Combiner::Maximum:
    return {-infinity, is_bool ? 0 : llvm::minIntN(width)};
  case kernel::Combiner::Minimum:
    return {infinity, is_bool ? 1 : llvm::maxIntN(width)};
  }
  return {};
}

scalar combine(kernel::Combiner combiner, const scalar &a, const scalar &b) {
  switch (combiner) {
  case kernel::Combiner::Sum:
    return {a.f + b.f, a.i + b.i};
  case kernel::Combiner::Product:
    return {a.f * b.f, a.i * b.i};
  case kernel::Combiner::Maximum:
    return {maximum(a.f, b.f), std::max(a.i, b.i)};
  case kernel::Combiner::Minimum:
    return {minimum(a.f, b.f), std::min(a.i, b.i)};
  }
  return {};
}

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = evaluate(binary.getLHS(), dims, symbols), right = evaluate(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(left, right);
  default:
    return llvm::mod(left, right);
  }
}

void quantize_row(std::vector<double> &row) {
  float largest = 0;
  bool is_finite = true;
  for (double x : row) {
    is_finite = is_finite && std::isfinite(x);
    largest = std::max(largest, static_cast<float>(std::abs(x)));
  }
  float scale = largest / 127.0F;
  if (scale < std::numeric_limits<float>::min())
    scale = 1;
  const float inverse = 1.0F / scale;
  for (double &x : row)
    x = is_finite ? std::nearbyint(static_cast<float>(x) * inverse) * static_cast<double>(scale) : NAN;
}

double quantize_value(double value, float scale) {
  float code = std::nearbyint(static_cast<float>(value) * (1.0F / scale));
  return std::isfinite(value) ? std::clamp(code, -127.0F, 127.0F) * static_cast<double>(scale) : NAN;
}

} // namespace heddle::conformance
