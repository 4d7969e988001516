// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline of this machine: how fast it computes and reads at most, and how long given work takes at that speed.

#pragma once

#include "tools/heddle/json.h"

#include <cstdint>
#include <string>

namespace heddle::cli {

/// What a kernel's operations are of.
enum class Arithmetic { Floats, Bytes };

/// Where bytes come from.
enum class Level { L1, L2, L3, Memory };
/// "L1" ... "DRAM".
const char *levelName(Level level);

/// Limits of |threads| threads together, measured. Rates are per second.
struct Roofline {
  unsigned threads;
  double flops;              ///< f32 operations, a multiply-add counted as two
  double byteOps;            ///< the same of products of bytes; as |flops| where the CPU has no instructions for them
  double l1, l2, l3, memory; ///< bytes read; a level that the machine doesn't tell of has the next one's rate
  uint64_t l1Bytes, l2Bytes; ///< of all threads' caches together
  uint64_t l3Bytes;          ///< shared by all

  /// The smallest level that holds |bytes|.
  Level levelFor(uint64_t bytes) const;
  /// Bytes per second of that level, and of a given one.
  double bandwidthFor(uint64_t bytes) const { return bandwidthOf(levelFor(bytes)); }
  double bandwidthOf(Level level) const;
  /// Operations per second.
  double rateOf(Arithmetic arithmetic) const { return arithmetic == Arithmetic::Bytes ? byteOps : flops; }
};

/// Writes "threads", "f32_gflops", "l1_gbs" ... into the object that is open.
void writeMembers(JsonWriter &json, const Roofline &roofline);

/// Measures in about 0.2 s, with less memory than 256 MiB. Other work on the machine lowers what is seen. Throws
/// CommandError or std::bad_alloc where threads or memory are out.
Roofline measureRoofline(unsigned threads);

} // namespace heddle::cli
