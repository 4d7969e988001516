// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention's probability region gives for probabilities that no score decides: 0, which a hidden key has, and
// NaN, which all keys of a row have that has none or a score of NaN.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_PROBABILITYREGION_H
#define HEDDLE_COMPILER_TARGETS_COMMON_PROBABILITYREGION_H

#include "dialects/kernel/KernelOps.h"
#include "llvm/ADT/APFloat.h"

namespace heddle {

struct ProbabilityRegion {
  /// Looks at the region of |op|, which has one.
  static ProbabilityRegion analyze(kernel::AttentionOp op);

  /// Hidden keys weigh 0, and where they don't, all keys of the row weigh 0 or all outputs are NaN anyway: leaving
  /// hidden keys out changes nothing.
  bool skipsHiddenKeys() const { return ofZero && ofZero->isZero() && ofNaN && (ofNaN->isZero() || ofNaN->isNaN()); }
  /// A row's output is NaN where its sum is.
  bool keepsNaN() const { return ofNaN && ofNaN->isNaN(); }

  /// The weight of a probability of 0, and of NaN; nothing where it may differ from key to key.
  std::optional<llvm::APFloat> ofZero, ofNaN;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_PROBABILITYREGION_H
