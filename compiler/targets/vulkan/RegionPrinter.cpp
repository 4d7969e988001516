// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/RegionPrinter.h"

#include "heddle/executable_abi.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::vulkan {

FailureOr<SmallVector<std::string>> RegionPrinter::print(Region &region, ArrayRef<std::string> arguments) {
  Block &block = region.front();
  values = hoisted;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  auto isPrinted = [&](Operation &op) { return op.getNumResults() == 1 && hoisted.contains(op.getResult(0)); };
  for (Operation &op : block.without_terminator())
    if (!isPrinted(op) && failed(printOp(&op)))
      return failure();
  SmallVector<std::string> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(lookup(value));
  return yielded;
}

static bool isIntegerDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp>(op);
}

LogicalResult RegionPrinter::hoist(Region &region, ArrayRef<std::string> arguments) {
  Block &block = region.front();
  values.clear();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    if (!value.empty())
      values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    bool isKnown = llvm::none_of(op.getOperands(), [&](Value operand) { return lookup(operand).empty(); });
    if (isKnown && !isa<kernel::IndexOp, kernel::GatherOp>(op) && !isIntegerDivision(&op) && failed(printOp(&op)))
      return failure();
  }
  hoisted = values;
  return success();
}

FailureOr<std::string> RegionPrinter::printHasRow(ArrayRef<std::string> arguments) {
  SlicedTable table = *emitter.plan.slicedTable;
  Block *block = table.index.getParentBlock();
  llvm::SetVector<Operation *> needed;
  if (Operation *op = table.index.getDefiningOp()) {
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *other) { return other->getBlock() == block; };
    getBackwardSlice(op, &needed, options);
  }
  values.clear();
  for (auto [argument, value] : llvm::zip(block->getArguments(), arguments))
    if (!value.empty())
      values[argument] = value;
  for (Operation &op : *block)
    if (needed.contains(&op) && failed(printOp(&op)))
      return failure();
  std::string index = lookup(table.index),
              rows = std::to_string(emitter.plan.getOperandType(table.operand).getDimSize(0));
  std::string row = emitter.let("int", index + " < 0 ? " + index + " + " + rows + " : " + index, "row");
  return emitter.let("bool", "uint(" + row + ") >= uint(" + rows + ") || " + ShaderEmitter::isInSlice(row), "held");
}

std::string RegionPrinter::lookup(Value value) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  // The kernel's size arguments are all that a region may see from outside.
  kernel::FuncOp func = emitter.plan.func;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &func.getBody().front() || argument.getArgNumber() < func.getNumInputs())
    return "";
  return emitter.sizeArgument(argument.getArgNumber() - func.getNumInputs());
}

/// The constant's value; of a 64-bit number that only stands for bits those that 32 bits hold.
static Attribute keepBits(arith::ConstantOp constant) {
  auto number = dyn_cast<IntegerAttr>(constant.getValue());
  constexpr unsigned kDeviceBits = 32;
  bool isMask = llvm::all_of(constant->getUsers(),
                             [](Operation *user) { return isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(user); });
  if (!number || !number.getType().isInteger(64) || !isMask)
    return constant.getValue();
  return IntegerAttr::get(number.getType(), number.getValue().trunc(kDeviceBits).getSExtValue());
}

LogicalResult RegionPrinter::printOp(Operation *op) {
  if (auto index = dyn_cast<kernel::IndexOp>(op)) {
    // A loop of a kernel without any has the only index 0.
    std::optional<unsigned> loop = emitter.plan.nest.findLoop(index.getLoop());
    values[index.getResult()] = loop && !loops[*loop].empty() ? loops[*loop] : "0";
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    values[constant.getResult()] = ShaderEmitter::literal(keepBits(constant));
    return success();
  }
  if (auto gather = dyn_cast<kernel::GatherOp>(op)) {
    values[gather.getResult()] = printGather(gather);
    return success();
  }
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(lookup(operand));
    if (operands.back().empty())
      return op->emitOpError("expects operands from its region or the kernel's size arguments");
  }
  std::string expression = op->getNumResults() == 1 && op->getNumRegions() == 0 ? express(op, operands) : std::string();
  if (expression.empty())
    return op->emitOpError("has no form in a Vulkan kernel's scalar region");
  Type type = op->getResult(0).getType();
  values[op->getResult(0)] = emitter.let(ShaderEmitter::glslType(type), expression);
  return success();
}

std::string RegionPrinter::express(Operation *op, ArrayRef<std::string> operands) {
  if (isa<arith::SelectOp>(op))
    return operands[0] + " ? " + operands[1] + " : " + operands[2];
  if (isIntegerDivision(op))
    return expressDivision(op, operands[0], operands[1]);
  if (std::string result = expressFloat(op, operands); !result.empty())
    return result;
  if (operands.size() == 1)
    if (std::string result = expressConversion(op, operands[0]); !result.empty())
      return result;
  std::string result = expressInteger(op, operands);
  Type type = op->getResult(0).getType();
  if (result.empty() || !type.isIntOrIndex() || type.isInteger(1))
    return result;
  return ShaderEmitter::wrap(result, type);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static std::string compareFloats(arith::CmpFPredicate predicate, const std::string &x, const std::string &y) {
  auto both = [&](StringRef op) { return x + " " + op.str() + " " + y; };
  std::string unordered = ShaderEmitter::isNaN(x) + " || " + ShaderEmitter::isNaN(y);
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return both("==");
  case arith::CmpFPredicate::OGT:
    return both(">");
  case arith::CmpFPredicate::OGE:
    return both(">=");
  case arith::CmpFPredicate::OLT:
    return both("<");
  case arith::CmpFPredicate::OLE:
    return both("<=");
  case arith::CmpFPredicate::ONE:
    return both("!=") + " && !(" + unordered + ")";
  case arith::CmpFPredicate::ORD:
    return "!(" + unordered + ")";
  case arith::CmpFPredicate::UEQ:
    return both("==") + " || " + unordered;
  case arith::CmpFPredicate::UGT:
    return both(">") + " || " + unordered;
  case arith::CmpFPredicate::UGE:
    return both(">=") + " || " + unordered;
  case arith::CmpFPredicate::ULT:
    return both("<") + " || " + unordered;
  case arith::CmpFPredicate::ULE:
    return both("<=") + " || " + unordered;
  case arith::CmpFPredicate::UNE:
    return "!(" + both("==") + ")";
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysFalse:
    return "false";
  case arith::CmpFPredicate::AlwaysTrue:
    return "true";
  }
  llvm_unreachable("all predicates are above");
}

/// The greater or the smaller of two floats; a NaN wins, or with |isNumber| loses. +0 is greater than -0.
static std::string pickFloat(const std::string &x, const std::string &y, bool isGreatest, bool isNumber) {
  std::string first = ShaderEmitter::isNaN(isNumber ? y : x);
  std::string tie = isGreatest ? "floatBitsToInt(" + x + ") >= 0" : "floatBitsToInt(" + x + ") < 0";
  std::string wins = x + (isGreatest ? " > " : " < ") + y + " || (" + x + " == " + y + " && " + tie + ")";
  return first + " || " + wins + " ? " + x + " : " + y;
}

std::string RegionPrinter::expressFloat(Operation *op, ArrayRef<std::string> x) {
  auto infix = [&](StringRef symbol) { return x[0] + " " + symbol.str() + " " + x[1]; };
  auto call = [&](StringRef name) {
    std::string text = name.str() + "(" + x[0];
    for (const std::string &argument : x.drop_front())
      text += ", " + argument;
    return text + ")";
  };
  auto bits = [](const std::string &value) { return "floatBitsToUint(" + value + ")"; };
  // Sixteen bits of storage: registers hold f32, so each result is rounded as the type is.
  auto rounded = [&](const std::string &result) {
    Type type = op->getResult(0).getType();
    if (result.empty() || !isa<FloatType>(type) || type.isF32())
      return result;
    return emitter.fromHalfBits(emitter.toHalfBits(result, type), type);
  };
  return rounded(llvm::TypeSwitch<Operation *, std::string>(op)
                     .Case([&](arith::AddFOp) { return infix("+"); })
                     .Case([&](arith::SubFOp) { return infix("-"); })
                     .Case([&](arith::MulFOp) { return infix("*"); })
                     .Case([&](arith::DivFOp) { return infix("/"); })
                     // The sign's bit alone: a NaN keeps its own, and 0 - 0 would be +0.
                     .Case([&](arith::NegFOp) { return "uintBitsToFloat(" + bits(x[0]) + " ^ 0x80000000u)"; })
                     .Case([&](arith::MaximumFOp) { return pickFloat(x[0], x[1], true, false); })
                     .Case([&](arith::MinimumFOp) { return pickFloat(x[0], x[1], false, false); })
                     .Case([&](arith::MaxNumFOp) { return pickFloat(x[0], x[1], true, true); })
                     .Case([&](arith::MinNumFOp) { return pickFloat(x[0], x[1], false, true); })
                     .Case([&](arith::CmpFOp cmp) { return compareFloats(cmp.getPredicate(), x[0], x[1]); })
                     .Case([&](math::AbsFOp) { return "uintBitsToFloat(" + bits(x[0]) + " & 0x7fffffffu)"; })
                     .Case([&](math::CopySignOp) {
                       return "uintBitsToFloat((" + bits(x[0]) + " & 0x7fffffffu) | (" + bits(x[1]) +
                              " & 0x80000000u))";
                     })
                     .Case([&](math::CeilOp) { return call("ceil"); })
                     .Case([&](math::FloorOp) { return call("floor"); })
                     .Case([&](math::TruncOp) { return call("trunc"); })
                     .Case([&](math::RoundEvenOp) { return call("roundEven"); })
                     .Case([&](math::SqrtOp) { return call("sqrt"); })
                     .Case([&](math::FmaOp) { return call("fma"); })
                     .Case([&](math::RoundOp) {
                       // Halves go away from zero, which GLSL's round leaves open.
                       std::string whole = emitter.let("float", "trunc(" + x[0] + ")");
                       return whole + " + (abs(" + x[0] + " - " + whole + ") >= 0.5 ? sign(" + x[0] + ") : 0.0)";
                     })
                     .Default([](Operation *) { return std::string(); }));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// |value|, an int that holds |type| sign-extended, as an unsigned number.
static std::string toUnsigned(const std::string &value, Type type) {
  if (type.isInteger(1))
    return "uint(" + value + ")";
  if (type.isIndex() || type.getIntOrFloatBitWidth() >= 32)
    return "uint(" + value + ")";
  return "bitfieldExtract(uint(" + value + "), 0, " + std::to_string(type.getIntOrFloatBitWidth()) + ")";
}

static std::string compareIntegers(arith::CmpIOp op, const std::string &x, const std::string &y) {
  Type type = op.getLhs().getType();
  arith::CmpIPredicate predicate = op.getPredicate();
  bool isSigned = predicate == arith::CmpIPredicate::slt || predicate == arith::CmpIPredicate::sle ||
                  predicate == arith::CmpIPredicate::sgt || predicate == arith::CmpIPredicate::sge;
  // True is -1 as a signed number.
  auto operand = [&](const std::string &value) {
    if (isSigned)
      return type.isInteger(1) ? "-int(" + value + ")" : value;
    return toUnsigned(value, type);
  };
  static constexpr const char *kSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  return operand(x) + " " + kSymbols[static_cast<unsigned>(predicate)] + " " + operand(y);
}

std::string RegionPrinter::expressInteger(Operation *op, ArrayRef<std::string> x) {
  Type type = op->getResult(0).getType();
  bool isBool = type.isInteger(1);
  auto infix = [&](StringRef symbol) { return x[0] + " " + symbol.str() + " " + x[1]; };
  auto unsignedOf = [&](unsigned i) { return toUnsigned(x[i], op->getOperand(i).getType()); };
  auto pick = [&](StringRef symbol, bool isSigned) {
    std::string left = isSigned ? x[0] : unsignedOf(0), right = isSigned ? x[1] : unsignedOf(1);
    return left + " " + symbol.str() + " " + right + " ? " + x[0] + " : " + x[1];
  };
  // Of 1-bit numbers sum and difference are the exclusive or, products the and.
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddIOp) { return infix(isBool ? "!=" : "+"); })
      .Case([&](arith::SubIOp) { return infix(isBool ? "!=" : "-"); })
      .Case([&](arith::MulIOp) { return infix(isBool ? "&&" : "*"); })
      .Case([&](arith::AndIOp) { return infix(isBool ? "&&" : "&"); })
      .Case([&](arith::OrIOp) { return infix(isBool ? "||" : "|"); })
      .Case([&](arith::XOrIOp) { return infix(isBool ? "!=" : "^"); })
      .Case([&](arith::ShLIOp) { return isBool ? std::string() : infix("<<"); })
      .Case([&](arith::ShRSIOp) { return isBool ? std::string() : infix(">>"); })
      .Case([&](arith::ShRUIOp) { return isBool ? std::string() : "int(" + unsignedOf(0) + " >> " + x[1] + ")"; })
      .Case([&](arith::CmpIOp cmp) { return compareIntegers(cmp, x[0], x[1]); })
      .Case([&](arith::MaxSIOp) { return isBool ? infix("&&") : pick(">", true); })
      .Case([&](arith::MinSIOp) { return isBool ? infix("||") : pick("<", true); })
      .Case([&](arith::MaxUIOp) { return isBool ? infix("||") : pick(">", false); })
      .Case([&](arith::MinUIOp) { return isBool ? infix("&&") : pick("<", false); })
      .Case([&](math::AbsIOp) { return "abs(" + x[0] + ")"; })
      .Case([&](math::CtPopOp) { return "bitCount(" + unsignedOf(0) + ")"; })
      .Default([](Operation *) { return std::string(); });
}

std::string RegionPrinter::expressDivision(Operation *op, const std::string &left, const std::string &right) {
  // 1. Division by zero ends the run; until it does, the divisor is 1.
  auto site = op->getAttrOfType<IntegerAttr>("site");
  emitter.failIf(right + " == 0", HEDDLE_KERNEL_DIVISION_BY_ZERO, site ? site.getInt() : 0, "0", "0");
  std::string divisor = emitter.let("int", right + " == 0 ? 1 : " + right, "divisor");
  Type type = op->getResult(0).getType();
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op)) {
    std::string x = emitter.let("uint", toUnsigned(left, type)), y = emitter.let("uint", toUnsigned(divisor, type));
    std::string quotient = "int(" + x + (isa<arith::RemUIOp>(op) ? " % " : " / ") + y + ")";
    return isa<arith::CeilDivUIOp>(op) ? quotient + " + int(" + x + " % " + y + " != 0u)" : quotient;
  }
  // 2. Signs are settled here: % of negative numbers is undefined in GLSL, and the smallest number by -1 wraps.
  std::string quotient =
      emitter.let("int", divisor + " == -1 ? 0 - " + left + " : " + left + " / " + divisor, "quotient");
  std::string rest = emitter.let("int", left + " - " + quotient + " * " + divisor, "rest");
  if (isa<arith::RemSIOp>(op))
    return rest;
  std::string result = quotient;
  if (isa<arith::FloorDivSIOp>(op))
    result += " - int(" + rest + " != 0 && (" + rest + " < 0) != (" + divisor + " < 0))";
  if (isa<arith::CeilDivSIOp>(op))
    result += " + int(" + rest + " != 0 && (" + rest + " < 0) == (" + divisor + " < 0))";
  return ShaderEmitter::wrap(result, type);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Saturating, NaN gives 0, as everywhere else.
static std::string floatToInteger(const std::string &x, Type type, bool isSigned) {
  unsigned width = std::min(32u, type.isInteger(1) ? 1u : type.getIntOrFloatBitWidth());
  double below = isSigned ? -std::ldexp(1.0, width - 1) : 0.0, above = std::ldexp(1.0, isSigned ? width - 1 : width);
  auto real = [](double value) { return ShaderEmitter::literal(static_cast<float>(value)); };
  std::string lowest = isSigned && width == 32 ? "int(0x80000000u)" : std::to_string(static_cast<int64_t>(below));
  std::string highest = !isSigned && width == 32 ? "-1" : std::to_string(static_cast<int64_t>(above) - 1);
  std::string inside = isSigned ? "int(" + x + ")" : "int(uint(" + x + "))";
  std::string result = x + " >= " + real(above) + " ? " + highest + " : " + x + " < " + real(below) + " ? " + lowest +
                       " : " + ShaderEmitter::isNaN(x) + " ? 0 : " + inside;
  if (width == 1)
    return "(" + result + ") != 0";
  return isSigned ? result : ShaderEmitter::wrap("(" + result + ")", type);
}

std::string RegionPrinter::expressConversion(Operation *op, const std::string &x) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::ExtFOp) { return x; })
      .Case([&](arith::TruncFOp) { return emitter.fromHalfBits(emitter.toHalfBits(x, to), to); })
      .Case([&](arith::SIToFPOp) { return from.isInteger(1) ? "-float(" + x + ")" : "float(" + x + ")"; })
      .Case([&](arith::UIToFPOp) { return "float(" + toUnsigned(x, from) + ")"; })
      .Case([&](arith::FPToSIOp) { return floatToInteger(x, to, true); })
      .Case([&](arith::FPToUIOp) { return floatToInteger(x, to, false); })
      .Case([&](arith::ExtSIOp) { return from.isInteger(1) ? "-int(" + x + ")" : x; })
      .Case([&](arith::ExtUIOp) { return "int(" + toUnsigned(x, from) + ")"; })
      .Case([&](arith::TruncIOp) { return to.isInteger(1) ? "(" + x + " & 1) != 0" : ShaderEmitter::wrap(x, to); })
      .Case([&](arith::IndexCastOp) { return from.isInteger(1) ? "-int(" + x + ")" : ShaderEmitter::wrap(x, to); })
      .Case([&](arith::IndexCastUIOp) { return "int(" + toUnsigned(x, from) + ")"; })
      .Case([&](arith::BitcastOp) -> std::string {
        // Halves of different types have different bits for one number.
        if (isa<FloatType>(from) == isa<FloatType>(to))
          return from == to || !isa<FloatType>(from) ? x : emitter.fromHalfBits(emitter.toHalfBits(x, from), to);
        bool isWord = from.getIntOrFloatBitWidth() == 32;
        if (isa<FloatType>(to))
          return isWord ? "intBitsToFloat(" + x + ")" : emitter.fromHalfBits(toUnsigned(x, from), to);
        return isWord ? "floatBitsToInt(" + x + ")"
                      : ShaderEmitter::wrap("int(" + emitter.toHalfBits(x, from) + ")", to);
      })
      .Default([](Operation *) { return std::string(); });
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

std::string RegionPrinter::printGather(kernel::GatherOp op) {
  auto table = cast<RankedTensorType>(op.getTable().getType());
  kernel::FuncOp func = emitter.plan.func;
  unsigned number = cast<BlockArgument>(op.getTable()).getArgNumber();
  // Even a trusted index may not be read where the table is empty: select reads both sides of a concatenation.
  std::string valid, sum;
  if (table.getNumDynamicDims() > 0)
    valid = emitter.size(emitter.plan.bindingElements[number]) + " != 0";
  Polynomial stride(1);
  for (int64_t i = table.getRank() - 1; i >= 0; --i) {
    Polynomial dimension = table.isDynamicDim(i)
                               ? Polynomial::atom(func.getInputDims(number)[table.getDynamicDimIndex(i)])
                               : Polynomial(table.getDimSize(i));
    std::string position = lookup(op.getIndices()[i]);
    if (!op.getIndices()[i].getType().isIndex())
      position = emitter.checkIndex(position, emitter.size(dimension), op.getSite().value_or(0), valid);
    if (i == 0 && emitter.plan.slicedTable && emitter.plan.slicedTable->operand == number)
      valid += " && " + ShaderEmitter::isInSlice(position);
    std::string term = stride == Polynomial(1) ? position : position + " * " + emitter.size(stride);
    sum += (sum.empty() ? "" : " + ") + term;
    stride = stride * dimension;
  }
  if (sum.empty())
    sum = "0";
  Type type = table.getElementType();
  if (valid.empty())
    return emitter.let(ShaderEmitter::glslType(type), emitter.load(number, sum));
  std::string result = emitter.let(ShaderEmitter::glslType(type), ShaderEmitter::zero(type));
  emitter.open("if (" + valid + ")");
  emitter.line(result + " = " + emitter.load(number, sum) + ";");
  emitter.close();
  return result;
}

} // namespace heddle::vulkan
