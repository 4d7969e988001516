// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast one core can read at most, measured beside what it does; see fma_peak.h.

#pragma once

#include <cstddef>

namespace heddle::conformance {

/// Bytes per second of one pass over |bytes| at |data|, as four streams of whole cache lines side by side: one stream
/// alone leaves out of memory a quarter or more unused. |data| is aligned to a line.
double measure_read_peak(const std::byte *data, size_t bytes);

} // namespace heddle::conformance
