// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline of a device: how fast it computes and reads at most; and that of the CPU, measured.

#pragma once

#include "tools/heddle/json.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace heddle::cli {

/// What a kernel's operations are of.
enum class Arithmetic { Floats, Bytes };

/// Where bytes come from: a CPU's caches, the caches of a device that has no names for them, or memory.
enum class Level { L1, L2, L3, Cache, Memory };
constexpr int kLevels = 5;
/// "L1" ... "cache", "DRAM".
const char *levelName(Level level);

/// Limits of a device, measured. Rates are per second.
struct Roofline {
  std::string device; ///< as reports call it: "cpu", "vulkan:0"
  std::string name;   ///< as it calls itself
  unsigned threads;   ///< of the CPU, whose limits together these are; 0: of a whole device
  double flops;       ///< f32 operations, a multiply-add counted as two
  double byteOps;     ///< the same of products of bytes; as |flops| where a CPU has no instructions for them
  double l1, l2, l3;  ///< bytes read; a level that the device doesn't tell of has the next one's rate
  double cache, memory;
  uint64_t l1Bytes, l2Bytes; ///< of all threads' caches together
  uint64_t l3Bytes;          ///< shared by all
  uint64_t cacheBytes;       ///< of a device's caches; 0: a CPU, or none was found

  /// The smallest level that holds |bytes|.
  Level levelFor(uint64_t bytes) const;
  /// Bytes per second of that level, and of a given one.
  double bandwidthFor(uint64_t bytes) const { return bandwidthOf(levelFor(bytes)); }
  double bandwidthOf(Level level) const;
  /// The greatest rate of operations.
  double peak() const { return std::max(flops, byteOps); }
  /// Operations per second.
  double rateOf(Arithmetic arithmetic) const { return arithmetic == Arithmetic::Bytes ? byteOps : flops; }
};

/// Writes "device", "name", "threads", "f32_gflops", "l1_gbs" ... into the object that is open; null for what the
/// device doesn't have or tell.
void writeMembers(JsonWriter &json, const Roofline &roofline);

/// Measures |threads| threads of the CPU in about 0.2 s, with less memory than 256 MiB. Other work on the machine
/// lowers what is seen. Throws CommandError or std::bad_alloc where threads or memory are out.
Roofline measureRoofline(unsigned threads);

} // namespace heddle::cli
