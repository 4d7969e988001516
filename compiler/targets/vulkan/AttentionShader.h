// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention's tile of query rows, taken through the keys in blocks of constant length. Of a block first the scores
// of all rows are computed and stored; then their weights replace them; then weights and values multiply, and the
// block's sums join what stands in the result. A tile is an invocation's, which has its scores for itself: no barriers.
// Or it is a workgroup's, whose invocations share out keys, rows and columns in turn, by way of shared memory.
//
// What a row gives depends on its own keys alone: see compiler/targets/cpu/EmitAttention.cpp, whose sums and rules
// these are. Sums of weights have eight parts by the key's place in the block, whatever the workgroup's size.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_ATTENTIONSHADER_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_ATTENTIONSHADER_H

#include "compiler/targets/common/ProbabilityRegion.h"
#include "compiler/targets/vulkan/ShaderEmitter.h"

namespace heddle::vulkan {

/// Keys of a block of |op|.
int64_t getAttentionBlock(kernel::AttentionOp op);
/// Forms: tiles of invocations, tiles of workgroups.
inline constexpr llvm::StringLiteral kPrivateAttention = "private", kSharedAttention = "shared";
/// Keys of a group: what no row sees of a block is skipped by groups. A whole number of steps, which are the keys that
/// an invocation's neighbours and itself have at a time.
inline constexpr int64_t kAttentionGroup = 64;
/// Shared memory of a workgroup with |rows| rows in the form that shares them.
int64_t getAttentionSharedBytes(kernel::AttentionOp op, int64_t rows);

/// Keys of the block behind those of the group that `chunk` begins which have scores: whole parts of sums.
inline constexpr llvm::StringLiteral kGroupEnd = "min(chunk + WIDTH, (span + 31) / 32 * 32)";

/// What the passes over the keys do, one after the other.
struct AttentionPass {
  enum Work {
    Whole,   ///< weights by the running maximum, products with the values
    Sums,    ///< maxima and sums alone
    Weights, ///< weights by the final maximum and sum through the probability region, products with the values
    Writes,  ///< probabilities by the final maximum and sum, as a result
  };
  enum Rows { All, Literal, Exact, LiteralExact, NotLiteral, EverLiteral };
  Work work;
  Rows rows;
  bool masks;   ///< mask region and tests of groups; without it all keys below kv_len take part
  bool isExact; ///< values of keys that weigh 0 are not read
};

class AttentionShader {
public:
  /// |sharesRows|: the invocations of a workgroup have all rows of its tile in common, and share out keys and columns;
  /// else each has rows of its own.
  AttentionShader(ShaderEmitter &emitter, bool sharesRows);

  mlir::LogicalResult emit();

private:
  using Loops = kernel::AttentionOp;

  //===--- Rows and operands (AttentionShader.cpp) -------------------------===//
  void declareState();
  void emitIndices();
  /// Makes the row |i| of the tile, or for one behind the last row that one, the current row of |loops|.
  void selectRow(const std::string &i);
  /// Does |input| have whole vectors of four neighbours along |loop|, everywhere?
  bool isVector(const Access &access, unsigned loop);
  /// Address of |access| at the current loops, 0 along |loop|: the base of loads of four.
  std::string base(const Access &access, unsigned loop);
  /// Elements |at| to |at| + 3 along |loop|, 0 for those behind its end, as a vec4 expression. |at| exists.
  std::string loadFour(unsigned operand, const Access &access, unsigned loop, const std::string &base,
                       const std::string &at);
  std::string loadFourOfInput(unsigned input, unsigned loop, const std::string &base, const std::string &at) {
    return loadFour(plan.bindings[input], plan.getInput(input), loop, base, at);
  }
  void storeFour(const std::string &base, const std::string &at, const std::string &value);
  std::string endOf(unsigned loop) { return emitter.bound(loop); }
  /// |bits| of row |row|.
  static std::string hasBit(const std::string &bits, const std::string &row) {
    return "((" + bits + " >> " + row + ") & 1) != 0";
  }
  /// Nothing where invocations have nothing in common.
  void barrier() {
    if (sharesRows)
      emitter.line("barrier();");
  }
  void openUnrolled(const std::string &variable, const std::string &count);
  /// A loop over the rows that the invocation multiplies, numbers r of its own and i of the tile.
  void openRows(bool isUnrolled = true);
  /// A loop over the rows i of the tile whose state the invocation updates, and one over all.
  void openRowPerInvocation();
  void openTile();
  /// Empties the set of rows that all invocations add to, and makes of |marks|, an invocation's own, all of theirs.
  void resetMarks();
  void joinMarks(const std::string &marks);

  //===--- Passes (EmitAttention.cpp) ---------------------------------------===//
  void planPasses();
  /// An expression that is true in the passes of which |test| holds; "false" or "true" where it is in none or all.
  std::string inPasses(llvm::function_ref<bool(const AttentionPass &)> test);
  bool anyPass(llvm::function_ref<bool(const AttentionPass &)> test) { return llvm::any_of(passes, test); }
  /// Groups of keys that no row sees matter all the same.
  bool seesHiddenKeys(const AttentionPass &pass) const;
  void emitPass();
  void emitBlocks();
  void emitBlock(const std::string &writes);
  void mergeParts(const std::string &parts);
  void judgeRows();
  void judgeEmptyRows();
  void findKeptRows();
  void finishRows();
  void finishPart();
  bool mayBeLiteral() { return hasMask && op.getFullyMasked() == "literal"; }

  //===--- Regions (AttentionRegions.cpp) -----------------------------------===//
  /// Loads what |regions| read of captures: with |ofKey| those that no row changes, else the others.
  void loadCaptures(llvm::ArrayRef<mlir::Region *> regions, bool ofKey);
  std::string printRegion(mlir::Region &region, const std::string &leading);
  /// Emits the test of a group of keys from |low| to |high|: names of bools that say whether any row of the tile may
  /// see any of them, and whether all see all.
  std::pair<std::string, std::string> testGroup(const std::string &low, const std::string &high);
  /// Reads what is the same for the whole workgroup.
  void loadUniformCaptures();

  //===--- Scores (AttentionScores.cpp) -------------------------------------===//
  void emitScores();
  void emitDots();
  /// divide(), whose quotients are rounded as IEEE 754 asks.
  void declareDivision();
  void emitKeyScales();
  void emitQueryScales();
  void scaleDots();
  void addScoreRegions();
  void finishScores(bool masked);
  /// Replaces |score|, an lvalue, by the regions' result at the current row and key.
  void finishScore(const std::string &score, bool masked);
  void storeScores();

  //===--- Weights and values (AttentionWeights.cpp) -------------------------===//
  void declareWeights();
  void emitSoftmax();
  void emitRowMaximum();
  void emitRowWeights();
  void updateFactors();
  void emitFinalWeights();
  void writeProbabilities();
  void emitProducts();
  void emitColumns(bool isExact);
  void joinColumns();
  /// Joins `added`, four columns from `column` on of row i, with what stands in the result, whose row is at |start|.
  void joinState(const std::string &start);

  ShaderEmitter &emitter;
  const bool sharesRows;
  const ShaderPlan &plan;
  kernel::AttentionOp op;
  const int64_t block;
  const bool hasMask;
  std::optional<ProbabilityRegion> probability;
  llvm::SmallVector<AttentionPass> passes;
  /// Names of the current indices of the root's loops.
  llvm::SmallVector<std::string> loops;
  /// Names of the captures' values, empty where they aren't loaded; those that are the same in the whole workgroup.
  llvm::SmallVector<std::string> captures, uniformCaptures;
  std::string scale; // empty where it is 1
  std::string part;  // of the workgroup, where parts are given
  mlir::LogicalResult status = mlir::success();
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_ATTENTIONSHADER_H
