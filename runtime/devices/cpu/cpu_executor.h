// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the steps of a run on the CPU: resolves operands to addresses and spreads each dispatch over the thread pool.

#pragma once

#include "runtime/core/device.h"
#include "runtime/core/observation.h"
#include "runtime/devices/cpu/cpu_device.h"
#include "runtime/devices/cpu/span_clock.h"

namespace heddle::runtime::cpu {

/// The CPU's share of a session: arena, scratch and error records. Allocates only when a plan needs more than any
/// before it.
class cpu_executor final : public device_session {
public:
  explicit cpu_executor(const cpu_program &program) : program_(program) {}

  heddle_status_t run(const run_request &request) override;

private:
  /// On a cache line of its own: threads write their records at the same time.
  struct alignas(64) thread_error {
    heddle_error_record_t record;
    uint32_t unit; ///< first of the range that failed
    int32_t code;  ///< HEDDLE_KERNEL_OK: no failure
  };

  /// One dispatch as the pool's threads see it.
  struct region {
    cpu_executor *executor;
    heddle_kernel_fn_t kernel;
    const int64_t *sizes;
    int64_t items;
    int64_t unit_items; ///< items of a unit; the last one may have fewer
    uint32_t units;
    heddle_span_t *spans = nullptr; ///< this dispatch's of worker 0; null: not recorded
    size_t span_stride = 0;         ///< from one worker's to the next one's
  };

  bool is_cancelled() const { return state_->load(std::memory_order_relaxed) == run_state::cancelled; }
  heddle_status_t reserve(const plan &plan);
  void *address(const run_request &request, const binding_table &binding) const;
  heddle_status_t step(const run_request &request, const dispatch_step &dispatch);
  heddle_status_t step(const run_request &request, const store_slots_step &store);
  heddle_status_t step(const run_request &request, const copy_step &copy);
  static void run_range(void *context, unsigned worker, uint32_t begin, uint32_t end);
  static void run_recorded_range(void *context, unsigned worker, uint32_t begin, uint32_t end);
  static void end_span(void *context, unsigned worker);
  void begin_spans(const run_request &request);
  void end_spans(std::vector<heddle_span_t> *spans);
  void record_failure(unsigned worker, uint32_t unit, int32_t code, const heddle_error_record_t &record);
  heddle_status_t failure(const dispatch_step &dispatch) const;

  const cpu_program &program_;
  memory_block arena_;
  memory_block scratch_;
  size_t scratch_stride_ = 0;
  std::vector<thread_error> errors_; ///< one per thread
  std::vector<void *> bindings_;
  observation observation_;
  span_clock span_clock_;
  /// First unit of the lowest range of the dispatch that failed; all ones if none did.
  std::atomic<uint32_t> failed_unit_{0};
  const std::atomic<run_state> *state_ = nullptr;
};

} // namespace heddle::runtime::cpu
