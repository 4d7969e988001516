// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation of scalar regions into steps, one small function an op.

#include "compiler/reference/ScalarRegion.h"

#include <cmath>

#include "compiler/reference/HostTensor.h"
#include "compiler/reference/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

/// Builds a ScalarRegion from a block.
class ScalarTranslator {
public:
  using Step = ScalarRegion::Step;
  using Function = ScalarRegion::Function;

  explicit ScalarTranslator(StringRef foreign) : foreign(foreign) {}
  llvm::Error translate(Block &block, ValueRange outer);

  ScalarRegion region;

private:
  llvm::Error translateOp(Operation &op);
  llvm::Error translateForeign(Operation &op);
  llvm::Expected<uint32_t> getSlot(Value value);
  uint32_t addSlot(Value value, Scalar initial);

  StringRef foreign; ///< a dialect's name
  DenseMap<Value, uint32_t> slots;
};

namespace {

using Step = ScalarTranslator::Step;
using Function = ScalarTranslator::Function;

// Bits of an integer or index type, 0 for a float.
uint8_t getWidth(Type type) {
  if (isa<IndexType>(type))
    return 64;
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? integer.getWidth() : 0;
}

Scalar wrap(const Step &step, uint64_t value) {
  IntFormat format{step.resultWidth, step.resultWidth == 1};
  return makeScalar(format.wrap(static_cast<int64_t>(value)));
}

// An operand read as a signed or as an unsigned number; the one bit of an i1 is a sign as well.
int64_t asSigned(const Step &step, Scalar a) { return step.operandWidth == 1 ? -a.integer : a.integer; }
uint64_t asUnsigned(const Step &step, Scalar a) {
  IntFormat format{step.operandWidth, true};
  return static_cast<uint64_t>(format.wrap(a.integer));
}

int64_t divide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = divide(a, b);
  return remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t ceilDivide(int64_t a, int64_t b) {
  int64_t quotient = divide(a, b);
  return remainder(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

// A shift by the width or more gives what shifting bit by bit would, for which MLIR has no value.
uint64_t shiftLeft(uint64_t a, uint64_t by) { return by > 63 ? 0 : a << by; }
uint64_t shiftRight(uint64_t a, uint64_t by) { return by > 63 ? 0 : a >> by; }
int64_t shiftRightSigned(int64_t a, uint64_t by) { return a >> std::min<uint64_t>(by, 63); }

bool compareFloats(uint64_t predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool isUnordered = std::isnan(a) || std::isnan(b);
  switch (static_cast<P>(predicate)) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !isUnordered && a != b;
  case P::ORD:
    return !isUnordered;
  case P::UEQ:
    return isUnordered || a == b;
  case P::UGT:
    return isUnordered || a > b;
  case P::UGE:
    return isUnordered || a >= b;
  case P::ULT:
    return isUnordered || a < b;
  case P::ULE:
    return isUnordered || a <= b;
  case P::UNE:
    return isUnordered || a != b;
  case P::UNO:
    return isUnordered;
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

bool compareInts(const Step &step, Scalar a, Scalar b) {
  using P = arith::CmpIPredicate;
  int64_t signedA = asSigned(step, a), signedB = asSigned(step, b);
  uint64_t unsignedA = asUnsigned(step, a), unsignedB = asUnsigned(step, b);
  switch (static_cast<P>(step.detail)) {
  case P::eq:
    return signedA == signedB;
  case P::ne:
    return signedA != signedB;
  case P::slt:
    return signedA < signedB;
  case P::sle:
    return signedA <= signedB;
  case P::sgt:
    return signedA > signedB;
  case P::sge:
    return signedA >= signedB;
  case P::ult:
    return unsignedA < unsignedB;
  case P::ule:
    return unsignedA <= unsignedB;
  case P::ugt:
    return unsignedA > unsignedB;
  case P::uge:
    return unsignedA >= unsignedB;
  }
  return false;
}

double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

// Rows of the table below: an op's name and what it computes. FLOAT gives a double of doubles, INT a wrapped integer of
// unsigned ones, SINT of signed ones.
#define FLOAT(name, expression)                                                                                        \
  {name, [](const Step &, Scalar x, Scalar y, Scalar z) {                                                              \
     [[maybe_unused]] double a = x.number, b = y.number, c = z.number;                                                 \
     return makeScalar(double(expression));                                                                            \
   }}
#define INT(name, expression)                                                                                          \
  {name, [](const Step &step, Scalar x, Scalar y, Scalar) {                                                            \
     [[maybe_unused]] uint64_t a = asUnsigned(step, x), b = asUnsigned(step, y);                                       \
     return wrap(step, expression);                                                                                    \
   }}
#define SINT(name, expression)                                                                                         \
  {name, [](const Step &step, Scalar x, Scalar y, Scalar) {                                                            \
     [[maybe_unused]] int64_t a = asSigned(step, x), b = asSigned(step, y);                                            \
     return wrap(step, expression);                                                                                    \
   }}

const llvm::StringMap<Function> &getFloatFunctions() {
  static const llvm::StringMap<Function> functions = {
      FLOAT("arith.addf", a + b),
      FLOAT("arith.subf", a - b),
      FLOAT("arith.mulf", a * b),
      FLOAT("arith.divf", a / b),
      FLOAT("arith.remf", std::fmod(a, b)),
      FLOAT("arith.negf", -a),
      FLOAT("arith.maximumf", maximum(a, b)),
      FLOAT("arith.minimumf", minimum(a, b)),
      FLOAT("arith.maxnumf", std::fmax(a, b)),
      FLOAT("arith.minnumf", std::fmin(a, b)),
      FLOAT("arith.extf", a),
      FLOAT("math.absf", std::fabs(a)),
      FLOAT("math.acos", std::acos(a)),
      FLOAT("math.acosh", std::acosh(a)),
      FLOAT("math.asin", std::asin(a)),
      FLOAT("math.asinh", std::asinh(a)),
      FLOAT("math.atan", std::atan(a)),
      FLOAT("math.atan2", std::atan2(a, b)),
      FLOAT("math.atanh", std::atanh(a)),
      FLOAT("math.cbrt", std::cbrt(a)),
      FLOAT("math.ceil", std::ceil(a)),
      FLOAT("math.copysign", std::copysign(a, b)),
      FLOAT("math.cos", std::cos(a)),
      FLOAT("math.cosh", std::cosh(a)),
      FLOAT("math.erf", std::erf(a)),
      FLOAT("math.exp", std::exp(a)),
      FLOAT("math.exp2", std::exp2(a)),
      FLOAT("math.expm1", std::expm1(a)),
      FLOAT("math.floor", std::floor(a)),
      FLOAT("math.fma", std::fma(a, b, c)),
      FLOAT("math.log", std::log(a)),
      FLOAT("math.log10", std::log10(a)),
      FLOAT("math.log1p", std::log1p(a)),
      FLOAT("math.log2", std::log2(a)),
      FLOAT("math.powf", std::pow(a, b)),
      FLOAT("math.round", std::round(a)),
      FLOAT("math.roundeven", std::nearbyint(a)),
      FLOAT("math.rsqrt", 1 / std::sqrt(a)),
      FLOAT("math.sin", std::sin(a)),
      FLOAT("math.sinh", std::sinh(a)),
      FLOAT("math.sqrt", std::sqrt(a)),
      FLOAT("math.tan", std::tan(a)),
      FLOAT("math.tanh", std::tanh(a)),
      FLOAT("math.trunc", std::trunc(a)),
  };
  return functions;
}

const llvm::StringMap<Function> &getIntFunctions() {
  static const llvm::StringMap<Function> functions = {
      INT("arith.addi", a + b),
      INT("arith.subi", a - b),
      INT("arith.muli", a * b),
      INT("arith.andi", a & b),
      INT("arith.ori", a | b),
      INT("arith.xori", a ^ b),
      INT("arith.shli", shiftLeft(a, b)),
      INT("arith.shrui", shiftRight(a, b)),
      INT("arith.divui", b == 0 ? 0 : a / b),
      INT("arith.remui", b == 0 ? 0 : a % b),
      INT("arith.ceildivui", b == 0 || a == 0 ? 0 : (a - 1) / b + 1),
      INT("arith.maxui", std::max(a, b)),
      INT("arith.minui", std::min(a, b)),
      INT("arith.extui", a),
      INT("arith.trunci", a),
      INT("arith.index_castui", a),
      SINT("arith.shrsi", shiftRightSigned(a, asUnsigned(step, y))),
      SINT("arith.divsi", divide(a, b)),
      SINT("arith.remsi", remainder(a, b)),
      SINT("arith.floordivsi", floorDivide(a, b)),
      SINT("arith.ceildivsi", ceilDivide(a, b)),
      SINT("arith.maxsi", std::max(a, b)),
      SINT("arith.minsi", std::min(a, b)),
      SINT("arith.extsi", a),
      SINT("arith.index_cast", a),
      SINT("math.absi", a < 0 ? -static_cast<uint64_t>(a) : a),
  };
  return functions;
}

#undef FLOAT
#undef INT
#undef SINT

// The ops that go between floats and integers, or need more than their operands.
Function getOtherFunction(Operation &op) {
  if (isa<arith::SelectOp>(op))
    return [](const Step &, Scalar a, Scalar b, Scalar c) { return a.integer ? b : c; };
  if (isa<arith::CmpFOp>(op))
    return [](const Step &step, Scalar a, Scalar b, Scalar) {
      return makeScalar(int64_t(compareFloats(step.detail, a.number, b.number)));
    };
  if (isa<arith::CmpIOp>(op))
    return [](const Step &step, Scalar a, Scalar b, Scalar) { return makeScalar(int64_t(compareInts(step, a, b))); };
  if (isa<arith::SIToFPOp>(op))
    return [](const Step &step, Scalar a, Scalar, Scalar) { return makeScalar(double(asSigned(step, a))); };
  if (isa<arith::UIToFPOp>(op))
    return [](const Step &step, Scalar a, Scalar, Scalar) { return makeScalar(double(asUnsigned(step, a))); };
  // What is out of range saturates, for which MLIR has no value.
  if (isa<arith::FPToSIOp>(op))
    return [](const Step &step, Scalar a, Scalar, Scalar) {
      return wrap(step, IntFormat{step.resultWidth, false}.fromDouble(a.number));
    };
  if (isa<arith::FPToUIOp>(op))
    return [](const Step &step, Scalar a, Scalar, Scalar) {
      return wrap(step, IntFormat{step.resultWidth, true}.fromDouble(a.number));
    };
  if (isa<arith::TruncFOp>(op))
    return [](const Step &step, Scalar a, Scalar, Scalar) {
      Type type = Type::getFromOpaquePointer(reinterpret_cast<const void *>(step.detail));
      return makeScalar(roundToType(a.number, type));
    };
  return nullptr;
}

Function getFunction(Operation &op) {
  StringRef name = op.getName().getStringRef();
  if (Function function = getFloatFunctions().lookup(name))
    return function;
  if (Function function = getIntFunctions().lookup(name))
    return function;
  return getOtherFunction(op);
}

uint64_t getDetail(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return static_cast<uint64_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return static_cast<uint64_t>(compare.getPredicate());
  if (isa<arith::TruncFOp>(op))
    return reinterpret_cast<uint64_t>(op.getResult(0).getType().getAsOpaquePointer());
  return 0;
}

// Sums and products are rounded correctly, quotients and functions within some units; floor and the like are exact.
Step::Event getEvent(Operation &op) {
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp>(op))
    return Step::Event::Divides;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(op))
    return Step::Event::Rounds;
  if (isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(
          op))
    return Step::Event::None;
  bool isRough = isa<arith::DivFOp, arith::RemFOp>(op) || isa<math::MathDialect>(op.getDialect());
  return isRough && isa<FloatType>(op.getResult(0).getType()) ? Step::Event::RoundsRoughly : Step::Event::None;
}

std::optional<Scalar> getConstant(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return makeScalar(number.getValueAsDouble());
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer || getWidth(integer.getType()) > 64)
    return std::nullopt;
  unsigned width = getWidth(integer.getType());
  return makeScalar(IntFormat{width, width == 1}.wrap(integer.getValue().getZExtValue()));
}

bool isScalarType(Type type) { return isa<FloatType>(type) || (type.isIntOrIndex() && getWidth(type) <= 64); }

} // namespace

uint32_t ScalarTranslator::addSlot(Value value, Scalar initial) {
  region.initialSlots.push_back(initial);
  return slots[value] = region.initialSlots.size() - 1;
}

llvm::Expected<uint32_t> ScalarTranslator::getSlot(Value value) {
  if (auto known = slots.find(value); known != slots.end())
    return known->second;
  if (std::optional<Scalar> constant = getConstant(value))
    return addSlot(value, *constant);
  return makeError("expects the region to read nothing from outside but scalar constants");
}

llvm::Error ScalarTranslator::translateOp(Operation &op) {
  if (op.getNumResults() == 1 && getConstant(op.getResult(0)))
    return llvm::Error::success(); // becomes a slot where it is used
  if (!foreign.empty() && op.getDialect() && op.getDialect()->getNamespace() == foreign)
    return translateForeign(op);
  Function function = getFunction(op);
  if (!function || op.getNumResults() != 1 || op.getNumOperands() == 0 || op.getNumOperands() > 3 ||
      !llvm::all_of(op.getOperandTypes(), isScalarType) || !isScalarType(op.getResult(0).getType()))
    return makeError("expects scalar arith and math ops in the region, got '" + op.getName().getStringRef() + "'");

  Step step{function, {0, 0, 0}, 0, 0, getWidth(op.getResult(0).getType()), getDetail(op), getEvent(op)};
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    llvm::Expected<uint32_t> slot = getSlot(operand);
    if (!slot)
      return slot.takeError();
    step.operands[i] = *slot;
  }
  step.operandWidth = getWidth(op.getOperand(0).getType());
  step.result = addSlot(op.getResult(0), makeScalar(int64_t(0)));
  region.steps.push_back(step);
  return llvm::Error::success();
}

llvm::Error ScalarTranslator::translateForeign(Operation &op) {
  if (op.getNumResults() != 1 || !isScalarType(op.getResult(0).getType()))
    return makeError("expects one scalar result of '" + op.getName().getStringRef() + "' in the region");
  ScalarRegion::ForeignOp record{&op, {}};
  // What isn't scalar, a tensor to read from, the host finds at the op.
  for (Value operand : op.getOperands()) {
    if (!isScalarType(operand.getType()))
      continue;
    llvm::Expected<uint32_t> slot = getSlot(operand);
    if (!slot)
      return slot.takeError();
    record.operands.push_back(*slot);
  }
  auto number = static_cast<uint32_t>(region.foreignOps.size());
  region.foreignOps.push_back(std::move(record));
  uint32_t result = addSlot(op.getResult(0), makeScalar(int64_t(0)));
  region.steps.push_back({nullptr, {number, 0, 0}, result, 0, 0, 0, Step::Event::Foreign});
  return llvm::Error::success();
}

llvm::Error ScalarTranslator::translate(Block &block, ValueRange outer) {
  region.argumentCount = block.getNumArguments() + outer.size();
  for (BlockArgument argument : block.getArguments())
    addSlot(argument, makeScalar(int64_t(0)));
  for (Value value : outer)
    addSlot(value, makeScalar(int64_t(0)));
  for (Operation &op : block.without_terminator())
    if (llvm::Error error = translateOp(op))
      return error;
  for (Value result : block.getTerminator()->getOperands()) {
    llvm::Expected<uint32_t> slot = getSlot(result);
    if (!slot)
      return slot.takeError();
    region.results.push_back(*slot);
  }
  return llvm::Error::success();
}

llvm::Expected<ScalarRegion> ScalarRegion::create(Block &block) { return create(block, {}, ""); }

llvm::Expected<ScalarRegion> ScalarRegion::create(Block &block, ValueRange outer, StringRef foreign) {
  ScalarTranslator translator(foreign);
  if (llvm::Error error = translator.translate(block, outer))
    return error;
  return std::move(translator.region);
}

void ScalarRegion::run(MutableArrayRef<Scalar> slots) const {
  for (const Step &step : steps)
    slots[step.result] = step.function(step, slots[step.operands[0]], slots[step.operands[1]], slots[step.operands[2]]);
}

void ScalarRegion::run(MutableArrayRef<Scalar> slots, ScalarHost &host) const {
  SmallVector<Scalar> operands;
  for (const Step &step : steps) {
    if (step.event == Step::Event::Foreign) {
      const ForeignOp &foreign = foreignOps[step.operands[0]];
      operands.clear();
      for (uint32_t slot : foreign.operands)
        operands.push_back(slots[slot]);
      slots[step.result] = host.evaluate(foreign.op, operands);
      continue;
    }
    if (step.event == Step::Event::Divides && slots[step.operands[1]].integer == 0)
      host.divideByZero();
    Scalar value = step.function(step, slots[step.operands[0]], slots[step.operands[1]], slots[step.operands[2]]);
    if (step.event == Step::Event::Rounds || step.event == Step::Event::RoundsRoughly)
      value.number = host.round(value.number, step.event == Step::Event::Rounds);
    slots[step.result] = value;
  }
}

} // namespace heddle::reference
