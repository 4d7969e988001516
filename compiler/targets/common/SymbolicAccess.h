// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a root's loops walk through memory, in symbols. An operand's affine map and its tensor's row-major layout become
// one linear address: a stride per loop plus what isn't linear. Strides and bounds are polynomials over the kernel's
// run-time sizes, so that equality of `d1 * s0` and `s0 * d1`, which affine expressions don't decide, is decided here.
// Loops that all operands walk as one are then merged: long flat loops vectorise best.

#ifndef HEDDLE_COMPILER_TARGETS_COMMON_SYMBOLICACCESS_H
#define HEDDLE_COMPILER_TARGETS_COMMON_SYMBOLICACCESS_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle {

/// The unknowns of one kernel: its size arguments, in order, then symbolic divisions that no polynomial can hold.
/// Numbered in order of first use, never by address, so that generated code is the same in every run.
class SymbolSpace {
public:
  SymbolSpace(mlir::MLIRContext *context, unsigned numSizes);

  mlir::MLIRContext *getContext() const { return context; }
  /// Number of |expr|, which is a symbol or a symbolic division.
  unsigned getAtom(mlir::AffineExpr expr);
  mlir::AffineExpr getExpr(unsigned atom) const { return atoms[atom]; }

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::AffineExpr> atoms;
};

/// A polynomial with integer coefficients over the atoms of a SymbolSpace. Equal polynomials compare equal.
class Polynomial {
public:
  using Monomial = std::vector<unsigned>; // sorted atoms, one entry per power

  Polynomial() = default;
  Polynomial(int64_t constant);
  static Polynomial atom(unsigned atom);
  /// |expr| has no dimensions.
  static Polynomial get(mlir::AffineExpr expr, SymbolSpace &space);

  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  bool operator==(const Polynomial &other) const { return terms == other.terms; }
  bool operator!=(const Polynomial &other) const { return terms != other.terms; }

  bool isZero() const { return terms.empty(); }
  /// The value, if no atom is left in it.
  std::optional<int64_t> getConstant() const;
  /// True if every value it can take is a multiple of |divisor|.
  bool isMultipleOf(int64_t divisor) const;
  mlir::AffineExpr toExpr(const SymbolSpace &space) const;
  const std::map<Monomial, int64_t> &getTerms() const { return terms; }

private:
  std::map<Monomial, int64_t> terms;
};

/// The address of an operand's element, in elements: offset + sum of strides[l] * loop l + irregular parts.
struct Access {
  /// A part that isn't linear in the loops (a division or remainder), times its stride.
  struct Irregular {
    mlir::AffineExpr expr;
    Polynomial stride;
  };
  llvm::SmallVector<Polynomial> strides;
  Polynomial offset;
  llvm::SmallVector<Irregular> irregular;

  bool isIrregularIn(unsigned loop) const;
  bool uses(unsigned loop) const { return !strides[loop].isZero() || isIrregularIn(loop); }
};

/// How the address changes from one lane to the next along a vectorised loop.
enum class LaneStride { Uniform, Unit, Other };

/// Lane stride of |access| along |loop| for vectors that start at multiples of |alignment| of the loop (1: anywhere).
LaneStride getLaneStride(const Access &access, unsigned loop, int64_t alignment);

/// Access to a row-major tensor of |type| whose dynamic dimension i has the size argument sizes[dims[i]], by |map|.
Access getAccess(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims, mlir::AffineMap map, SymbolSpace &space);

/// Number of elements of such a tensor.
Polynomial getNumElements(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims);

/// A loop nest with the accesses of all its operands, after merging.
struct LoopNest {
  llvm::SmallVector<Polynomial> bounds;
  llvm::SmallVector<Access> accesses; // inputs, then results
  /// Per loop, the original loops that it runs over; one that merged with another has no index of its own any more.
  llvm::SmallVector<llvm::SmallVector<unsigned>> originals;
  unsigned getNumLoops() const { return bounds.size(); }
  /// The loop that is |original| and nothing else.
  std::optional<unsigned> findLoop(unsigned original) const;
};

/// Merges neighbouring loops of |nest| that every operand walks like one. |canMerge[l]| allows merging loop l with
/// loop l + 1. Loops whose index |isIndexUsed| stay.
void mergeLoops(LoopNest &nest, llvm::ArrayRef<bool> canMerge, llvm::ArrayRef<bool> isIndexUsed);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_COMMON_SYMBOLICACCESS_H
