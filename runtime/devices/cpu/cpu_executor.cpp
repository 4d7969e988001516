// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a run's steps. Nothing is checked here that the reader or the plan has checked: between two dispatches
// stand some additions, the thread pool's handover, and for an observer two clock reads.

#include "runtime/devices/cpu/cpu_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/core/checked_math.h"
#include "runtime/core/element_type.h"
#include "runtime/core/kernel_error.h"
#include "runtime/devices/cpu/float_environment.h"

namespace heddle::runtime::cpu {

namespace {

/// More units than any thread pool needs to share out fairly; the pool counts them in 32 bits.
constexpr int64_t max_units = int64_t(1) << 24;

using clock = std::chrono::steady_clock;

} // namespace

heddle_status_t cpu_executor::reserve(const plan &plan) {
  size_t stride = 0;
  uint64_t scratch = 0;
  if (!program_.scratch_bytes(plan, &stride, &scratch))
    return out_of_memory();
  if (!arena_.reserve(static_cast<size_t>(plan.arena_bytes)))
    return fail(error::H0313, format("not enough memory: the run needs %lld bytes for intermediate results",
                                     static_cast<long long>(plan.arena_bytes)));
  if (!scratch_.reserve(scratch))
    return fail(error::H0313, format("not enough memory: the run needs %llu bytes of scratch",
                                     static_cast<unsigned long long>(scratch)));
  scratch_stride_ = stride;
  errors_.resize(program_.pool().thread_count());
  return nullptr;
}

void *cpu_executor::address(const run_request &request, const binding_table &binding) const {
  switch (binding.kind) {
  case binding_kind::input:
    return const_cast<void *>(request.inputs[binding.index]);
  case binding_kind::output:
    return request.outputs[binding.index];
  case binding_kind::constant:
    return const_cast<void *>(program_.constant(binding.index));
  case binding_kind::buffer:
    return arena_.data() + request.run_plan->buffer_offsets[binding.index];
  }
  return nullptr;
}

void cpu_executor::run_range(void *context, unsigned worker, uint32_t begin, uint32_t end) {
  const region &region = *static_cast<const cpu_executor::region *>(context);
  cpu_executor &executor = *region.executor;
  // Only ranges behind a failing one are left out, so that the failure reported, that of the first failing item, is the
  // same in each run.
  if (begin > executor.failed_unit_.load(std::memory_order_relaxed) || executor.is_cancelled())
    return;
  heddle_error_record_t record = {};
  const heddle_dispatch_t dispatch = {executor.bindings_.data(), region.sizes, &record};
  const default_float_environment environment;
  const int64_t last = end == region.units ? region.items : end * region.unit_items;
  const int32_t code = region.kernel(&dispatch, begin * region.unit_items, last,
                                     executor.scratch_.data() + worker * executor.scratch_stride_);
  if (code != HEDDLE_KERNEL_OK)
    executor.record_failure(worker, begin, code, record);
}

/// Ranges of a thread follow each other without a pause, so its clock is read before the first one and, in end_span,
/// behind the last. Each thread writes to spans of its own.
void cpu_executor::run_recorded_range(void *context, unsigned worker, uint32_t begin, uint32_t end) {
  const region &region = *static_cast<const cpu_executor::region *>(context);
  heddle_span_t &span = region.spans[worker * region.span_stride];
  const int64_t first = begin * region.unit_items;
  const int64_t last = end == region.units ? region.items : end * region.unit_items;
  if (span.items == 0) {
    span.begin_nanoseconds = region.executor->span_clock_.ticks();
    span.first_item = first;
    span.end_item = last;
  }
  span.first_item = std::min(span.first_item, first);
  span.end_item = std::max(span.end_item, last);
  span.items += last - first;
  run_range(context, worker, begin, end);
}

void cpu_executor::end_span(void *context, unsigned worker) {
  const region &region = *static_cast<const cpu_executor::region *>(context);
  region.spans[worker * region.span_stride].end_nanoseconds = region.executor->span_clock_.ticks();
}

void cpu_executor::record_failure(unsigned worker, uint32_t unit, int32_t code, const heddle_error_record_t &record) {
  thread_error &error = errors_[worker];
  if (error.code == HEDDLE_KERNEL_OK || unit < error.unit)
    error = {record, unit, code};
  uint32_t lowest = failed_unit_.load(std::memory_order_relaxed);
  while (unit < lowest && !failed_unit_.compare_exchange_weak(lowest, unit, std::memory_order_relaxed))
    ;
}

heddle_status_t cpu_executor::failure(const dispatch_step &dispatch) const {
  const thread_error *first = nullptr;
  for (const thread_error &error : errors_)
    if (error.code != HEDDLE_KERNEL_OK && (!first || error.unit < first->unit))
      first = &error;
  if (!first)
    return nullptr;
  return kernel_failure(dispatch, program_.tables().kernels[dispatch.kernel].name, first->code, first->record);
}

heddle_status_t cpu_executor::step(const run_request &request, const dispatch_step &dispatch) {
  const plan &plan = *request.run_plan;
  const dispatch_plan &planned = plan.dispatches[dispatch.index];
  // Addresses change from run to run (outputs, a grown arena); resolving them costs some nanoseconds each.
  bindings_.clear();
  for (const binding_table &binding : dispatch.bindings)
    bindings_.push_back(address(request, binding));
  if (planned.items != 0) {
    // A unit is a grain, so that a small dispatch is one unit, which the pool runs on this thread without waking any.
    const int64_t unit_items = std::max(planned.grain, (planned.items - 1) / max_units + 1);
    const auto units = static_cast<uint32_t>((planned.items - 1) / unit_items + 1);
    region region = {
        this, program_.kernel(dispatch.kernel), plan.sizes.data() + planned.sizes, planned.items, unit_items, units};
    if (request.spans) {
      region.spans = request.spans->data() + dispatch.index;
      region.span_stride = request.entry->dispatch_count;
      program_.pool().run(units, run_recorded_range, &region, end_span);
    } else {
      program_.pool().run(units, run_range, &region);
    }
  }
  return failure(dispatch);
}

heddle_status_t cpu_executor::step(const run_request &request, const store_slots_step &store) {
  void *target = address(request, store.target);
  for (size_t i = 0; i < store.slots.size(); ++i)
    if (!store_integer(store.type, target, i, request.run_plan->slots[store.slots[i]]))
      return fail(error::H0308, format("a size of %lld doesn't fit the model's %s",
                                       static_cast<long long>(request.run_plan->slots[store.slots[i]]),
                                       heddle_element_type_name(store.type)));
  return nullptr;
}

heddle_status_t cpu_executor::step(const run_request &request, const copy_step &copy) {
  const auto bytes = static_cast<size_t>(request.run_plan->slots[copy.bytes]);
  std::memcpy(address(request, copy.target), address(request, copy.source), bytes);
  return nullptr;
}

/// Room for a span of each thread and dispatch, a thread's side by side: no two write to one cache line at a time.
void cpu_executor::begin_spans(const run_request &request) {
  const size_t dispatches = request.entry->dispatch_count;
  const unsigned threads = program_.pool().thread_count();
  request.spans->clear();
  for (unsigned thread = 0; thread < threads; ++thread)
    for (size_t dispatch = 0; dispatch < dispatches; ++dispatch)
      request.spans->push_back({dispatch, thread, 0, 0, 0, 0, 0});
  span_clock_.start();
}

/// Leaves those that were used, in nanoseconds.
void cpu_executor::end_spans(std::vector<heddle_span_t> *spans) {
  span_clock_.stop();
  spans->erase(std::remove_if(spans->begin(), spans->end(), [](const heddle_span_t &span) { return span.items == 0; }),
               spans->end());
  for (heddle_span_t &span : *spans) {
    span.begin_nanoseconds = span_clock_.nanoseconds(span.begin_nanoseconds);
    span.end_nanoseconds = span_clock_.nanoseconds(span.end_nanoseconds);
  }
}

heddle_status_t cpu_executor::run(const run_request &request) {
  HEDDLE_RETURN_IF_ERROR(reserve(*request.run_plan));
  state_ = request.state;
  failed_unit_.store(UINT32_MAX, std::memory_order_relaxed);
  for (thread_error &error : errors_)
    error.code = HEDDLE_KERNEL_OK;
  if (request.spans)
    begin_spans(request);
  for (const step_table &table : request.entry->steps) {
    // Clocks are read only for an observer: 22 ns each.
    const clock::time_point begin = request.observer ? clock::now() : clock::time_point();
    HEDDLE_RETURN_IF_ERROR(std::visit([&](const auto &kind) { return step(request, kind); }, table));
    // Before the observer: it must not see the results of a dispatch that was cut short.
    if (is_cancelled())
      break;
    if (const auto *dispatch = std::get_if<dispatch_step>(&table); dispatch && request.observer)
      observation_.report(request, program_.tables(), *dispatch,
                          bindings_.data() + dispatch->bindings.size() - dispatch->results.size(),
                          std::chrono::nanoseconds(clock::now() - begin).count());
  }
  if (request.spans)
    end_spans(request.spans);
  // An observer may have asked for it after the last dispatch.
  return is_cancelled() ? fail(error::H0312, "the run was cancelled") : nullptr;
}

} // namespace heddle::runtime::cpu
