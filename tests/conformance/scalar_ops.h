// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of scalar regions on single numbers.

#pragma once

#include <cstdint>
#include <vector>

#include "dialects/kernel/KernelOps.h"

namespace heddle::conformance {

/// A float (f) or an integer, sign-extended (i); the op's type says which.
struct scalar {
  double f = 0;
  int64_t i = 0;
  static scalar of(double value) { return {value, 0}; }
  static scalar of_int(int64_t value) { return {0, value}; }
};

/// Result of |op|, an arith or math op. Aborts the test program at an op it doesn't know.
scalar evaluate_scalar(mlir::Operation *op, const std::vector<scalar> &operands);

bool is_integer_division(mlir::Operation *op);

scalar neutral(kernel::Combiner combiner, mlir::Type type);
scalar combine(kernel::Combiner combiner, const scalar &a, const scalar &b);

/// |expr| at the given indices.
int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> symbols);

/// Replaces f32 numbers by their codes of 8 bits times the scale: attn.sdpa's qk_int8.
void quantize_row(std::vector<double> &row);

/// An f32 number as its code of 8 bits times |scale|: attn.sdpa's pv_int8_block.
double quantize_value(double value, float scale);

} // namespace heddle::conformance
