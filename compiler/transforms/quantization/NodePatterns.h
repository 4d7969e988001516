// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Globs on the names of the model's nodes, as `--exclude` takes them.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/GlobPattern.h"

#include <string>
#include <vector>

namespace heddle::nn {

/// A list of patterns that remembers what matched. `*` matches any characters, '/' too; `?`, `[a-c]` and `{a,b}` are
/// as in a shell.
class NodePatterns {
public:
  /// Fails with a diagnostic where one of |texts| is no pattern.
  static mlir::FailureOr<NodePatterns> parse(llvm::ArrayRef<std::string> texts,
                                             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// Whether a pattern matches one of |names|. A name is also matched as it is, so that one with brackets can be given
  /// without escapes.
  bool matches(llvm::ArrayRef<llvm::StringRef> names);

  /// Fails with a diagnostic for each pattern that never matched: it names those of |candidates| that are nearest.
  mlir::LogicalResult checkAllMatched(llvm::ArrayRef<llvm::StringRef> candidates,
                                      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

private:
  struct Entry {
    std::string text;
    llvm::GlobPattern glob;
    bool hasMatched = false;
  };
  std::vector<Entry> entries;
};

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H
