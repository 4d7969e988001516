// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the shape inference of nn's op families shares. Each check emits a diagnostic where a location is given.

#ifndef HEDDLE_DIALECTS_NN_SHAPEINFERENCE_H
#define HEDDLE_DIALECTS_NN_SHAPEINFERENCE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace heddle::nn {

using Extents = mlir::SmallVector<int64_t, 6>;
using OptionalLocation = std::optional<mlir::Location>;

inline constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

/// The type of an operand that ODS guarantees to be a ranked tensor.
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// `[2, ?, 3]`, for diagnostics.
std::string formatList(llvm::ArrayRef<int64_t> extents);

/// True where |a| and |b| could be equal at run time.
inline bool mayEqual(int64_t a, int64_t b) { return a == b || a == kDynamic || b == kDynamic; }

/// The more exact of two extents that may be equal.
inline int64_t meet(int64_t a, int64_t b) { return a == kDynamic ? b : a; }

/// The product, `?` if a factor is; nothing where it overflows.
std::optional<int64_t> multiplyExtents(llvm::ArrayRef<int64_t> extents);

/// The broadcast of two shapes by numpy's rules.
mlir::LogicalResult broadcast(OptionalLocation location, llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b,
                              Extents &result);

/// True where |from| may broadcast to |onto| without changing |onto|.
bool broadcastsOnto(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> onto);

/// Checks 0 <= axis < rank.
mlir::LogicalResult checkAxis(OptionalLocation location, int64_t axis, int64_t rank);

/// Checks that |axes| ascend within [0, rank).
mlir::LogicalResult checkAxes(OptionalLocation location, llvm::ArrayRef<int64_t> axes, int64_t rank);

/// Checks that both operands have one element type.
mlir::LogicalResult checkSameElementType(OptionalLocation location, mlir::Value a, mlir::Value b);

/// The shape of a product by nn.matmul's rules.
mlir::LogicalResult inferMatMulShape(OptionalLocation location, llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b,
                                     Extents &result);

/// What is known of a vector of extents whose length is static.
Extents getKnownExtents(mlir::Value vector);

/// The static number of elements of a vector; an error "expects |what| of static length" where it is `?`.
mlir::FailureOr<int64_t> getStaticLength(OptionalLocation location, mlir::Value vector, llvm::StringRef what);

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_SHAPEINFERENCE_H
