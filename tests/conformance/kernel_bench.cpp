// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-kernel-bench: Google Benchmark's options, cases named TARGET/kernel/sizes. Kernel and limit alternate in short
// windows on one thread and the best window of each part of the work counts, so that a busy neighbour or a changed
// clock hits both alike; the columns best_us, percent and limit come from these, Google Benchmark's own time is the
// mean of all.

#include "tests/conformance/kernel_bench.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <memory>
#include <numeric>

#include "tests/conformance/kernel_harness.h"
#include "tools/heddle/peak_loops.h"

namespace heddle::conformance {
namespace {

/// No window is much longer, so that most of them fall within a time slice.
constexpr double kWindowSeconds = 0.5e-3;
/// A window of the arithmetic limit: about 0.1 ms.
constexpr int64_t kPeakFlops = 24 << 20;
constexpr double kReadWindowBytes = 4 << 20;

template <typename Action> double seconds_of(Action action) {
  auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The loops on vectors that |target| has: a kernel for AVX2 is measured against AVX2.
const cli::PeakLoops &loops_of(const std::string &target) {
  unsigned bits = target.find("v3") == std::string::npos ? 512 : 256;
  for (const cli::PeakLoops &loops : cli::peakLoops())
    if (loops.bits <= bits)
      return loops;
  return cli::peakLoops().back();
}

/// The best loop for bytes that |target| has instructions for.
auto byte_loop_of(const std::string &target) {
  const cli::PeakLoops &loops = loops_of(target);
  bool is_plain = target.find("x86-64") != std::string::npos;
  return is_plain ? loops.multiplyBytes : loops.multiplyBytesVnni;
}

/// Operations per second of one window of |loop|, which counts |per_round|.
template <typename Loop, typename Seed> double rate_of(Loop loop, int64_t per_round, Seed start) {
  int64_t rounds = kPeakFlops / per_round;
  // The optimiser must not know the seed, or it computes the sums itself.
  volatile Seed seed = start;
  double seconds = seconds_of([&] { benchmark::DoNotOptimize(loop(rounds, seed)); });
  return static_cast<double>(rounds * per_round) / seconds;
}

/// A compiled case with its operands, ready to run.
class workload {
public:
  static std::unique_ptr<workload> create(const bench_case &bench, const std::string &target) {
    auto result = std::unique_ptr<workload>(new workload(bench));
    result->module_ = kernel_module::compile(bench.text, target);
    if (!result->module_)
      return nullptr;
    auto inputs = random_inputs(result->module_->func(bench.function), bench.sizes, 1);
    if (bench.prepare)
      bench.prepare(inputs);
    result->bind(inputs);
    result->work_ = result->module_->count_work(bench.function, bench.sizes);
    result->scratch_ = std::make_unique<guarded_buffer>(result->work_.scratch_bytes);
    result->split();
    return result;
  }

  /// One run, part by part; its seconds. Keeps the best time of each part.
  double run() {
    const std::vector<copy> &turn = next_turn();
    for (size_t i = 0; i < turn.size(); ++i)
      bindings_[bench_.read_inputs[i]] = turn[i].memory->data();
    heddle_dispatch_t dispatch = {bindings_.data(), bench_.sizes.data(), &record_};
    heddle_kernel_fn_t kernel = module_->entry(bench_.function);
    double total = 0;
    for (size_t part = 0; part < best_.size(); ++part) {
      int64_t begin = work_.items * part / best_.size(), end = work_.items * (part + 1) / best_.size();
      double seconds = seconds_of([&] { kernel(&dispatch, begin, end, scratch_->data()); });
      best_[part] = std::min(best_[part], seconds);
      total += seconds;
    }
    return total;
  }

  double best_seconds() const { return std::accumulate(best_.begin(), best_.end(), 0.0); }

  /// Bytes that a run reads of the inputs that count.
  double read_bytes() const {
    return std::accumulate(turns_[0].begin(), turns_[0].end(), 0.0,
                           [](double sum, const copy &input) { return sum + static_cast<double>(input.bytes); });
  }

  /// Bytes per second of plain reading of the inputs that count, where they come from in runs, too.
  double read_rate(const cli::PeakLoops &loops) {
    const std::vector<copy> &turn = next_turn();
    // What lies in the cache is read several times, or the clock would be part of it.
    int64_t passes = turns_.size() > 1 ? 1 : 1 + static_cast<int64_t>(kReadWindowBytes / read_bytes());
    double seconds = seconds_of([&] {
      for (int64_t pass = 0; pass < passes; ++pass)
        for (const copy &input : turn)
          benchmark::DoNotOptimize(loops.read(reinterpret_cast<const float *>(input.memory->data()),
                                              input.bytes / sizeof(float) / cli::kReadGranule * cli::kReadGranule));
    });
    return static_cast<double>(passes) * read_bytes() / seconds;
  }

private:
  struct copy {
    std::unique_ptr<guarded_buffer> memory;
    size_t bytes;
  };

  explicit workload(const bench_case &bench) : bench_(bench) {}

  /// Aligned as the runtime aligns buffers.
  static copy copy_of(const host_tensor &tensor) {
    constexpr size_t unit = HEDDLE_BUFFER_ALIGNMENT;
    size_t bytes = (tensor.bytes.size() + unit - 1) / unit * unit;
    copy result = {std::make_unique<guarded_buffer>(bytes), bytes};
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), result.memory->data());
    return result;
  }

  void bind(const std::vector<host_tensor> &inputs) {
    kernel::FuncOp func = module_->func(bench_.function);
    for (size_t i = 0; i < bench_.copies; ++i) {
      turns_.emplace_back();
      for (unsigned input : bench_.read_inputs)
        turns_.back().push_back(copy_of(inputs[input]));
    }
    std::vector<host_tensor> operands = inputs;
    for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
      operands.emplace_back(mlir::cast<mlir::RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                            result_dims(func, i, bench_.sizes));
    for (const host_tensor &tensor : operands) {
      buffers_.push_back(copy_of(tensor));
      bindings_.push_back(buffers_.back().memory->data());
    }
  }

  /// Parts of the work of about a window each, by the time of one run.
  void split() {
    best_.assign(1, 0.0);
    double seconds = std::min(run(), run());
    auto parts = static_cast<int64_t>(seconds / kWindowSeconds) + 1;
    // Parts of data from memory would each find it where the one before left it.
    bool is_whole = bench_.copies > 1 || work_.items == 0;
    best_.assign(is_whole ? 1 : std::min(parts, work_.items), 1e30);
  }

  const std::vector<copy> &next_turn() { return turns_[next_++ % turns_.size()]; }

  const bench_case bench_;
  std::unique_ptr<kernel_module> module_;
  std::vector<std::vector<copy>> turns_; // of the inputs that count
  std::vector<copy> buffers_;
  size_t next_ = 0;
  std::vector<void *> bindings_;
  work_counts work_ = {};
  std::unique_ptr<guarded_buffer> scratch_;
  heddle_error_record_t record_ = {};
  std::vector<double> best_;
};

void measure(benchmark::State &state, const bench_case &bench, const std::string &target) {
  std::unique_ptr<workload> load = workload::create(bench, target);
  if (!load) {
    state.SkipWithError("the kernel does not compile");
    return;
  }
  const cli::PeakLoops &loops = loops_of(target);
  constexpr int64_t kBytesOfFloat = 4;
  double limit = 0, floats = 0;
  for (auto _ : state) {
    floats = std::max(floats, rate_of(loops.multiplyAdd, loops.flopsPerRound, 0.5f));
    if (bench.bound == bench_case::limit::flops)
      limit = floats;
    else if (bench.bound == bench_case::limit::byte_products)
      limit = std::max(limit, rate_of(byte_loop_of(target), kBytesOfFloat * loops.flopsPerRound, 77));
    else
      limit = std::max(limit, load->read_rate(loops));
    state.SetIterationTime(load->run());
  }
  double rate = (bench.amount ? bench.amount : load->read_bytes()) / load->best_seconds();
  state.counters["best_us"] = load->best_seconds() * 1e6;
  state.counters[bench.bound == bench_case::limit::bytes ? "gbs" : "gflops"] = rate * 1e-9;
  if (bench.bound == bench_case::limit::byte_products)
    state.counters["of_floats"] = rate / floats;
  state.counters["limit"] = limit * 1e-9;
  state.counters["percent"] = 100 * rate / limit;
}

/// Windows that take about a tenth of a second, were the kernel at 100 GFLOP/s. Reads are short, but for copies.
int64_t iterations_of(const bench_case &bench) {
  if (bench.bound == bench_case::limit::bytes)
    return 300;
  return std::clamp<int64_t>(static_cast<int64_t>(1e10 / bench.amount), 20, 500);
}

void register_cases() {
  for (auto cases : {contract_cases, byte_contract_cases, attention_cases, rowwise_cases})
    for (const bench_case &bench : cases())
      for (const std::string &target : bench.targets.empty() ? runnable_targets() : bench.targets) {
        std::string name = target.substr(target.find(':') + 1) + "/" + bench.name;
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) { measure(state, bench, target); })
            ->UseManualTime()
            ->Iterations(iterations_of(bench))
            ->Unit(benchmark::kMicrosecond);
      }
}

} // namespace
} // namespace heddle::conformance

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  heddle::conformance::register_cases();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
