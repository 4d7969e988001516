// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What attn.sdpa and attn.online_sdpa share: reading tensors through index maps, and the scores of one query row.

#ifndef HEDDLE_COMPILER_REFERENCE_ATTENTIONROWS_H
#define HEDDLE_COMPILER_REFERENCE_ATTENTIONROWS_H

#include <array>
#include <optional>

#include "compiler/reference/HostTensor.h"
#include "compiler/reference/ScalarRegion.h"
#include "dialects/attn/AttnOps.h"

namespace heddle::reference {

/// The place of a row or element: (b, n, q, kv, d).
using Place = std::array<int64_t, 5>;

/// Where the elements of a tensor lie, seen from (b, n, q, kv, d) through a projected permutation. A dimension that the
/// map leaves out has stride 0: all its indices share one element.
struct MappedLayout {
  Place strides = {};
  /// -1 for dimensions that the map leaves out.
  Place extents = {-1, -1, -1, -1, -1};

  /// An error unless |map| is a projected permutation of as many dimensions as |dims| has.
  static llvm::Expected<MappedLayout> create(mlir::AffineMap map, llvm::ArrayRef<int64_t> dims);
  int64_t getOffset(const Place &place) const {
    int64_t offset = 0;
    for (int i = 0; i < 5; ++i)
      offset += place[i] * strides[i];
    return offset;
  }
};

/// The shape of a tensor that |map| lays out, for the extents of (b, n, q, kv, d).
Dims getMappedDims(mlir::AffineMap map, const Place &extents);

/// The operands of an attention by name; null where absent.
struct AttentionInputs {
  const HostTensor *query, *key, *value, *scale, *qOffset, *kvLen;
  llvm::ArrayRef<const HostTensor *> scoreCaptures, maskCaptures;
  const HostTensor *queryScale, *queryZeroPoint, *keyScale, *keyZeroPoint, *valueScale, *valueZeroPoint;
  const HostTensor *kvOffset = nullptr;
};

/// A region with the tensors that it captures, run for one (b, n, q, kv) at a time.
class CapturingRegion {
public:
  static llvm::Expected<CapturingRegion> create(mlir::Region &region, llvm::ArrayRef<const HostTensor *> captures,
                                                llvm::ArrayRef<mlir::AffineMap> maps);

  bool isPresent() const { return region.has_value(); }
  /// Runs the region on |leading| arguments and the captures' elements at |place|; an error if a capture has none.
  llvm::Expected<Scalar> run(llvm::ArrayRef<Scalar> leading, const Place &place);

private:
  std::optional<ScalarRegion> region;
  std::vector<Scalar> slots;
  llvm::ArrayRef<const HostTensor *> captures;
  llvm::SmallVector<mlir::AffineMap> maps;
};

/// The scores of an attention, one query row at a time.
class AttentionRows {
public:
  static llvm::Expected<AttentionRows> create(attn::AttentionInterface op, std::optional<double> scale,
                                              const AttentionInputs &inputs);

  /// Number of batches, query heads, queries and keys, and the size of a value head.
  const Place &getExtents() const { return extents; }

  /// Computes scores and keep flags of query row (b, n, q).
  llvm::Error computeRow(int64_t b, int64_t n, int64_t q);
  /// Of the last row: the scores of all keys below kv_len, natural logarithms after the score region.
  llvm::ArrayRef<double> getScores() const { return scores; }
  /// Of the last row: whether the mask region keeps each of these keys.
  const std::vector<bool> &getKeep() const { return keep; }
  bool keepsAny() const { return llvm::is_contained(keep, true); }

  /// Runs |region| on the weight of each key of the last row, which it replaces.
  llvm::Error changeWeights(CapturingRegion &region, std::vector<double> &weights) const;

  /// out (value head size) += sum over j of weights[j] * value[b, g, j, :], for the last row.
  void addValues(llvm::ArrayRef<double> weights, double *out) const;

private:
  struct Mapped {
    std::vector<double> elements;
    MappedLayout layout;
  };

  AttentionRows(CapturingRegion score, CapturingRegion mask) : score(std::move(score)), mask(std::move(mask)) {}
  static llvm::Expected<Mapped> createMapped(const HostTensor &tensor, mlir::AffineMap map, const HostTensor *scale,
                                             const HostTensor *zeroPoint);
  llvm::Error checkExtents(attn::AttentionInterface op);
  /// Replaces each row along the head size by its codes times its scale: attn.sdpa's qk_int8. Products and sums of
  /// these are exact up to f64's rounding of scales.
  static void quantizeRows(Mapped &tensor);
  /// Replaces values by their codes times the scales, which broadcast onto |dims|: attn.sdpa's pv_int8_block.
  static llvm::Error quantizeValues(Mapped &tensor, llvm::ArrayRef<int64_t> dims, const HostTensor &scale);
  /// Entry |b| of a scalar or of a vector with one entry a batch.
  static int64_t getLength(const HostTensor *lengths, int64_t b, int64_t fallback);

  Mapped query, key, value;
  CapturingRegion score, mask;
  AttentionInputs inputs;
  double scale = 1;
  Place extents = {};
  int64_t headSize = 0, groupSize = 1;

  // The last row.
  Place row = {};
  int64_t queryHead = 0, position = 0;
  std::vector<double> scores;
  std::vector<bool> keep;
};

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_ATTENTIONROWS_H
