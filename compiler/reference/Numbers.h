// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number formats of tensor elements: how a value that is held wider (a float as double, an integer as int64_t) is
// brought back into its own type.

#ifndef HEDDLE_COMPILER_REFERENCE_NUMBERS_H
#define HEDDLE_COMPILER_REFERENCE_NUMBERS_H

#include "mlir/IR/BuiltinTypes.h"

namespace heddle::reference {

/// An integer type of 1 to 64 bits. Values are held as int64_t: sign-extended for signed types (signless ones count as
/// signed), zero-extended for unsigned ones and for i1. An unsigned 64-bit value is held as its bits.
struct IntFormat {
  unsigned width = 64;
  bool isUnsigned = false;

  /// |type| must be an IntegerType.
  static IntFormat of(mlir::Type type);

  /// Keeps the low bits, as two's complement arithmetic does.
  int64_t wrap(int64_t value) const;
  int64_t least() const;
  int64_t greatest() const;
  /// |value| as a real number; 64-bit values are rounded to nearest.
  double toDouble(int64_t value) const;
  /// Truncates toward zero; what is out of range becomes the nearest value in range, a NaN becomes 0.
  int64_t fromDouble(double value) const;
};

/// Rounds to nearest even into the float type |type|; what is too large becomes an infinity.
double roundToType(double value, mlir::Type type);

/// The value of the half-precision number |bits|.
double decodeHalf(uint16_t bits);
/// The bits of |value| rounded into |type| (f16 or bf16).
uint16_t encodeHalf(double value, mlir::Type type);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_NUMBERS_H
