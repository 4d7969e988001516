// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline of this machine: how fast it computes and reads at most, and how long given work takes at that speed.

#pragma once

#include <cstdint>
#include <string>

namespace heddle::cli {

/// Limits of |threads| threads together, measured. Rates are per second.
struct Roofline {
  unsigned threads;
  double flops;              ///< f32 operations, a multiply-add counted as two
  double l1, l2, l3, memory; ///< bytes read; a level that the machine doesn't tell of has the next one's rate
  uint64_t l1Bytes, l2Bytes; ///< of all threads' caches together
  uint64_t l3Bytes;          ///< shared by all

  /// Bytes per second of the smallest level that holds |bytes|.
  double bandwidthFor(uint64_t bytes) const;

  /// Seconds that a kernel takes at least: it computes |flops| and reads or writes |bytes|, which lie in the level that
  /// holds |footprint| bytes.
  double leastSeconds(int64_t flops, int64_t bytes, uint64_t footprint) const;
};

/// Measures in about 0.2 s, with less memory than 256 MiB. Other work on the machine lowers what is seen. Throws
/// CommandError or std::bad_alloc where threads or memory are out.
Roofline measureRoofline(unsigned threads);

} // namespace heddle::cli
