// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a contraction does in one step of its loop over k: how the factors of each form are read and which instructions
// multiply and add them. Tiles, loops and addresses are the same for all forms (EmitContract, ContractOperands).

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CONTRACTMULTIPLY_H
#define HEDDLE_COMPILER_TARGETS_CPU_CONTRACTMULTIPLY_H

#include "compiler/targets/cpu/KernelEmitter.h"

#include <memory>

namespace heddle::cpu {

/// A tile's factors at one step of k: element numbers of each row in |lhs| and of each panel in |rhs|.
struct TileStep {
  mlir::Value lhs, rhs;
  llvm::SmallVector<mlir::Value> rows, panels;
  /// Elements of a row from one k to the next.
  mlir::Value depthStride;
};

class ContractMultiply {
public:
  /// The one that the plan's multiplier names.
  static std::unique_ptr<ContractMultiply> create(KernelEmitter &emitter);
  virtual ~ContractMultiply() = default;

  /// The loop over k carries |numParts| vectors of |sumType| for each row and panel: parts of its 16 columns.
  const mlir::VectorType sumType;
  const int64_t numParts;

  /// Adds one step to |sums|: those of the first row, panel by panel, then those of the next row.
  virtual llvm::SmallVector<mlir::Value> multiply(const TileStep &step, mlir::ValueRange sums) = 0;
  /// The parts of one row and panel as one vector of 16 columns.
  mlir::Value join(mlir::ValueRange parts);

protected:
  ContractMultiply(KernelEmitter &emitter, mlir::Type element, int64_t numParts);

  /// All products of rows with column vectors, of which there are |numParts| in a panel: |left| and |right| read a
  /// factor, |product| adds to a sum. The factors of the narrower side are in registers all at once, the others one
  /// after the other.
  llvm::SmallVector<mlir::Value>
  multiplyAll(const TileStep &step, mlir::ValueRange sums, llvm::function_ref<mlir::Value(int64_t)> left,
              llvm::function_ref<mlir::Value(int64_t)> right,
              llvm::function_ref<mlir::Value(mlir::Value, mlir::Value, mlir::Value)> product);
  mlir::Value callIntrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands);

  KernelEmitter &emitter;
  mlir::OpBuilder &b;
  const mlir::Location loc;
};

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CONTRACTMULTIPLY_H
