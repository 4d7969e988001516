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

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_KEYBIAS_H
