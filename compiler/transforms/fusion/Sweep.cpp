// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order first: an op may have been made before what it reads.

#include "compiler/transforms/fusion/Sweep.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

void heddle::nn::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void heddle::nn::sweep(Block &block) {
  sortTopologically(&block);
  eraseDeadOps(block);
}
