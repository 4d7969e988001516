// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One way to understand the axes of an attention's scores, carried through to its operands and its result.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPAPLAN_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPAPLAN_H

#include <map>
#include <memory>

#include "compiler/transforms/fusion/AttentionMatch.h"

namespace heddle::attn {

/// Which of attention's dimensions each axis of the softmax's input is, but for the last one, the keys.
struct AxisReading {
  enum class Kind { Batch, Head, KeyHead, Group, Query, BatchAndHead };
  llvm::SmallVector<Kind> axes;
  int64_t numHeads = 1;
  int64_t groupSize = 0; // 0: to be found
};

/// All that attn.sdpa is made from but its regions. |space| is on the heap: emitters refer to it.
struct SdpaPlan {
  AxisReading reading;
  std::unique_ptr<LoopSpace> space;
  int64_t kvNumHeads = 1;
  PlacedTensor query, key, value;
  Scale scale;
  Element softmaxInput, score;    // the score as the region gets it: scaled
  Element probabilities, weights; // behind a guard against NaN, and what is made of them, views aside
  mlir::Value target;             // what the output replaces
  Placement targetPlacement;
  TensorIndex targetIndex;
};

/// Plans |pattern|; nothing and a reason where no reading of the axes makes it an attention.
std::optional<SdpaPlan> planSdpa(const SoftmaxPattern &pattern, KnownDims &dims, std::string &reason);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_SDPAPLAN_H
