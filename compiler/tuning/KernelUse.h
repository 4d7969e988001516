// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that a model runs at given shapes, those that take most of its time first.

#ifndef HEDDLE_COMPILER_TUNING_KERNELUSE_H
#define HEDDLE_COMPILER_TUNING_KERNELUSE_H

#include "compiler/tuning/ExportCandidates.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/rt/RtDialect.h"

namespace heddle {

/// A kernel at the sizes that a dispatch of it has. It stands for all dispatches of the kernel with rows of one bucket.
struct KernelUse {
  rt::DispatchOp dispatch;
  kernel::FuncOp func; ///< the target's own, with kernel.config
  std::string signature;
  std::string rows; ///< the bucket's name
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> smallSizes; ///< of a small input
  llvm::SmallVector<bool> constants;     ///< for each input, whether it is one
  std::vector<ConfigCandidate> candidates;
  std::vector<std::string> nodes;
  size_t dispatches = 0; ///< of it in a run, over all shapes
  double seconds = 0;    ///< that all of them take: measured ones, or the target's estimate
  double share = 0;
};

/// The uses of |model|'s kernels under |options|, the longest first. Fails with |errors| where a shape doesn't fit.
mlir::FailureOr<std::vector<KernelUse>> findKernelUses(CompiledModel &model, const CandidateOptions &options,
                                                       ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_TUNING_KERNELUSE_H
