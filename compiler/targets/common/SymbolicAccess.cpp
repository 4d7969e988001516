// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polynomials over run-time sizes, linear addresses, and the merging of loops.

#include "compiler/targets/common/SymbolicAccess.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Symbols and polynomials
//===----------------------------------------------------------------------===//

SymbolSpace::SymbolSpace(MLIRContext *context, unsigned numSizes) : context(context) {
  for (unsigned i = 0; i < numSizes; ++i)
    atoms.push_back(getAffineSymbolExpr(i, context));
}

unsigned SymbolSpace::getAtom(AffineExpr expr) {
  auto found = llvm::find(atoms, expr);
  if (found != atoms.end())
    return found - atoms.begin();
  atoms.push_back(expr);
  return atoms.size() - 1;
}

Polynomial::Polynomial(int64_t constant) {
  if (constant != 0)
    terms[{}] = constant;
}

Polynomial Polynomial::atom(unsigned atom) {
  Polynomial result;
  result.terms[{atom}] = 1;
  return result;
}

Polynomial Polynomial::get(AffineExpr expr, SymbolSpace &space) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Polynomial(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Add)
    return get(binary.getLHS(), space) + get(binary.getRHS(), space);
  if (binary && expr.getKind() == AffineExprKind::Mul)
    return get(binary.getLHS(), space) * get(binary.getRHS(), space);
  return atom(space.getAtom(expr));
}

// Addresses are numbers modulo 2^64, and so are coefficients: one that wraps belongs to a stride that no tensor in
// memory is long enough for, and reads the same place.
static int64_t addWrapped(int64_t x, int64_t y) { return int64_t(uint64_t(x) + uint64_t(y)); }
static int64_t multiplyWrapped(int64_t x, int64_t y) { return int64_t(uint64_t(x) * uint64_t(y)); }

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial result = *this;
  for (const auto &[monomial, coefficient] : other.terms) {
    int64_t &sum = result.terms[monomial];
    sum = addWrapped(sum, coefficient);
    if (sum == 0)
      result.terms.erase(monomial);
  }
  return result;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial result;
  for (const auto &[left, leftCoefficient] : terms) {
    for (const auto &[right, rightCoefficient] : other.terms) {
      Polynomial product;
      Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      llvm::sort(monomial);
      product.terms[monomial] = multiplyWrapped(leftCoefficient, rightCoefficient);
      result = result + product;
    }
  }
  return result;
}

std::optional<int64_t> Polynomial::getConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

bool Polynomial::isMultipleOf(int64_t divisor) const {
  return llvm::all_of(terms, [&](const auto &term) { return term.second % divisor == 0; });
}

AffineExpr Polynomial::toExpr(const SymbolSpace &space) const {
  AffineExpr sum = getAffineConstantExpr(0, space.getContext());
  for (const auto &[monomial, coefficient] : terms) {
    AffineExpr product = getAffineConstantExpr(1, space.getContext());
    for (unsigned atom : monomial)
      product = space.getExpr(atom) * product;
    sum = sum + product * coefficient;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

bool Access::isIrregularIn(unsigned loop) const {
  return llvm::any_of(irregular, [&](const Irregular &part) { return part.expr.isFunctionOfDim(loop); });
}

namespace {

/// Adds |expr| * |stride| to |access|.
void addTerm(Access &access, AffineExpr expr, const Polynomial &stride, SymbolSpace &space) {
  if (expr.isSymbolicOrConstant()) {
    access.offset = access.offset + Polynomial::get(expr, space) * stride;
    return;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    access.strides[dim.getPosition()] = access.strides[dim.getPosition()] + stride;
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add) {
    addTerm(access, binary.getLHS(), stride, space);
    addTerm(access, binary.getRHS(), stride, space);
    return;
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    bool leftIsFactor = binary.getLHS().isSymbolicOrConstant();
    AffineExpr factor = leftIsFactor ? binary.getLHS() : binary.getRHS();
    AffineExpr rest = leftIsFactor ? binary.getRHS() : binary.getLHS();
    addTerm(access, rest, stride * Polynomial::get(factor, space), space);
    return;
  }
  access.irregular.push_back({expr, stride});
}

/// Splitting an index and joining it again, (e floordiv c) * c + e mod c, is e: contiguous heads need no division.
bool rejoinSplitIndex(Access &access, SymbolSpace &space) {
  for (auto [i, quotient] : llvm::enumerate(access.irregular)) {
    if (quotient.expr.getKind() != AffineExprKind::FloorDiv)
      continue;
    auto division = cast<AffineBinaryOpExpr>(quotient.expr);
    for (auto [j, remainder] : llvm::enumerate(access.irregular)) {
      if (remainder.expr != division.getLHS() % division.getRHS() ||
          quotient.stride != remainder.stride * Polynomial::get(division.getRHS(), space))
        continue;
      Polynomial stride = remainder.stride;
      AffineExpr whole = division.getLHS();
      access.irregular.erase(access.irregular.begin() + std::max(i, j));
      access.irregular.erase(access.irregular.begin() + std::min(i, j));
      addTerm(access, whole, stride, space);
      return true;
    }
  }
  return false;
}

Polynomial getDimension(RankedTensorType type, ArrayRef<int64_t> dims, unsigned i) {
  if (!type.isDynamicDim(i))
    return Polynomial(type.getDimSize(i));
  return Polynomial::atom(dims[type.getDynamicDimIndex(i)]);
}

/// Lane stride of one irregular part whose vectors start at multiples of |alignment|.
LaneStride getLaneStride(AffineExpr expr, unsigned loop, int64_t alignment) {
  if (!expr.isFunctionOfDim(loop))
    return LaneStride::Uniform;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
  // A vector that starts at a multiple of its length never crosses a multiple of a divisor that is one too.
  if (!divisor || !dim || alignment <= 1 || divisor.getValue() % alignment != 0)
    return LaneStride::Other;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return LaneStride::Uniform;
  return expr.getKind() == AffineExprKind::Mod ? LaneStride::Unit : LaneStride::Other;
}

} // namespace

LaneStride getLaneStride(const Access &access, unsigned loop, int64_t alignment) {
  Polynomial stride = access.strides[loop];
  for (const Access::Irregular &part : access.irregular) {
    LaneStride partStride = getLaneStride(part.expr, loop, alignment);
    if (partStride == LaneStride::Other)
      return LaneStride::Other;
    if (partStride == LaneStride::Unit)
      stride = stride + part.stride;
  }
  if (stride.isZero())
    return LaneStride::Uniform;
  return stride == Polynomial(1) ? LaneStride::Unit : LaneStride::Other;
}

Access getAccess(RankedTensorType type, ArrayRef<int64_t> dims, AffineMap map, SymbolSpace &space) {
  Access access;
  access.strides.resize(map.getNumDims());
  Polynomial stride(1);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    addTerm(access, map.getResult(i), stride, space);
    stride = stride * getDimension(type, dims, i);
  }
  while (rejoinSplitIndex(access, space)) {
  }
  return access;
}

Polynomial getNumElements(RankedTensorType type, ArrayRef<int64_t> dims) {
  Polynomial product(1);
  for (int64_t i = 0; i < type.getRank(); ++i)
    product = product * getDimension(type, dims, i);
  return product;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {

/// True if |access| walks loops |outer| and |outer| + 1 as one loop of |inner bound| times as many steps.
bool walksAsOne(const LoopNest &nest, const Access &access, unsigned outer) {
  if (access.isIrregularIn(outer) || access.isIrregularIn(outer + 1))
    return false;
  if (nest.bounds[outer] == Polynomial(1) || nest.bounds[outer + 1] == Polynomial(1))
    return true;
  return access.strides[outer] == access.strides[outer + 1] * nest.bounds[outer + 1];
}

/// Drops loop |outer| from |nest|; loop |outer| + 1 runs over both.
void mergeInto(LoopNest &nest, unsigned outer) {
  bool innerIsSingle = nest.bounds[outer + 1] == Polynomial(1);
  unsigned numLoops = nest.getNumLoops();
  SmallVector<AffineExpr> renumbered;
  for (Access &access : nest.accesses) {
    MLIRContext *context = access.irregular.empty() ? nullptr : access.irregular.front().expr.getContext();
    renumbered.clear();
    for (unsigned loop = 0; context && loop < numLoops; ++loop)
      renumbered.push_back(getAffineDimExpr(loop > outer ? loop - 1 : loop, context));
    for (Access::Irregular &part : access.irregular)
      part.expr = part.expr.replaceDims(renumbered);
    access.strides.erase(access.strides.begin() + (innerIsSingle ? outer + 1 : outer));
  }
  nest.bounds[outer + 1] = nest.bounds[outer] * nest.bounds[outer + 1];
  nest.bounds.erase(nest.bounds.begin() + outer);
}

} // namespace

void mergeLoops(LoopNest &nest, ArrayRef<bool> canMerge, ArrayRef<bool> isIndexUsed) {
  SmallVector<bool> mayMerge(canMerge), used(isIndexUsed);
  SmallVector<SmallVector<unsigned>> &originals = nest.originals;
  originals.clear();
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop)
    originals.push_back({loop});
  for (int64_t outer = static_cast<int64_t>(nest.getNumLoops()) - 2; outer >= 0; --outer) {
    auto isOne = [&](const Access &access) { return walksAsOne(nest, access, outer); };
    if (!mayMerge[outer] || used[outer] || used[outer + 1] || !llvm::all_of(nest.accesses, isOne))
      continue;
    mergeInto(nest, outer);
    originals[outer + 1].insert(originals[outer + 1].begin(), originals[outer].begin(), originals[outer].end());
    originals.erase(originals.begin() + outer);
    // The merged loop takes the outer one's place; what followed the inner one still follows.
    mayMerge.erase(mayMerge.begin() + outer);
    used.erase(used.begin() + outer);
  }
}

std::optional<unsigned> LoopNest::findLoop(unsigned original) const {
  for (auto [loop, members] : llvm::enumerate(originals))
    if (members.size() == 1 && members.front() == original)
      return loop;
  return std::nullopt;
}

} // namespace heddle
