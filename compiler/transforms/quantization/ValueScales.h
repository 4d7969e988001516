// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Static scales of attention's values: one for each head and channel, from calibrated ranges.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_VALUESCALES_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_VALUESCALES_H

#include "dialects/attn/AttnOps.h"

namespace heddle::nn {

/// Dimensions of |op|'s value that have scales of their own, heads and channels, in ascending order.
llvm::SmallVector<int64_t> getScaledAxes(attn::SdpaOp op);

/// How many scales |op|'s value has; nothing where that isn't a constant.
std::optional<int64_t> countValueScales(attn::SdpaOp op);

/// Makes |op| one that multiplies codes of weights and values. |ranges|, as many as there are scales and finite, are
/// max |value| for each index of the scaled axes, the last one fastest.
void quantizeValues(attn::SdpaOp op, llvm::ArrayRef<float> ranges);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_VALUESCALES_H
