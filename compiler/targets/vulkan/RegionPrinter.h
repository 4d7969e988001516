// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a scalar region as GLSL statements. Table reads are checked, integer divisions and conversions give what they
// give on a CPU, and math functions have become arithmetic before (ExpandMath in common), so that no result depends on
// a driver's.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_REGIONPRINTER_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_REGIONPRINTER_H

#include "compiler/targets/vulkan/ShaderEmitter.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::vulkan {

class RegionPrinter {
public:
  /// |loops|: name of the current index of each loop of the plan's nest.
  RegionPrinter(ShaderEmitter &emitter, llvm::ArrayRef<std::string> loops) : emitter(emitter), loops(loops) {}

  /// Expressions of what |region| yields for |arguments|; fails with an error at an op that has no form here. Repeated
  /// calls print the region again.
  /// What hoist() printed isn't printed again.
  mlir::FailureOr<llvm::SmallVector<std::string>> print(mlir::Region &region, llvm::ArrayRef<std::string> arguments);
  /// Prints, before a loop, what |region| makes of the |arguments| that have a name already; the others' are empty.
  /// Reads of tables and what may fail wait for print().
  mlir::LogicalResult hoist(mlir::Region &region, llvm::ArrayRef<std::string> arguments);
  /// Prints whether this dispatch has the row of the plan's sliced table that the |arguments| of a region ask for, and
  /// gives the name of that; arguments that its index doesn't use are empty. A row that isn't in the table at all is
  /// every dispatch's, so that one reports it.
  mlir::FailureOr<std::string> printHasRow(llvm::ArrayRef<std::string> arguments);

private:
  mlir::LogicalResult printOp(mlir::Operation *op);
  std::string lookup(mlir::Value value);
  /// An expression of |op| on |operands|; empty where it has none.
  std::string express(mlir::Operation *op, llvm::ArrayRef<std::string> operands);
  std::string expressFloat(mlir::Operation *op, llvm::ArrayRef<std::string> x);
  std::string expressInteger(mlir::Operation *op, llvm::ArrayRef<std::string> x);
  std::string expressConversion(mlir::Operation *op, const std::string &x);
  std::string expressDivision(mlir::Operation *op, const std::string &left, const std::string &right);
  std::string printGather(kernel::GatherOp op);

  ShaderEmitter &emitter;
  llvm::ArrayRef<std::string> loops;
  llvm::DenseMap<mlir::Value, std::string> values, hoisted;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_REGIONPRINTER_H
