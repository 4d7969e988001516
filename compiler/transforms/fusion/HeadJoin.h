// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attentions of one head each that are heads of one attention: their outputs are concatenated, and all they differ in
// is query, key, value and what their regions capture.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADJOIN_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADJOIN_H

#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"

#include <optional>

namespace heddle::attn {

/// Where an axis of extent 1 that belongs to no dimension of attention stands in an axis list.
constexpr unsigned kUnitAxis = kHeadSize + 1;

struct HeadJoin {
  llvm::SmallVector<SdpaOp> heads;
  /// For each axis of a head's output, as the concat reads it, the dimension of attention that it is, or kUnitAxis.
  llvm::SmallVector<unsigned> axes;
  /// How many heads share each key and value.
  size_t groupSize = 1;
};

/// The heads that |concat| puts beside each other; nothing where its inputs aren't alike.
std::optional<HeadJoin> findHeads(nn::ConcatOp concat);

/// Makes the one attention and replaces |concat|. The heads' ops stay behind without uses.
SdpaOp joinHeads(const HeadJoin &join, nn::ConcatOp concat);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_HEADJOIN_H
