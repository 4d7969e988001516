// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of one shader: declarations that come with their first use, lines of main(), index arithmetic from affine
// expressions, and reads and writes of operands. Expressions are strings that may be pasted anywhere: they are
// names, literals, calls or in parentheses.
//
// Values in registers: f32, f16 and bf16 are float, i1 is bool, every other integer is int, sign-extended from its
// width; 64-bit integers and indices are 32 bits on the device.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_SHADEREMITTER_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_SHADEREMITTER_H

#include <map>
#include <set>
#include <string>

#include "compiler/targets/vulkan/ShaderPlan.h"
#include "llvm/ADT/Twine.h"

namespace heddle::vulkan {

class ShaderEmitter {
public:
  explicit ShaderEmitter(const ShaderPlan &plan) : plan(plan) {}

  const ShaderPlan &plan;

  //===--- Text ------------------------------------------------------------===//
  void line(const llvm::Twine &text);
  /// |head| {
  void open(const llvm::Twine &head);
  void close();
  /// A name that no other has.
  std::string fresh(llvm::StringRef stem);
  /// Declares a new variable of GLSL type |type| and returns its name. Floats are `precise`: no product and sum become
  /// one operation unless fma() says so, so that results don't depend on the driver.
  std::string let(llvm::StringRef type, const llvm::Twine &value, llvm::StringRef stem = "v");
  /// for (int i = begin; i < end; i += step) {  -> name of i
  std::string openLoop(const llvm::Twine &begin, const llvm::Twine &end, const llvm::Twine &step,
                       llvm::StringRef stem = "i");

  /// The same for a loop that may be long unless |length| says otherwise: several elements a round, its text once.
  /// Opens more than one scope: closeTo() what level() was before.
  std::string openLongLoop(const llvm::Twine &begin, const llvm::Twine &end, const llvm::Twine &step,
                           const Polynomial &length, llvm::StringRef stem);
  unsigned level() const { return depth; }
  void closeTo(unsigned level);
  /// As the last statement of main(): where the driver has ended a loop before its end, the kernel fails.
  void failIfLoopsEnded();

  //===--- Declarations ----------------------------------------------------===//
  /// The next specialisation constant (from number 3 on), an int. All modules of a kernel declare theirs in one order.
  std::string specialize(llvm::StringRef name, int64_t initial);
  /// A declaration before main(): shared memory, a function. Equal ones count once.
  void declare(const llvm::Twine &text);
  /// A function |head| before main(), whose statements |print| prints and whose result it gives. |head| counts once.
  void declareFunction(llvm::StringRef head, llvm::function_ref<std::string()> print);
  void require(llvm::StringRef extension);

  //===--- Index arithmetic ------------------------------------------------===//
  std::string size(const Polynomial &polynomial) { return evaluate(polynomial.toExpr(plan.space), {}); }
  std::string sizeArgument(unsigned number) const { return "push.s" + std::to_string(number); }
  std::string bound(unsigned loop) { return size(plan.nest.bounds[loop]); }
  /// |expr| as an int, at the given loop indices.
  std::string evaluate(mlir::AffineExpr expr, llvm::ArrayRef<std::string> loops);
  /// Element number of |access| as an int; loops without a name count as 0.
  std::string address(const Access &access, llvm::ArrayRef<std::string> loops);
  /// Number of the workgroup along |axis|, and of the invocation in it, as ints.
  static std::string workgroup(Axis axis);
  static std::string invocation(Axis axis);
  /// Declares the loop indices that |flat|, an int, stands for along |axis|, and stores their names in |loops|.
  void splitAxis(Axis axis, const std::string &flat, llvm::MutableArrayRef<std::string> loops);

  //===--- Memory ----------------------------------------------------------===//
  /// Element |element| (an int) of operand |operand| of the function, as a value in registers.
  std::string load(unsigned operand, const llvm::Twine &element);
  /// Writes a value in registers. Less than a word is written without disturbing its neighbours.
  void store(unsigned operand, const llvm::Twine &element, const llvm::Twine &value);
  /// The place in memory of item |item| of operand |operand| seen as elements of GLSL type |view|: uint, int, float, or
  /// a vector of two or four of them, of which every operand's start is a multiple.
  std::string view(unsigned operand, llvm::StringRef view, const llvm::Twine &item);
  /// The root's inputs and results by their number and the nest's loops.
  std::string loadInput(unsigned input, llvm::ArrayRef<std::string> loops) {
    return load(plan.bindings[input], address(plan.getInput(input), loops));
  }
  /// A new variable with the value of |input|.
  std::string letInput(unsigned input, llvm::ArrayRef<std::string> loops) {
    return let(glslType(plan.getOperandType(plan.bindings[input]).getElementType()), loadInput(input, loops));
  }
  void storeResult(unsigned result, llvm::ArrayRef<std::string> loops, const llvm::Twine &value) {
    store(plan.getResultBinding(result), address(plan.getResult(result), loops), value);
  }

  //===--- Values ----------------------------------------------------------===//
  static llvm::StringRef glslType(mlir::Type type);
  /// A literal of a value in registers: float or double attributes, integers.
  static std::string literal(mlir::Attribute value);
  static std::string literal(float value);
  /// That of 0, or of false.
  static std::string zero(mlir::Type type);
  /// Whether |value|, a float, is NaN, by its bits: without float controls a driver may take it that none is, and fold
  /// isnan() and inverted comparisons.
  static std::string isNaN(const std::string &value);
  /// |value|, an int, wrapped to the width of |type| and sign-extended.
  static std::string wrap(const std::string &value, mlir::Type type);
  /// |value| in registers as the bits that operand |operand| holds of it, in the low bits of a uint.
  std::string toBits(unsigned operand, const std::string &value);
  /// |value| (a float) rounded to f16 or bf16, as that type's bits in a uint.
  std::string toHalfBits(const std::string &value, mlir::Type type);
  std::string fromHalfBits(const std::string &bits, mlir::Type type);
  /// Where |condition| holds, writes the error record unless it is taken. The kernel goes on.
  void failIf(const std::string &condition, int32_t code, int64_t site, const std::string &value,
              const std::string &limit);

  /// The place that |index|, a number of data, means in a dimension of |extent|: negative ones count from the end. One
  /// outside is an error of |site|. Adds to |valid|, a condition or empty, that it is inside.
  std::string checkIndex(const std::string &index, const std::string &extent, int64_t site, std::string &valid);
  /// Whether |row|, an int not below zero, is one that this dispatch has of the plan's sliced table.
  static std::string isInSlice(const std::string &row);

  /// The whole text.
  std::string finish() const;

private:
  /// Name of |binding| seen as an array of GLSL type |type|.
  std::string buffer(ShaderBinding binding, llvm::StringRef type);
  std::string combine(mlir::AffineExprKind kind, const std::string &left, const std::string &right, bool isNonNegative);

  std::string body;
  unsigned depth = 1, numConstants = 0;
  std::map<std::string, unsigned> names;
  std::set<std::string> extensions;
  std::vector<std::string> declarations;
  std::set<std::pair<ShaderBinding, std::string>> views; // bindings and the types they are seen as
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_SHADEREMITTER_H
