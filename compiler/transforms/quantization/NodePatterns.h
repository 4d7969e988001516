// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Globs on the names of the model's nodes, as `--exclude` takes them.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/GlobPattern.h"

#include <deque>
#include <optional>
#include <string>

namespace heddle::nn {

/// A list of patterns that remembers what matched. `*` matches any characters, '/' too; `?`, `[a-c]` and `{a,b}` are
/// as in a shell.
class NodePatterns {
public:
  /// A text that is no pattern only stands for itself.
  explicit NodePatterns(llvm::ArrayRef<std::string> texts);
  NodePatterns(const NodePatterns &) = delete;
  NodePatterns &operator=(const NodePatterns &) = delete;

  /// Whether a pattern matches one of |names|. A name is also matched as it is, so that one with brackets can be given
  /// without escapes, as what `--max-loss` found is.
  bool matches(llvm::ArrayRef<llvm::StringRef> names);

  /// Fails with a diagnostic for each pattern that never matched: it says why where it is none, and names those of
  /// |candidates| that are nearest.
  mlir::LogicalResult checkAllMatched(llvm::ArrayRef<llvm::StringRef> candidates,
                                      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

private:
  struct Entry {
    std::string text;
    std::optional<llvm::GlobPattern> glob; ///< refers to |text|, which therefore mustn't move
    std::string fault;                     ///< why there is no glob
    bool hasMatched = false;
  };
  std::deque<Entry> entries;
};

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_NODEPATTERNS_H
