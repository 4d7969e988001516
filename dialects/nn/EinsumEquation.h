// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The equation of nn.einsum, taken apart.

#ifndef HEDDLE_DIALECTS_NN_EINSUMEQUATION_H
#define HEDDLE_DIALECTS_NN_EINSUMEQUATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace heddle::nn {

/// One string of letters for each input and for the result; '.' stands for an ellipsis. Every letter of the result
/// occurs in an input.
struct EinsumEquation {
  llvm::SmallVector<std::string, 3> inputs;
  std::string output;

  /// Parses "bij,bjk->bik"; blanks are skipped. Nothing and a reason in |fault| where it isn't well-formed.
  static std::optional<EinsumEquation> parse(llvm::StringRef text, std::string &fault);

  /// The result's shape for inputs of |shapes|; false and a reason in |fault| where these don't fit.
  bool inferShape(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes, llvm::SmallVectorImpl<int64_t> &result,
                  std::string &fault) const;
};

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_EINSUMEQUATION_H
