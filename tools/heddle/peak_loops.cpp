// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains start at different values, or a compiler would see that they are one. Twelve of multiply-adds are more than
// latency times throughput of any CPU we know (eight to ten). Reads go as four streams, each a quarter of the data: one
// stream alone leaves a third of a memory's bandwidth unused, since each has a prefetcher of its own. Two vectors a
// stream give eight independent sums, which hides the latency of adding.

#include "tools/heddle/peak_loops.h"

#include "heddle/heddle.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// g++ keeps arrays in memory unless loops over them vanish, which at -O2 it must be asked for; clang does it anyway.
#if defined(__clang__)
#define HEDDLE_UNROLL
#else
#define HEDDLE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace heddle::cli {

namespace {

constexpr int kChains = 12;
constexpr int kStreams = 4;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float multiplyAdd512(int64_t rounds, float seed) {
  __m512 sums[kChains], factor = _mm512_set1_ps(seed);
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = _mm512_set1_ps(seed * static_cast<float>(chain));
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (__m512 &sum : sums)
    sum = _mm512_fmadd_ps(sum, factor, factor);
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] = _mm512_add_ps(sums[0], sums[chain]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f"))) float read512(const float *data, size_t count) {
  size_t quarter = count / kStreams;
  __m512 sums[kStreams][2] = {};
  for (size_t i = 0; i < quarter; i += 32)
    HEDDLE_UNROLL
  for (int stream = 0; stream < kStreams; ++stream)
    for (int half = 0; half < 2; ++half)
      sums[stream][half] = _mm512_add_ps(sums[stream][half], _mm512_load_ps(data + stream * quarter + i + 16 * half));
  __m512 total = sums[0][0];
  for (auto &pair : sums)
    total = _mm512_add_ps(total, _mm512_add_ps(pair[0], pair[1]));
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float multiplyAdd256(int64_t rounds, float seed) {
  __m256 sums[kChains], factor = _mm256_set1_ps(seed);
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = _mm256_set1_ps(seed * static_cast<float>(chain));
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (__m256 &sum : sums)
    sum = _mm256_fmadd_ps(sum, factor, factor);
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] = _mm256_add_ps(sums[0], sums[chain]);
  return _mm256_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float read256(const float *data, size_t count) {
  size_t quarter = count / kStreams;
  __m256 sums[kStreams][2] = {};
  for (size_t i = 0; i < quarter; i += 16)
    HEDDLE_UNROLL
  for (int stream = 0; stream < kStreams; ++stream)
    for (int half = 0; half < 2; ++half)
      sums[stream][half] = _mm256_add_ps(sums[stream][half], _mm256_load_ps(data + stream * quarter + i + 8 * half));
  __m256 total = sums[0][0];
  for (auto &pair : sums)
    total = _mm256_add_ps(total, _mm256_add_ps(pair[0], pair[1]));
  return _mm256_cvtss_f32(total);
}

//===--- Bytes --------------------------------------------------------------===//

__attribute__((target("avx512f,avx512bw,avx512vnni"))) int32_t multiplyBytesVnni(int64_t rounds, int32_t seed) {
  __m512i sums[kChains], factor = _mm512_set1_epi32(seed);
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = _mm512_set1_epi32(seed * chain);
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (__m512i &sum : sums)
    sum = _mm512_dpbusd_epi32(sum, factor, factor);
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] = _mm512_add_epi32(sums[0], sums[chain]);
  return _mm_cvtsi128_si32(_mm512_castsi512_si128(sums[0]));
}

// Sums of pairs in 16 bits, of these in 32, and the addition: three instructions where VNNI has one. The first factor
// is the sum, or its products would be the same in each round.

__attribute__((target("avx512f,avx512bw"))) int32_t multiplyBytes512(int64_t rounds, int32_t seed) {
  __m512i sums[kChains], factor = _mm512_set1_epi32(seed), ones = _mm512_set1_epi16(1);
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = _mm512_set1_epi32(seed * chain);
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (__m512i &sum : sums)
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(sum, factor), ones));
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] = _mm512_add_epi32(sums[0], sums[chain]);
  return _mm_cvtsi128_si32(_mm512_castsi512_si128(sums[0]));
}

__attribute__((target("avx2"))) int32_t multiplyBytes256(int64_t rounds, int32_t seed) {
  __m256i sums[kChains], factor = _mm256_set1_epi32(seed), ones = _mm256_set1_epi16(1);
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    sums[chain] = _mm256_set1_epi32(seed * chain);
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (__m256i &sum : sums)
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(sum, factor), ones));
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] = _mm256_add_epi32(sums[0], sums[chain]);
  return _mm256_cvtsi256_si32(sums[0]);
}

#endif

#if defined(__aarch64__)

float multiplyAdd128(int64_t rounds, float seed) {
  // Four pipes of latency four: sixteen chains.
  float32x4_t sums[16], factor = vdupq_n_f32(seed);
  HEDDLE_UNROLL
  for (int chain = 0; chain < 16; ++chain)
    sums[chain] = vdupq_n_f32(seed * static_cast<float>(chain));
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (float32x4_t &sum : sums)
    sum = vfmaq_f32(factor, sum, factor);
  for (int chain = 1; chain < 16; ++chain)
    sums[0] = vaddq_f32(sums[0], sums[chain]);
  return vgetq_lane_f32(sums[0], 0);
}

constexpr int64_t kBaselineFlops = 2 * 16 * 4;

#else

/// Four lanes that compilers turn into one vector, or don't: CPUs without anything better are measured as they are.
struct Lanes {
  float values[4];
};

float multiplyAdd128(int64_t rounds, float seed) {
  Lanes sums[kChains];
  HEDDLE_UNROLL
  for (int chain = 0; chain < kChains; ++chain)
    for (float &value : sums[chain].values)
      value = seed * static_cast<float>(chain);
  for (int64_t i = 0; i < rounds; ++i)
    HEDDLE_UNROLL
  for (Lanes &sum : sums)
    for (float &value : sum.values)
      value = value * seed + seed;
  float total = 0;
  for (const Lanes &sum : sums)
    for (float value : sum.values)
      total += value;
  return total;
}

constexpr int64_t kBaselineFlops = 2 * kChains * 4;

#endif

/// Reads as integers, whose sums compilers may reorder into vectors.
float read128(const float *data, size_t count) {
  size_t quarter = count / kStreams;
  uint32_t sums[kStreams][8] = {};
  for (size_t i = 0; i < quarter; i += 8)
    HEDDLE_UNROLL
  for (int stream = 0; stream < kStreams; ++stream) {
    uint32_t words[8];
    std::memcpy(words, data + stream * quarter + i, sizeof words);
    for (int lane = 0; lane < 8; ++lane)
      sums[stream][lane] += words[lane];
  }
  uint32_t total = 0;
  for (auto &sum : sums)
    for (uint32_t word : sum)
      total += word;
  return static_cast<float>(total);
}

#if defined(__x86_64__)
bool hasFeature(const char *name) {
  const heddle_host_info_t &host = *heddle_host_info();
  for (size_t i = 0; i < host.feature_count; ++i)
    if (!std::strcmp(host.features[i], name))
      return true;
  return false;
}
#endif

std::vector<PeakLoops> findLoops() {
  std::vector<PeakLoops> result;
#if defined(__x86_64__)
  if (hasFeature("avx512f"))
    result.push_back({512, 2 * kChains * 16, multiplyAdd512, read512,
                      hasFeature("avx512bw") ? multiplyBytes512 : nullptr,
                      hasFeature("avx512vnni") ? multiplyBytesVnni : nullptr});
  if (hasFeature("avx2") && hasFeature("fma"))
    result.push_back({256, 2 * kChains * 8, multiplyAdd256, read256, multiplyBytes256, nullptr});
#endif
  result.push_back({128, kBaselineFlops, multiplyAdd128, read128, nullptr, nullptr});
  return result;
}

} // namespace

const std::vector<PeakLoops> &peakLoops() {
  static const std::vector<PeakLoops> loops = findLoops();
  return loops;
}

} // namespace heddle::cli
