// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a score is a mask: additions and selections of a fill so low that the key weighs nothing beside any other.
// A term says for which keys its fill is not used, in integers; it licenses skipping the others, no more.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_MASKTERMS_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_MASKTERMS_H

#include <functional>

#include "compiler/transforms/fusion/ElementEmitter.h"

namespace heddle::attn {

struct MaskTerm {
  /// What a masked key's score gets: -inf, or a finite number of at most kMaskFill.
  double fill;
  /// Writes "this key is kept" into a mask region; null where that can't be written.
  std::function<mlir::Value(ElementEmitter &)> emitKeep;
  /// The selection that puts the fill in, and the operand that it gives for kept keys; null for other forms.
  mlir::Operation *selection = nullptr;
  mlir::Value kept = nullptr;
};

/// Fills from here on are masks: exp of the distance to any score is 0 in f32. -10000 is the mildest that models use.
inline constexpr double kMaskFill = -9999;

/// The terms on the way from |softmaxInput| down to the score that |emitter| is bound to. |opaque| gets the float
/// tensors that are added to the score and of which nothing is known.
llvm::SmallVector<MaskTerm> findMaskTerms(ElementEmitter &emitter, const Element &softmaxInput,
                                          llvm::SmallVectorImpl<Element> &opaque);

/// The same for |bias|, which is added to the score just so.
llvm::SmallVector<MaskTerm> findBiasTerms(ElementEmitter &emitter, const Element &bias,
                                          llvm::SmallVectorImpl<Element> &opaque);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_MASKTERMS_H
