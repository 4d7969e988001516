// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting, axes and extents for the op families.

#include "dialects/nn/ShapeInference.h"

#include "dialects/nn/ConstantData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle::nn;

std::string heddle::nn::formatList(ArrayRef<int64_t> extents) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(extents, stream, [&](int64_t extent) {
    if (extent == kDynamic)
      stream << "?";
    else
      stream << extent;
  });
  stream << "]";
  return stream.str();
}

std::optional<int64_t> heddle::nn::multiplyExtents(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent == kDynamic)
      return kDynamic;
    std::optional<int64_t> next = llvm::checkedMul(product, extent);
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return product;
}

LogicalResult heddle::nn::broadcast(OptionalLocation location, ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                    Extents &result) {
  size_t rank = std::max(a.size(), b.size());
  result.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    // An extent that isn't 1 decides, known or not: the other one is equal or 1.
    if (x == 1 || y == 1)
      result[i] = x == 1 ? y : x;
    else if (mayEqual(x, y))
      result[i] = meet(x, y);
    else
      return emitOptionalError(location, "expects operands that broadcast, got dimensions ", x, " and ", y, " at axis ",
                               i, " of shapes ", formatList(a), " and ", formatList(b));
  }
  return success();
}

bool heddle::nn::broadcastsOnto(ArrayRef<int64_t> from, ArrayRef<int64_t> onto) {
  if (from.size() > onto.size())
    return false;
  return llvm::all_of(llvm::zip(from, onto.take_back(from.size())), [](auto pair) {
    auto [source, target] = pair;
    return source == 1 || mayEqual(source, target);
  });
}

LogicalResult heddle::nn::checkAxis(OptionalLocation location, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return emitOptionalError(location, "expects axis within [0, ", rank, "), got ", axis);
  return success();
}

LogicalResult heddle::nn::checkAxes(OptionalLocation location, ArrayRef<int64_t> axes, int64_t rank) {
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis <= previous || axis >= rank)
      return emitOptionalError(location, "expects axes in ascending order within [0, ", rank, "), got ",
                               formatList(axes));
    previous = axis;
  }
  return success();
}

LogicalResult heddle::nn::checkSameElementType(OptionalLocation location, Value a, Value b) {
  Type x = getTensorType(a).getElementType(), y = getTensorType(b).getElementType();
  if (x != y)
    return emitOptionalError(location, "expects operands of one element type, got ", x, " and ", y);
  return success();
}

LogicalResult heddle::nn::inferMatMulShape(OptionalLocation location, ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                           Extents &result) {
  if (a.empty() || b.empty())
    return emitOptionalError(location, "expects operands of rank 1 or more");
  int64_t inner = a.back(), other = b.size() == 1 ? b.front() : b[b.size() - 2];
  if (!mayEqual(inner, other))
    return emitOptionalError(location, "expects equal inner dimensions, got ", inner, " and ", other);
  if (failed(broadcast(location, a.drop_back(std::min<size_t>(a.size(), 2)), b.drop_back(std::min<size_t>(b.size(), 2)),
                       result)))
    return failure();
  // A vector has neither rows nor columns of its own.
  if (a.size() > 1)
    result.push_back(a[a.size() - 2]);
  if (b.size() > 1)
    result.push_back(b.back());
  return success();
}

Extents heddle::nn::getKnownExtents(Value vector) {
  if (auto known = getKnownInts(vector))
    return Extents(known->begin(), known->end());
  return Extents(getTensorType(vector).getDimSize(0), kDynamic);
}

FailureOr<int64_t> heddle::nn::getStaticLength(OptionalLocation location, Value vector, llvm::StringRef what) {
  int64_t length = getTensorType(vector).getDimSize(0);
  if (length == kDynamic)
    return emitOptionalError(location, "expects ", what, " of static length");
  // Each becomes a dimension, so a damaged file could ask for more of them than there is memory.
  constexpr int64_t kMaxLength = 64;
  if (length > kMaxLength)
    return emitOptionalError(location, "expects ", what, " of at most ", kMaxLength, " extents, got ", length);
  return length;
}
