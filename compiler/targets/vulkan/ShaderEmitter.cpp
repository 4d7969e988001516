// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ShaderEmitter.h"

#include "heddle/executable_abi.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void ShaderEmitter::line(const llvm::Twine &text) { body += std::string(2 * depth, ' ') + text.str() + "\n"; }

void ShaderEmitter::open(const llvm::Twine &head) {
  line(head + " {");
  ++depth;
}

void ShaderEmitter::close() {
  --depth;
  line("}");
}

std::string ShaderEmitter::fresh(StringRef stem) { return (stem + llvm::Twine(names[stem.str()]++)).str(); }

/// Floats keep each operation of theirs.
static StringRef qualify(StringRef type) { return type == "float" || type.starts_with("vec") ? "precise " : ""; }

std::string ShaderEmitter::let(StringRef type, const llvm::Twine &value, StringRef stem) {
  std::string name = fresh(stem);
  line(qualify(type) + type + " " + name + " = " + value + ";");
  return name;
}

std::string ShaderEmitter::openLoop(const llvm::Twine &begin, const llvm::Twine &end, const llvm::Twine &step,
                                    StringRef stem) {
  std::string i = fresh(stem);
  open("for (int " + i + " = " + begin + "; " + i + " < " + end + "; " + i + " += " + step + ")");
  return i;
}

std::string ShaderEmitter::openLongLoop(const llvm::Twine &begin, const llvm::Twine &end, const llvm::Twine &step,
                                        const Polynomial &length, StringRef stem) {
  // lavapipe ends all loops of an invocation after 65,535 rounds of them together: eight elements a round take the
  // longest realistic rows, and compiled to eight copies a body of some operations is no burden yet.
  constexpr int64_t kElements = 8, kShort = 512;
  if (std::optional<int64_t> constant = length.getConstant(); constant && *constant <= kShort)
    return openLoop(begin, end, step, stem);
  require("GL_EXT_control_flow_attributes");
  auto times = [&](const std::string &count) { return combine(AffineExprKind::Mul, count, step.str(), true); };
  std::string elements = std::to_string(kElements), first = openLoop(begin, end, times(elements), "round");
  std::string number = fresh("u");
  open("[[unroll]] for (int " + number + " = 0; " + number + " < " + elements + "; ++" + number + ")");
  std::string i = let("int", first + " + " + times(number), stem);
  open("if (" + i + " < " + end + ")");
  return i;
}

void ShaderEmitter::closeTo(unsigned level) {
  while (depth > level)
    close();
}

void ShaderEmitter::failIfLoopsEnded() {
  // Mesa's gallivm (lp_bld_ir_common.c, LP_MAX_TGSI_LOOP_ITERATIONS) counts the rounds of all loops that a subgroup
  // goes through, one count for all of them, and where it is used up leaves each further loop after its first round. So
  // a loop of two rounds tells whether any before it may have been cut. That they are two no compiler can know.
  line("int rounds = 0;");
  open("for (; rounds < 2 + int(push.first_x >> 31); ++rounds)");
  close();
  failIf("rounds < 2", HEDDLE_KERNEL_LOOP_CUT_SHORT, 0, "0", "0");
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::string ShaderEmitter::specialize(StringRef name, int64_t initial) {
  constexpr unsigned kFirstFree = 3; // 0, 1 and 2 are the workgroup's size
  declare("layout(constant_id = " + llvm::Twine(kFirstFree + numConstants++) + ") const int " + name + " = " +
          llvm::Twine(initial) + ";");
  return name.str();
}

void ShaderEmitter::declare(const llvm::Twine &text) {
  if (!llvm::is_contained(declarations, text.str()))
    declarations.push_back(text.str());
}

void ShaderEmitter::declareFunction(StringRef head, llvm::function_ref<std::string()> print) {
  std::string text = (head + " {\n").str();
  if (llvm::any_of(declarations, [&](StringRef declared) { return declared.starts_with(text); }))
    return;
  std::string main = std::exchange(body, "");
  unsigned level = std::exchange(depth, 1);
  line("return " + print() + ";");
  declare(text + body + "}");
  body = std::move(main);
  depth = level;
}

void ShaderEmitter::require(StringRef extension) { extensions.insert(extension.str()); }

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

/// Sizes and loop indices are never negative.
static bool isNeverNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || (isNeverNegative(binary.getLHS()) && isNeverNegative(binary.getRHS()));
}

std::string ShaderEmitter::combine(AffineExprKind kind, const std::string &left, const std::string &right,
                                   bool isNonNegative) {
  switch (kind) {
  case AffineExprKind::Add:
    return left == "0" ? right : right == "0" ? left : "(" + left + " + " + right + ")";
  case AffineExprKind::Mul:
    if (left == "0" || right == "0")
      return "0";
    return left == "1" ? right : right == "1" ? left : "(" + left + " * " + right + ")";
  case AffineExprKind::CeilDiv:
    if (isNonNegative)
      return "((" + left + " + " + right + " - 1) / " + right + ")";
    declare("int floor_div(int a, int b) {\n  int q = a / b;\n  return a - q * b < 0 ? q - 1 : q;\n}");
    return "-floor_div(-" + left + ", " + right + ")";
  case AffineExprKind::FloorDiv:
    if (isNonNegative)
      return "(" + left + " / " + right + ")";
    declare("int floor_div(int a, int b) {\n  int q = a / b;\n  return a - q * b < 0 ? q - 1 : q;\n}");
    return "floor_div(" + left + ", " + right + ")";
  default:
    if (isNonNegative)
      return "(" + left + " % " + right + ")";
    declare("int floor_div(int a, int b) {\n  int q = a / b;\n  return a - q * b < 0 ? q - 1 : q;\n}");
    return "(" + left + " - floor_div(" + left + ", " + right + ") * " + right + ")";
  }
}

std::string ShaderEmitter::evaluate(AffineExpr expr, ArrayRef<std::string> loops) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    std::string digits = std::to_string(constant.getValue());
    return constant.getValue() < 0 ? "(" + digits + ")" : digits;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() < loops.size() && !loops[dim.getPosition()].empty() ? loops[dim.getPosition()] : "0";
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sizeArgument(symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return combine(expr.getKind(), evaluate(binary.getLHS(), loops), evaluate(binary.getRHS(), loops),
                 isNeverNegative(binary.getLHS()));
}

std::string ShaderEmitter::address(const Access &access, ArrayRef<std::string> loops) {
  std::string sum = size(access.offset);
  auto add = [&](const std::string &index, const Polynomial &stride) {
    sum = combine(AffineExprKind::Add, sum, combine(AffineExprKind::Mul, index, size(stride), true), true);
  };
  for (auto [loop, stride] : llvm::enumerate(access.strides))
    if (loop < loops.size() && !loops[loop].empty() && !stride.isZero())
      add(loops[loop], stride);
  for (const Access::Irregular &part : access.irregular)
    add(evaluate(part.expr, loops), part.stride);
  return sum;
}

static constexpr const char *kAxisNames[] = {"x", "y", "z"};

std::string ShaderEmitter::workgroup(Axis axis) {
  std::string name = kAxisNames[axis];
  return "int(gl_WorkGroupID." + name + " + push.first_" + name + ")";
}

std::string ShaderEmitter::invocation(Axis axis) {
  return std::string("int(gl_LocalInvocationID.") + kAxisNames[axis] + ")";
}

void ShaderEmitter::splitAxis(Axis axis, const std::string &flat, MutableArrayRef<std::string> loops) {
  ArrayRef<unsigned> members = plan.axisLoops[axis];
  std::string rest = flat;
  for (unsigned i = members.size(); i-- > 0;) {
    if (i == 0) {
      loops[members[i]] = rest;
      return;
    }
    std::string extent = bound(members[i]);
    std::string quotient = let("int", llvm::Twine(rest) + " / " + extent, "q");
    loops[members[i]] = let("int", llvm::Twine(rest) + " - " + quotient + " * " + extent, "d");
    rest = quotient;
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Words of 32 bits of a GLSL type, by its name.
static unsigned wordsOf(StringRef type) { return type.ends_with("4") ? 4 : type.ends_with("2") ? 2 : 1; }

static std::string bufferName(ShaderBinding binding, StringRef type) {
  return ("b" + llvm::Twine(static_cast<unsigned>(binding)) + "_" + type).str();
}

std::string ShaderEmitter::buffer(ShaderBinding binding, StringRef type) {
  views.insert({binding, type.str()});
  return bufferName(binding, type);
}

std::string ShaderEmitter::view(unsigned operand, StringRef type, const llvm::Twine &item) {
  std::string start = "push.o" + std::to_string(operand);
  // A slice's element 0 may lie before what is bound: the start then is negative, and stays so when divided.
  if (unsigned words = wordsOf(type); words != 1)
    start = "uint(int(" + start + ") >> " + (words == 4 ? "2" : "1") + ")";
  return (buffer(plan.operandBindings[operand], type) + "[" + start + " + uint(" + item + ")]").str();
}

std::string ShaderEmitter::load(unsigned operand, const llvm::Twine &element) {
  Type type = plan.getOperandType(operand).getElementType();
  if (type.isF32())
    return view(operand, "float", element);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width >= 32)
    return view(operand, "int", element);
  // A part of a word: elements count from the operand's first word on.
  bool isByte = width <= 8;
  std::string index =
      let("uint", "push.o" + llvm::Twine(operand) + (isByte ? " * 4u" : " * 2u") + " + uint(" + element + ")", "at");
  std::string word = buffer(plan.operandBindings[operand], "uint") + "[" + index + (isByte ? " >> 2" : " >> 1") + "]";
  std::string shift = index + (isByte ? " & 3u) * 8u)" : " & 1u) * 16u)");
  if (type.isInteger(1))
    return "(bitfieldExtract(" + word + ", int((" + shift + ", 8) != 0u)";
  if (isa<FloatType>(type))
    return fromHalfBits("bitfieldExtract(" + word + ", int((" + shift + ", 16)", type);
  return "bitfieldExtract(int(" + word + "), int((" + shift + ", " + std::to_string(isByte ? 8 : 16) + ")";
}

void ShaderEmitter::store(unsigned operand, const llvm::Twine &element, const llvm::Twine &value) {
  Type type = plan.getOperandType(operand).getElementType();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width >= 32) {
    line(view(operand, type.isF32() ? "float" : "int", element) + " = " + value + ";");
    return;
  }
  bool isByte = width <= 8;
  std::string words = buffer(ShaderBinding::Results, "uint");
  // Neighbours may be other invocations': both operations leave their bits alone.
  declare("void store_part(uint word, uint shift, uint mask, uint value) {\n"
          "  atomicAnd(" +
          words +
          "[word], ~(mask << shift));\n"
          "  atomicOr(" +
          words + "[word], (value & mask) << shift);\n}");
  std::string index =
      let("uint", "push.o" + llvm::Twine(operand) + (isByte ? " * 4u" : " * 2u") + " + uint(" + element + ")", "at");
  std::string bits = toBits(operand, value.str());
  line("store_part(" + index +
       (isByte ? " >> 2, (" + index + " & 3u) * 8u, 0xffu, " : " >> 1, (" + index + " & 1u) * 16u, 0xffffu, ") + bits +
       ");");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

StringRef ShaderEmitter::glslType(Type type) {
  return isa<FloatType>(type) ? "float" : type.isInteger(1) ? "bool" : "int";
}

std::string ShaderEmitter::zero(Type type) { return isa<FloatType>(type) ? "0.0" : type.isInteger(1) ? "false" : "0"; }

std::string ShaderEmitter::literal(float value) {
  llvm::APFloat number(value);
  if (!number.isFinite() || number.isDenormal())
    return llvm::formatv("uintBitsToFloat({0}u)", number.bitcastToAPInt().getZExtValue());
  // Nine digits tell any two floats apart.
  std::string digits = llvm::formatv("{0:e8}", value);
  return value < 0 || number.isNegZero() ? "(" + digits + ")" : digits;
}

std::string ShaderEmitter::literal(Attribute value) {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    bool loses = false;
    llvm::APFloat number = real.getValue();
    number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return literal(number.convertToFloat());
  }
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  // 64-bit numbers are 32 bits here; what lies beyond is as far as one can go.
  int64_t number = std::clamp<int64_t>(integer.getValue().getSExtValue(), INT32_MIN, INT32_MAX);
  if (number == INT32_MIN)
    return "int(0x80000000u)";
  return number < 0 ? "(" + std::to_string(number) + ")" : std::to_string(number);
}

std::string ShaderEmitter::isNaN(const std::string &value) {
  return "(floatBitsToUint(" + value + ") & 0x7fffffffu) > 0x7f800000u";
}

std::string ShaderEmitter::wrap(const std::string &value, Type type) {
  if (type.isIndex() || type.getIntOrFloatBitWidth() >= 32)
    return value;
  return "bitfieldExtract(" + value + ", 0, " + std::to_string(type.getIntOrFloatBitWidth()) + ")";
}

std::string ShaderEmitter::toBits(unsigned operand, const std::string &value) {
  Type type = plan.getOperandType(operand).getElementType();
  if (type.isF32())
    return "floatBitsToUint(" + value + ")";
  return isa<FloatType>(type) ? toHalfBits(value, type) : "uint(" + value + ")";
}

std::string ShaderEmitter::toHalfBits(const std::string &value, Type type) {
  if (type.isBF16()) {
    declare("uint bf16_bits(float value) {\n"
            "  uint bits = floatBitsToUint(value);\n"
            "  if ((bits & 0x7fffffffu) > 0x7f800000u)\n    return (bits >> 16) | 0x40u;\n"
            "  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;\n}");
    return "bf16_bits(" + value + ")";
  }
  // packHalf2x16 may round either way. Below the normal numbers adding 0.5 rounds at the right digit.
  declare("uint f16_bits(float value) {\n"
          "  uint bits = floatBitsToUint(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;\n"
          "  if (magnitude > 0x7f800000u)\n    return sign | 0x7e00u;\n"
          "  if (magnitude >= 0x477ff000u)\n    return sign | 0x7c00u;\n"
          "  if (magnitude < 0x38800000u) {\n"
          "    precise float shifted = uintBitsToFloat(magnitude) + 0.5;\n"
          "    return sign | (floatBitsToUint(shifted) - 0x3f000000u);\n  }\n"
          "  return sign | ((magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13);\n}");
  return "f16_bits(" + value + ")";
}

std::string ShaderEmitter::fromHalfBits(const std::string &bits, Type type) {
  if (type.isBF16())
    return "uintBitsToFloat(" + bits + " << 16)";
  return "unpackHalf2x16(" + bits + ").x";
}

void ShaderEmitter::failIf(const std::string &condition, int32_t code, int64_t site, const std::string &value,
                           const std::string &limit) {
  std::string words = buffer(ShaderBinding::Results, "uint");
  declare("void fail(int code, int site, int value, int limit) {\n"
          "  if (atomicCompSwap(" +
          words +
          "[push.error], 0u, uint(code)) != 0u)\n    return;\n"
          "  " +
          words +
          "[push.error + 1u] = uint(site);\n"
          "  " +
          words +
          "[push.error + 2u] = uint(value);\n"
          "  " +
          words + "[push.error + 3u] = uint(limit);\n}");
  open("if (" + condition + ")");
  line("fail(" + llvm::Twine(code) + ", " + llvm::Twine(site) + ", " + value + ", " + limit + ");");
  close();
}

std::string ShaderEmitter::checkIndex(const std::string &index, const std::string &extent, int64_t site,
                                      std::string &valid) {
  // As an unsigned number whatever is outside is too large.
  std::string position = let("int", index + " < 0 ? " + index + " + " + extent + " : " + index, "position");
  std::string inside = let("bool", "uint(" + position + ") < uint(" + extent + ")", "inside");
  failIf("!" + inside, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE, site, index, extent);
  valid += (valid.empty() ? "" : " && ") + inside;
  return position;
}

std::string ShaderEmitter::isInSlice(const std::string &row) {
  return "uint(" + row + ") - push.first_row < push.row_count";
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

std::string ShaderEmitter::finish() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#version 450\n";
  for (const std::string &extension : extensions)
    os << "#extension " << extension << " : require\n";
  // With the constants' numbers alone the size would be 1 where nothing specialises it.
  os << "layout(local_size_x = 64, local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  os << "layout(push_constant) uniform Push {\n  uint first_x, first_y, first_z;\n";
  if (plan.slicedTable)
    os << "  uint first_row, row_count;\n";
  if (plan.canFail)
    os << "  uint error;\n";
  for (unsigned i = 0; i < plan.getNumOperands(); ++i)
    os << "  uint o" << i << ";\n";
  kernel::FuncOp func = plan.func;
  for (unsigned i = 0; i < func.getNumSizes(); ++i)
    os << "  int s" << i << ";\n";
  os << "} push;\n";
  for (const auto &[binding, type] : views)
    os << "layout(set = 0, binding = " << static_cast<unsigned>(binding) << ", std430) "
       << (binding == ShaderBinding::Results ? "" : "readonly ") << "buffer " << bufferName(binding, type)
       << "_block { " << type << " " << bufferName(binding, type) << "[]; };\n";
  for (const std::string &declaration : declarations)
    os << declaration << "\n";
  os << "void main() {\n" << body << "}\n";
  return text;
}

} // namespace heddle::vulkan
