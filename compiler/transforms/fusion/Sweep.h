// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes that replace subgraphs do at their end.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_SWEEP_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_SWEEP_H

#include "mlir/IR/Block.h"

namespace heddle::nn {

/// Erases what |block| computes and nobody reads.
void eraseDeadOps(mlir::Block &block);

/// Puts the ops of |block| into an order in which each stands behind what it reads, and erases those that nothing
/// reads.
void sweep(mlir::Block &block);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_SWEEP_H
