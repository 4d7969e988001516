// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/fma_peak.h"

#include <chrono>
#include <cstdint>
#include <immintrin.h>

namespace heddle::conformance {

double seconds_of(const std::function<void()> &action) {
  auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

constexpr int64_t kPeakRounds = 20000;
constexpr int64_t kChains = 12;

/// Twelve independent chains of multiply-adds: more than latency times throughput of any CPU we know.
__attribute__((target("avx512f"))) float run_peak_512(float half) {
  __m512 sums[kChains], factor = _mm512_set1_ps(half);
  for (auto &sum : sums)
    sum = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < kPeakRounds; ++i)
    for (auto &sum : sums)
      sum = _mm512_fmadd_ps(sum, factor, factor);
  __m512 total = sums[0];
  for (int64_t c = 1; c < kChains; ++c)
    total = _mm512_add_ps(total, sums[c]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float run_peak_256(float half) {
  __m256 sums[kChains], factor = _mm256_set1_ps(half);
  for (auto &sum : sums)
    sum = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < kPeakRounds; ++i)
    for (auto &sum : sums)
      sum = _mm256_fmadd_ps(sum, factor, factor);
  __m256 total = sums[0];
  for (int64_t c = 1; c < kChains; ++c)
    total = _mm256_add_ps(total, sums[c]);
  return _mm256_cvtss_f32(total);
}

} // namespace

double measure_fma_peak(bool is_wide) {
  // The optimiser must not know the factor, or it computes the sums itself.
  volatile float sink = 0, half = 0.5f;
  double loop = seconds_of([&] { sink = is_wide ? run_peak_512(half) : run_peak_256(half); });
  return 2.0 * (is_wide ? 16 : 8) * kPeakRounds * kChains / loop;
}

} // namespace heddle::conformance
