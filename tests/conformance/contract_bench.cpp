// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-contract-bench [TARGET...]: each contraction as a fraction of this core's peak of fused multiply-adds, weights
// cached; then products of few rows as a fraction of the rate at which this core reads, weights cached and from memory.
// Peak loop and kernel alternate in short windows on one thread, and the best window of each counts, so that a busy
// neighbour or a changed clock hits both alike.

#include <algorithm>
#include <cstdio>

#include "tests/conformance/fma_peak.h"
#include "tests/conformance/kernel_harness.h"
#include "tests/conformance/read_peak.h"
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

/// One product with |copies| copies of its weights, which calls use in turn.
class bench_case {
public:
  static std::unique_ptr<bench_case> create(const std::string &target, const product &size, size_t copies) {
    auto result = std::make_unique<bench_case>();
    result->module_ = kernel_module::compile(make_text(size.n, size.k), target);
    if (!result->module_)
      return nullptr;
    result->sizes_ = {size.m};
    auto inputs = random_inputs(result->module_->func("product"), result->sizes_, 1);
    host_tensor output(inputs[0].type, {size.m, size.n});
    for (const host_tensor *tensor : {&inputs[0], &inputs[2], &output})
      result->buffers_.push_back(copy(*tensor));
    for (size_t i = 0; i < copies; ++i)
      result->weights_.push_back(copy(inputs[1]));
    result->weight_bytes_ = inputs[1].bytes.size();
    result->kernel_ = result->module_->entry("product");
    result->items_ = result->module_->count_work("product", result->sizes_).items;
    return result;
  }

  /// Seconds of work items |begin| to |end|.
  double run(int64_t begin, int64_t end) {
    void *bindings[] = {buffers_[0]->data(), next_weights(), buffers_[1]->data(), buffers_[2]->data()};
    heddle_dispatch_t dispatch = {bindings, sizes_.data(), &record_};
    return seconds_of([&] { kernel_(&dispatch, begin, end, nullptr); });
  }
  int64_t items() const { return items_; }
  std::byte *next_weights() { return weights_[next_++ % weights_.size()]->data(); }
  size_t weight_bytes() const { return weight_bytes_; }

private:
  /// Aligned as the runtime aligns buffers.
  static std::unique_ptr<guarded_buffer> copy(const host_tensor &tensor) {
    constexpr size_t unit = HEDDLE_BUFFER_ALIGNMENT;
    auto buffer = std::make_unique<guarded_buffer>((tensor.bytes.size() + unit - 1) / unit * unit);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), buffer->data());
    return buffer;
  }

  std::unique_ptr<kernel_module> module_;
  std::vector<int64_t> sizes_;
  std::vector<std::unique_ptr<guarded_buffer>> buffers_, weights_;
  size_t weight_bytes_ = 0, next_ = 0;
  heddle_kernel_fn_t kernel_ = nullptr;
  heddle_error_record_t record_ = {};
  int64_t items_ = 0;
};

void print_product(const std::string &target, const product &size) {
  std::printf("%-16s %5ld x %5ld x %5ld ", target.c_str(), size.m, size.n, size.k);
}

void measure_arithmetic(const std::string &target, const product &size) {
  auto bench = bench_case::create(target, size, 1);
  if (!bench)
    return;
  bool is_wide = target.find("v3") == std::string::npos && __builtin_cpu_supports("avx512f");
  // Windows of a millisecond at most, which a busy machine's scheduler rarely cuts; the best time of each part counts.
  double operations = 2.0 * size.m * size.n * size.k, peak = 0, seconds = 0;
  int64_t parts = std::min(bench->items(), 1 + static_cast<int64_t>(operations / 1e8));
  for (int64_t part = 0; part < parts; ++part) {
    double best = 1e9;
    for (int64_t window = 0; window < std::max<int64_t>(50, 200 / parts); ++window) {
      peak = std::max(peak, measure_fma_peak(is_wide));
      best = std::min(best, bench->run(bench->items() * part / parts, bench->items() * (part + 1) / parts));
    }
    seconds += best;
  }
  double speed = operations / seconds;
  print_product(target, size);
  std::printf(" %8.1f GFLOP/s  %5.1f %% of %.1f\n", speed * 1e-9, 100 * speed / peak, peak * 1e-9);
}

void measure_reading(const std::string &target, const product &size, bool from_memory) {
  // More than any cache holds, and each copy is read once before its turn comes again.
  constexpr size_t memory_bytes = 192 << 20;
  size_t bytes = static_cast<size_t>(size.n) * size.k * sizeof(float);
  auto bench = bench_case::create(target, size, from_memory ? memory_bytes / bytes : 1);
  if (!bench)
    return;
  double peak = 0, speed = 0;
  for (int window = 0; window < 200; ++window) {
    peak = std::max(peak, measure_read_peak(bench->next_weights(), bench->weight_bytes()));
    speed = std::max(speed, bench->weight_bytes() / bench->run(0, bench->items()));
  }
  print_product(target, size);
  std::printf(" %8.1f GB/s %5.1f %% of %.1f, %s\n", speed * 1e-9, 100 * speed / peak, peak * 1e-9,
              from_memory ? "memory" : "cached");
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
  // Beside multiples of every tile.
  const product odd_sizes[] = {{127, 768, 768}, {129, 768, 768}, {121, 768, 768}, {13, 768, 768},  {9, 768, 768},
                               {128, 767, 768}, {128, 769, 768}, {128, 776, 768}, {128, 768, 767}, {128, 768, 769},
                               {128, 400, 384}, {128, 512, 512}, {127, 767, 767}, {129, 769, 769}};
  for (const std::string &target : targets) {
    for (const product &size : sizes)
      measure_arithmetic(target, size);
    for (const product &size : odd_sizes)
      measure_arithmetic(target, size);
    for (int64_t rows : {1, 2, 3, 4, 6, 8, 12, 16})
      for (bool from_memory : {false, true})
        measure_reading(target, {rows, 768, 768}, from_memory);
  }
  return 0;
}
