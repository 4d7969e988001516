// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/read_peak.h"

#include <immintrin.h>

#include "tests/conformance/fma_peak.h"

namespace heddle::conformance {

namespace {

constexpr size_t kStreams = 4;
constexpr size_t kLine = 64;

/// Two sums per stream: loads, not additions, are what waits.
__attribute__((target("avx2"))) float add_all(const float *data, size_t floats_per_stream) {
  __m256 sums[2 * kStreams];
  for (auto &sum : sums)
    sum = _mm256_setzero_ps();
  for (size_t i = 0; i < floats_per_stream; i += kLine / sizeof(float))
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const float *line = data + stream * floats_per_stream + i;
      sums[2 * stream] = _mm256_add_ps(sums[2 * stream], _mm256_load_ps(line));
      sums[2 * stream + 1] = _mm256_add_ps(sums[2 * stream + 1], _mm256_load_ps(line + 8));
    }
  __m256 total = sums[0];
  for (size_t i = 1; i < 2 * kStreams; ++i)
    total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

} // namespace

double measure_read_peak(const std::byte *data, size_t bytes) {
  size_t per_stream = bytes / (kStreams * kLine) * kLine;
  volatile float sink = 0;
  double pass = seconds_of([&] { sink = add_all(reinterpret_cast<const float *>(data), per_stream / sizeof(float)); });
  return static_cast<double>(per_stream * kStreams) / pass;
}

} // namespace heddle::conformance
