// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel.func as targets look at it: its root's loops, where each operand's elements lie, what its regions use.
// What a target decides, tiles and work, is its own plan on top of this.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_KERNELACCESS_H
#define HEDDLE_COMPILER_TARGETS_COMMON_KERNELACCESS_H

#include "compiler/targets/common/SymbolicAccess.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle {

struct KernelAccess {
  kernel::FuncOp func;
  mlir::Operation *root; ///< null where the function holds none
  SymbolSpace space;
  LoopNest nest;
  /// Binding number (inputs first, then outputs) of each root input and result.
  llvm::SmallVector<unsigned> bindings;
  unsigned numInputs = 0;                        ///< of the root
  llvm::SmallVector<Polynomial> bindingElements; ///< per binding of the function
  /// A region reads a table at data-dependent indices or divides integers, or an update has such a place: the kernel
  /// may return an error.
  bool canFail = false;

  explicit KernelAccess(kernel::FuncOp func);
  /// Fills what follows the root. Emits an error and fails where sizes aren't the function's arguments, inputs aren't
  /// its tensors, or a result isn't returned.
  mlir::LogicalResult readOperands();
  /// For each loop before merging: does a region read its index?
  llvm::SmallVector<bool> findUsedIndices();
  /// A root without loops becomes one with a loop of one step, so that no generator knows the case.
  void ensureLoop();

  unsigned getNumInputs() const { return numInputs; }
  const Access &getInput(unsigned i) const { return nest.accesses[i]; }
  const Access &getResult(unsigned i) const { return nest.accesses[getNumInputs() + i]; }
  unsigned getResultBinding(unsigned i) const { return bindings[getNumInputs() + i]; }
  mlir::AffineExpr toExpr(const Polynomial &polynomial) const { return polynomial.toExpr(space); }
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_KERNELACCESS_H
