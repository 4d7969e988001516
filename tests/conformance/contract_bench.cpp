// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-contract-bench [TARGET...]: each contraction as a fraction of this core's peak of fused multiply-adds. Peak
// loop and kernel alternate in short windows on one thread, and the best window of each counts, so that a busy
// neighbour or a changed clock hits both alike. Weights are warm (cached).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <immintrin.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

double seconds_of(const std::function<void()> &action) {
  auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

struct product {
  int64_t m, n, k;
};

std::string make_text(int64_t n, int64_t k) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xf32> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{1}x16xf32>,
                     %bias: tensor<{0}xf32>, %m: index) -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %bias : tensor<?x{1}xf32>, tensor<{2}x{1}x16xf32>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = {0} : i64} epilogue {{
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kernel.yield %s : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16);
}

void measure(const std::string &target, const product &size) {
  auto module = kernel_module::compile(make_text(size.n, size.k), target);
  if (!module)
    return;
  std::vector<int64_t> sizes = {size.m};
  auto inputs = random_inputs(module->func("product"), sizes, 1);
  host_tensor output(inputs[0].type, {size.m, size.n});
  // Aligned as the runtime aligns them.
  std::vector<void *> bindings;
  std::vector<std::unique_ptr<guarded_buffer>> buffers;
  for (const host_tensor *tensor : {&inputs[0], &inputs[1], &inputs[2], &output}) {
    size_t bytes =
        (tensor->bytes.size() + HEDDLE_BUFFER_ALIGNMENT - 1) / HEDDLE_BUFFER_ALIGNMENT * HEDDLE_BUFFER_ALIGNMENT;
    buffers.push_back(std::make_unique<guarded_buffer>(bytes));
    std::copy(tensor->bytes.begin(), tensor->bytes.end(), buffers.back()->data());
    bindings.push_back(buffers.back()->data());
  }
  heddle_error_record_t record;
  heddle_dispatch_t dispatch = {bindings.data(), sizes.data(), &record};
  heddle_kernel_fn_t kernel = module->entry("product");
  int64_t items = module->count_work("product", sizes).items;

  bool is_wide = target.find("v3") == std::string::npos && __builtin_cpu_supports("avx512f");
  double lanes = is_wide ? 16 : 8;
  double peak = 0, speed = 0;
  // The optimiser must not know the factor, or it computes the sums itself.
  volatile float sink = 0, half = 0.5f;
  for (int window = 0; window < 200; ++window) {
    double loop = seconds_of([&] { sink = is_wide ? run_peak_512(half) : run_peak_256(half); });
    peak = std::max(peak, 2 * lanes * kPeakRounds * kChains / loop);
    double call = seconds_of([&] { kernel(&dispatch, 0, items, nullptr); });
    speed = std::max(speed, 2.0 * size.m * size.n * size.k / call);
  }
  std::printf("%-16s %5ld x %5ld x %5ld  %8.1f GFLOP/s  %5.1f %% of %.1f\n", target.c_str(), size.m, size.n, size.k,
              speed * 1e-9, 100 * speed / peak, peak * 1e-9);
}

} // namespace
} // namespace heddle::conformance

int main(int argc, char **argv) {
  using namespace heddle::conformance;
  std::vector<std::string> targets(argv + 1, argv + argc);
  if (targets.empty())
    targets = runnable_targets();
  const product sizes[] = {{128, 384, 384},  {128, 1536, 384}, {128, 384, 1536},  {128, 768, 768}, {128, 3072, 768},
                           {128, 768, 3072}, {1024, 384, 384}, {1024, 1536, 384}, {7, 768, 768},   {1, 768, 768}};
  for (const std::string &target : targets)
    for (const product &size : sizes)
      measure(target, size);
  return 0;
}
