// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One generator per structured root: it lays out the grid, then prints the shader of each form that the root's variants
// name.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_GENERATORS_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_GENERATORS_H

#include "compiler/targets/vulkan/ShaderEmitter.h"

namespace heddle::vulkan {

struct Generator {
  /// Merges loops, sets axes and strides of the grid.
  mlir::LogicalResult (*plan)(ShaderPlan &plan);
  /// Prints the body of main() for |form|; declarations go through the emitter as well.
  mlir::LogicalResult (*emit)(ShaderEmitter &emitter, llvm::StringRef form);
};

/// The generator of |root|; null where there is none.
const Generator *findGenerator(mlir::Operation *root);

mlir::LogicalResult planMap(ShaderPlan &plan);
mlir::LogicalResult emitMap(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planContract(ShaderPlan &plan);
mlir::LogicalResult emitContract(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planAttention(ShaderPlan &plan);
mlir::LogicalResult emitAttention(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planRowwise(ShaderPlan &plan);
mlir::LogicalResult emitRowwise(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planReduce(ShaderPlan &plan);
mlir::LogicalResult emitReduce(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planScan(ShaderPlan &plan);
mlir::LogicalResult emitScan(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planScatter(ShaderPlan &plan);
mlir::LogicalResult emitScatter(ShaderEmitter &emitter, llvm::StringRef form);
mlir::LogicalResult planTopK(ShaderPlan &plan);
mlir::LogicalResult emitTopK(ShaderEmitter &emitter, llvm::StringRef form);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_GENERATORS_H
