// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-contract-bench [TARGET...]: each contraction as a fraction of this core's peak of fused multiply-adds. Peak
// loop and kernel alternate in short windows on one thread, and the best window of each counts, so that a busy
// neighbour or a changed clock hits both alike. Weights are warm (cached).

#include <algorithm>
#include <cstdio>

#include "tests/conformance/fma_peak.h"
#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

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
  double peak = 0, speed = 0;
  for (int window = 0; window < 200; ++window) {
    peak = std::max(peak, measure_fma_peak(is_wide));
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
  const product sizes[] = {{128, 384, 384},   {128, 1536, 384},  {128, 384, 1536}, {128, 768, 768},
                           {128, 3072, 768},  {128, 768, 3072},  {1024, 384, 384}, {1024, 1536, 384},
                           {128, 1024, 1024}, {128, 1024, 4096}, {7, 768, 768},    {1, 768, 768}};
  for (const std::string &target : targets)
    for (const product &size : sizes)
      measure(target, size);
  return 0;
}
