// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops that a machine's limits are measured with, once for each width of vectors: multiply-adds in registers, of
// floats and of bytes, and reads of memory as several streams.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::cli {

/// The loops on vectors of |bits|. Thread-safe; results are returned so that no optimiser drops the work.
struct PeakLoops {
  unsigned bits;
  int64_t flopsPerRound; ///< of one round of |multiplyAdd|, a multiply-add counted as two

  /// |rounds| rounds of independent multiply-adds on values that start at |seed|, which the optimiser mustn't know.
  float (*multiplyAdd)(int64_t rounds, float seed);
  /// Adds up |count| elements, a multiple of kReadGranule, at an address aligned to 64 bytes.
  float (*read)(const float *data, size_t count);
  /// |rounds| rounds of independent multiply-adds of bytes to sums of 32 bits, four times as many as of floats: without
  /// and with VNNI; null where the CPU lacks what the loop takes.
  int32_t (*multiplyBytes)(int64_t rounds, int32_t seed);
  int32_t (*multiplyBytesVnni)(int64_t rounds, int32_t seed);
};

/// Elements that every stream takes in one step, times the streams.
inline constexpr size_t kReadGranule = 4 * 32;

/// The loops that this CPU can run, the widest first; at least one.
const std::vector<PeakLoops> &peakLoops();

} // namespace heddle::cli
