// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code generation does with one kernel.func, decided before any code exists: merged loops, the vectorised loop,
// work items, scratch. A pure function of the kernel and its #kernel.lowering_config, so that the program that
// dispatches the kernel and the code of the kernel read the same numbers.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_KERNELPLAN_H
#define HEDDLE_COMPILER_TARGETS_CPU_KERNELPLAN_H

#include "compiler/targets/common/KernelAccess.h"

namespace heddle::cpu {

/// Lanes of every vector that is generated, whatever the element type and the target (LLVM splits them).
inline constexpr int64_t kLanes = 16;

/// Keys of #kernel.lowering_config; CpuConfig.cpp explains and writes them, code generation reads them.
namespace config {
inline constexpr llvm::StringLiteral kRowTile = "row_tile";
inline constexpr llvm::StringLiteral kColumnVectors = "column_vectors";
inline constexpr llvm::StringLiteral kRowsPerItem = "rows_per_item";
inline constexpr llvm::StringLiteral kSplitRowTail = "split_row_tail";
inline constexpr llvm::StringLiteral kFewRows = "few_rows";
inline constexpr llvm::StringLiteral kFewRowVectors = "few_row_vectors";
inline constexpr llvm::StringLiteral kPrefetchRows = "prefetch_rows";
inline constexpr llvm::StringLiteral kPrefetchFewRows = "prefetch_few_rows";
inline constexpr llvm::StringLiteral kGroupsPerItem = "groups_per_item";
inline constexpr llvm::StringLiteral kVectorBits = "vector_bits";
inline constexpr llvm::StringLiteral kMultiplier = "multiplier";
inline constexpr llvm::StringLiteral kValueMultiplier = "value_multiplier";
inline constexpr llvm::StringLiteral kByteDots = "vpdpbusd", kSafePairs = "vpmaddubsw", kWords = "vpmaddwd";
inline constexpr llvm::StringLiteral kBranchMasks = "branch_masks";
inline constexpr llvm::StringLiteral kElementsPerItem = "elements_per_item";
inline constexpr llvm::StringLiteral kVectorsPerItem = "vectors_per_item";
inline constexpr llvm::StringLiteral kAccumulators = "accumulators";
inline constexpr llvm::StringLiteral kGrainWork = "grain_work";
inline constexpr llvm::StringLiteral kBlockQ = "block_q";
inline constexpr llvm::StringLiteral kBlockKv = "block_kv";
/// Configs for few rows, ascending; the entries beside them are for more. Each has most_rows and its own config.
inline constexpr llvm::StringLiteral kBuckets = "buckets", kMostRows = "most_rows", kBucketConfig = "config";
} // namespace config

/// Work items of a kernel: all combinations of the digits, the last one fastest.
struct ItemSpace {
  llvm::SmallVector<mlir::AffineExpr> digits; // over the kernel's size symbols
  mlir::AffineExpr workPerItem;               // elements, or multiply-adds of a contraction
  mlir::AffineExpr scratchBytes;              // per thread
};

/// How a contraction's factors multiply; ContractMultiply.cpp has the instructions.
enum class Multiplier {
  Floats,
  BytesOfWeights,     // floats with the right side's bytes
  HalfBytesOfWeights, // floats with the right side's half bytes, by scales of blocks
  PairsOfBf16,        // the left side is rounded to pairs as it is copied
  ByteDots,           // u8 x s8, four k at once
  SafePairs,          // the same where no pair of k exceeds 16 bits
  Words,              // any u8 x s8 as 16 bits, which the left side is widened to as it is copied
};

/// What becomes of the left side's rows before they multiply: they are read in place, or copied to scratch.
enum class LhsCopy { None, Floats, PairsOfBf16, Bytes, Words };

/// How a contraction's operands are read and its tiles are cut.
struct ContractPlan {
  bool packedRhs = false;
  Multiplier multiplier = Multiplier::Floats;
  /// Neighbours of k that one step of the loop multiplies.
  int64_t stepDepth = 1;
  /// Width of the vectors that intrinsics on bytes, half bytes and words take.
  int64_t vectorBits = 0;
  /// Steps of the loop over k that share a scale; 0 where there are no such scales.
  int64_t blockSteps = 0;
  unsigned panelLoops[3] = {}; // loop numbers of m, n, k after merging
  int64_t rowTile = 0, columnVectors = 0, rowsPerItem = 0;
  /// Products of up to |fewRows| rows with a packed right side: their items take |fewRowVectors| panels.
  int64_t fewRows = 0, fewRowVectors = 0;
  /// Items of at least |prefetchRows| rows fetch the panels of the next one; none do where it is 0.
  int64_t prefetchRows = 0;
  /// So do items of up to |fewRows| rows.
  bool prefetchesFewRows = false;
  /// Groups of |columnVectors| panels that an item of many rows multiplies: what is copied is copied once for them.
  int64_t groupsPerItem = 1;
  LhsCopy lhsCopy = LhsCopy::None;
  /// Words of 32 bits that a copied row takes, and from its even to its odd pairs.
  mlir::AffineExpr copiedRowWords, oddWords;
};

/// How an attention's items, tiles and scratch are cut. A row is a query of one head; an item holds |blockQ| queries of
/// all |heads| heads that share keys.
struct AttentionPlan {
  int64_t rowTile = 0, columnVectors = 0, blockQ = 0, blockKv = 0;
  /// Query heads of a group that one item handles: all of them, or one where their number is a run-time size.
  int64_t heads = 1;
  bool headsAreDigit = false;
  /// The query is copied to scratch first, because its address isn't linear in the head size; the value, because its
  /// head size isn't of unit stride.
  bool copyQuery = false, copyValue = false;
  /// Items of a single tile of rows take the keys as they lie and transpose them in registers: nothing would read
  /// packed ones twice. Only kernels for few rows have code for it.
  bool readsKeys = false;
  /// Queries and keys multiply as codes of 8 bits by a scale for each of their rows.
  bool quantizes = false;
  /// Neighbours along the head size that multiply at once, and share a word of 32 bits: four codes as bytes, two as 16
  /// bits, or a float.
  int64_t perWord = 1;
  /// Weights and values multiply as codes of 8 bits, four keys at once: by one instruction, or as pairs, which never
  /// exceed 16 bits.
  bool codesValues = false, hasValueDots = false;
  /// Width of the vectors that the instructions of codes take.
  int64_t vectorBits = 0;
  /// Floats of scratch from one packed key, or copied query, to the next.
  mlir::AffineExpr rowDepth;
  /// For codes, places in scratch: 16 keys before they are quantised; a scale for each row of the item and each key of
  /// the block; of bytes -128 times the sum of each key's codes, since a query's bytes are its codes + 128.
  mlir::AffineExpr staged, queryScales, keyScales, keyOffsets;
  /// For codes of values, places in scratch: the scale of each column and its inverse; the bits of the greatest
  /// magnitude among the block's values.
  mlir::AffineExpr valueScales, valueInverses, valueBits;
  /// Places in scratch, in floats: packed keys, copied values (of codes a word for four keys) and queries, a tile's
  /// scores, and per row of the item the output so far, the greatest score, the sum of weights and what becomes of the
  /// row; per row of a tile the factors by which what came before and what a block adds join, the block's maximum, and
  /// 16 partial sums; per group of keys a GroupClass.
  mlir::AffineExpr values, queries, scores, outputs, maxima, sums, verdicts, factors, tileSums, groups;
  /// Head size of the value, rounded up to whole vectors.
  mlir::AffineExpr valueWidth;
  /// Parts of |blockKv| keys whose states are given or taken; null where there are no such states.
  mlir::AffineExpr parts;

  int64_t getRowsPerItem() const { return heads * blockQ; }
  /// Items share the queries in multiples of this.
  int64_t getUnit() const { return heads == 1 && blockQ % rowTile == 0 ? rowTile : 1; }
};

struct KernelPlan : KernelAccess {
  kernel::LoweringConfigAttr config;
  /// Loop along which vectors run, for roots other than contract; for kernel.scan the scan's own: then code is scalar.
  unsigned vectorLoop = 0;
  /// kernel.reduce: vectors run along the last reduction loop rather than along a parallel one.
  bool reducesLanes = false;
  llvm::SmallVector<bool> isReduction; // per loop of the nest
  ContractPlan contract;
  AttentionPlan attention;
  ItemSpace items;

  /// Emits an error at |func| and fails where the kernel breaks what this target needs: sizes that are the function's
  /// arguments, inputs that are the function's tensors. |config| has no buckets.
  static mlir::FailureOr<KernelPlan> create(kernel::FuncOp func, kernel::LoweringConfigAttr config);

private:
  KernelPlan(kernel::FuncOp func, kernel::LoweringConfigAttr config);
  void planMap();
  void planRowwise();
  void planReduce();
  void planScan();
  void planScatter();
  void planTopK();
  mlir::LogicalResult planContract();
  mlir::LogicalResult planFactors(kernel::ContractOp op);
  void planCopy();
  void planContractItems();
  mlir::LogicalResult planAttention();
  mlir::LogicalResult planParts(kernel::AttentionOp op);
  mlir::LogicalResult planValues(kernel::AttentionOp op);
  mlir::AffineExpr layOutAttention(mlir::AffineExpr depth);
  unsigned chooseVectorLoop();
};

/// 1 where |value| is at most |limit|, else 0.
mlir::AffineExpr isAtMost(mlir::AffineExpr value, int64_t limit);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_KERNELPLAN_H
