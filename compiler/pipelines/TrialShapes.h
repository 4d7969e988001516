// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an entry point's shape function gives for small inputs.

#ifndef HEDDLE_COMPILER_PIPELINES_TRIALSHAPES_H
#define HEDDLE_COMPILER_PIPELINES_TRIALSHAPES_H

#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace heddle {

/// Values of a shape function's results.
class TrialShapes {
public:
  /// What is asked of shapes beyond the checks of the shape function.
  using Test = llvm::function_ref<bool(const TrialShapes &)>;
  /// Gives the symbols of |entry|'s inputs small sizes that its checks accept and that |suits|; nothing if none of
  /// those tried do.
  static std::optional<TrialShapes> find(rt::FuncOp entry, Test suits = [](const TrialShapes &) { return true; });

  /// The same where the symbols have the sizes |symbols|; nothing if a check refuses them. One that isn't named has the
  /// size 1.
  static std::optional<TrialShapes> at(rt::FuncOp entry, const llvm::StringMap<int64_t> &symbols);

  /// The value of |result|, one of the shape function's.
  int64_t get(mlir::Value result) const { return values.lookup(result); }
  llvm::SmallVector<int64_t> get(mlir::ValueRange results) const;

private:
  llvm::DenseMap<mlir::Value, int64_t> values;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_TRIALSHAPES_H
