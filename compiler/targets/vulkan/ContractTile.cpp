// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ContractTile.h"

using namespace mlir;

namespace heddle::vulkan {

ContractTile::ContractTile(ShaderEmitter &emitter, bool usesDots)
    : emitter(emitter), plan(emitter.plan), loops(plan.nest.getNumLoops()), axes(plan) {
  emitter.require("GL_EXT_control_flow_attributes");
  rows = emitter.specialize("ROWS", 4);
  columns4 = emitter.specialize("COLUMNS4", 2);
  if (!plan.axisLoops[kZ].empty())
    emitter.splitAxis(kZ, emitter.let("int", ShaderEmitter::workgroup(kZ), "z"), loops);
  factors = ContractFactors::create(emitter, loops, usesDots);
}

LogicalResult ContractTile::emit() {
  emitPlaces();
  emitter.line("precise " + factors->sumType + " sum[ROWS][COLUMNS4];");
  emitZeros("sum");
  if (factors->stepsPerBlock())
    emitBlocks();
  else
    emitSteps("0", factors->numSteps(), "sum");
  return emitEpilogue();
}

std::string ContractTile::openUnrolled(const std::string &count, StringRef stem) {
  std::string i = emitter.fresh(stem);
  emitter.open("[[unroll]] for (int " + i + " = 0; " + i + " < " + count + "; ++" + i + ")");
  return i;
}

void ContractTile::emitPlaces() {
  // Workgroup numbers alone decide the rows, so that all invocations read the same: one load for all of them.
  emitter.line("int first_row = " + ShaderEmitter::workgroup(kY) + " * ROWS;");
  // Neighbours have neighbouring columns.
  emitter.line("int first_column4 = " + ShaderEmitter::workgroup(kX) + " * int(gl_WorkGroupSize.x) * COLUMNS4 + " +
               ShaderEmitter::invocation(kX) + ";");
  // What lies behind the last row or column computes it again, and keeps it to itself.
  emitter.line("int row[ROWS], row_base[ROWS], column4[COLUMNS4], column_base[COLUMNS4];");
  std::string i = openUnrolled(rows, "i");
  emitter.line("row[" + i + "] = min(first_row + " + i + ", " + emitter.bound(axes.m) + " - 1);");
  emitter.line("row_base[" + i + "] = " + factors->rowBase("row[" + i + "]") + ";");
  emitter.close();
  std::string j = openUnrolled(columns4, "j");
  emitter.line("column4[" + j + "] = min(first_column4 + " + j + " * int(gl_WorkGroupSize.x), " +
               factors->numColumns4() + " - 1);");
  emitter.line("column_base[" + j + "] = " + factors->columnBase("column4[" + j + "]") + ";");
  emitter.close();
}

void ContractTile::emitZeros(const std::string &sums) {
  std::string i = openUnrolled(rows, "i"), j = openUnrolled(columns4, "j");
  emitter.line(sums + "[" + i + "][" + j + "] = " + factors->sumType + "(0);");
  emitter.close();
  emitter.close();
}

void ContractTile::emitSteps(const std::string &begin, const std::string &end, const std::string &sums) {
  std::string step = emitter.openLoop(begin, end, "1", "step");
  emitter.line(factors->rowType + " x[ROWS];");
  std::string i = openUnrolled(rows, "i");
  std::string x = factors->loadRow("row_base[" + i + "]", "row[" + i + "]", step);
  emitter.line("x[" + i + "] = " + x + ";");
  emitter.close();
  unsigned items = factors->depth / factors->itemDepth;
  for (unsigned number = 0; number < items; ++number) {
    std::string y = emitter.fresh("y");
    emitter.line(factors->itemType + " " + y + "[COLUMNS4];");
    std::string item =
        items == 1 ? step : "(" + step + " * " + std::to_string(items) + " + " + std::to_string(number) + ")";
    std::string j = openUnrolled(columns4, "j");
    std::string loaded = factors->loadItem("column_base[" + j + "]", "column4[" + j + "]", item);
    emitter.line(y + "[" + j + "] = " + loaded + ";");
    emitter.close();
    i = openUnrolled(rows, "i");
    j = openUnrolled(columns4, "j");
    factors->multiply(sums + "[" + i + "][" + j + "]", "x[" + i + "]", y + "[" + j + "]", number);
    emitter.close();
    emitter.close();
  }
  emitter.close();
}

void ContractTile::emitBlocks() {
  std::string size = std::to_string(*factors->stepsPerBlock());
  std::string steps = emitter.let("int", factors->numSteps(), "steps");
  std::string begin = emitter.openLoop("0", steps, size, "begin");
  emitter.line("precise vec4 part[ROWS][COLUMNS4];");
  emitZeros("part");
  emitSteps(begin, "min(" + begin + " + " + size + ", " + steps + ")", "part");
  std::string j = openUnrolled(columns4, "j");
  std::string scales = emitter.let("vec4", factors->loadScales("column4[" + j + "]", "(" + begin + " / " + size + ")"));
  std::string i = openUnrolled(rows, "i"), sum = "sum[" + i + "][" + j + "]";
  emitter.line(sum + " = fma(" + scales + ", part[" + i + "][" + j + "], " + sum + ");");
  emitter.close();
  emitter.close();
  emitter.close();
}

LogicalResult ContractTile::emitEpilogue() {
  // Its text stands once: unrolled, drivers would compile it for each element of the tile. The sums are copied, since
  // what is indexed at run time leaves the registers.
  emitter.line(factors->sumType + " finished[ROWS * COLUMNS4];");
  std::string i = openUnrolled(rows, "i"), j = openUnrolled(columns4, "j");
  emitter.line("finished[" + i + " * COLUMNS4 + " + j + "] = sum[" + i + "][" + j + "];");
  emitter.close();
  emitter.close();

  std::string height = emitter.let("int", "min(ROWS, " + emitter.bound(axes.m) + " - first_row)", "height");
  i = emitter.openLoop("0", height, "1", "i");
  loops[axes.m] = emitter.let("int", "first_row + " + i, "m");
  j = emitter.openLoop("0", "4 * COLUMNS4", "1", "j");
  std::string group = emitter.let("int", j + " >> 2", "group");
  loops[axes.n] =
      emitter.let("int", "4 * (first_column4 + " + group + " * int(gl_WorkGroupSize.x)) + (" + j + " & 3)", "n");
  emitter.open("if (" + loops[axes.n] + " < " + emitter.bound(axes.n) + ")");
  StringRef element = factors->sumType == "vec4" ? "float" : "int";
  SmallVector<std::string> arguments = {
      emitter.let(element, "finished[" + i + " * COLUMNS4 + " + group + "][" + j + " & 3]", "sum")};
  auto op = cast<kernel::ContractOp>(plan.root);
  for (unsigned input = op.getFirstCapture(); input < plan.getNumInputs(); ++input) {
    Type type = plan.getOperandType(plan.bindings[input]).getElementType();
    arguments.push_back(emitter.let(ShaderEmitter::glslType(type), emitter.loadInput(input, loops)));
  }
  auto results = RegionPrinter(emitter, loops).print(op.getEpilogue(), arguments);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::enumerate(*results))
    emitter.storeResult(result, loops, value);
  emitter.close();
  emitter.close();
  emitter.close();
  return success();
}

} // namespace heddle::vulkan
