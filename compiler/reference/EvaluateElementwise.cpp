// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of maps: operands are broadcast to one shape first, then element i meets element i.

#include <cmath>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// y[i] = fn(x[i])
template <typename Fn> HostTensor mapFloats(const HostTensor &x, Fn fn) {
  std::vector<double> y;
  y.reserve(x.getNumElements());
  for (double value : x.getFloats())
    y.push_back(fn(value));
  return HostTensor(x.getElementType(), x.getDims(), std::move(y));
}

// y[i] = fn(x[i]), wrapped into |type|
template <typename Fn> HostTensor mapInts(Type type, const HostTensor &x, Fn fn) {
  IntFormat format = IntFormat::of(type);
  std::vector<int64_t> y;
  y.reserve(x.getNumElements());
  x.visit([&](auto elements) {
    for (auto value : elements)
      y.push_back(format.wrap(fn(value)));
  });
  return HostTensor(type, x.getDims(), std::move(y));
}

llvm::Error makeKindError(Operation *op, Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "expects an element type that kind " << op->getAttr("kind") << " knows, got '" << type << "'";
  return makeError(text);
}

double evaluateSign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }

// A NaN stays one, unlike in std::fmin and std::fmax.
double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }
double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }

double evaluateSoftplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::fmax(x, 0.0); }

// Constants of gelu_tanh and quick_gelu: Hendrycks and Gimpel 2016; sqrt(2/pi).
double evaluateGeluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

using FloatFunction = double (*)(double);

// The function of |kind| from float to float, or null.
FloatFunction getFloatFunction(nn::UnaryKind kind) {
  switch (kind) {
  case nn::UnaryKind::Abs:
    return [](double x) { return std::fabs(x); };
  case nn::UnaryKind::Neg:
    return [](double x) { return -x; };
  case nn::UnaryKind::Sign:
    return evaluateSign;
  case nn::UnaryKind::Relu:
    return [](double x) { return std::isnan(x) ? x : std::fmax(x, 0.0); };
  case nn::UnaryKind::Sqrt:
    return [](double x) { return std::sqrt(x); };
  case nn::UnaryKind::Reciprocal:
    return [](double x) { return 1 / x; };
  case nn::UnaryKind::Exp:
    return [](double x) { return std::exp(x); };
  case nn::UnaryKind::Log:
    return [](double x) { return std::log(x); };
  case nn::UnaryKind::Sin:
    return [](double x) { return std::sin(x); };
  case nn::UnaryKind::Cos:
    return [](double x) { return std::cos(x); };
  case nn::UnaryKind::Tanh:
    return [](double x) { return std::tanh(x); };
  case nn::UnaryKind::Erf:
    return [](double x) { return std::erf(x); };
  case nn::UnaryKind::Floor:
    return [](double x) { return std::floor(x); };
  case nn::UnaryKind::Ceil:
    return [](double x) { return std::ceil(x); };
  case nn::UnaryKind::Round:
    return [](double x) { return std::nearbyint(x); }; // halves to even: the default rounding mode
  case nn::UnaryKind::Sigmoid:
    return [](double x) { return 1 / (1 + std::exp(-x)); };
  case nn::UnaryKind::Softplus:
    return evaluateSoftplus;
  case nn::UnaryKind::Silu:
    return [](double x) { return x / (1 + std::exp(-x)); };
  case nn::UnaryKind::GeluErf:
    return [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); };
  case nn::UnaryKind::GeluTanh:
    return evaluateGeluTanh;
  case nn::UnaryKind::QuickGelu:
    return [](double x) { return x / (1 + std::exp(-1.702 * x)); };
  default:
    return nullptr;
  }
}

llvm::Expected<HostTensor> evaluateIntUnary(nn::UnaryOp op, const HostTensor &x) {
  Type type = x.getElementType();
  // Negation as unsigned wraps for the least value.
  auto negate = [](int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); };
  bool isUnsigned = x.getIntFormat().isUnsigned;
  switch (op.getKind()) {
  case nn::UnaryKind::Abs:
    return mapInts(type, x, [&](int64_t v) { return v < 0 && !isUnsigned ? negate(v) : v; });
  case nn::UnaryKind::Neg:
    return mapInts(type, x, negate);
  case nn::UnaryKind::Sign:
    return mapInts(type, x, [&](int64_t v) { return v < 0 && !isUnsigned ? -1 : int64_t(v != 0); });
  case nn::UnaryKind::Relu:
    return mapInts(type, x, [&](int64_t v) { return v < 0 && !isUnsigned ? 0 : v; });
  case nn::UnaryKind::Not:
    return mapInts(type, x, [](int64_t v) { return int64_t(v == 0); });
  case nn::UnaryKind::BitwiseNot:
    return mapInts(type, x, [](int64_t v) { return ~v; });
  default:
    return makeKindError(op, type);
  }
}

// Two operands of one shape.
struct Pair {
  HostTensor lhs, rhs;

  static llvm::Expected<Pair> broadcast(const HostTensor &lhs, const HostTensor &rhs) {
    llvm::Expected<Dims> dims = broadcastDims(lhs.getDims(), rhs.getDims());
    if (!dims)
      return dims.takeError();
    return Pair{broadcastTo(lhs, *dims), broadcastTo(rhs, *dims)};
  }

  // y[i] = fn(a[i], b[i])
  template <typename Fn> HostTensor mapFloats(Fn fn) const {
    ArrayRef<double> a = lhs.getFloats(), b = rhs.getFloats();
    std::vector<double> y(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      y[i] = fn(a[i], b[i]);
    return HostTensor(lhs.getElementType(), lhs.getDims(), std::move(y));
  }

  // y[i] = fn(a[i], b[i]), wrapped
  template <typename Fn> HostTensor mapInts(Fn fn) const {
    ArrayRef<int64_t> a = lhs.getInts(), b = rhs.getInts();
    IntFormat format = lhs.getIntFormat();
    std::vector<int64_t> y(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      y[i] = format.wrap(fn(a[i], b[i]));
    return HostTensor(lhs.getElementType(), lhs.getDims(), std::move(y));
  }

  // y[i] = fn(a[i], b[i]) on unsigned or on signed values as the type is, wrapped
  template <typename Fn> HostTensor mapIntsBySign(Fn fn) const {
    if (lhs.getIntFormat().isUnsigned)
      return mapInts([&](int64_t a, int64_t b) { return int64_t(fn(uint64_t(a), uint64_t(b))); });
    return mapInts(fn);
  }

  // y[i] = fn(a[i], b[i]) as i1
  template <typename Fn> HostTensor compare(Type boolType, Fn fn) const {
    std::vector<int64_t> y(lhs.getNumElements());
    auto fill = [&](auto a, auto b) {
      for (size_t i = 0; i < y.size(); ++i)
        y[i] = fn(a[i], b[i]);
    };
    if (lhs.isFloat())
      fill(lhs.getFloats(), rhs.getFloats());
    else if (!lhs.getIntFormat().isUnsigned)
      fill(lhs.getInts(), rhs.getInts());
    else // The bits of an int64_t are those of the unsigned value.
      fill(reinterpret_cast<const uint64_t *>(lhs.getInts().data()),
           reinterpret_cast<const uint64_t *>(rhs.getInts().data()));
    return HostTensor(boolType, lhs.getDims(), std::move(y));
  }
};

// a to the power of b >= 0 modulo 2^64, by squaring.
uint64_t raise(uint64_t a, uint64_t b) {
  uint64_t result = 1;
  for (; b; b >>= 1, a *= a)
    if (b & 1)
      result *= a;
  return result;
}

// The real power truncated: below exponent 0 only bases of magnitude 1 leave anything.
int64_t raiseSigned(int64_t a, int64_t b) {
  if (b >= 0)
    return raise(a, b);
  if (a == 1 || a == -1)
    return b % 2 ? a : 1;
  return 0;
}

// The exponent may have another type than the base, whose type the result has.
HostTensor evaluatePower(const Pair &pair) {
  const HostTensor &base = pair.lhs, &exponent = pair.rhs;
  Type type = base.getElementType();
  if (!base.isFloat() && !exponent.isFloat()) {
    bool isUnsigned = exponent.getIntFormat().isUnsigned;
    return pair.mapInts([&](int64_t a, int64_t b) { return isUnsigned ? int64_t(raise(a, b)) : raiseSigned(a, b); });
  }
  auto widen = [](const HostTensor &x, int64_t i) {
    return x.isFloat() ? x.getFloats()[i] : x.getIntFormat().toDouble(x.getInts()[i]);
  };
  std::vector<double> powers(base.getNumElements());
  for (size_t i = 0; i < powers.size(); ++i)
    powers[i] = std::pow(widen(base, i), widen(exponent, i));
  if (base.isFloat())
    return HostTensor(type, base.getDims(), std::move(powers));
  std::vector<int64_t> truncated;
  for (double power : powers)
    truncated.push_back(base.getIntFormat().fromDouble(power));
  return HostTensor(type, base.getDims(), std::move(truncated));
}

llvm::Expected<HostTensor> evaluateFloatBinary(nn::BinaryOp op, const Pair &pair) {
  switch (op.getKind()) {
  case nn::BinaryKind::Add:
    return pair.mapFloats([](double a, double b) { return a + b; });
  case nn::BinaryKind::Sub:
    return pair.mapFloats([](double a, double b) { return a - b; });
  case nn::BinaryKind::Mul:
    return pair.mapFloats([](double a, double b) { return a * b; });
  case nn::BinaryKind::Div:
    return pair.mapFloats([](double a, double b) { return a / b; });
  case nn::BinaryKind::Fmod:
    return pair.mapFloats([](double a, double b) { return std::fmod(a, b); });
  case nn::BinaryKind::Min:
    return pair.mapFloats(minimum);
  case nn::BinaryKind::Max:
    return pair.mapFloats(maximum);
  default:
    return makeKindError(op, pair.lhs.getElementType());
  }
}

// Division that never traps: x / 0 is 0, and the least integer over -1 wraps to itself.
template <typename T> T divide(T a, T b) {
  if (b == 0)
    return 0;
  return b == T(-1) && std::is_signed_v<T> ? static_cast<T>(-static_cast<uint64_t>(a)) : a / b;
}
template <typename T> T remainder(T a, T b) { return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? 0 : a % b; }

// The remainder with the sign of b.
template <typename T> T modulo(T a, T b) {
  T rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

llvm::Expected<HostTensor> evaluateIntBinary(nn::BinaryOp op, const Pair &pair) {
  // Sums and products as unsigned: they wrap.
  using U = uint64_t;
  switch (op.getKind()) {
  case nn::BinaryKind::Add:
    return pair.mapInts([](int64_t a, int64_t b) { return int64_t(U(a) + U(b)); });
  case nn::BinaryKind::Sub:
    return pair.mapInts([](int64_t a, int64_t b) { return int64_t(U(a) - U(b)); });
  case nn::BinaryKind::Mul:
    return pair.mapInts([](int64_t a, int64_t b) { return int64_t(U(a) * U(b)); });
  case nn::BinaryKind::Div:
    return pair.mapIntsBySign([](auto a, auto b) { return divide(a, b); });
  case nn::BinaryKind::Mod:
    return pair.mapIntsBySign([](auto a, auto b) { return modulo(a, b); });
  case nn::BinaryKind::Fmod:
    return pair.mapIntsBySign([](auto a, auto b) { return remainder(a, b); });
  case nn::BinaryKind::Min:
    return pair.mapIntsBySign([](auto a, auto b) { return std::min(a, b); });
  case nn::BinaryKind::Max:
    return pair.mapIntsBySign([](auto a, auto b) { return std::max(a, b); });
  case nn::BinaryKind::And:
  case nn::BinaryKind::BitwiseAnd:
    return pair.mapInts([](int64_t a, int64_t b) { return a & b; });
  case nn::BinaryKind::Or:
  case nn::BinaryKind::BitwiseOr:
    return pair.mapInts([](int64_t a, int64_t b) { return a | b; });
  case nn::BinaryKind::Xor:
  case nn::BinaryKind::BitwiseXor:
    return pair.mapInts([](int64_t a, int64_t b) { return a ^ b; });
  case nn::BinaryKind::Pow:
    break; // evaluatePower
  }
  return makeKindError(op, pair.lhs.getElementType());
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::UnaryOp op, In<nn::UnaryOp> in) {
  const HostTensor &x = *in.getInput();
  if (!x.isFloat())
    return evaluateIntUnary(op, x);
  Type boolType = IntegerType::get(op.getContext(), 1);
  if (op.getKind() == nn::UnaryKind::IsNan)
    return mapInts(boolType, x, [](double v) { return int64_t(std::isnan(v)); });
  if (op.getKind() == nn::UnaryKind::IsInf)
    return mapInts(boolType, x, [](double v) { return int64_t(std::isinf(v)); });
  FloatFunction function = getFloatFunction(op.getKind());
  if (!function)
    return makeKindError(op, x.getElementType());
  return mapFloats(x, function);
}

llvm::Expected<HostTensor> evaluate(nn::BinaryOp op, In<nn::BinaryOp> in) {
  llvm::Expected<Pair> pair = Pair::broadcast(*in.getLhs(), *in.getRhs());
  if (!pair)
    return pair.takeError();
  if (op.getKind() == nn::BinaryKind::Pow)
    return evaluatePower(*pair);
  return pair->lhs.isFloat() ? evaluateFloatBinary(op, *pair) : evaluateIntBinary(op, *pair);
}

llvm::Expected<HostTensor> evaluate(nn::CompareOp op, In<nn::CompareOp> in) {
  llvm::Expected<Pair> pair = Pair::broadcast(*in.getLhs(), *in.getRhs());
  if (!pair)
    return pair.takeError();
  Type type = cast<ShapedType>(op.getOutput().getType()).getElementType();
  switch (op.getKind()) {
  case nn::CompareKind::Eq:
    return pair->compare(type, [](auto a, auto b) { return a == b; });
  case nn::CompareKind::Ne:
    return pair->compare(type, [](auto a, auto b) { return a != b; });
  case nn::CompareKind::Lt:
    return pair->compare(type, [](auto a, auto b) { return a < b; });
  case nn::CompareKind::Le:
    return pair->compare(type, [](auto a, auto b) { return a <= b; });
  case nn::CompareKind::Gt:
    return pair->compare(type, [](auto a, auto b) { return a > b; });
  case nn::CompareKind::Ge:
    return pair->compare(type, [](auto a, auto b) { return a >= b; });
  }
  return makeKindError(op, pair->lhs.getElementType());
}

llvm::Expected<HostTensor> evaluate(nn::WhereOp op, In<nn::WhereOp> in) {
  llvm::Expected<Dims> dims = broadcastDims(in.getCondition()->getDims(), in.getOnTrue()->getDims());
  if (dims)
    dims = broadcastDims(*dims, in.getOnFalse()->getDims());
  if (!dims)
    return dims.takeError();
  HostTensor condition = broadcastTo(*in.getCondition(), *dims);
  HostTensor onFalse = broadcastTo(*in.getOnFalse(), *dims);
  return broadcastTo(*in.getOnTrue(), *dims).visit([&](auto onTrue) {
    using Element = typename decltype(onTrue)::value_type;
    std::vector<Element> y(onTrue.begin(), onTrue.end());
    onFalse.visit([&](auto other) {
      for (size_t i = 0; i < y.size(); ++i)
        if (!condition.getInts()[i])
          y[i] = static_cast<Element>(other[i]);
    });
    return HostTensor(onFalse.getElementType(), *dims, std::move(y));
  });
}

llvm::Expected<HostTensor> evaluate(nn::CastOp op, In<nn::CastOp> in) {
  const HostTensor &x = *in.getInput();
  Type type = op.getTo();
  if (type == x.getElementType())
    return x;
  if (x.isFloat() && isa<FloatType>(type)) {
    std::vector<double> y;
    y.reserve(x.getNumElements());
    for (double value : x.getFloats())
      y.push_back(roundToType(value, type));
    return HostTensor(type, x.getDims(), std::move(y));
  }
  if (isa<FloatType>(type)) {
    IntFormat format = x.getIntFormat();
    std::vector<double> y;
    y.reserve(x.getNumElements());
    for (int64_t value : x.getInts())
      y.push_back(roundToType(format.toDouble(value), type));
    return HostTensor(type, x.getDims(), std::move(y));
  }
  if (type.isInteger(1))
    return mapInts(type, x, [](auto value) { return int64_t(value != 0); }); // a NaN is not 0
  if (x.isFloat())
    return mapInts(type, x, [format = IntFormat::of(type)](double value) { return format.fromDouble(value); });
  return mapInts(type, x, [](int64_t value) { return value; });
}

llvm::Expected<HostTensor> evaluate(nn::ClipOp op, In<nn::ClipOp> in) {
  HostTensor y = *in.getInput();
  // y = min(max(x, min), max): where min is above max, all become max.
  auto limit = [&](const HostTensor *bound, auto floatLimit, auto intLimit) {
    if (!bound)
      return;
    Pair pair{y, broadcastTo(*bound, y.getDims())};
    y = y.isFloat() ? pair.mapFloats(floatLimit) : pair.mapIntsBySign(intLimit);
  };
  limit(in.getMin(), maximum, [](auto a, auto b) { return std::max(a, b); });
  limit(in.getMax(), minimum, [](auto a, auto b) { return std::min(a, b); });
  return y;
}

} // namespace heddle::reference
