// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows, shared memory, and how operands are read and written four neighbours at a time.

#include "compiler/targets/vulkan/AttentionShader.h"

#include "compiler/transforms/sparsity/TileTest.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::vulkan {

int64_t getAttentionBlock(kernel::AttentionOp op) {
  // Part of the artifact's numerics: states merge at its multiples, so parts are blocks, as are those whose weights
  // have codes. What all targets agree on.
  constexpr int64_t kBlock = 256;
  return static_cast<int64_t>(op.getPvInt8Block().value_or(op.getPartSize().value_or(kBlock)));
}

/// Vectors of four scores from one row to the next: one more than there are, lest all rows share their banks.
static int64_t getScoreStride(int64_t block) { return llvm::alignTo(block, kAttentionGroup) / 4 + 1; }

int64_t getAttentionSharedBytes(kernel::AttentionOp op, int64_t rows) {
  // Maximum, sum and two factors of each row, its query's scale and the scale's inverse; the word that all write to.
  int64_t numbers = op.getQkInt8() ? 6 : 4;
  return rows * getScoreStride(getAttentionBlock(op)) * 16 + rows * numbers * 4 + 4;
}

AttentionShader::AttentionShader(ShaderEmitter &emitter, StringRef form)
    : emitter(emitter), sharesRows(form == kSharedAttention), exchanges(form == kSubgroupAttention), plan(emitter.plan),
      op(cast<kernel::AttentionOp>(plan.root)), block(getAttentionBlock(op)),
      hasMask(!sparsity::isAlwaysTrue(op.getMask())), loops(Loops::NumLoops), captures(op.getCaptures().size()),
      uniformCaptures(op.getCaptures().size()) {
  if (!op.getProbability().empty())
    probability = ProbabilityRegion::analyze(op);
  if (sharesRows)
    return;
  // A buffer's numbers cost drivers that run shaders on CPUs many times what an invocation's own do.
  auto countVectors = [&](unsigned loop) {
    constexpr int64_t kMost = 256;
    std::optional<int64_t> size = plan.nest.bounds[loop].getConstant();
    return size && *size <= kMost ? static_cast<int64_t>(llvm::divideCeil(*size, 4)) : 0;
  };
  queryVectors = countVectors(Loops::HeadSize);
  // Parts give their sums as a result.
  stateVectors = op.getGivesParts() ? 0 : countVectors(Loops::ValueSize);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void AttentionShader::declareState() {
  emitter.require("GL_EXT_control_flow_attributes");
  emitter.specialize("ROWS", 4);       // of an invocation
  emitter.specialize("LANES", 1);      // invocations that share keys and columns
  emitter.specialize("GROUPS", 2);     // of four keys each, of an invocation at a time
  emitter.specialize("COLUMNS", 4);    // of four value columns each, of an invocation at a time
  emitter.specialize("ROW_GROUPS", 1); // invocations that share rows
  emitter.declare("const int BLOCK = " + llvm::Twine(block) + ", TILE = ROWS * ROW_GROUPS;");
  // Keys of an invocation's step, of which a group has a whole number.
  emitter.declare("const int STEP = LANES * 4 * GROUPS, WIDTH = " + llvm::Twine(kAttentionGroup) + ";");
  emitter.declare("const int STRIDE = " + llvm::Twine(getScoreStride(block)) + ";");
  // Of the items that all invocations of a subgroup need each reads one of PEERS.
  emitter.declare("const int PEERS = " + llvm::Twine(exchanges ? kAttentionPeers : 1) + ";");
  std::string scales = op.getQkInt8() ? ", query_scales[TILE], query_inverses[TILE]" : "";
  for (const std::string &state :
       {std::string("vec4 scores[TILE * STRIDE]"),
        "float maxima[TILE], sums[TILE], kept_factors[TILE], added_factors[TILE]" + scales, std::string("int marks")}) {
    if (sharesRows)
      emitter.declare("shared " + state + ";");
    else if (state != "int marks")
      emitter.line(state + ";");
  }
  if (queryVectors)
    emitter.line("vec4 queries[TILE * " + llvm::Twine(queryVectors) + "];");
  if (stateVectors) {
    // Of each step over the columns one: arrays of their own, for drivers compare all uses of an array with each other.
    emitter.declare("const int STATES = (" + llvm::Twine(stateVectors) + " + COLUMNS - 1) / COLUMNS;");
    emitter.line("vec4 states[COLUMNS][TILE * STATES];");
  }
}

void AttentionShader::emitIndices() {
  std::string x = ShaderEmitter::invocation(kX), y = ShaderEmitter::invocation(kY);
  if (sharesRows) {
    emitter.line("int lane = " + x + ", row_base = " + y + " * ROWS, number = " + y + " * LANES + lane;");
    emitter.line("int first = " + ShaderEmitter::workgroup(kX) + " * TILE;");
  } else {
    emitter.line("const int lane = 0, row_base = 0;");
    emitter.line("int first = (" + ShaderEmitter::workgroup(kX) + " * int(gl_WorkGroupSize.x) + " + x + ") * TILE;");
  }
  if (exchanges) {
    emitter.require("GL_KHR_shader_subgroup_basic");
    emitter.require("GL_KHR_shader_subgroup_shuffle");
    emitter.line("int peer = int(gl_SubgroupInvocationID);");
  } else {
    emitter.line("const int peer = 0;");
  }
  emitter.line("int total = " + emitter.evaluate(plan.extents[kX], {}) + ";");
  emitter.line("int count = clamp(total - first, 0, TILE);");
  emitter.line("int all_rows = count == 32 ? -1 : (1 << count) - 1;");
  loops[Loops::QueryHead] = "0";
  if (op.getGivesParts()) {
    std::string flat = emitter.let("int", ShaderEmitter::workgroup(kY), "y"), heads = emitter.bound(Loops::KeyHead);
    part = emitter.let("int", flat + " / " + heads, "part");
    loops[Loops::KeyHead] = emitter.let("int", flat + " - " + part + " * " + heads, "head");
  } else {
    emitter.splitAxis(kY, emitter.let("int", ShaderEmitter::workgroup(kY), "y"), loops);
  }
  emitter.splitAxis(kZ, emitter.let("int", ShaderEmitter::workgroup(kZ), "z"), loops);

  std::string bound = emitter.bound(Loops::Key);
  if (std::optional<unsigned> lengths = op.getKvLenInput())
    emitter.line("int length = clamp(" + emitter.loadInput(*lengths, loops) + ", 0, " + bound + ");");
  else
    emitter.line("int length = " + bound + ";");
  if (std::optional<unsigned> input = op.getScaleInput())
    scale = emitter.let("float", emitter.loadInput(*input, loops), "scale");
  else if (op.getScale()->convertToFloat() != 1.0f)
    scale = ShaderEmitter::literal(op.getScale()->convertToFloat());
}

void AttentionShader::selectRow(const std::string &i) {
  std::string row = emitter.let("int", "min(first + " + i + ", total - 1)", "row");
  emitter.splitAxis(kX, row, loops);
}

void AttentionShader::openUnrolled(const std::string &variable, const std::string &count) {
  emitter.open("[[unroll]] for (int " + variable + " = 0; " + variable + " < " + count + "; ++" + variable + ")");
}

void AttentionShader::openRounds(const std::string &variable, const std::string &begin, const std::string &end) {
  emitter.open("if (" + begin + " < " + end + ")");
  emitter.line("int " + variable + " = " + begin + ";");
  emitter.open("do");
}

void AttentionShader::closeRounds(const std::string &variable, const std::string &step, const std::string &end) {
  emitter.close();
  emitter.line("while ((" + variable + " += " + step + ") < " + end + ");");
  emitter.close();
}

std::string AttentionShader::exchange(const std::string &own, const std::string &number) {
  if (!exchanges)
    return own + "[" + number + "]";
  return "subgroupShuffle(" + own + "[" + number + " / PEERS], uint(" + number + " % PEERS))";
}

std::string AttentionShader::ofPeers(const std::string &bits) {
  if (!exchanges)
    return bits;
  emitter.declare("int of_peers(int bits) {\n  [[unroll]] for (uint n = 1; n < PEERS; n *= 2)\n"
                  "    bits |= subgroupShuffleXor(bits, n);\n  return bits;\n}");
  return "of_peers(" + bits + ")";
}

void AttentionShader::openRows(bool isUnrolled) {
  if (isUnrolled)
    openUnrolled("r", "ROWS");
  else
    emitter.open("for (int r = 0; r < ROWS; ++r)");
  emitter.line("int i = row_base + r;");
}

void AttentionShader::openRowPerInvocation() {
  if (sharesRows)
    emitter.open("for (int i = number; i < TILE; i += LANES * ROW_GROUPS)");
  else
    emitter.open("for (int i = 0; i < TILE; ++i)");
}

void AttentionShader::openColumns() {
  std::string end = endOf(Loops::ValueSize);
  if (!stateVectors) {
    emitter.open("for (int column = lane * 4; column < " + end + "; column += LANES * 4)");
    return;
  }
  openRounds("columns", "0", end);
  openUnrolled("g", "COLUMNS");
  emitter.line("int column = columns + 4 * g;");
  emitter.open("if (column < " + end + ")");
}

void AttentionShader::closeColumns() {
  emitter.close();
  if (!stateVectors)
    return;
  emitter.close();
  closeRounds("columns", "4 * COLUMNS", endOf(Loops::ValueSize));
}

void AttentionShader::openTile() { emitter.open("for (int i = 0; i < TILE; ++i)"); }

void AttentionShader::resetMarks() {
  if (!sharesRows)
    return;
  emitter.line("if (number == 0)");
  emitter.line("  marks = 0;");
  barrier();
}

void AttentionShader::joinMarks(const std::string &marks) {
  if (!sharesRows)
    return;
  emitter.line("if (" + marks + " != 0)");
  emitter.line("  atomicOr(marks, " + marks + ");");
  barrier();
  emitter.line(marks + " = marks;");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool AttentionShader::isVector(const Access &access, unsigned loop) {
  constexpr int64_t kFour = 4;
  std::optional<int64_t> extent = plan.nest.bounds[loop].getConstant();
  if (!extent || *extent % kFour != 0 || access.strides[loop] != Polynomial(1) || access.isIrregularIn(loop) ||
      !access.offset.isMultipleOf(kFour))
    return false;
  for (unsigned other = 0; other < plan.nest.getNumLoops(); ++other)
    if (other != loop && !access.strides[other].isMultipleOf(kFour))
      return false;
  return llvm::all_of(access.irregular, [&](const Access::Irregular &part) { return part.stride.isMultipleOf(kFour); });
}

std::string AttentionShader::base(const Access &access, unsigned loop) {
  SmallVector<std::string> there = loops;
  there[loop] = "";
  return emitter.address(access, there);
}

std::string AttentionShader::loadFour(unsigned operand, const Access &access, unsigned loop, const std::string &base,
                                      const std::string &at) {
  if (isVector(access, loop))
    return emitter.view(operand, "vec4", "((" + base + " + " + at + ") >> 2)");
  SmallVector<std::string> there = loops;
  std::string numbers;
  for (int i = 0; i < 4; ++i) {
    // The last one stands for those behind it.
    std::string place = emitter.let("int", at + " + " + std::to_string(i), "at");
    there[loop] = emitter.let("int", "min(" + place + ", " + endOf(loop) + " - 1)", "at");
    std::string number = emitter.let("float", emitter.load(operand, emitter.address(access, there)));
    numbers += (i ? ", " : "") + place + " < " + endOf(loop) + " ? " + number + " : 0.0";
  }
  return "vec4(" + numbers + ")";
}

void AttentionShader::storeFour(const std::string &base, const std::string &at, const std::string &value) {
  const Access &access = plan.getResult(0);
  unsigned operand = plan.getResultBinding(0);
  if (isVector(access, Loops::ValueSize)) {
    emitter.line(emitter.view(operand, "vec4", "((" + base + " + " + at + ") >> 2)") + " = " + value + ";");
    return;
  }
  SmallVector<std::string> there = loops;
  for (int i = 0; i < 4; ++i) {
    there[Loops::ValueSize] = emitter.let("int", at + " + " + std::to_string(i), "at");
    emitter.open("if (" + there[Loops::ValueSize] + " < " + endOf(Loops::ValueSize) + ")");
    emitter.store(operand, emitter.address(access, there), value + "[" + llvm::Twine(i) + "]");
    emitter.close();
  }
}

} // namespace heddle::vulkan
