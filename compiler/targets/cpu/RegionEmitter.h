// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits a scalar region for the 16 lanes of a vector at once. What is equal in all lanes stays scalar; every other op
// becomes the same op on vectors. Table reads are checked, integer divisions and casts never trap, and math functions
// become arithmetic (MathExpansion.h).

#ifndef HEDDLE_COMPILER_TARGETS_CPU_REGIONEMITTER_H
#define HEDDLE_COMPILER_TARGETS_CPU_REGIONEMITTER_H

#include "compiler/targets/cpu/KernelEmitter.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::cpu {

class RegionEmitter {
public:
  /// |loops|: current index of each loop of the plan's nest.
  RegionEmitter(KernelEmitter &emitter, llvm::ArrayRef<mlir::Value> loops, const Lanes &lanes)
      : emitter(emitter), loops(loops), lanes(lanes) {}

  /// Values that |region| yields for |arguments|, scalars or vectors; fails with an error at an op that has no form on
  /// this target.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> emit(mlir::Region &region, llvm::ArrayRef<mlir::Value> arguments);

  /// The emitted form of a value of an emitted region; null where it has none.
  mlir::Value lookup(mlir::Value value);

  /// |index| as a trusted value of type index; |valid| becomes i1, or a vector of it, that says where it is inside.
  mlir::Value checkIndex(mlir::Value index, mlir::Value extent, int64_t site, mlir::Value &valid);

private:
  mlir::LogicalResult emitOp(mlir::Operation *op);
  /// Copies |op| onto |operands|, as a vector op if one of them is a vector.
  mlir::Value emitElementwise(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitIndex(kernel::IndexOp op);
  mlir::Value emitGather(kernel::GatherOp op);
  /// The element at |address| where |valid| (i1) holds, else 0.
  mlir::Value loadGuarded(mlir::Value memory, mlir::Type elementType, mlir::Value address, mlir::Value valid);
  mlir::Value emitDivision(mlir::Operation *op, mlir::Value left, mlir::Value right);
  mlir::Value emitFloatToInteger(mlir::Operation *op, mlir::Value value);
  mlir::Value emitRoundToBf16(mlir::Value value);
  void failWhere(mlir::Value failed, int32_t code, int64_t site, mlir::Value value, mlir::Value limit);

  KernelEmitter &emitter;
  llvm::ArrayRef<mlir::Value> loops;
  Lanes lanes;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Vectors of index that count up by one, with their first lane.
  llvm::DenseMap<mlir::Value, mlir::Value> unitStrideBase;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_REGIONEMITTER_H
