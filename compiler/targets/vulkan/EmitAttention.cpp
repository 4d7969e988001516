// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention: the grid, and the passes of a workgroup over the keys. Nearly always there is one; rows that it
// can't finish (no key kept, or a key that weighs nothing has a value that isn't finite) are taken through the keys
// again. Which rows these are all invocations know, as sets of bits.

#include "compiler/targets/common/ProbabilityRegion.h"
#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/Generators.h"

#include <limits>

using namespace mlir;

namespace heddle::vulkan {

using Loops = kernel::AttentionOp;
using Pass = AttentionPass;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

static LogicalResult checkTypes(kernel::AttentionOp op) {
  SmallVector<Type> floats = {op.getQuery().getType(), op.getKey().getType(), op.getValue().getType()};
  llvm::append_range(floats, op->getResultTypes());
  if (std::optional<unsigned> scale = op.getScaleInput())
    floats.push_back(op.getInputs()[*scale].getType());
  for (Type type : floats)
    if (!getElementTypeOrSelf(type).isF32())
      return op.emitOpError() << "expects f32 query, key, value, scale and results on Vulkan, got "
                              << getElementTypeOrSelf(type);
  std::optional<unsigned> lengths = op.getKvLenInput();
  if (lengths && !getElementTypeOrSelf(op.getInputs()[*lengths].getType()).isInteger(64))
    return op.emitOpError() << "expects i64 lengths, got " << getElementTypeOrSelf(op.getInputs()[*lengths].getType());
  return success();
}

/// Number of parts: the first dimension of their states.
static AffineExpr getNumParts(const ShaderPlan &plan, kernel::AttentionOp op) {
  bool gives = op.getGivesParts();
  unsigned operand = gives ? plan.getResultBinding(0) : plan.bindings[*op.getPartsInput()];
  kernel::FuncOp func = plan.func;
  RankedTensorType type = plan.getOperandType(operand);
  ArrayRef<int64_t> dims = gives ? func.getResultDims(operand - func.getNumInputs()) : func.getInputDims(operand);
  return type.isDynamicDim(0) ? getAffineSymbolExpr(dims.front(), func.getContext())
                              : plan.constantExpr(type.getDimSize(0));
}

LogicalResult planAttention(ShaderPlan &plan) {
  auto op = cast<kernel::AttentionOp>(plan.root);
  if (failed(checkTypes(op)))
    return failure();
  // Every loop has its part in the pass over the keys; none merges.
  SmallVector<bool> none(plan.nest.getNumLoops(), false);
  mergeLoops(plan.nest, none, none);
  bool isOneHead = plan.nest.bounds[Loops::QueryHead].getConstant() == 1;
  // Of few rows those of all heads that share keys are one tile, so that keys are read once.
  SmallVector<unsigned> rows = {Loops::Row}, heads = {Loops::KeyHead};
  if (!isOneHead && (op.getGivesParts() || op.getTakesParts()))
    rows.insert(rows.begin(), Loops::QueryHead);
  else if (!isOneHead)
    heads.push_back(Loops::QueryHead);
  if (!op.getGivesParts()) {
    plan.setAxes(rows, heads, {Loops::Batch});
    return success();
  }
  plan.setAxes(rows, {}, {Loops::Batch});
  plan.setExtent(kY, plan.toExpr(plan.nest.bounds[Loops::KeyHead]) * getNumParts(plan, op));
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void AttentionShader::planPasses() {
  bool isLiteral = mayBeLiteral();
  auto add = [&](Pass::Work work, Pass::Rows rows, bool isExact = false) {
    bool masks = rows != Pass::Literal && rows != Pass::LiteralExact;
    if (masks || isLiteral)
      passes.push_back({work, rows, masks, isExact});
  };
  bool hasWeights = !op.getProbability().empty();
  if (hasWeights)
    add(Pass::Sums, Pass::All);
  Pass::Work work = hasWeights ? Pass::Weights : Pass::Whole;
  add(work, Pass::All);
  if (op.getGivesParts())
    return;
  if (hasWeights)
    add(Pass::Sums, Pass::Literal);
  add(work, Pass::Literal);
  add(work, Pass::Exact, /*isExact=*/true);
  add(work, Pass::LiteralExact, /*isExact=*/true);
  if (!op.getHasProbabilities())
    return;
  add(Pass::Writes, Pass::NotLiteral);
  if (isLiteral)
    passes.push_back({Pass::Writes, Pass::EverLiteral, /*masks=*/false, /*isExact=*/false});
}

std::string AttentionShader::inPasses(llvm::function_ref<bool(const Pass &)> test) {
  std::string some;
  unsigned count = 0;
  for (auto [number, pass] : llvm::enumerate(passes)) {
    if (!test(pass))
      continue;
    some += (count++ ? " || pass == " : "pass == ") + std::to_string(number);
  }
  return count == 0 ? "false" : count == passes.size() ? "true" : some;
}

bool AttentionShader::seesHiddenKeys(const Pass &pass) const {
  return pass.work == Pass::Writes || (probability && !probability->skipsHiddenKeys());
}

LogicalResult AttentionShader::emit() {
  planPasses();
  declareState();
  emitIndices();
  loadUniformCaptures();
  if (op.getQkInt8())
    emitQueryScales();
  if (queryVectors)
    readQueries();
  emitter.line("int literal = 0, exact = 0, literal_exact = 0, no_keys = 0, nans = 0, numbers = 0;");
  emitter.line("bool wrote = false;");
  emitter.line("int pass = 0, taking = all_rows;");
  emitter.open("if (" + ofPeers("taking") + " != 0)");
  emitter.open("do");
  emitPass();
  findNextPass();
  emitter.close();
  emitter.line("while (pass < " + llvm::Twine(passes.size()) + ");");
  emitter.close();
  if (op.getGivesParts())
    finishPart();
  else
    finishRows();
  return status;
}

void AttentionShader::findNextPass() {
  std::string taking = "0";
  static constexpr std::pair<Pass::Rows, const char *> kSets[] = {{Pass::All, "all_rows"},
                                                                  {Pass::Literal, "literal"},
                                                                  {Pass::Exact, "exact"},
                                                                  {Pass::LiteralExact, "literal_exact"},
                                                                  {Pass::NotLiteral, "all_rows & ~literal"},
                                                                  {Pass::EverLiteral, "literal"}};
  for (auto [rows, set] : kSets) {
    auto isOf = [rows = rows](const Pass &pass) { return pass.rows == rows; };
    if (anyPass(isOf))
      taking = "(" + inPasses(isOf) + ") ? " + set + " : " + taking;
  }
  emitter.open("do");
  emitter.line("++pass;");
  emitter.line("taking = " + taking + ";");
  emitter.close();
  emitter.line("while (pass < " + llvm::Twine(passes.size()) + " && " + ofPeers("taking") + " == 0);");
}

void AttentionShader::emitPass() {
  emitter.line("bool is_first = true, sees = false;");
  emitter.line("int nan_rows = 0;");
  // Before its first key: a finite maximum, whose difference to any score is a number or the score's own infinity.
  auto sums = [](const Pass &pass) { return pass.work == Pass::Whole || pass.work == Pass::Sums; };
  emitter.open("if (" + inPasses(sums) + ")");
  openRowPerInvocation();
  emitter.open("if (" + hasBit("taking", "i") + ")");
  emitter.line("maxima[i] = " + ShaderEmitter::literal(std::numeric_limits<float>::lowest()) + ";");
  emitter.line("sums[i] = 0.0;");
  emitter.close();
  emitter.close();
  emitter.close();
  resetMarks();
  emitBlocks();
  auto multiplies = [](const Pass &pass) { return pass.work == Pass::Whole || pass.work == Pass::Weights; };
  if (!op.getGivesParts()) {
    joinMarks("nan_rows");
    emitter.line("nans = (nans & ~taking) | nan_rows;");
    judgeRows();
  }
  emitter.line("wrote = wrote || (!is_first && (" + inPasses(multiplies) + "));");
  barrier();
}

void AttentionShader::emitBlocks() {
  std::string begin = "0", end = "length";
  if (op.getGivesParts()) {
    begin = part + " * BLOCK";
    end = "min(length, " + begin + " + BLOCK)";
  }
  std::string writes = inPasses([](const Pass &pass) { return pass.work == Pass::Writes; });
  if (writes != "false")
    end = "(" + writes + ") ? " + emitter.bound(Loops::Key) + " : length";
  if (op.getTakesParts()) {
    std::string parts = emitter.evaluate(getNumParts(plan, op), {});
    emitter.open("if (" + parts + " > 0 && (" + inPasses([](const Pass &pass) { return pass.rows == Pass::All; }) +
                 "))");
    mergeParts(parts);
    emitter.close();
    emitter.open("else");
  }
  emitter.line("int end = " + end + ";");
  openRounds("begin", begin, "end");
  emitBlock(writes);
  closeRounds("begin", "BLOCK", "end");
  if (op.getTakesParts())
    emitter.close();
}

void AttentionShader::emitBlock(const std::string &writes) {
  // Blocks behind the last key, of a pass over all probabilities, are empty.
  emitter.line("int span = clamp(length - begin, 0, BLOCK), seen = 0;");
  emitScores();
  emitter.line(writes == "false" ? "if (seen == 0)" : "if (seen == 0 && !(" + writes + "))");
  emitter.line("  continue;");
  emitter.line("sees = true;");
  barrier();
  emitSoftmax();
  barrier();
  auto multiplies = [](const Pass &pass) { return pass.work == Pass::Whole || pass.work == Pass::Weights; };
  emitter.open("if (" + inPasses(multiplies) + ")");
  auto isExact = [](const Pass &pass) { return pass.isExact; };
  if (anyPass(isExact)) {
    emitter.open("if (" + inPasses(isExact) + ")");
    emitProducts(/*isExact=*/true);
    emitter.close();
    emitter.open("else");
  }
  emitProducts(/*isExact=*/false);
  if (anyPass(isExact))
    emitter.close();
  emitter.line("is_first = false;");
  emitter.close();
  barrier();
}

void AttentionShader::mergeParts(const std::string &parts) {
  // The same arithmetic as between the blocks of one pass.
  unsigned input = *op.getPartsInput();
  declareWeights();
  std::string number = emitter.openLoop("0", parts, "1", "part");
  auto load = [&](const char *column) {
    loops[Loops::ValueSize] = emitter.bound(Loops::ValueSize) + column;
    std::string loaded = emitter.loadInput(input, loops);
    loops[Loops::ValueSize] = "";
    return loaded;
  };
  loops[Loops::Key] = number;
  openRowPerInvocation();
  selectRow("i");
  emitter.line("float maximum = " + load("") + ";");
  emitter.line("float sum = " + load(" + 1") + ";");
  updateFactors();
  emitter.close();
  barrier();
  openRows(/*isUnrolled=*/false);
  emitter.open("if (i < count)");
  selectRow("i");
  std::string start = emitter.let("int", base(plan.getResult(0), Loops::ValueSize), "start");
  std::string from = emitter.let("int", base(plan.getInput(input), Loops::ValueSize), "start");
  emitter.line("float kept_factor = kept_factors[i], added_factor = added_factors[i];");
  openColumns();
  std::string added = loadFourOfInput(input, Loops::ValueSize, from, "column");
  emitter.line("precise vec4 added = " + added + ";");
  loops[Loops::Key] = "";
  joinState(start, /*isExact=*/false);
  closeColumns();
  emitter.close();
  emitter.close();
  emitter.line("is_first = false;");
  emitter.line("sees = true;");
  barrier();
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Rows that need more
//===----------------------------------------------------------------------===//

void AttentionShader::judgeRows() {
  auto sums = [](const Pass &pass) { return pass.work == Pass::Whole || pass.work == Pass::Sums; };
  auto isIn = [&](Pass::Rows rows, llvm::function_ref<bool(const Pass &)> test) {
    return inPasses([&](const Pass &pass) { return pass.rows == rows && test(pass); });
  };
  auto multiplies = [](const Pass &pass) { return pass.work == Pass::Whole || pass.work == Pass::Weights; };
  // 1. A kept score that is a number weighs 1 at its maximum, so a sum of 0 has none.
  emitter.open("if (" + inPasses(sums) + ")");
  emitter.line("int empty = 0;");
  emitter.line("numbers = 0;");
  openTile();
  emitter.line("empty |= int(sums[i] == 0.0) << i;");
  emitter.line("numbers |= int(!(" + ShaderEmitter::isNaN("sums[i]") + ")) << i;");
  emitter.close();
  emitter.line("empty &= all_rows;");
  emitter.open("if (" + isIn(Pass::All, sums) + ")");
  judgeEmptyRows();
  emitter.close();
  emitter.close();
  // 2. A NaN in the output that the weights don't explain: a value that isn't finite met a weight of 0.
  std::string suspects = probability && !probability->keepsNaN() ? "nans" : "nans & numbers";
  emitter.line("if (" + isIn(Pass::All, multiplies) + ")");
  emitter.line("  exact = " + suspects + " & ~literal;");
  if (mayBeLiteral()) {
    emitter.line("if (" + isIn(Pass::Literal, multiplies) + ")");
    emitter.line("  literal_exact = " + suspects + " & literal;");
  }
}

void AttentionShader::judgeEmptyRows() {
  // The mask decides whether a row without weights has no keys, or keys that all score -infinity, which give NaN.
  if (!hasMask) {
    emitter.line("no_keys = length == 0 ? empty : 0;");
  } else {
    emitter.line("int kept = 0;");
    // Where the tile's rows see no group at all there is nothing to look for.
    emitter.open("if (empty != 0 && sees)");
    findKeptRows();
    emitter.close();
    if (mayBeLiteral()) {
      emitter.line("literal = length > 0 ? empty & ~kept : 0;");
      emitter.line("no_keys = length > 0 ? 0 : empty;");
    } else {
      emitter.line("no_keys = empty & ~kept;");
    }
  }
  // With any sum but 0 the probabilities of a row without keys are 0 instead of NaN, as the rule asks.
  if (!probability || op.getFullyMasked() == "nan")
    return;
  barrier();
  openRowPerInvocation();
  emitter.line("if (" + hasBit("no_keys", "i") + ")");
  emitter.line("  sums[i] = 1.0;");
  emitter.close();
  barrier();
}

void AttentionShader::findKeptRows() {
  barrier();
  resetMarks();
  emitter.open("for (int i = 0; i < TILE; ++i)");
  emitter.line("if (!(" + hasBit("empty", "i") + "))");
  emitter.line("  continue;");
  selectRow("i");
  emitter.open("for (int key = lane; key < length; key += LANES)");
  loops[Loops::Key] = "key";
  for (bool ofKey : {true, false})
    loadCaptures({&op.getMask()}, ofKey);
  emitter.line("if (" + printRegion(op.getMask(), "") + ")");
  emitter.line("  kept |= 1 << i;");
  emitter.close();
  emitter.close();
  loops[Loops::Key] = "";
  captures.assign(captures.size(), "");
  joinMarks("kept");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What a row without keys gives: a float expression, or nothing where it went through them.
static std::optional<std::string> printEmptyOutput(kernel::AttentionOp op,
                                                   const std::optional<ProbabilityRegion> &probability) {
  std::string nan = ShaderEmitter::literal(std::numeric_limits<float>::quiet_NaN());
  bool givesNaN = op.getFullyMasked() == "nan";
  if (!probability)
    return givesNaN ? nan : "0.0";
  if (!probability->skipsHiddenKeys())
    return std::nullopt;
  return givesNaN && probability->keepsNaN() ? "(length != 0 ? " + nan + " : 0.0)" : "0.0";
}

void AttentionShader::finishRows() {
  openRounds("r", "0", "ROWS");
  emitter.line("int i = row_base + r;");
  emitter.open("if (i < count)");
  selectRow("i");
  emitter.line("precise float sum = sums[i];");
  std::string start = emitter.let("int", base(plan.getResult(0), Loops::ValueSize), "start");
  openColumns();
  emitter.line("precise vec4 x = vec4(0.0);");
  emitter.open("if (wrote)");
  emitter.line("x = " + loadState(start) + ";");
  emitter.close();
  if (!probability)
    emitter.line("x = x / sum;");
  if (std::optional<std::string> filling = printEmptyOutput(op, probability))
    emitter.line("x = " + hasBit("no_keys", "i") + " ? vec4(" + *filling + ") : x;");
  storeFour(start, "column", "x");
  closeColumns();
  emitter.close();
  closeRounds("r", "1", "ROWS");
  if (!op.getHasLse())
    return;
  // The logarithm of a sum, which isn't below the normal numbers; after fdlibm.
  emitter.declare("float log_of_sum(float x) {\n"
                  "  int bits = floatBitsToInt(x) - 0x3f3504f3;\n"
                  "  precise float e = float(bits >> 23), f = intBitsToFloat((bits & 0x7fffff) + 0x3f3504f3) - 1.0;\n"
                  "  precise float s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;\n"
                  "  precise float r = z * fma(fma(fma(0.24279078841, z, 0.28498786688), z, 0.40000972152), z, "
                  "0.66666662693);\n"
                  "  precise float low = fma(e, 9.0580006145e-06, s * (half_square + r));\n"
                  "  precise float result = fma(e, 6.9313812256e-01, f - (half_square - low));\n"
                  "  return x == 0.0 ? " +
                  llvm::Twine(ShaderEmitter::literal(-std::numeric_limits<float>::infinity())) + " : " +
                  ShaderEmitter::isNaN("x") + " ? x : result;\n}");
  openRowPerInvocation();
  emitter.open("if (i < count)");
  selectRow("i");
  emitter.line("precise float lse = maxima[i] + log_of_sum(sums[i]);");
  emitter.storeResult(1, loops,
                      hasBit("no_keys", "i") + " ? " + ShaderEmitter::literal(-std::numeric_limits<float>::infinity()) +
                          " : lse");
  emitter.close();
  emitter.close();
}

void AttentionShader::finishPart() {
  loops[Loops::Key] = part;
  emitter.open("if (!wrote)");
  openRows(/*isUnrolled=*/false);
  emitter.open("if (i < count)");
  selectRow("i");
  std::string start = emitter.let("int", base(plan.getResult(0), Loops::ValueSize), "start");
  emitter.open("for (int column = lane * 4; column < " + endOf(Loops::ValueSize) + "; column += LANES * 4)");
  storeFour(start, "column", "vec4(0.0)");
  emitter.close();
  emitter.close();
  emitter.close();
  emitter.close();
  openRowPerInvocation();
  emitter.open("if (i < count)");
  selectRow("i");
  for (auto [column, name] : {std::pair("", "maxima[i]"), {" + 1", "sums[i]"}}) {
    loops[Loops::ValueSize] = emitter.bound(Loops::ValueSize) + column;
    emitter.storeResult(0, loops, name);
  }
  emitter.close();
  emitter.close();
}

LogicalResult emitAttention(ShaderEmitter &emitter, StringRef form) { return AttentionShader(emitter, form).emit(); }

} // namespace heddle::vulkan
