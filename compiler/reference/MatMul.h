// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one product that takes time: plain loops in blocks that fit a cache.

#ifndef HEDDLE_COMPILER_REFERENCE_MATMUL_H
#define HEDDLE_COMPILER_REFERENCE_MATMUL_H

#include "compiler/reference/HostTensor.h"

namespace heddle::reference {

/// c (m, n) += a (m, k) @ b (k, n), all row-major. The order of summation depends on k alone, so that a row's result
/// depends on no other row.
void multiplyMatrices(const double *a, const double *b, double *c, int64_t m, int64_t k, int64_t n);
/// The same for integers, modulo 2^64.
void multiplyMatrices(const int64_t *a, const int64_t *b, int64_t *c, int64_t m, int64_t k, int64_t n);

/// numpy's matmul of two float or two integer tensors; the result has element type |elementType|, integers are wrapped
/// into it. Independent matrices and blocks of rows run on the context's threads.
llvm::Expected<HostTensor> matmul(const HostTensor &lhs, const HostTensor &rhs, mlir::Type elementType);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_MATMUL_H
