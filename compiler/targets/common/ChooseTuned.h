// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of the configs that tuning files hold a kernel gets. What became of them is left on the module of kernels, as
// kernel.tuned, for the report and the artifact's options.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_CHOOSETUNED_H
#define HEDDLE_COMPILER_TARGETS_COMMON_CHOOSETUNED_H

#include "compiler/targets/RowBucket.h"
#include "compiler/targets/TunedConfigs.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Attribute of a module of kernels: what tuning files had for them.
inline constexpr llvm::StringLiteral kTunedAttrName = "kernel.tuned";

/// What a tuning file had for a kernel of the module.
struct TunedUse {
  std::string signature, rows, file, device;
  std::string problem; ///< why it isn't used; empty: it is
};

/// A config that a target can use, for |bucket| (null: for all sizes).
struct ChosenConfig {
  const RowBucket *bucket;
  mlir::DictionaryAttr config;
};

/// Gathers what is chosen for the kernels of one module.
class TunedChooser {
public:
  /// |tuned| may be null, for nothing.
  explicit TunedChooser(const TunedConfigs *tuned) : tuned(tuned) {}

  /// The configs for |func| in which |check| finds no problem, in the order of their buckets. Of a kernel whose rows
  /// are a constant only their bucket counts, and is named null. Fails with an error where getKernelRows does.
  mlir::FailureOr<llvm::SmallVector<ChosenConfig>>
  choose(kernel::FuncOp func, llvm::function_ref<std::string(mlir::DictionaryAttr config)> check);
  /// Leaves kernel.tuned on |module| where files had anything for its kernels.
  void finish(mlir::ModuleOp module);

private:
  mlir::DictionaryAttr take(const std::string &signature, llvm::StringRef rows, mlir::MLIRContext *context,
                            llvm::function_ref<std::string(mlir::DictionaryAttr config)> check);

  const TunedConfigs *tuned;
  /// By signature and bucket, so that equal kernels are one.
  std::map<std::pair<std::string, std::string>, TunedUse> uses;
};

/// What finish left on |module|, by signature and bucket.
std::vector<TunedUse> getTunedUses(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_CHOOSETUNED_H
