// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-attention-bench [TARGET...]: attention of 12 heads of size 64 on one thread, as a fraction of this core's peak
// of fused multiply-adds (the two products count, nothing else), and the time of causal, windowed and padded attention
// as a fraction of the whole. Each work item is a window of its own; its best time of many rounds counts, so that no
// window is longer than a time slice.

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "tests/conformance/attention_text.h"
#include "tests/conformance/fma_peak.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

constexpr int64_t kHeads = 12, kHeadSize = 64;

/// Only the 256 keys up to the query's own.
constexpr char kWindow256[] = R"(%past = arith.cmpi ule, %n, %m : index
    %w = arith.constant 256 : index
    %end = arith.addi %n, %w : index
    %near = arith.cmpi ugt, %end, %m : index
    %keep = arith.andi %past, %near : i1)";

/// A compiled kernel with operands, ready to run.
class workload {
public:
  /// |kept|: how many keys a padding mask keeps, where there is one.
  workload(const std::string &target, const std::string &mask, const std::vector<int64_t> &sizes, int64_t kept = -1)
      : workload(target, make_text(mask, kept), sizes, kept) {}

  workload(const std::string &target, const attention_text &text, const std::vector<int64_t> &sizes, int64_t kept = -1)
      : sizes_(sizes) {
    module_ = kernel_module::compile(text.build(), target);
    auto inputs = random_inputs(module_->func("attention"), sizes_, 1);
    for (int64_t i = 0; kept >= 0 && i < inputs[3].size(); ++i)
      inputs[3].set_int(i, i % sizes[2] < kept);
    inputs.emplace_back(inputs[0].type, result_dims(module_->func("attention"), 0, sizes));
    for (const host_tensor &tensor : inputs) {
      buffers_.push_back(std::make_unique<guarded_buffer>(tensor.bytes.size()));
      std::copy(tensor.bytes.begin(), tensor.bytes.end(), buffers_.back()->data());
      bindings_.push_back(buffers_.back()->data());
    }
    work_ = module_->count_work("attention", sizes_);
    scratch_ = std::make_unique<guarded_buffer>(work_.scratch_bytes);
    best_.assign(work_.items, 1e30);
  }

  void run() {
    heddle_dispatch_t dispatch = {bindings_.data(), sizes_.data(), &record_};
    heddle_kernel_fn_t kernel = module_->entry("attention");
    for (int64_t item = 0; item < work_.items; ++item) {
      double seconds = seconds_of([&] { kernel(&dispatch, item, item + 1, scratch_->data()); });
      best_[item] = std::min(best_[item], seconds);
    }
  }

  double best_seconds() const { return std::accumulate(best_.begin(), best_.end(), 0.0); }

private:
  static attention_text make_text(const std::string &mask, int64_t kept) {
    attention_text text{.key_heads = kHeads, .head_size = kHeadSize, .value_size = kHeadSize, .mask = mask};
    text.fully_masked = "zero";
    if (kept >= 0) {
      text.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
      text.score = kPaddingScore;
    }
    return text;
  }

  std::vector<int64_t> sizes_;
  std::unique_ptr<kernel_module> module_;
  std::vector<std::unique_ptr<guarded_buffer>> buffers_;
  std::vector<void *> bindings_;
  std::unique_ptr<guarded_buffer> scratch_;
  work_counts work_;
  heddle_error_record_t record_;
  std::vector<double> best_;
};

void measure(const std::string &target, int64_t batch, int64_t queries, int64_t keys) {
  const std::vector<int64_t> sizes = {batch, queries, keys};
  workload whole(target, "", sizes), causal(target, kCausal, sizes), window(target, kWindow256, sizes);
  workload kept(target, kPaddingMask, sizes, keys), padded(target, kPaddingMask, sizes, keys / 4),
      empty(target, kPaddingMask, sizes, 0);
  bool is_wide = target.find("v3") == std::string::npos && __builtin_cpu_supports("avx512f");
  double peak = 0;
  int64_t rounds = std::clamp<int64_t>((int64_t(60) << 16) / (batch * queries * keys), 12, 300);
  for (int64_t i = 0; i < rounds; ++i) {
    peak = std::max(peak, measure_fma_peak(is_wide));
    for (workload *load : {&whole, &causal, &window, &kept, &padded, &empty})
      load->run();
  }
  double seconds = whole.best_seconds();
  double speed = 4.0 * kHeads * batch * queries * keys * kHeadSize / seconds;
  double bandwidth = 2.0 * kHeads * batch * keys * kHeadSize * sizeof(float) / seconds;
  std::printf("%-13s %ld x %4ld x %4ld  %9.1f us  %6.1f GFLOP/s  %5.1f %% of %.1f, %5.1f GB/s of keys and values;",
              target.c_str(), batch, queries, keys, seconds * 1e6, speed * 1e-9, 100 * speed / peak, peak * 1e-9,
              bandwidth * 1e-9);
  std::printf(
      " of the whole: causal %.3f, window of 256 %.3f; padding that keeps all %.3f, a quarter %.3f, none %.3f\n",
      causal.best_seconds() / seconds, window.best_seconds() / seconds, kept.best_seconds() / seconds,
      padded.best_seconds() / seconds, empty.best_seconds() / seconds);
}

/// One step of a decoder: |rows| queries, keys in parts whose states are merged. |caches|: how many sequences take
/// turns; with one, its keys and values stay in the cache.
void measure_step(const std::string &target, int64_t rows, int64_t keys, int64_t caches) {
  attention_text text{.key_heads = kHeads, .head_size = kHeadSize, .value_size = kHeadSize};
  const std::vector<int64_t> sizes = {1, rows, keys, (keys + 255) / 256};
  std::vector<std::unique_ptr<workload>> gives;
  text.parts = attention_text::parts_use::gives;
  for (int64_t i = 0; i < caches; ++i)
    gives.push_back(std::make_unique<workload>(target, text, sizes));
  text.parts = attention_text::parts_use::takes;
  workload takes(target, text, sizes);
  for (int64_t i = 0; i < 200; ++i)
    gives[i % caches]->run(), takes.run();
  double states = gives.front()->best_seconds(), merging = takes.best_seconds();
  std::printf("%-13s %ld x %4ld by parts, %s: %7.1f us, %5.1f GB/s of keys and values; merging %.1f us\n",
              target.c_str(), rows, keys, caches == 1 ? "cached" : "from memory", states * 1e6,
              2.0 * kHeads * keys * kHeadSize * sizeof(float) / states * 1e-9, merging * 1e6);
}

} // namespace
} // namespace heddle::conformance

int main(int argc, char **argv) {
  using namespace heddle::conformance;
  std::vector<std::string> targets(argv + 1, argv + argc);
  if (targets.empty())
    targets = runnable_targets();
  for (const std::string &target : targets) {
    for (auto [batch, queries, keys] :
         {std::tuple(1, 128, 128), {8, 128, 128}, {1, 512, 512}, {1, 2048, 2048}, {1, 1, 2048}})
      measure(target, batch, queries, keys);
    for (auto [rows, caches] : {std::pair(1, 1), {1, 8}, {4, 1}, {8, 1}})
      measure_step(target, rows, 2048, caches);
  }
  return 0;
}
