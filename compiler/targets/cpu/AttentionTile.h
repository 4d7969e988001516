// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few rows of an attention by one block of keys: scores, running softmax, product with the values.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONTILE_H
#define HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONTILE_H

#include "compiler/targets/cpu/AttentionItem.h"

namespace heddle::cpu {

/// What a pass over the keys does: all of attention, unless it is one of several.
struct AttentionPass {
  /// One of two passes (i1; null: the only one). False: it ends with the rows' maxima and sums. True: these are final,
  /// weights come from them through the probability region and are multiplied with the values.
  mlir::Value isFinal;
  /// Keys that no row sees weigh something too.
  bool isDense = false;
  /// Mask region and tests of groups; without it all keys below kv_len take part.
  bool masks = true;
  /// Values of keys that weigh 0 are not read: for rows where one of those is not finite.
  bool skipsZeroWeights = false;
  /// Writes weights by the final maximum and sum instead of adding values.
  bool writesWeights = false;
  /// The block's keys are not packed.
  bool readsKeys = false;
};

class AttentionTile {
public:
  AttentionTile(AttentionItem &item, const AttentionPass &pass)
      : item(item), emitter(item.emitter), b(item.b), loc(item.loc), shape(item.shape), pass(pass),
        width(item.shape.columnVectors * kLanes) {}

  /// Emits the tile of |count| rows from |firstSlot| on by the packed |block|.
  void emit(mlir::Value firstSlot, int64_t count, const KeyBlock &block);

private:
  /// Keys from the first to behind the last group that has scores, counted from the block's begin.
  struct Extent {
    mlir::Value low, high;
  };
  Extent emitGroups(const KeyBlock &block);
  void emitGroup(const KeyBlock &block, mlir::Value start, mlir::Value full);
  void fillGroup(mlir::Value start);
  llvm::SmallVector<mlir::Value> emitDots(mlir::Value start);
  /// Codes of queries are bytes with an offset, which sums start from.
  bool hasOffsets() const { return shape.perWord == 4; }
  /// |sums| of 16 lanes each, which had |parts| vectors (1 or 2).
  llvm::SmallVector<mlir::Value> joinParts(llvm::ArrayRef<mlir::Value> sums, int64_t parts);
  /// Sums of products of codes, for keys from |start| on, times both scales and attention's own.
  llvm::SmallVector<mlir::Value> scaleDots(mlir::Value start, llvm::ArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> emitDotsOfKeys(const KeyBlock &block, mlir::Value start);
  /// Products of all rows with the block's keys |key| to |key| + 15; those that don't exist count as the last one where
  /// |clamps|.
  llvm::SmallVector<mlir::Value> emitDotsOfVector(const KeyBlock &block, mlir::Value key, bool clamps);
  void emitScores(const KeyBlock &block, mlir::Value start, mlir::Value full);
  void storeScores(const KeyBlock &block, mlir::Value start, llvm::ArrayRef<mlir::Value> dots, bool masked);
  /// The score of |row| at the block's keys |key| to |key| + 15; -infinity where |masked| hides it.
  mlir::Value emitScore(const KeyBlock &block, const AttentionRow &row, mlir::Value key, mlir::Value dot, bool masked);
  /// Lanes of the block's keys |key| to |key| + 15 that exist; |key| may be behind the last one.
  mlir::Value existingKeys(const KeyBlock &block, mlir::Value key);
  void emitSoftmax(const Extent &extent);
  void emitFinalWeights(const KeyBlock &block, const Extent &extent);
  void emitRowWeights(mlir::Value row, const Extent &extent);
  mlir::Value loadScores(mlir::Value row, mlir::Value key, int64_t vector);
  /// Replaces the numbers of the tile's rows in the state at |start|; lane r is row r.
  void updateState(mlir::AffineExpr start, llvm::function_ref<mlir::Value(mlir::Value before)> build);
  void emitProduct(const KeyBlock &block, const Extent &extent);
  void emitColumns(const KeyBlock &block, mlir::Value low, mlir::Value high, mlir::Value column, int64_t vectors,
                   mlir::Value tailMask);
  /// The same with weights and values of codes, by keys |low| to |high| - 1.
  void emitCodedColumns(mlir::Value low, mlir::Value high, mlir::Value column, int64_t vectors);
  /// Brings |sums|, |vectors| of each row for the columns from |column| on, into the rows' output.
  void joinColumns(mlir::Value column, int64_t vectors, llvm::ArrayRef<mlir::Value> sums);
  /// Stores codes of |weights|, those of |row| and the keys from |key| on, and returns them as floats.
  mlir::Value storeWeightCodes(mlir::Value row, mlir::Value key, mlir::Value weights);
  /// Weights and values multiply as bytes.
  bool multipliesCodes() const { return shape.codesValues && !pass.skipsZeroWeights; }
  llvm::SmallVector<mlir::Value> addKey(mlir::Value key, llvm::ArrayRef<mlir::Value> values, mlir::ValueRange sums);
  void emitWeights(const KeyBlock &block);
  /// Element number of the scores of row |row| of the tile.
  mlir::Value scoreAddress(mlir::Value row);
  mlir::Value scoreAddress(int64_t row) { return scoreAddress(emitter.index(row)); }

  AttentionItem &item;
  KernelEmitter &emitter;
  mlir::OpBuilder &b;
  const mlir::Location loc;
  const AttentionPlan &shape;
  const AttentionPass pass;
  const int64_t width; // keys of a score tile
  int64_t count = 0;
  mlir::Value firstSlot;
  llvm::SmallVector<AttentionRow> tileRows;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONTILE_H
