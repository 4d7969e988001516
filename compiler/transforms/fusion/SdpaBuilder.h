// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a plan to attn.sdpa: regions, layouts, and what the op replaces.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPABUILDER_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPABUILDER_H

#include "compiler/transforms/fusion/MaskTerms.h"
#include "compiler/transforms/fusion/SdpaPlan.h"

namespace heddle::attn {

/// The regions of an attention and the rule that belongs to them.
struct SdpaRegions {
  std::unique_ptr<ElementEmitter> score;       // null: the score as it is
  std::unique_ptr<ElementEmitter> mask;        // null: all keys are kept
  std::unique_ptr<ElementEmitter> probability; // null: the probabilities as they are
  FullyMasked rule = FullyMasked::Literal;
  bool hasOpaqueBias = false;
};

/// Builds the regions of |plan|; nothing and a reason where a region can't say what the graph does.
std::optional<SdpaRegions> buildRegions(const SoftmaxPattern &pattern, const SdpaPlan &plan, KnownDims &dims,
                                        std::string &reason);

/// Replaces what |pattern| computes by one attn.sdpa; nothing and a reason where its probabilities can't be given.
std::optional<SdpaOp> buildSdpa(const SoftmaxPattern &pattern, const SdpaPlan &plan, SdpaRegions &regions,
                                KnownDims &dims, std::string &reason);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPABUILDER_H
