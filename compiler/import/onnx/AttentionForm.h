// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operators of attention have in common: heads, masks, biases and positions, of which build() makes one
// attn.sdpa. Each operator fills in what its own definition says.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_ATTENTIONFORM_H
#define HEDDLE_COMPILER_IMPORT_ONNX_ATTENTIONFORM_H

#include "compiler/import/onnx/NodeContext.h"
#include "dialects/attn/AttnOps.h"

namespace heddle::importer {

/// A tensor of heads: how many, how wide, and how they lie.
struct Heads {
  mlir::Value tensor;
  int64_t count = 0;
  int64_t size = 0;
  bool isBnsd = true; ///< else BSND

  unsigned sequenceAxis() const { return isBnsd ? 2 : 1; }
  mlir::AffineMap map(attn::Dimension sequence) const;
};

/// More channels than any model has: sums and products of so many don't overflow.
constexpr int64_t kMostChannels = int64_t(1) << 31;

/// Splits rows (batch, sequence, |count| * size) into heads. What doesn't divide is reported, naming |what|.
mlir::LogicalResult splitHeads(NodeContext &node, mlir::Value rows, int64_t count, const llvm::Twine &what,
                               Heads &heads);
/// The reverse: (batch, sequence, count * size), unless |keepsHeads|.
mlir::Value joinHeads(NodeContext &node, const Heads &heads, bool keepsHeads = false);
/// |heads| as (b, n, s, d).
mlir::Value toBnsd(NodeContext &node, const Heads &heads);
/// |heads| behind |past| (b, n, p, d); what it gives is the present, in BNSD as the heads then are.
mlir::Value appendToPast(NodeContext &node, mlir::Value past, Heads &heads);
/// Extent |axis| of |tensor| as a vector of one i64.
mlir::Value extentOf(NodeContext &node, mlir::Value tensor, unsigned axis);

/// A tensor that regions read. |axes| tells for each of its dimensions which of (b, n, q, kv) it follows; one of extent
/// 1 serves all.
struct Capture {
  mlir::Value tensor;
  llvm::SmallVector<unsigned, 4> axes;

  /// From the right, as ONNX broadcasts.
  static Capture alignRight(mlir::Value tensor);
  mlir::AffineMap getMap() const;
};

/// A tensor that says which keys a query sees.
struct KeyMask {
  enum class Kind {
    Keep,     ///< i1, true where the key is seen
    Positive, ///< an integer, above 0 where the key is seen
    Before,   ///< an integer, keys before it are seen
    From,     ///< an integer, keys from it on are seen
    Finite,   ///< a float that is a bias too: keys are seen unless it is -inf
  };
  Kind kind;
  Capture capture;
};

/// One attention. Scores are scaled, bent by the soft cap, then biases and fills are added.
struct AttentionForm {
  explicit AttentionForm(NodeContext &node) : node(node) {}

  Heads query, key, value;
  double scale = 0;
  double softcap = 0; ///< 0 for none
  mlir::Value queryOffset, keyLength;
  bool isCausal = false;
  int64_t left = -1, right = -1;     ///< bounds of a window around the query, -1 for none
  llvm::SmallVector<Capture> biases; ///< added to the score
  llvm::SmallVector<KeyMask> masks;
  /// What is added to the score of a key that |masks| hide, or that isCausal does. Without a fill such keys are not
  /// there at all, and rows that see none are zero.
  std::optional<double> maskFill, causalFill;
  bool wantsWeights = false; ///< as results: the probabilities
  bool wantsLse = false;     ///< the logarithm of the sum of exponentials, (b, n, q)

  struct Result {
    Heads output;        ///< lies as the query does
    mlir::Value weights; ///< null unless wanted
    mlir::Value lse;     ///< null unless wanted
  };
  /// Half precision is computed in f32, and the results are rounded.
  mlir::FailureOr<Result> build() const;
  /// Scores (b, n, q, kv) as plain ops, for who asks for them: of |stage| 0 scaled, 1 bent too, 2 with all that is
  /// added.
  mlir::Value buildScores(int64_t stage) const;

private:
  bool hasPositions() const { return isCausal || left >= 0 || right >= 0; }
  bool hasFills() const { return maskFill || causalFill; }
  mlir::Type scoreType() const;
  AttentionForm widen() const;
  llvm::SmallVector<KeyMask> getSkipped() const;
  attn::SdpaOp createOp(llvm::ArrayRef<KeyMask> skipped) const;
  mlir::Value addHidden(mlir::Value scores) const;

  NodeContext &node;
};

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_ATTENTIONFORM_H
