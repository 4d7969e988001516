// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a block's scores: maxima, weights and sums of each row, by an invocation of its own, and products of
// weights with values, whose columns the invocations share out. A block's weights are relative to its own maximum and
// its sums start at 0; only then do they join the row's state, so that what a block contributes doesn't depend on the
// blocks before it.

#include "compiler/targets/vulkan/AttentionShader.h"

#include <limits>

using namespace mlir;

namespace heddle::vulkan {

static const std::string kLowest = ShaderEmitter::literal(std::numeric_limits<float>::lowest());

/// exp(|difference|) for what isn't above 0, as compiler/targets/cpu/AttentionState.h has it: exp(0) is exactly 1,
/// -infinity and what is too small for a normal number give 0, NaN stays.
void AttentionShader::declareWeights() {
  static constexpr double kCoefficients[] = {1.326472731e-3, 9.671512991e-3, 5.550733581e-2,
                                             2.402224243e-1, 6.931470037e-1, 1.0};
  emitter.declare("const float LOG2E = " + ShaderEmitter::literal(1.44269504088896340736f) + ";");
  for (auto [type, ints, select] : {std::tuple("float", "int", "x < -126.0 ? 0.0 : power"),
                                    {"vec4", "ivec4", "mix(power, vec4(0.0), lessThan(x, vec4(-126.0)))"}}) {
    std::string sum = ShaderEmitter::literal(static_cast<float>(kCoefficients[0]));
    sum = std::string(type) + "(" + sum + ")";
    for (double coefficient : ArrayRef(kCoefficients).drop_front())
      sum = "fma(" + sum + ", f, " + type + "(" + ShaderEmitter::literal(static_cast<float>(coefficient)) + "))";
    std::string bits =
        std::string(ints) == "int" ? "intBitsToFloat((int(n) + 127) << 23)" : "intBitsToFloat((ivec4(n) + 127) << 23)";
    emitter.declare(llvm::Twine(type) + " weight(" + type + " difference) {\n  precise " + type +
                    " x = difference * LOG2E, n = roundEven(x), f = x - n;\n  precise " + type + " power = " + sum +
                    " * " + bits + ";\n  return " + select + ";\n}");
  }
}

void AttentionShader::forSeenGroups(llvm::function_ref<void()> body) {
  openRounds("chunk", "0", "span");
  emitter.line("if (((seen >> (chunk / WIDTH)) & 1) == 0)");
  emitter.line("  continue;");
  body();
  closeRounds("chunk", "WIDTH", "span");
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void AttentionShader::emitSoftmax() {
  declareWeights();
  openRowPerInvocation();
  emitter.line("if (!(" + hasBit("taking", "i") + "))");
  emitter.line("  continue;");
  emitter.line("int start = i * STRIDE;");
  auto emitFor = [&](ArrayRef<AttentionPass::Work> works, llvm::function_ref<void()> body) {
    auto isOne = [&](const AttentionPass &pass) { return llvm::is_contained(works, pass.work); };
    if (!anyPass(isOne))
      return;
    emitter.open("if (" + inPasses(isOne) + ")");
    body();
    emitter.close();
  };
  emitFor({AttentionPass::Whole, AttentionPass::Sums}, [&] {
    emitRowMaximum();
    emitRowWeights();
  });
  emitFor({AttentionPass::Weights}, [&] { emitFinalWeights(); });
  emitFor({AttentionPass::Writes}, [&] { writeProbabilities(); });
  emitter.close();
}

void AttentionShader::emitRowMaximum() {
  // A NaN need not survive: the weights of its row are NaN anyway.
  emitter.line("vec4 greatest = vec4(" + llvm::Twine(kLowest) + ");");
  forSeenGroups([&] {
    openRounds("k", "chunk / 4", kGroupEnd.str() + " / 4");
    openUnrolled("p", "8");
    emitter.line("vec4 x = scores[start + k + p];");
    emitter.line("greatest = mix(x, greatest, greaterThan(greatest, x));");
    emitter.close();
    closeRounds("k", "8", kGroupEnd.str() + " / 4");
  });
  emitter.line("float maximum = greatest.x > greatest.y ? greatest.x : greatest.y;");
  emitter.line("maximum = maximum > greatest.z ? maximum : greatest.z;");
  emitter.line("maximum = maximum > greatest.w ? maximum : greatest.w;");
}

/// The factors that the new maximum of row i puts on what is there and on what is added.
void AttentionShader::updateFactors() {
  emitter.line("precise float before = maxima[i];");
  emitter.line("precise float merged = before > maximum ? before : maximum;");
  emitter.line("precise float kept_factor = weight(before - merged), added_factor = weight(maximum - merged);");
  emitter.line("maxima[i] = merged;");
  emitter.line("kept_factors[i] = kept_factor;");
  emitter.line("added_factors[i] = added_factor;");
  emitter.line("precise float added_sum = sum * added_factor;");
  emitter.line("sums[i] = fma(sums[i], kept_factor, added_sum);");
}

void AttentionShader::emitRowWeights() {
  // Keys have their place in one of eight sums of four lanes.
  emitter.line("precise vec4 parts[8];");
  openUnrolled("p", "8");
  emitter.line("parts[p] = vec4(0.0);");
  emitter.close();
  forSeenGroups([&] {
    openRounds("k", "chunk / 4", kGroupEnd.str() + " / 4");
    openUnrolled("p", "8");
    emitter.line("precise vec4 difference = scores[start + k + p] - vec4(maximum);");
    if (op.getPvInt8Block()) {
      // Adding 1.5 * 2^23 rounds to units.
      emitter.line("precise vec4 shifted = fma(weight(difference), vec4(127.0), vec4(12582912.0));");
      emitter.line("precise vec4 weights = shifted - vec4(12582912.0);");
    } else {
      emitter.line("vec4 weights = weight(difference);");
    }
    emitter.line("scores[start + k + p] = weights;");
    emitter.line("parts[p] = parts[p] + weights;");
    emitter.close();
    closeRounds("k", "8", kGroupEnd.str() + " / 4");
  });
  for (const char *half : {"4", "2", "1"}) {
    openUnrolled("p", half);
    emitter.line("parts[p] = parts[p] + parts[p + " + llvm::Twine(half) + "];");
    emitter.close();
  }
  emitter.line("precise float left = parts[0].x + parts[0].y, right = parts[0].z + parts[0].w;");
  emitter.line("precise float sum = left + right;");
  updateFactors();
}

void AttentionShader::emitFinalWeights() {
  selectRow("i");
  emitter.line("float maximum = maxima[i], sum = sums[i];");
  forSeenGroups([&] {
    emitter.open("for (int place = chunk; place < min(chunk + WIDTH, (span + 3) / 4 * 4); ++place)");
    loops[Loops::Key] = emitter.let("int", "begin + min(place, span - 1)", "key");
    std::string difference = emitter.let("float", "scores[start + place / 4][place & 3] - maximum");
    std::string probability = emitter.let("float", "weight(" + difference + ") / sum");
    for (bool ofKey : {true, false})
      loadCaptures({&op.getProbability()}, ofKey);
    std::string weight = printRegion(op.getProbability(), probability);
    emitter.line("scores[start + place / 4][place & 3] = place < span ? " + weight + " : 0.0;");
    emitter.close();
  });
  loops[Loops::Key] = "";
  captures.assign(captures.size(), "");
  // Final weights join those of other blocks as they are.
  emitter.line("kept_factors[i] = added_factors[i] = 1.0;");
}

void AttentionShader::writeProbabilities() {
  unsigned result = 1 + op.getHasLse();
  float filling = op.getFullyMasked() == "nan" ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  emitter.open("if (i < count)");
  selectRow("i");
  emitter.line("float maximum = maxima[i], sum = sums[i];");
  emitter.line("bool is_empty = " + hasBit("no_keys", "i") + ";");
  emitter.line("int end = min(BLOCK, " + emitter.bound(Loops::Key) + " - begin);");
  emitter.open("for (int place = 0; place < end; ++place)");
  emitter.line("precise float probability = is_empty ? " + ShaderEmitter::literal(filling) + " : 0.0;");
  // Scores behind the last key were never computed.
  emitter.open("if (place < span && !is_empty)");
  emitter.line("precise float difference = scores[start + place / 4][place & 3] - maximum;");
  emitter.line("probability = weight(difference) / sum;");
  emitter.close();
  loops[Loops::Key] = emitter.let("int", "begin + place", "key");
  emitter.storeResult(result, loops, "probability");
  loops[Loops::Key] = "";
  emitter.close();
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The column of the invocation's group g, and where values are read for it: columns behind the last one read that one.
static void emitColumn(ShaderEmitter &emitter, const std::string &end) {
  emitter.line("int column = columns + (g * LANES + lane) * 4;");
  emitter.line("int at = min(column, (" + end + " - 1) / 4 * 4);");
}

void AttentionShader::emitProducts(bool isExact) {
  if (isExact) {
    // Few rows ever come here: one after the other, which keeps the text short.
    emitter.open("for (int only = 0; only < ROWS; ++only)");
    emitter.line("if (" + ofPeers("((taking >> (row_base + only)) & 1)") + " == 0)");
    emitter.line("  continue;");
  }
  openRounds("columns", "0", endOf(Loops::ValueSize));
  emitter.line(std::string("precise vec4 sum[") + (isExact ? "1" : "ROWS") + "][COLUMNS];");
  openProductRows(isExact);
  openUnrolled("g", "COLUMNS");
  emitter.line("sum[r][g] = vec4(0.0);");
  emitter.close();
  emitter.close();
  if (op.getPvInt8Block())
    emitValueScales();
  emitColumns(isExact);
  joinColumns(isExact);
  closeRounds("columns", "LANES * 4 * COLUMNS", endOf(Loops::ValueSize));
  if (isExact)
    emitter.close();
}

void AttentionShader::openProductRows(bool isExact) {
  openUnrolled("r", isExact ? "1" : "ROWS");
  emitter.line(std::string("int i = row_base + ") + (isExact ? "only;" : "r;"));
}

void AttentionShader::emitValueScales() {
  emitter.declare("vec4 value_codes(vec4 x, vec4 inverses) {\n"
                  "  precise vec4 steps = clamp(x * inverses, vec4(-127.0), vec4(127.0));\n"
                  "  bvec4 finite = lessThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));\n"
                  "  return mix(vec4(uintBitsToFloat(0x7fc00000u)), roundEven(steps), finite);\n}");
  declareDivision();
  emitter.line("precise vec4 value_scales[COLUMNS], value_inverses[COLUMNS];");
  openUnrolled("g", "COLUMNS");
  emitColumn(emitter, endOf(Loops::ValueSize));
  unsigned input = *op.getValueScaleInput();
  std::string start = emitter.let("int", base(plan.getInput(input), Loops::ValueSize), "start");
  emitter.line("value_scales[g] = " + loadFourOfInput(input, Loops::ValueSize, start, "at") + ";");
  openUnrolled("t", "4");
  emitter.line("value_inverses[g][t] = value_scales[g][t] != 0.0 ? divide(1.0, value_scales[g][t]) : 0.0;");
  emitter.close();
  emitter.close();
}

void AttentionShader::emitColumns(bool isExact) {
  forSeenGroups([&] {
    // One key after the other. Those behind the last one weigh 0 and read its values.
    const std::string end = "min(chunk + WIDTH, span + 3) / 4";
    openRounds("k", "chunk / 4", end);
    readValues();
    openProductRows(isExact);
    emitter.line("vec4 w = scores[i * STRIDE + k];");
    openUnrolled("g", "COLUMNS");
    for (int t = 0; t < 4; ++t) {
      std::string lane = "w[" + std::to_string(t) + "]";
      emitter.line((isExact ? "if (" + lane + " != 0.0) " : "") + "sum[r][g] = fma(vec4(" + lane + "), v[" +
                   std::to_string(t) + "][g], sum[r][g]);");
    }
    emitter.close();
    emitter.close();
    closeRounds("k", "1", end);
  });
}

void AttentionShader::readValues() {
  emitter.line("precise vec4 own[4 * COLUMNS / PEERS], v[4][COLUMNS];");
  openUnrolled("j", "4 * COLUMNS / PEERS");
  emitter.line("int number = j * PEERS + peer, g = number % COLUMNS;");
  loops[Loops::Key] = emitter.let("int", "begin + min(4 * k + number / COLUMNS, span - 1)", "key");
  std::string start = emitter.let("int", base(plan.getInput(2), Loops::ValueSize), "start");
  emitColumn(emitter, endOf(Loops::ValueSize));
  std::string values = loadFourOfInput(2, Loops::ValueSize, start, "at");
  emitter.line("own[j] = " + (op.getPvInt8Block() ? "value_codes(" + values + ", value_inverses[g])" : values) + ";");
  emitter.close();
  loops[Loops::Key] = "";
  openUnrolled("t", "4");
  openUnrolled("g", "COLUMNS");
  emitter.line("v[t][g] = " + exchange("own", "(t * COLUMNS + g)") + ";");
  emitter.close();
  emitter.close();
}

void AttentionShader::joinColumns(bool isExact) {
  openProductRows(isExact);
  if (stateVectors) {
    joinOwnColumns(isExact);
    emitter.close();
    return;
  }
  emitter.open("if (i < count && " + hasBit("taking", "i") + ")");
  selectRow("i");
  // The states of a part are at its number, where weights and outputs have none.
  loops[Loops::Key] = part;
  std::string start = emitter.let("int", base(plan.getResult(0), Loops::ValueSize), "start");
  emitter.line("float kept_factor = kept_factors[i], added_factor = added_factors[i];");
  openUnrolled("g", "COLUMNS");
  emitter.line("int column = columns + (g * LANES + lane) * 4;");
  emitter.open("if (column < " + endOf(Loops::ValueSize) + ")");
  emitter.line(std::string("precise vec4 added = sum[r][g]") + (op.getPvInt8Block() ? " * value_scales[g];" : ";"));
  joinState(start, isExact);
  loops[Loops::Key] = "";
  emitter.close();
  emitter.close();
  emitter.close();
  emitter.close();
}

void AttentionShader::joinOwnColumns(bool isExact) {
  // Without a branch: drivers take long to compile many of them.
  emitter.line("bool takes = i < count && " + hasBit("taking", "i") + ";");
  emitter.line("float kept_factor = kept_factors[i], added_factor = added_factors[i];");
  openUnrolled("g", "COLUMNS");
  emitter.line("int place = i * STATES + columns / (4 * COLUMNS);");
  emitter.line("vec4 stands = states[g][place];");
  emitter.line("precise vec4 before = is_first ? vec4(0.0) : stands;");
  emitter.line(std::string("precise vec4 added = sum[r][g]") + (op.getPvInt8Block() ? " * value_scales[g];" : ";"));
  printJoin(isExact);
  emitter.line("nan_rows |= int(takes && has_nan(joined)) << i;");
  emitter.line("states[g][place] = takes ? joined : stands;");
  emitter.close();
}

void AttentionShader::printJoin(bool isExact) {
  emitter.declare("bool has_nan(vec4 x) {\n  ivec4 magnitudes = floatBitsToInt(x) & 0x7fffffff;\n"
                  "  return any(greaterThan(magnitudes, ivec4(0x7f800000)));\n}");
  if (isExact) {
    emitter.line("before = kept_factor != 0.0 ? before : vec4(0.0);");
    emitter.line("added = added_factor != 0.0 ? added : vec4(0.0);");
  }
  emitter.line("precise vec4 scaled = added * added_factor;");
  emitter.line("precise vec4 joined = fma(before, vec4(kept_factor), scaled);");
}

void AttentionShader::joinState(const std::string &start, bool isExact) {
  emitter.line("precise vec4 before = vec4(0.0);");
  emitter.open("if (!is_first)");
  emitter.line("before = " + loadState(start) + ";");
  emitter.close();
  printJoin(isExact);
  emitter.line("if (has_nan(joined))");
  emitter.line("  nan_rows |= 1 << i;");
  storeState(start, "joined");
}

std::string AttentionShader::loadState(const std::string &start) {
  if (stateVectors)
    return "states[g][i * STATES + column / (4 * COLUMNS)]";
  return loadFour(plan.getResultBinding(0), plan.getResult(0), Loops::ValueSize, start, "column");
}

void AttentionShader::storeState(const std::string &start, const std::string &value) {
  if (stateVectors)
    emitter.line(loadState(start) + " = " + value + ";");
  else
    storeFour(start, "column", value);
}

} // namespace heddle::vulkan
