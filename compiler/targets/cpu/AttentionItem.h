// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One work item of kernel.attention: its rows (queries of all heads that share keys), where its operands and running
// state lie, which keys any of its rows sees, and the packing of these.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONITEM_H
#define HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONITEM_H

#include "compiler/targets/common/ProbabilityRegion.h"
#include "compiler/targets/cpu/AttentionPadding.h"
#include "compiler/targets/cpu/KernelEmitter.h"
#include "compiler/targets/cpu/PanelPacker.h"
#include "compiler/transforms/sparsity/TileTest.h"

namespace heddle::cpu {

/// Keys that are skipped, or found fully seen, together.
inline constexpr int64_t kKeyGroup = 64;

/// A block of keys: |length| of them from |begin| on exist (and are below kv_len).
struct KeyBlock {
  mlir::Value begin, length;
};

/// A query row: number |slot| of the item.
struct AttentionRow {
  mlir::Value slot, head, row;
};

/// What becomes of a row after the pass over the keys. Numbers stored as floats in the row's state. Literal rows keep
/// no key and are computed without the mask. In exact ones a value that isn't finite met a weight of 0. Rows without
/// keys have weights all the same where there is a probability region, so they may be exact as well.
enum class Verdict { Ordinary, Literal, Exact, LiteralExact, NoKeys, NoKeysExact };

/// What is known of a group of keys: numbers stored as floats, each implying the ones before it but the first.
enum class GroupClass {
  Unseen, // no row of the item sees any of its keys
  Seen,
  Plain, // nothing that depends on the key alone hides one of its keys or changes a score
};

class AttentionItem {
public:
  AttentionItem(KernelEmitter &emitter, llvm::ArrayRef<mlir::Value> digits);

  KernelEmitter &emitter;
  mlir::OpBuilder &b;
  const mlir::Location loc;
  const KernelPlan &plan;
  const AttentionPlan &shape;
  kernel::AttentionOp op;
  const mlir::VectorType vectorType;
  /// Indices of the root's loops; those of rows and keys change as code is emitted.
  llvm::SmallVector<mlir::Value> loops;
  mlir::Value rows;   // of the item
  mlir::Value length; // keys below kv_len
  mlir::Value scale;  // null where it is 1
  /// The mask region can be false somewhere; without it there is neither mask code nor a test.
  const bool hasMask;
  AttentionPadding padding;
  /// Nothing where probabilities are the weights.
  std::optional<ProbabilityRegion> probability;
  mlir::LogicalResult status = mlir::success();

  //===--- Rows ------------------------------------------------------------===//
  AttentionRow getRow(mlir::Value slot);
  /// Makes |row| the current one of |loops|.
  void select(const AttentionRow &row);
  /// Memory of the queries, and element number of (|row|, d = 0) in it; d steps by queryStep().
  mlir::Value queryMemory();
  mlir::Value queryAddress(const AttentionRow &row);
  mlir::Value queryStep();
  void copyQueries();

  //===--- Codes ------------------------------------------------------------===//
  /// Steps of the loop over the head size: elements, or words of codes.
  mlir::Value getSteps();
  /// Copies the queries as codes and stores their scales, times attention's own scale.
  void quantizeQueries();
  /// Of bytes, sums of the block's keys |key| to |key| + 15 before their first product.
  mlir::Value loadOffsets(mlir::Value key);
  /// Adds to each lane of |sum| its four products of unsigned |left| and signed |right| bytes.
  mlir::Value multiplyBytes(mlir::Value sum, mlir::Value left, mlir::Value right);
  /// Adds to |sum| the products of words of codes, in vectors of the plan's width.
  mlir::Value multiplyWords(mlir::Value sum, mlir::Value left, mlir::Value right);
  /// The same as multiplyBytes where neighbouring products never exceed 16 bits, by the plan's instructions for values.
  mlir::Value multiplyWeights(mlir::Value sum, mlir::Value left, mlir::Value right);
  /// Stores the scales of the item's columns of values, and their inverses.
  void loadValueScales();
  /// Values of |key| and columns |lanes| from |column| on as codes, NaN for what isn't finite.
  mlir::Value loadValueCodes(mlir::Value key, mlir::Value column, const Lanes &lanes);
  /// The scales of columns |column| to |column| + 15; NaN where |showsNaN| and a value of the block isn't finite.
  mlir::Value loadColumnScales(mlir::Value column, bool showsNaN);

  //===--- State in scratch -------------------------------------------------===//
  /// Element |i| of the part of scratch that starts at |start|.
  mlir::Value place(mlir::AffineExpr start, mlir::Value i) { return emitter.add(emitter.size(start), i); }
  mlir::Value loadFloat(mlir::AffineExpr start, mlir::Value i);
  void storeFloat(mlir::Value value, mlir::AffineExpr start, mlir::Value i);
  /// Element number of column 0 of the output of row |slot|.
  mlir::Value outputAddress(mlir::Value slot) {
    return place(shape.outputs, emitter.mul(slot, emitter.size(shape.valueWidth)));
  }
  mlir::Value real(double value);
  /// Before its first key: nothing seen.
  void resetRow(mlir::Value slot);
  void resetOutput(mlir::Value slot);
  mlir::Value hasNoKeys(mlir::Value slot);
  /// Writes the row's state as that of part |part|.
  void storePart(mlir::Value slot, mlir::Value part);
  /// Merges the state of part |part| into the row's.
  void mergePart(mlir::Value slot, mlir::Value part);

  //===--- Keys -------------------------------------------------------------===//
  /// Runs |body| for the blocks of keys 0 to |end|.
  void forBlocks(mlir::Value end, llvm::function_ref<void(mlir::Value begin)> body);
  KeyBlock getBlock(mlir::Value begin);
  /// Packs the groups of |block| that any row of the item may see (or all of them) and notes their class. Returns
  /// whether there is one. Keys themselves are packed where |packsKeys| (i1; null: always) holds.
  mlir::Value packBlock(const KeyBlock &block, bool all, mlir::Value packsKeys = nullptr);
  /// Is group |group| of the packed block of class |expected| or a later one?
  mlir::Value isAtLeast(mlir::Value group, GroupClass expected);
  /// Element number of (d = 0, lane 0) of the panel of the block's keys |key| to |key| + 15.
  mlir::Value panelAddress(mlir::Value key) { return emitter.mul(key, emitter.size(shape.rowDepth)); }
  /// Memory of the keys as they are, and element number of (key |key|, d = 0) in it.
  mlir::Value keyMemory() { return emitter.getBinding(plan.bindings[1]); }
  mlir::Value keyAddress(mlir::Value key);
  /// Memory of the values, element number of (first key of |block|, column 0) in it, and the step to the next key.
  mlir::Value valueMemory();
  mlir::Value valueAddress(const KeyBlock &block);
  mlir::Value valueStep();

  //===--- Regions ----------------------------------------------------------===//
  /// Elements of all captures that |regions| use, at the current indices; null for the others.
  llvm::SmallVector<mlir::Value> loadCaptures(llvm::ArrayRef<mlir::Region *> regions, const Lanes &lanes);
  /// The score region of tiles that the mask keeps as a whole.
  mlir::Region &getPlainScore() { return padding.getPlainScore(); }
  /// The mask at the current indices: i1 or a vector of it.
  mlir::Value emitMask(llvm::ArrayRef<mlir::Value> captures, const Lanes &lanes);
  /// The weights of |probabilities| (a vector) at the current indices.
  mlir::Value emitProbability(mlir::Value probabilities, const Lanes &lanes);
  /// What the mask says about rows |first| to |last| and keys |keyLow| to |keyHigh|, both included. |group|: the group
  /// of the packed block that the keys belong to; without it padding isn't known.
  sparsity::TileTruth testTile(const AttentionRow &first, const AttentionRow &last, mlir::Value keyLow,
                               mlir::Value keyHigh, mlir::Value group);
  /// Does the mask of row |row| keep any key below |length|?
  mlir::Value keepsAny(const AttentionRow &row);

private:
  mlir::Value buildLength();
  mlir::Value buildScale();
  mlir::Value uniformCapture(unsigned number);
  /// Stores the class of group |group|, keys |keyLow| to |keyHigh|; returns whether any row may see one of them.
  mlir::Value classifyGroup(mlir::Value group, mlir::Value keyLow, mlir::Value keyHigh);
  mlir::Value scanGroup(mlir::Value keyLow, mlir::Value keyHigh);
  void packGroup(const KeyBlock &block, mlir::Value start, mlir::Value count, mlir::Value packsKeys);
  /// Stores codes of the current row at |target| and their scale.
  void quantizeQuery(mlir::Value slot, mlir::Value target);
  /// Packs the values of the block's keys |start| to |start| + |count| - 1 as words of four keys' codes.
  void packValueCodes(const KeyBlock &block, mlir::Value start, mlir::Value count);
  void packValueWords(const KeyBlock &block, mlir::Value key, mlir::Value column, const Lanes &lanes);
  /// |values| of the columns from |column| on, in steps of the scales, from -127 to 127.
  mlir::Value clampSteps(mlir::Value values, mlir::Value column);
  /// Makes of the panel of floats at |panel|, which holds the block's keys |key| to |key| + 15, one of codes.
  void quantizeKeys(mlir::Value key, mlir::Value panel);

  PanelPacker packer;
  mlir::Value rowBegin, rowCount; // queries of the item
  llvm::DenseMap<unsigned, mlir::Value> uniformCaptures;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_ATTENTIONITEM_H
