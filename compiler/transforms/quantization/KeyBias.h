// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys without the bias of their projection, which softmax doesn't see but codes do.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_KEYBIAS_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_KEYBIAS_H

#include "dialects/attn/AttnOps.h"

namespace heddle::nn {

/// Takes the constant that a projection adds to each key off |op|'s keys. A constant adds the same to all scores of a
/// row, which cancels in the softmax exactly; but it can be most of a key's range, and its codes then tell keys apart
/// no more. Does nothing, and returns false, where a score region or another reader would see it, or the constant isn't
/// plain to see.
bool dropKeyBias(attn::SdpaOp op);

/// Dimensions of |op|'s key that count heads and channels, in ascending order; nothing where a constant would be seen,
/// or there aren't constantly many of them.
std::optional<llvm::SmallVector<int64_t>> findKeyAxes(attn::SdpaOp op);

/// Takes |offsets|, one for each index of those dimensions, the last one fastest, off |op|'s keys, where its projection
/// has no constant that could be left out. Any numbers do; those that keys are about leave their codes most to say.
/// Does nothing, and returns false, where there aren't as many.
bool subtractKeyOffsets(attn::SdpaOp op, llvm::ArrayRef<float> offsets);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_KEYBIAS_H
