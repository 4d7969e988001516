// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with a config for each of some ranges of rows. Each config makes a body and a way of sharing out work of its
// own; which one serves is decided at run time by the rows. Results don't depend on it.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CONFIGBUCKETS_H
#define HEDDLE_COMPILER_TARGETS_CPU_CONFIGBUCKETS_H

#include "compiler/targets/Target.h"
#include "compiler/targets/cpu/KernelPlan.h"

namespace heddle::cpu {

/// The config for up to |mostRows| rows.
struct ConfigBucket {
  int64_t mostRows;
  kernel::LoweringConfigAttr config;
};

/// One config of |buckets|, which ascend; neighbours with equal configs become one.
kernel::LoweringConfigAttr joinBuckets(llvm::ArrayRef<ConfigBucket> buckets);

/// The plan for up to |mostRows| rows.
struct BucketPlan {
  int64_t mostRows;
  KernelPlan plan;
};

/// The plans of a kernel's buckets, ascending, the last without bound: one where kernel.config has no buckets.
struct BucketPlans {
  llvm::SmallVector<BucketPlan, 1> plans;
  mlir::AffineExpr rows; ///< over the kernel's size symbols; null with one plan

  /// Emits an error at |func| and fails where KernelPlan::create does, or kernel.config is missing or malformed.
  static mlir::FailureOr<BucketPlans> create(kernel::FuncOp func);
  WorkShape getWorkShape() const;
};

/// The config, without buckets, that |func| has where its size arguments have the values |sizes|. Needs kernel.config
/// as selection writes it.
kernel::LoweringConfigAttr findConfig(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CONFIGBUCKETS_H
