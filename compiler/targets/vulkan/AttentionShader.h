// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention's tile of query rows, taken through the keys in blocks of constant length. Of a block first the scores
// of all rows are computed and stored; then their weights replace them; then weights and values multiply, and the
// block's sums join those of the blocks before. A tile is an invocation's, which has its scores for itself: no
// barriers. Where the invocations of a workgroup are one subgroup, each reads a part of the keys and values that all of
// them need and hands it to its peers. Or a tile is a workgroup's, whose invocations share out keys, rows and columns
// in turn, by way of shared memory.
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
/// Forms: tiles of invocations, tiles of invocations that exchange what they read, tiles of workgroups.
inline constexpr llvm::StringLiteral kPrivateAttention = "private", kSubgroupAttention = "subgroup",
                                     kSharedAttention = "shared";
/// Invocations of a workgroup that exchanges: all of them are in one subgroup.
inline constexpr int64_t kAttentionPeers = 8;
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
  AttentionShader(ShaderEmitter &emitter, llvm::StringRef form);

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
  /// A loop whose test follows its body. Drivers that run shaders on CPUs end a loop once no invocation is left in it,
  /// and see that behind the body alone: one that is tested first goes through its body once more, for nobody.
  void openRounds(const std::string &variable, const std::string &begin, const std::string &end);
  void closeRounds(const std::string &variable, const std::string &step, const std::string &end);
  /// Item |number| of what the invocations of a subgroup read in turn, each into an array |own| of its own.
  std::string exchange(const std::string &own, const std::string &number);
  /// |bits|, an int, of all invocations that exchange: where one goes, all must go.
  std::string ofPeers(const std::string &bits);
  /// A loop over the rows that the invocation multiplies, numbers r of its own and i of the tile.
  void openRows(bool isUnrolled = true);
  /// A loop over the rows i of the tile whose state the invocation updates, and one over all.
  void openRowPerInvocation();
  void openTile();
  /// A loop over every fourth `column` that the invocation has of a row, with its number g in a step where states are
  /// its own.
  void openColumns();
  void closeColumns();
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
  /// Emits the step to the next pass that has rows; behind the last one |taking| are none.
  void findNextPass();
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
  /// Numbers of the captures that |regions| read: with |ofKey| those that no row changes, else the others.
  llvm::SmallVector<unsigned> findCaptures(llvm::ArrayRef<mlir::Region *> regions, bool ofKey);
  llvm::StringRef captureType(unsigned number);
  /// Loads each its share of what no row changes, for the keys of a step; hands |key| of them, a number, to all.
  void readKeyCaptures(llvm::ArrayRef<mlir::Region *> regions);
  void exchangeCaptures(llvm::ArrayRef<mlir::Region *> regions, const std::string &key);
  /// Loads what |regions| read of these captures.
  void loadCaptures(llvm::ArrayRef<mlir::Region *> regions, bool ofKey);
  std::string printRegion(mlir::Region &region, const std::string &leading);
  /// Emits the test of a group of keys from |low| to |high|: names of bools that say whether any row of the tile may
  /// see any of them, and whether all see all.
  std::pair<std::string, std::string> testGroup(const std::string &low, const std::string &high);
  /// Reads what is the same for the whole workgroup.
  void loadUniformCaptures();

  //===--- Scores (AttentionScores.cpp) -------------------------------------===//
  void emitScores();
  void readQueries();
  void emitDots();
  /// divide(), whose quotients are rounded as IEEE 754 asks.
  void declareDivision();
  void emitKeyScales();
  void emitQueryScales();
  void scaleDots();
  /// |mayDropMask|: there may be groups of keys that all rows see.
  void addScoreRegions(bool mayDropMask);
  void finishScores(bool masked, bool isStored);
  /// Replaces |score|, an lvalue, by the regions' result at the current row and key.
  void finishScore(const std::string &score, bool masked);
  void storeScores();

  //===--- Weights and values (AttentionWeights.cpp) -------------------------===//
  void declareWeights();
  /// Runs |body| for the groups of the block that have scores; `chunk` is where one begins.
  void forSeenGroups(llvm::function_ref<void()> body);
  void emitSoftmax();
  void emitRowMaximum();
  void emitRowWeights();
  void updateFactors();
  void emitFinalWeights();
  void writeProbabilities();
  void emitProducts(bool isExact);
  void openProductRows(bool isExact);
  void emitValueScales();
  void emitColumns(bool isExact);
  void readValues();
  void joinColumns(bool isExact);
  /// The same where the state is the invocation's own.
  void joinOwnColumns(bool isExact);
  /// Declares `joined`, of `before` and `added`.
  void printJoin(bool isExact);
  /// Joins `added`, four columns from `column` on of row i, with the state before, in a result whose row is at |start|.
  void joinState(const std::string &start, bool isExact);
  std::string loadState(const std::string &start);
  void storeState(const std::string &start, const std::string &value);

  ShaderEmitter &emitter;
  /// The invocations of a workgroup have all rows of its tile in common, and share out keys and columns; else each has
  /// rows of its own.
  const bool sharesRows;
  /// The invocations of a workgroup share out what all of them read.
  const bool exchanges;
  const ShaderPlan &plan;
  kernel::AttentionOp op;
  const int64_t block;
  /// Vectors of four numbers of a row's query and of its sums that an invocation has for itself; 0 where it reads them
  /// from the query, has them in the result.
  int64_t queryVectors = 0, stateVectors = 0;
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
