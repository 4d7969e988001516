// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a contraction's left side in scratch, in the form in which they multiply. What pads a row's end may be
// anything where the weights that it meets are zero.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_LHSCOPIER_H
#define HEDDLE_COMPILER_TARGETS_CPU_LHSCOPIER_H

#include "compiler/targets/cpu/KernelEmitter.h"

namespace heddle::cpu {

class LhsCopier {
public:
  /// |loops|: indices of the other loops that the left side walks; those of m and k are set as code is emitted.
  LhsCopier(KernelEmitter &emitter, llvm::SmallVectorImpl<mlir::Value> &loops)
      : emitter(emitter), b(emitter.b), loc(emitter.loc), loops(loops), plan(emitter.plan),
        m(plan.contract.panelLoops[0]), k(plan.contract.panelLoops[2]) {}

  /// Copies |row| to scratch, from word |target| on.
  void copy(mlir::Value row, mlir::Value target);
  /// Whether 16 rows at once are copied faster: bytes of which rows are neighbours in memory, and k lies apart.
  bool copiesBlocks() const;
  /// Copies 16 rows from |row| on, from word |target| on and each |pitch| words behind the one before.
  void copyBlock(mlir::Value row, mlir::Value target, mlir::Value pitch);

private:
  mlir::Value load(mlir::Value at, const Lanes &lanes);
  /// Zero where lanes are masked.
  mlir::Value loadOrZero(mlir::Value at, const Lanes &lanes);
  void store(mlir::Value values, mlir::Value place);
  void storeFloats(mlir::Value target, mlir::Value at, const Lanes &lanes);
  void storePairsOfBf16(mlir::Value target, mlir::Value at, const Lanes &lanes);
  void storeBytes(mlir::Value bytes, mlir::Value target, mlir::Value at);
  void storeWords(mlir::Value bytes, mlir::Value target, mlir::Value at);
  /// Stores what |bytes|, those from k = |at| on, are in scratch.
  void storeForm(mlir::Value bytes, mlir::Value target, mlir::Value at);
  void copyBytes(mlir::Value target);
  /// Bytes from k = |begin| on, 16 at a time.
  void copyLanes(mlir::Value target, mlir::Value begin);

  KernelEmitter &emitter;
  mlir::OpBuilder &b;
  const mlir::Location loc;
  llvm::SmallVectorImpl<mlir::Value> &loops;
  const KernelPlan &plan;
  unsigned m, k;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_LHSCOPIER_H
