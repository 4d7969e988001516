// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ShaderReduction.h"

#include <limits>

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

std::string neutralLiteral(const Reduced &reduced) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool isFloat = isa<FloatType>(reduced.type), isBool = reduced.type.isInteger(1);
  auto integer = [&](const APInt &value) { return ShaderEmitter::literal(IntegerAttr::get(reduced.type, value)); };
  // Registers hold 32 bits of 64.
  unsigned width = isFloat ? 32 : std::min(32u, reduced.type.getIntOrFloatBitWidth());
  auto bound = [&](bool isLowest) {
    if (isFloat)
      return ShaderEmitter::literal(isLowest ? -kInfinity : kInfinity);
    if (isBool)
      return std::string(isLowest ? "false" : "true");
    APInt value = isLowest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
    return integer(value.sext(reduced.type.getIntOrFloatBitWidth()));
  };
  switch (reduced.combiner) {
  case kernel::Combiner::Sum:
    // -0 + -0 is -0, so only -0 changes nothing.
    return isFloat ? ShaderEmitter::literal(-0.0f) : isBool ? "false" : "0";
  case kernel::Combiner::Product:
    return isFloat ? ShaderEmitter::literal(1.0f) : isBool ? "true" : "1";
  case kernel::Combiner::Maximum:
    return bound(/*isLowest=*/true);
  case kernel::Combiner::Minimum:
    return bound(/*isLowest=*/false);
  }
  llvm_unreachable("all combiners are above");
}

/// The greater or smaller one; NaN wins, and +0 is greater than -0, so that neither side is a special one.
static std::string combineBounds(const Reduced &reduced, const std::string &x, const std::string &y) {
  bool isGreatest = reduced.combiner == kernel::Combiner::Maximum;
  if (reduced.type.isInteger(1))
    return x + (isGreatest ? " || " : " && ") + y;
  if (!isa<FloatType>(reduced.type))
    return (isGreatest ? "max(" : "min(") + x + ", " + y + ")";
  std::string tie = "floatBitsToInt(" + x + (isGreatest ? ") >= 0" : ") < 0");
  return ShaderEmitter::isNaN(x) + " || " + x + (isGreatest ? " > " : " < ") + y + " || (" + x + " == " + y + " && " +
         tie + ") ? " + x + " : " + y;
}

std::string combineTerms(const Reduced &reduced, const std::string &x, const std::string &y) {
  bool isFloat = isa<FloatType>(reduced.type), isBool = reduced.type.isInteger(1);
  switch (reduced.combiner) {
  case kernel::Combiner::Sum:
    if (isFloat)
      return x + " + " + y;
    return isBool ? x + " != " + y : ShaderEmitter::wrap("(" + x + " + " + y + ")", reduced.type);
  case kernel::Combiner::Product:
    if (isFloat)
      return x + " * " + y;
    return isBool ? x + " && " + y : ShaderEmitter::wrap("(" + x + " * " + y + ")", reduced.type);
  default:
    return combineBounds(reduced, x, y);
  }
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Partial results that one invocation merges in one step, and as many lanes are left after the first of two.
static constexpr int64_t kRadix = 8;
/// Smaller subgroups aren't worth it.
static constexpr int64_t kLeastSubgroup = 4;
static constexpr int64_t kMostSubgroups = kReductionInvocations / kLeastSubgroup;
/// Words for each reduction: those of the lanes, and those that a first step leaves, which may have as many rows.
static constexpr int64_t kWordsPerReduction = 2 * kReductionInvocations;

LaneForm parseLaneForm(StringRef word) {
  return word == "single" ? LaneForm::Single : word == "subgroup" ? LaneForm::Subgroup : LaneForm::Shared;
}

int64_t getReductionSharedBytes(LaneForm form, int64_t count) {
  return form == LaneForm::Single ? 0 : count * kWordsPerReduction * static_cast<int64_t>(sizeof(uint32_t));
}

std::string toWord(Type type, const std::string &value) {
  return (isa<FloatType>(type) ? "floatBitsToUint(" : "uint(") + value + ")";
}

std::string fromWord(Type type, const std::string &word) {
  if (type.isInteger(1))
    return "(" + word + " != 0u)";
  return (isa<FloatType>(type) ? "uintBitsToFloat(" : "int(") + word + ")";
}

LaneMerger::LaneMerger(ShaderEmitter &emitter, LaneForm form)
    : emitter(emitter), laneForm(form), laneName("0"), lanesName("1") {
  if (form == LaneForm::Single)
    return;
  lanesName = "int(gl_WorkGroupSize.x)";
  if (form == LaneForm::Shared) {
    laneName = emitter.let("int", ShaderEmitter::invocation(kX), "lane");
    return;
  }
  emitter.require("GL_KHR_shader_subgroup_basic");
  emitter.require("GL_KHR_shader_subgroup_shuffle");
  // A driver may leave subgroups partly empty, or have none to speak of; then shared memory does all.
  emitter.line("bool full = gl_SubgroupSize >= " + llvm::Twine(kLeastSubgroup) +
               "u && gl_NumSubgroups * gl_SubgroupSize == gl_WorkGroupSize.x;");
  laneName = emitter.let(
      "int", "full ? int(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID) : int(gl_LocalInvocationID.x)",
      "lane");
}

std::string LaneMerger::nameRow(MutableArrayRef<std::string> loops) {
  const ShaderPlan &plan = emitter.plan;
  for (Axis axis : {kY, kZ})
    if (!plan.axisLoops[axis].empty())
      emitter.splitAxis(axis, emitter.let("int", ShaderEmitter::workgroup(axis), axis == kY ? "y" : "z"), loops);
  Axis along = laneForm == LaneForm::Single ? kX : kY;
  std::string rows = along == kX ? "int(gl_WorkGroupSize.x)" : "int(gl_WorkGroupSize.y)";
  std::string x =
      emitter.let("int", ShaderEmitter::workgroup(kX) + " * " + rows + " + " + ShaderEmitter::invocation(along), "x");
  std::string bound = plan.axisLoops[kX].empty() ? "1" : emitter.bound(plan.axisLoops[kX].front());
  std::string exists = emitter.let("bool", x + " < " + bound, "exists");
  if (!plan.axisLoops[kX].empty())
    loops[plan.axisLoops[kX].front()] = emitter.let("int", "min(" + x + ", " + bound + " - 1)", "row");
  return exists;
}

std::string LaneMerger::declareTree(const Reduced &reduced) {
  StringRef type = ShaderEmitter::glslType(reduced.type), word = kernel::stringifyCombiner(reduced.combiner);
  std::string name = llvm::formatv("{0}_of_{1}{2}", word, type, reduced.type.getIntOrFloatBitWidth());
  bool isFloat = isa<FloatType>(reduced.type);
  emitter.declare(llvm::formatv("{0} {1}(int first, int step, int count) {{\n"
                                "  {2}{0} v[{3}];\n"
                                "  [[unroll]] for (int k = 0; k < count; ++k)\n"
                                "    v[k] = {4};\n"
                                "  [[unroll]] for (int n = count / 2; n > 0; n /= 2)\n"
                                "    [[unroll]] for (int k = 0; k < n; ++k)\n"
                                "      v[k] = {5};\n"
                                "  return v[0];\n}",
                                type, name, isFloat ? "precise " : "", kMostSubgroups,
                                fromWord(reduced.type, "partial[first + k * step]"),
                                combineTerms(reduced, "v[k]", "v[k + n]")));
  return name;
}

void LaneMerger::storePartials(ArrayRef<Reduced> reduced, ArrayRef<std::string> values, const std::string &place) {
  for (auto [i, value] : llvm::enumerate(values))
    emitter.line("partial[" + llvm::Twine(i * kWordsPerReduction) + " + " + place +
                 "] = " + toWord(reduced[i].type, value) + ";");
}

void LaneMerger::mergeShared(ArrayRef<Reduced> reduced, ArrayRef<std::string> results) {
  std::string row = ShaderEmitter::invocation(kY) + " * " + lanesName;
  std::string second =
      std::to_string(kReductionInvocations) + " + " + ShaderEmitter::invocation(kY) + " * " + std::to_string(kRadix);
  auto merge = [&](const std::string &first, int64_t step, const std::string &count) {
    for (auto [i, result] : llvm::enumerate(results))
      emitter.line(result + " = " + declareTree(reduced[i]) + "(" + llvm::Twine(i * kWordsPerReduction) + " + " +
                   first + ", " + llvm::Twine(step) + ", " + count + ");");
  };
  storePartials(reduced, results, row + " + " + laneName);
  emitter.line("barrier();");
  // Two steps write two places, so that whoever comes to the next merge first disturbs nobody.
  emitter.open("if (" + lanesName + " > " + llvm::Twine(kRadix) + ")");
  merge(row + " + " + laneName + " % " + std::to_string(kRadix), kRadix, lanesName + " / " + std::to_string(kRadix));
  emitter.open("if (" + laneName + " < " + llvm::Twine(kRadix) + ")");
  storePartials(reduced, results, second + " + " + laneName);
  emitter.close();
  emitter.line("barrier();");
  merge(second, 1, std::to_string(kRadix));
  emitter.close();
  emitter.open("else");
  merge(row, 1, lanesName);
  emitter.line("barrier();");
  emitter.close();
}

void LaneMerger::mergeSubgroups(ArrayRef<Reduced> reduced, ArrayRef<std::string> results) {
  emitter.open("if (full)");
  // 1. From subgroup to subgroup.
  emitter.open("if (gl_SubgroupSize < gl_WorkGroupSize.x)");
  storePartials(reduced, results, laneName);
  emitter.line("barrier();");
  std::string width = "int(gl_SubgroupSize)";
  for (auto [i, result] : llvm::enumerate(results))
    emitter.line(result + " = " + declareTree(reduced[i]) + "(" + llvm::Twine(i * kWordsPerReduction) + " + " +
                 laneName + " % " + width + ", " + width + ", " + lanesName + " / " + width + ");");
  emitter.line("barrier();");
  emitter.close();
  // 2. Within each.
  emitter.open("for (uint o = gl_SubgroupSize / 2u; o > 0u; o /= 2u)");
  for (auto [i, result] : llvm::enumerate(results)) {
    std::string other = emitter.let(
        ShaderEmitter::glslType(reduced[i].type),
        fromWord(reduced[i].type, "subgroupShuffleXor(" + toWord(reduced[i].type, result) + ", o)"), "other");
    emitter.line(result + " = " + combineTerms(reduced[i], result, other) + ";");
  }
  emitter.close();
  emitter.close();
  emitter.open("else");
  mergeShared(reduced, results);
  emitter.close();
}

SmallVector<std::string> LaneMerger::merge(ArrayRef<Reduced> reduced, ArrayRef<std::string> values, unsigned most) {
  SmallVector<std::string> results;
  for (auto [i, value] : llvm::enumerate(values))
    results.push_back(emitter.let(ShaderEmitter::glslType(reduced[i].type), value, "stat"));
  if (laneForm == LaneForm::Single)
    return results;
  emitter.require("GL_EXT_control_flow_attributes");
  emitter.declare("shared uint partial[" + llvm::Twine(most * kWordsPerReduction) + "];");
  if (laneForm == LaneForm::Shared)
    mergeShared(reduced, results);
  else
    mergeSubgroups(reduced, results);
  return results;
}

} // namespace heddle::vulkan
