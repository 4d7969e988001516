// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention found in a graph: which tensors are query, key and value, how they lie, what happens to the scores.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONMATCH_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONMATCH_H

#include <string>

#include "compiler/transforms/fusion/ElementEmitter.h"
#include "dialects/attn/AttnOps.h"

namespace heddle::attn {

/// A product of two tensors, summed over one or more letters. Matrix products are written with letters too.
struct Contraction {
  mlir::Operation *op = nullptr;
  std::array<mlir::Value, 2> operands;
  std::array<std::string, 2> letters;
  std::string output;

  /// Nothing where |op| isn't a product of two tensors, or takes diagonals.
  static std::optional<Contraction> get(mlir::Operation *op);
  /// The letters that are summed over.
  std::string getSummed() const;
};

/// How a tensor of attention lies, once |unitAxes| are squeezed away and |numAdded| axes of extent 1 put in front.
struct Placement {
  llvm::SmallVector<unsigned> dims; // attn::Dimension of each axis that stays, added ones first
  llvm::SmallVector<int64_t> unitAxes;
  unsigned numAdded = 0;
};

enum class Role { Query, KeyOrValue, Output };

/// How the tensor of |extents| with its element at |index| lies; nothing where that takes more than a permutation.
std::optional<Placement> findPlacement(const LoopSpace &space, llvm::ArrayRef<ShapeExpr> extents,
                                       llvm::ArrayRef<LinearIndex> index, Role role);

/// One of attention's tensors.
struct PlacedTensor {
  mlir::Value tensor;
  Placement placement;
};

/// Factors taken out of products: |number| times all |factors|, divided by all |divisors|, f32 tensors of one element.
struct Scale {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors, divisors;

  void multiply(const Scale &other);
  /// False where attn.sdpa's scale, an f32, would change scores of |element|, which is f32 or f64, beyond rounding.
  bool fits(mlir::Type element) const;
};

/// Takes |op|'s multiplication by one number into |scale| and returns what it multiplies; null where it isn't one.
mlir::Value takeScale(mlir::Operation *op, Scale &scale);

/// The farthest tensor that query, key or value can be read from: behind views, and where there is a |scale| also
/// behind factors, which go into it.
std::optional<PlacedTensor> traceOperand(const LoopSpace &space, KnownDims &dims, Element element, Role role,
                                         Scale *scale);

/// The skeleton around one softmax: it doesn't depend on how axes are understood.
struct SoftmaxPattern {
  nn::SoftmaxOp softmax;
  /// From the softmax's input down to the product, each reading the next.
  llvm::SmallVector<mlir::Value> path;
  Contraction scores;
  /// From the probabilities to what is multiplied with the values, each computed from the one before, and that product.
  llvm::SmallVector<mlir::Value> weights;
  Contraction output;
  bool isGuarded = false;     // NaN becomes 0
  bool hasOtherUsers = false; // of the guarded probabilities
};

/// The skeleton; nothing and a reason where there is none, which is empty where nothing looks like attention.
std::optional<SoftmaxPattern> matchSoftmax(nn::SoftmaxOp softmax, std::string &reason);

/// The probabilities that the output is computed from.
mlir::Value getProbabilities(const SoftmaxPattern &pattern);

} // namespace heddle::attn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_ATTENTIONMATCH_H
