// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of a tile's rows by one block of keys. An invocation multiplies all of its rows with some keys, four
// neighbours at a time, so that what it reads of a key serves all of them. A hidden key's score is -infinity.

#include "compiler/targets/common/SingleMath.h"
#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace heddle::vulkan {

static const std::string kMinusInfinity = ShaderEmitter::literal(-std::numeric_limits<float>::infinity());

/// Regions whose text, once for each score that an invocation holds, would take long to compile.
static bool isLongRegion(Region &region) {
  constexpr unsigned kMostOps = 12;
  auto isLong = [](Operation &op) {
    return isa<kernel::GatherOp>(op) || isa_and_nonnull<math::MathDialect>(op.getDialect());
  };
  return region.front().getOperations().size() > kMostOps || llvm::any_of(region.front(), isLong);
}

/// Yields its first argument.
static bool isTrivial(Region &region) {
  return region.front().getTerminator()->getOperand(0) == region.front().getArgument(0);
}

void AttentionShader::emitScores() {
  openRounds("chunk", "0", "span");
  bool mayDropMask = true;
  if (hasMask) {
    emitter.line("bool may = true, all = false;");
    emitter.open("if (" + inPasses([](const AttentionPass &pass) { return pass.masks; }) + ")");
    std::string low = emitter.let("int", "begin + chunk", "low");
    std::string high = emitter.let("int", "begin + min(chunk + WIDTH, span) - 1", "high");
    auto [may, all] = testGroup(low, high);
    mayDropMask = all != "false";
    if (may != "true")
      emitter.line("may = " + (exchanges ? ofPeers("int(" + may + ")") + " != 0" : may) + ";");
    if (mayDropMask)
      emitter.line("all = " + (exchanges ? ofPeers("int(!" + all + ")") + " == 0" : all) + ";");
    emitter.close();
    emitter.line("if (!may && !(" + inPasses([&](const AttentionPass &pass) { return seesHiddenKeys(pass); }) + "))");
    emitter.line("  continue;");
  }
  emitter.line("seen |= 1 << (chunk / WIDTH);");
  openRounds("start", "chunk", kGroupEnd.str());
  emitDots();
  addScoreRegions(mayDropMask);
  closeRounds("start", "STEP", kGroupEnd.str());
  closeRounds("chunk", "WIDTH", "span");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void AttentionShader::readQueries() {
  emitter.open("for (int i = 0; i < TILE; ++i)");
  selectRow("i");
  std::string start = emitter.let("int", base(plan.getInput(0), Loops::HeadSize), "start");
  openRounds("d", "0", endOf(Loops::HeadSize));
  std::string query = loadFourOfInput(0, Loops::HeadSize, start, "d");
  emitter.line("queries[i * " + llvm::Twine(queryVectors) +
               " + d / 4] = " + (op.getQkInt8() ? "codes_of(" + query + ", query_inverses[i])" : query) + ";");
  closeRounds("d", "4", endOf(Loops::HeadSize));
  emitter.close();
}

void AttentionShader::emitDots() {
  // 1. Where rows and keys begin. A key behind the last one reads that one.
  emitter.line("precise vec4 s[ROWS][GROUPS];");
  openRows();
  openUnrolled("g", "GROUPS");
  emitter.line("s[r][g] = vec4(0.0);");
  emitter.close();
  emitter.close();
  emitter.declare("const int READS = 4 * GROUPS / PEERS;"); // keys that an invocation reads of those of a step
  emitter.line("int keys[READS], key_bases[READS], query_bases[ROWS];");
  openUnrolled("j", "READS");
  emitter.line("int number = j * PEERS + peer;");
  emitter.line("keys[j] = begin + min(start + ((number / 4) * LANES + lane) * 4 + number % 4, span - 1);");
  loops[Loops::Key] = "keys[j]";
  emitter.line("key_bases[j] = " + base(plan.getInput(1), Loops::HeadSize) + ";");
  emitter.close();
  if (!queryVectors) {
    openRows();
    selectRow("i");
    emitter.line("query_bases[r] = " + base(plan.getInput(0), Loops::HeadSize) + ";");
    emitter.close();
  }
  if (op.getQkInt8())
    emitKeyScales();
  // 2. The loop over the head size, of all products in ascending order.
  openRounds("d", "0", endOf(Loops::HeadSize));
  emitter.line("precise vec4 own[READS], k[4 * GROUPS];");
  openUnrolled("j", "READS");
  std::string key = loadFourOfInput(1, Loops::HeadSize, "key_bases[j]", "d");
  emitter.line("own[j] = " + (op.getQkInt8() ? "codes_of(" + key + ", key_inverses[j])" : key) + ";");
  emitter.close();
  openUnrolled("j", "4 * GROUPS");
  emitter.line("k[j] = " + exchange("own", "j") + ";");
  emitter.close();
  openRows();
  if (queryVectors) {
    emitter.line("vec4 q = queries[i * " + llvm::Twine(queryVectors) + " + d / 4];");
  } else {
    if (!isVector(plan.getInput(0), Loops::HeadSize))
      selectRow("i");
    std::string query = loadFourOfInput(0, Loops::HeadSize, "query_bases[r]", "d");
    emitter.line("precise vec4 q = " + (op.getQkInt8() ? "codes_of(" + query + ", query_inverses[i])" : query) + ";");
  }
  openUnrolled("g", "GROUPS");
  for (const char *c : {"x", "y", "z", "w"}) {
    std::string keys = "vec4(";
    for (int t = 0; t < 4; ++t)
      keys += (t ? ", k[4 * g + " : "k[4 * g + ") + std::to_string(t) + "]." + c;
    emitter.line("s[r][g] = fma(vec4(q." + llvm::Twine(c) + "), " + keys + "), s[r][g]);");
  }
  emitter.close();
  emitter.close();
  closeRounds("d", "4", endOf(Loops::HeadSize));
  loops[Loops::Key] = "";
  scaleDots();
}

void AttentionShader::scaleDots() {
  if (!op.getQkInt8() && scale.empty())
    return;
  openRows();
  openUnrolled("g", "GROUPS");
  if (op.getQkInt8()) {
    std::string keys = "vec4(";
    for (int t = 0; t < 4; ++t)
      keys += (t ? ", key_scales[4 * g + " : "key_scales[4 * g + ") + std::to_string(t) + "]";
    // Attention's own scale is in the queries'.
    std::string factors = emitter.let("vec4", "vec4(query_scales[i]) * " + keys + ")", "factors");
    emitter.line("s[r][g] = s[r][g] * " + factors + ";");
  } else {
    emitter.line("s[r][g] = s[r][g] * vec4(" + scale + ");");
  }
  emitter.close();
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

void AttentionShader::declareDivision() {
  // Codes are the same on every device, whose own quotients may be some units off.
  emitter.declareFunction("float divide(float x, float y)", [&] {
    Region division;
    Block &body = division.emplaceBlock();
    OpBuilder b(op.getContext());
    b.setInsertionPointToStart(&body);
    Value x = body.addArgument(b.getF32Type(), op.getLoc()), y = body.addArgument(b.getF32Type(), op.getLoc());
    b.create<kernel::YieldOp>(op.getLoc(), buildDivide32(FloatMath(b, op.getLoc(), b.getF32Type()), x, y));
    auto yielded = RegionPrinter(emitter, loops).print(division, {"x", "y"});
    assert(succeeded(yielded) && "arithmetic has a form in GLSL");
    return yielded->front();
  });
}

/// Functions of a row's scale from the bits of its greatest magnitude, where what isn't finite is the greatest.
static void declareCodes(ShaderEmitter &emitter) {
  emitter.declare("vec4 codes_of(vec4 x, float inverse) {\n  precise vec4 steps = x * inverse;\n"
                  "  return roundEven(steps);\n}");
  emitter.declare("uint greatest_of(uint greatest, vec4 x) {\n  uvec4 bits = floatBitsToUint(x) & 0x7fffffffu;\n"
                  "  return max(greatest, max(max(bits.x, bits.y), max(bits.z, bits.w)));\n}");
  // Codes of rows with a scale of NaN don't matter.
  emitter.declare("void scale_of(uint greatest, out float scale, out float inverse) {\n"
                  "  float magnitude = uintBitsToFloat(greatest);\n"
                  "  precise float step = greatest < 0x7f800000u ? divide(magnitude, 127.0) : 1.0;\n"
                  "  step = step < " +
                  ShaderEmitter::literal(std::numeric_limits<float>::min()) +
                  " ? 1.0 : step;\n"
                  "  inverse = divide(1.0, step);\n"
                  "  scale = greatest < 0x7f800000u ? step : uintBitsToFloat(0x7fc00000u);\n}");
}

void AttentionShader::emitQueryScales() {
  declareDivision();
  declareCodes(emitter);
  openRowPerInvocation();
  selectRow("i");
  std::string start = emitter.let("int", base(plan.getInput(0), Loops::HeadSize), "start");
  emitter.line("uint greatest = 0u;");
  emitter.open("for (int d = 0; d < " + emitter.bound(Loops::HeadSize) + "; d += 4)");
  emitter.line("greatest = greatest_of(greatest, " + loadFourOfInput(0, Loops::HeadSize, start, "d") + ");");
  emitter.close();
  emitter.line("precise float step, inverse;");
  emitter.line("scale_of(greatest, step, inverse);");
  emitter.line("query_scales[i] = " + (scale.empty() ? "step" : "step * " + scale) + ";");
  emitter.line("query_inverses[i] = inverse;");
  emitter.close();
  barrier();
}

void AttentionShader::emitKeyScales() {
  emitter.line("precise float own_scales[READS], key_inverses[READS], key_scales[4 * GROUPS];");
  openUnrolled("j", "READS");
  emitter.line("uint greatest = 0u;");
  emitter.open("for (int d = 0; d < " + emitter.bound(Loops::HeadSize) + "; d += 4)");
  emitter.line("greatest = greatest_of(greatest, " + loadFourOfInput(1, Loops::HeadSize, "key_bases[j]", "d") + ");");
  emitter.close();
  emitter.line("scale_of(greatest, own_scales[j], key_inverses[j]);");
  emitter.close();
  openUnrolled("j", "4 * GROUPS");
  emitter.line("key_scales[j] = " + exchange("own_scales", "j") + ";");
  emitter.close();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void AttentionShader::addScoreRegions(bool mayDropMask) {
  // Long regions exist once, and take scores from where they are stored.
  bool isStored = isLongRegion(op.getScore()) || isLongRegion(op.getMask());
  if (isStored)
    storeScores();
  // Where all keys exist and all rows see them there is nothing to mask. Drivers that run shaders on CPUs go through
  // both branches, so one that no group can take is left out.
  std::string plain = !hasMask ? "start + STEP <= span" : mayDropMask ? "all && start + STEP <= span" : "false";
  if (!isTrivial(op.getScore()) && mayDropMask) {
    emitter.open("if (" + plain + ")");
    finishScores(/*masked=*/false, isStored);
    emitter.close();
  }
  emitter.open("if (!(" + plain + "))");
  finishScores(/*masked=*/true, isStored);
  emitter.close();
  if (!isStored)
    storeScores();
}

void AttentionShader::finishScores(bool masked, bool isStored) {
  SmallVector<Region *> regions = {&op.getScore()};
  if (masked && hasMask)
    regions.push_back(&op.getMask());
  auto open = [&](const std::string &variable, const std::string &count) {
    if (isStored)
      emitter.open("for (int " + variable + " = 0; " + variable + " < " + count + "; ++" + variable + ")");
    else
      openUnrolled(variable, count);
  };
  // A loop that isn't unrolled would shuffle by numbers that no compiler knows.
  bool handsOver = exchanges && !isStored;
  if (handsOver)
    readKeyCaptures(regions);
  open("g", "GROUPS");
  open("t", "4");
  emitter.line("int place = start + (g * LANES + lane) * 4 + t;");
  loops[Loops::Key] = emitter.let("int", masked ? "begin + min(place, span - 1)" : "begin + place", "key");
  if (handsOver)
    exchangeCaptures(regions, "(4 * g + t)");
  else
    loadCaptures(regions, /*ofKey=*/true);
  openRows(/*isUnrolled=*/!isStored);
  selectRow("i");
  loadCaptures(regions, /*ofKey=*/false);
  finishScore(isStored ? "scores[i * STRIDE + place / 4][t]" : "s[r][g][t]", masked);
  for (int loop = 0; loop < 3; ++loop)
    emitter.close();
  loops[Loops::Key] = "";
  captures.assign(captures.size(), "");
}

void AttentionShader::finishScore(const std::string &score, bool masked) {
  std::string dot = emitter.let("float", score, "dot");
  std::string result = printRegion(op.getScore(), dot);
  if (masked) {
    std::string kept = "place < span";
    if (hasMask) {
      std::string mask = printRegion(op.getMask(), "");
      std::string masks = inPasses([](const AttentionPass &pass) { return pass.masks; });
      kept += masks == "true" ? " && " + mask : " && (" + mask + " || !(" + masks + "))";
    }
    result = kept + " ? " + result + " : " + kMinusInfinity;
  }
  emitter.line(score + " = " + result + ";");
}

void AttentionShader::storeScores() {
  openRows();
  openUnrolled("g", "GROUPS");
  emitter.line("scores[i * STRIDE + start / 4 + g * LANES + lane] = s[r][g];");
  emitter.close();
  emitter.close();
}

} // namespace heddle::vulkan
