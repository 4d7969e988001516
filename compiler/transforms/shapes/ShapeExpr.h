// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical integer expressions over the sizes and small integer values that an entry point receives. Everything that
// speaks of a dynamic dimension (analysis, outlining, the shape program) speaks in these. Two expressions that
// canonicalise alike are one object, so equality of sizes is a pointer comparison.

#ifndef HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEEXPR_H
#define HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEEXPR_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace heddle {

namespace detail {
struct ShapeNode;
struct ShapeContextImpl;
} // namespace detail

/// Kinds of canonical expressions. What has no kind is spelled with these: a ceiling division is -floordiv(-a, b),
/// `and` a product, `or` a maximum, `not` 1 - a.
enum class ShapeExprKind {
  Constant,
  Symbol,     // a named entry dimension
  InputValue, // an element of a host input
  Sum,        // a polynomial: terms of a coefficient and a product of atoms; an atom is anything but Constant and Sum
  FloorDiv,
  Mod,
  Min, // of two or more
  Max, // of two or more
  Equal,
  Less,
  Select,
};

struct ShapeTerm;

/// All values that an expression can take, both ends inclusive. INT64_MIN and INT64_MAX also stand for "no bound":
/// what leaves 64 bits ends the run.
struct ShapeRange {
  int64_t low;
  int64_t high;
};

/// A handle onto an expression of a ShapeContext, valid as long as that; as cheap as a pointer. The null handle says
/// "has no value" (64 bits overflow, a division by zero): every operation on it gives null again, so that callers test
/// once, at the end.
class ShapeExpr {
public:
  ShapeExpr() = default;
  explicit ShapeExpr(const detail::ShapeNode *node) : node(node) {}

  explicit operator bool() const { return node != nullptr; }
  bool operator==(ShapeExpr other) const { return node == other.node; }
  bool operator!=(ShapeExpr other) const { return node != other.node; }

  ShapeExprKind getKind() const;
  std::optional<int64_t> getConstant() const;
  bool isConstant(int64_t value) const { return getConstant() == value; }

  /// Entry input and dimension (Symbol) or element (InputValue).
  unsigned getInput() const;
  int64_t getPosition() const;
  /// A symbol's name, as users know it.
  llvm::StringRef getName() const;

  /// Operands of all kinds but Constant, Symbol, InputValue and Sum.
  llvm::ArrayRef<ShapeExpr> getOperands() const;
  /// Terms of any expression seen as a polynomial, greatest monomial first; none for zero.
  llvm::ArrayRef<ShapeTerm> getTerms() const;
  ShapeRange getRange() const;
  bool isNonNegative() const { return node && getRange().low >= 0; }
  bool isBoolean() const { return node && getRange().low >= 0 && getRange().high <= 1; }

  /// Number of nodes that the expression is written with; of equals the one with fewer is shown and computed.
  unsigned getComplexity() const;
  /// Position in the order of creation; equal programs create in equal order.
  unsigned getId() const;

  /// As a formula: `384*B*S + 1`, `min(S, 512)`; `<none>` for null.
  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  const detail::ShapeNode *getImpl() const { return node; }

private:
  const detail::ShapeNode *node = nullptr;
};

/// One term of a polynomial. |atoms| are in ascending order of creation, repeated for powers; empty for the constant.
struct ShapeTerm {
  int64_t coefficient;
  llvm::SmallVector<ShapeExpr, 2> atoms;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, ShapeExpr expr) {
  expr.print(os);
  return os;
}
inline llvm::hash_code hash_value(ShapeExpr expr) { return llvm::hash_value(expr.getImpl()); }

/// Makes and owns expressions. Not thread-safe; one per analysed function.
///
/// Simplifications hold for all values within the ranges of the symbols (sizes are never negative) under which the
/// expression as written has a value at all: `floordiv(a*b, b)` becomes `a`, although it has no value for b = 0.
class ShapeContext {
public:
  ShapeContext();
  ~ShapeContext();
  ShapeContext(const ShapeContext &) = delete;
  ShapeContext &operator=(const ShapeContext &) = delete;

  ShapeExpr constant(int64_t value);
  /// Dimension |dim| of entry input |input|. All calls with one |name| give one symbol, that of the first call: the
  /// runtime checks that dimensions of one name agree. A dimension without a name is like no other.
  ShapeExpr symbol(unsigned input, int64_t dim, llvm::StringRef name);
  /// Element |element| of integer input |input|, whose type admits |range|.
  ShapeExpr inputValue(unsigned input, int64_t element, ShapeRange range);

  ShapeExpr add(ShapeExpr a, ShapeExpr b);
  ShapeExpr sub(ShapeExpr a, ShapeExpr b);
  ShapeExpr mul(ShapeExpr a, ShapeExpr b);
  ShapeExpr product(llvm::ArrayRef<ShapeExpr> factors);
  /// Rounded towards minus infinity. A divisor of zero ends the run.
  ShapeExpr floorDiv(ShapeExpr a, ShapeExpr b);
  /// Rounded towards plus infinity.
  ShapeExpr ceilDiv(ShapeExpr a, ShapeExpr b);
  /// Rounded towards zero, as ONNX divides integers.
  ShapeExpr truncDiv(ShapeExpr a, ShapeExpr b);
  /// a - floordiv(a, b) * b: has the sign of b.
  ShapeExpr mod(ShapeExpr a, ShapeExpr b);
  ShapeExpr min(ShapeExpr a, ShapeExpr b);
  ShapeExpr max(ShapeExpr a, ShapeExpr b);
  /// 0 or 1.
  ShapeExpr equal(ShapeExpr a, ShapeExpr b);
  ShapeExpr less(ShapeExpr a, ShapeExpr b);
  ShapeExpr lessEqual(ShapeExpr a, ShapeExpr b);
  /// Of operands that are 0 or 1.
  ShapeExpr logicalNot(ShapeExpr a);
  ShapeExpr logicalAnd(ShapeExpr a, ShapeExpr b);
  ShapeExpr logicalOr(ShapeExpr a, ShapeExpr b);
  /// condition != 0 ? onTrue : onFalse
  ShapeExpr select(ShapeExpr condition, ShapeExpr onTrue, ShapeExpr onFalse);

  /// The limit under which |a| is equal to |b|, where that is a minimum of |a| and others: min(S, 512) is S for S up to
  /// 512. Null where |b| isn't such.
  ShapeExpr getLimit(ShapeExpr a, ShapeExpr b);

  /// q with a == q * b as polynomials, or null: then b doesn't divide a for all sizes.
  ShapeExpr divideExactly(ShapeExpr a, ShapeExpr b);

  /// True only if the relation holds for all sizes.
  bool isProvablyNonNegative(ShapeExpr a);
  bool isProvablyLessEqual(ShapeExpr a, ShapeExpr b);

  /// |expr| with |symbols| in place of its symbols; it must not contain dimensions.
  ShapeExpr evaluateAffine(mlir::AffineExpr expr, llvm::ArrayRef<ShapeExpr> symbols);

private:
  std::unique_ptr<detail::ShapeContextImpl> impl;
};

/// The value of |expr| where |valueOf| gives those of Symbols and InputValues; none on overflow or division by zero.
std::optional<int64_t> evaluate(ShapeExpr expr, llvm::function_ref<int64_t(ShapeExpr)> valueOf);

} // namespace heddle

namespace llvm {
template <> struct DenseMapInfo<heddle::ShapeExpr> {
  using Pointer = DenseMapInfo<const heddle::detail::ShapeNode *>;
  static heddle::ShapeExpr getEmptyKey() { return heddle::ShapeExpr(Pointer::getEmptyKey()); }
  static heddle::ShapeExpr getTombstoneKey() { return heddle::ShapeExpr(Pointer::getTombstoneKey()); }
  static unsigned getHashValue(heddle::ShapeExpr expr) { return Pointer::getHashValue(expr.getImpl()); }
  static bool isEqual(heddle::ShapeExpr a, heddle::ShapeExpr b) { return a == b; }
};
} // namespace llvm

#endif // HEDDLE_COMPILER_TRANSFORMS_SHAPES_SHAPEEXPR_H
