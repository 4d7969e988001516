// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ContractTile.h"

#include "compiler/targets/vulkan/RegionPrinter.h"

using namespace mlir;

namespace heddle::vulkan {

ContractTile::ContractTile(ShaderEmitter &emitter, const ContractForm &form)
    : emitter(emitter), plan(emitter.plan), form(form), loops(plan.nest.getNumLoops()), axes(plan) {
  emitter.require("GL_EXT_control_flow_attributes");
  for (StringRef name : kContractConstants)
    emitter.specialize(name, 4);
  if (!plan.axisLoops[kZ].empty())
    emitter.splitAxis(kZ, emitter.let("int", ShaderEmitter::workgroup(kZ), "z"), loops);
  factors = ContractFactors::create(emitter, loops, form.usesDots);
}

LogicalResult ContractTile::emit() {
  emitPlaces();
  emitter.line("precise " + factors->sumType + " sum[ROWS][COLUMNS4];");
  emitZeros("sum");
  if (factors->hasColumnSums()) {
    emitter.line(factors->sumType + " column_sum[COLUMNS4];");
    std::string j = openUnrolled("COLUMNS4", "j");
    emitter.line("column_sum[" + j + "] = " + factors->sumType + "(0);");
    emitter.close();
  }
  if (factors->stepsPerBlock())
    emitBlocks();
  else
    emitSteps("0", factors->numSteps(), "sum");
  if (factors->hasColumnSums())
    emitCorrections();
  return emitEpilogue();
}

std::string ContractTile::openUnrolled(const std::string &count, StringRef stem) {
  std::string i = emitter.fresh(stem);
  emitter.open("[[unroll]] for (int " + i + " = 0; " + i + " < " + count + "; ++" + i + ")");
  return i;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void ContractTile::emitPlaces() {
  // Without shared memory the workgroup's number alone decides the rows, so that all invocations read the same: one
  // load for all of them.
  std::string group = ShaderEmitter::workgroup(kY);
  if (form.isShared)
    emitter.line("int first_row = (" + group + " * ROW_LANES + " + ShaderEmitter::invocation(kY) + ") * ROWS;");
  else
    emitter.line("int first_row = " + group + " * ROWS;");
  std::string lane = ShaderEmitter::workgroup(kX) + " * LANES";
  if (form.isShared) {
    // Neighbours have neighbouring columns, which they read together.
    emitter.line("int first_column4 = " + lane + " * COLUMNS4 + " + ShaderEmitter::invocation(kX) + ";");
    return;
  }
  // What lies behind the last row or column computes it again, and keeps it to itself.
  emitter.line("int first_column4 = (" + lane + " + " + ShaderEmitter::invocation(kX) + ") * COLUMNS4;");
  emitter.line("int row[ROWS], row_base[ROWS], column4[COLUMNS4], column_base[COLUMNS4];");
  std::string i = openUnrolled("ROWS", "i");
  emitter.line("row[" + i + "] = min(first_row + " + i + ", " + emitter.bound(axes.m) + " - 1);");
  emitter.line("row_base[" + i + "] = " + factors->rowBase("row[" + i + "]") + ";");
  emitter.close();
  std::string j = openUnrolled("COLUMNS4", "j");
  emitter.line("column4[" + j + "] = " + clampColumn(j) + ";");
  // A tile's columns are all of one panel: their places are the first one's and constants.
  std::string base = factors->columnBase("column4[" + (factors->isPacked() ? "0" : j) + "]");
  emitter.line("column_base[" + j + "] = " + base + (factors->isPacked() ? " + " + j : "") + ";");
  emitter.close();
}

/// Number of the tile's column group |j|.
std::string ContractTile::columnAt(const std::string &j) {
  return "(first_column4 + " + j + (form.isShared ? " * LANES)" : ")");
}

/// The same where it exists; else another that does.
std::string ContractTile::clampColumn(const std::string &j) {
  if (!form.isShared && factors->isPacked())
    return "min(first_column4, " + factors->numColumns4() + " - COLUMNS4) + " + j;
  return "min(" + columnAt(j) + ", " + factors->numColumns4() + " - 1)";
}

void ContractTile::emitZeros(const std::string &sums) {
  std::string i = openUnrolled("ROWS", "i"), j = openUnrolled("COLUMNS4", "j");
  emitter.line(sums + "[" + i + "][" + j + "] = " + factors->sumType + "(0);");
  emitter.close();
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void ContractTile::emitStep(const std::string &sums, llvm::function_ref<std::string(const std::string &i)> row,
                            llvm::function_ref<std::string(const std::string &j, unsigned number)> item) {
  emitter.line(factors->rowType + " x[ROWS];");
  std::string i = openUnrolled("ROWS", "i");
  std::string read = emitter.let(factors->readRowType, row(i), "left");
  emitter.line("x[" + i + "] = " + factors->expandRow(read) + ";");
  emitter.close();
  for (unsigned number = 0; number < factors->depth / factors->itemDepth; ++number) {
    std::string y = emitter.fresh("y");
    emitter.line(factors->itemType + " " + y + "[COLUMNS4];");
    std::string j = openUnrolled("COLUMNS4", "j");
    read = emitter.let(factors->readItemType, item(j, number), "right");
    emitter.line(y + "[" + j + "] = " + factors->expandItem(read) + ";");
    if (factors->hasColumnSums())
      emitter.line("column_sum[" + j + "] += " + factors->sumItem(y + "[" + j + "]") + ";");
    emitter.close();
    i = openUnrolled("ROWS", "i");
    j = openUnrolled("COLUMNS4", "j");
    factors->multiply(sums + "[" + i + "][" + j + "]", "x[" + i + "]", y + "[" + j + "]", number);
    emitter.close();
    emitter.close();
  }
}

/// Item |number| of step |step|, of which each has |count|.
static std::string itemOf(const std::string &step, unsigned count, unsigned number) {
  return count == 1 ? step : "(" + step + " * " + std::to_string(count) + " + " + std::to_string(number) + ")";
}

void ContractTile::emitSteps(const std::string &begin, const std::string &end, const std::string &sums) {
  if (form.isShared)
    return emitSharedSteps(begin, end, sums);
  std::string step = emitter.openLoop(begin, end, "1", "step");
  unsigned items = factors->depth / factors->itemDepth;
  emitStep(
      sums, [&](const std::string &i) { return factors->readRow("row_base[" + i + "]", "row[" + i + "]", step); },
      [&](const std::string &j, unsigned number) {
        return factors->readItem("column_base[" + j + "]", "column4[" + j + "]", itemOf(step, items, number));
      });
  emitter.close();
}

void ContractTile::emitSharedSteps(const std::string &begin, const std::string &end, const std::string &sums) {
  std::string items = std::to_string(factors->depth / factors->itemDepth);
  emitter.declare("const int STEPS = DEPTH / " + llvm::Twine(factors->depth) + ";");
  emitter.declare("shared " + factors->readRowType + " shared_rows[STEPS * ROWS * ROW_LANES];");
  emitter.declare("shared " + factors->readItemType + " shared_items[STEPS * " + items + " * COLUMNS4 * LANES];");
  std::string first = emitter.openLoop(begin, end, "STEPS", "first");
  std::string count = emitter.let("int", "min(STEPS, " + end + " - " + first + ")", "count");
  emitCopies(first, count);
  emitter.line("barrier();");
  std::string step = emitter.openLoop("0", count, "1", "step");
  emitStep(
      sums,
      [&](const std::string &i) {
        return "shared_rows[(" + step + " * ROW_LANES + " + ShaderEmitter::invocation(kY) + ") * ROWS + " + i + "]";
      },
      [&](const std::string &j, unsigned number) {
        return "shared_items[(" + itemOf(step, factors->depth / factors->itemDepth, number) + " * COLUMNS4 + " + j +
               ") * LANES + " + ShaderEmitter::invocation(kX) + "]";
      });
  emitter.close();
  // The next copies wait for those that still read.
  emitter.line("barrier();");
  emitter.close();
}

void ContractTile::emitCopies(const std::string &first, const std::string &count) {
  // 1. Rows: neighbours read neighbouring steps of one row.
  std::string at = emitter.openLoop("int(gl_LocalInvocationIndex)", count + " * ROWS * ROW_LANES", "LANES * ROW_LANES");
  std::string line = emitter.let("int", at + " / " + count, "line");
  std::string step = emitter.let("int", at + " - " + line + " * " + count, "step");
  std::string row = emitter.let("int",
                                "min(" + ShaderEmitter::workgroup(kY) + " * ROW_LANES * ROWS + " + line + ", " +
                                    emitter.bound(axes.m) + " - 1)",
                                "row");
  std::string base = emitter.let("int", factors->rowBase(row), "base");
  std::string read = factors->readRow(base, row, "(" + first + " + " + step + ")");
  emitter.line("shared_rows[" + step + " * ROWS * ROW_LANES + " + line + "] = " + read + ";");
  emitter.close();
  // 2. Columns: neighbours read neighbours.
  std::string items = std::to_string(factors->depth / factors->itemDepth);
  at = emitter.openLoop("int(gl_LocalInvocationIndex)", count + " * " + items + " * COLUMNS4 * LANES",
                        "LANES * ROW_LANES");
  std::string item = emitter.let("int", at + " / (COLUMNS4 * LANES)", "item");
  std::string group = emitter.let("int", at + " - " + item + " * (COLUMNS4 * LANES)", "group");
  std::string column4 = emitter.let("int",
                                    "min(" + ShaderEmitter::workgroup(kX) + " * LANES * COLUMNS4 + " + group + ", " +
                                        factors->numColumns4() + " - 1)",
                                    "column4");
  base = emitter.let("int", factors->columnBase(column4), "base");
  read = factors->readItem(base, column4, "(" + first + " * " + items + " + " + item + ")");
  emitter.line("shared_items[" + at + "] = " + read + ";");
  emitter.close();
}

void ContractTile::emitBlocks() {
  std::string size = std::to_string(*factors->stepsPerBlock());
  std::string steps = emitter.let("int", factors->numSteps(), "steps");
  std::string begin = emitter.openLoop("0", steps, size, "begin");
  emitter.line("precise vec4 part[ROWS][COLUMNS4];");
  emitZeros("part");
  emitSteps(begin, "min(" + begin + " + " + size + ", " + steps + ")", "part");
  std::string j = openUnrolled("COLUMNS4", "j");
  std::string column4 = emitter.let("int", clampColumn(j), "scaled");
  std::string scales = emitter.let("vec4", factors->loadScales(column4, "(" + begin + " / " + size + ")"), "scales");
  std::string i = openUnrolled("ROWS", "i"), sum = "sum[" + i + "][" + j + "]";
  emitter.line(sum + " = fma(" + scales + ", part[" + i + "][" + j + "], " + sum + ");");
  emitter.close();
  emitter.close();
  emitter.close();
}

void ContractTile::emitCorrections() {
  std::string i = openUnrolled("ROWS", "i"), j = openUnrolled("COLUMNS4", "j");
  emitter.line("sum[" + i + "][" + j + "] += " + factors->correct("column_sum[" + j + "]") + ";");
  emitter.close();
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult ContractTile::emitEpilogue() {
  std::string i, j, sum;
  if (form.isShared) {
    // GPUs have few registers for each invocation and fast compilers: tiles are small, and sums stay where they are.
    i = openUnrolled("ROWS", "i");
    loops[axes.m] = emitter.let("int", "first_row + " + i, "m");
    emitter.open("if (" + loops[axes.m] + " < " + emitter.bound(axes.m) + ")");
    j = openUnrolled("4 * COLUMNS4", "j");
    sum = "sum[" + i + "][" + j + " >> 2][" + j + " & 3]";
  } else {
    // Where tiles are large the text stands once: unrolled, drivers would compile it for each element. The sums are
    // copied, since what is indexed at run time leaves the registers.
    emitter.line(factors->sumType + " finished[ROWS * COLUMNS4];");
    i = openUnrolled("ROWS", "i");
    j = openUnrolled("COLUMNS4", "j");
    emitter.line("finished[" + i + " * COLUMNS4 + " + j + "] = sum[" + i + "][" + j + "];");
    emitter.close();
    emitter.close();
    std::string height = emitter.let("int", "min(ROWS, " + emitter.bound(axes.m) + " - first_row)", "height");
    i = emitter.openLoop("0", height, "1", "i");
    loops[axes.m] = emitter.let("int", "first_row + " + i, "m");
    j = emitter.openLoop("0", "4 * COLUMNS4", "1", "j");
    sum = "finished[" + i + " * COLUMNS4 + (" + j + " >> 2)][" + j + " & 3]";
  }
  loops[axes.n] = emitter.let("int", "4 * " + columnAt("(" + j + " >> 2)") + " + (" + j + " & 3)", "n");
  emitter.open("if (" + loops[axes.n] + " < " + emitter.bound(axes.n) + ")");
  LogicalResult status = emitResults(sum);
  for (int open = form.isShared ? 4 : 3; open > 0; --open)
    emitter.close();
  return status;
}

LogicalResult ContractTile::emitResults(const std::string &sum) {
  auto op = cast<kernel::ContractOp>(plan.root);
  SmallVector<std::string> arguments = {emitter.let(factors->sumType == "vec4" ? "float" : "int", sum, "acc")};
  for (unsigned input = op.getFirstCapture(); input < plan.getNumInputs(); ++input)
    arguments.push_back(emitter.letInput(input, loops));
  auto results = RegionPrinter(emitter, loops).print(op.getEpilogue(), arguments);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::enumerate(*results))
    emitter.storeResult(result, loops, value);
  return success();
}

} // namespace heddle::vulkan
