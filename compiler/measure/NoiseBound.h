// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far outputs of a model may be off whose activations are codes somewhere.

#ifndef HEDDLE_COMPILER_MEASURE_NOISEBOUND_H
#define HEDDLE_COMPILER_MEASURE_NOISEBOUND_H

#include "llvm/ADT/ArrayRef.h"

namespace heddle {

/// What floats may be off by, of themselves, in any kernel.
inline constexpr double kFloatNoise = 1e-5;
/// Runs of the reference with such noise, each with other numbers.
inline constexpr unsigned kNoiseRuns = 3;

/// Whether an output agrees with the reference's by its |cosine|: where it has the reference's direction, or is no
/// farther off than kFloatNoise may take it. |noisy| are the cosines of the reference with noise, uniform up to
/// kFloatNoise, to the reference; empty where they aren't known yet.
///
/// A code that rounds the other way is off by a step, whatever made it; so what noise does is done by how many codes it
/// turns, in proportion to its mean magnitude, and 1 - cosine, a sum of squares, grows with their number. Errors that
/// reach the bound everywhere turn twice as many codes as uniform noise below it, whose mean is a half. Hence twice the
/// largest distance of several runs, whose spread stands for that of the artifact's own.
bool agreesButForCodes(double cosine, llvm::ArrayRef<double> noisy);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_NOISEBOUND_H
