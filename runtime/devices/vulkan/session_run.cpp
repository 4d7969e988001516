// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run: inputs in, submissions one after the other, error records, outputs out.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/core/kernel_error.h"
#include "runtime/devices/vulkan/elements.h"
#include "runtime/devices/vulkan/session.h"

namespace heddle::runtime::vulkan {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

} // namespace

bool is_cancelled(const run_request &request) {
  return request.state->load(std::memory_order_relaxed) == run_state::cancelled;
}

heddle_status_t cancelled() { return fail(error::H0312, "the run was cancelled"); }

heddle_status_t vulkan_session::upload(const run_request &request, const schedule &schedule) {
  std::byte *to = program_.device().is_unified() ? arena_.mapped() : upload_.mapped();
  for (size_t i = 0; i < schedule.inputs.size(); ++i) {
    const transfer &place = schedule.inputs[i];
    const input_table &input = request.entry->inputs[i];
    int64_t value = 0;
    char text[24];
    if (place.bytes != 0 && !request.input_buffers[i] &&
        !to_device(input.type, request.inputs[i], place.bytes, to + place.offset, &value))
      return fail(error::H0314, format("input '%s' holds %s, and Vulkan devices compute in 32 bits", input.name,
                                       format_value(input.type, value, text)));
  }
  return nullptr;
}

void vulkan_session::download(const run_request &request, const schedule &schedule) {
  const std::byte *from = program_.device().is_unified() ? arena_.mapped() : download_.mapped();
  for (size_t i = 0; i < schedule.outputs.size(); ++i)
    if (const transfer &place = schedule.outputs[i]; place.bytes != 0 && !request.output_buffers[i])
      from_device(request.entry->outputs[i].type, from + place.offset, place.bytes, request.outputs[i]);
}

/// The failure of the first dispatch from step |first_step| to step |last_step| that left an error record.
heddle_status_t vulkan_session::find_failure(const run_request &request, const schedule &schedule, int64_t first_step,
                                             int64_t last_step) {
  const auto &records = schedule.records; // by step
  auto next = std::lower_bound(records.begin(), records.end(), first_step, [](const record_place &place, int64_t step) {
    return static_cast<int64_t>(place.step) < step;
  });
  for (; next != records.end() && static_cast<int64_t>(next->step) <= last_step; ++next) {
    const record_place &place = *next;
    int32_t words[4]; // state, site, value, limit
    std::memcpy(words, download_.mapped() + place.offset, sizeof(words));
    if (words[0] == HEDDLE_KERNEL_OK)
      continue;
    const auto &dispatch = std::get<dispatch_step>(request.entry->steps[place.step]);
    return kernel_failure(dispatch, program_.tables().kernels[dispatch.kernel].name, words[0],
                          {words[1], words[2], words[3]});
  }
  return nullptr;
}

heddle_status_t vulkan_session::submit_segment(size_t segment, const submission &work) {
  if (segment == 0)
    submitted_nanoseconds_ = std::chrono::nanoseconds(clock::now().time_since_epoch()).count();
  HEDDLE_RETURN_IF_ERROR(program_.device().submit(work));
  ++on_their_way_;
  return nullptr;
}

/// The spans of the dispatches in segment |segment|, whose clock has been read.
void vulkan_session::append_spans(const run_request &request, const recording_cache::entry &entry, size_t segment) {
  step_times_.clear();
  entry.commands->append_step_times(segment, &first_tick_, &step_times_);
  auto on_host = [this](double seconds) { return submitted_nanoseconds_ + static_cast<int64_t>(seconds * 1e9); };
  for (const step_time &time : step_times_) {
    if (time.step == before_steps || time.step == after_steps)
      continue;
    const auto *dispatch = std::get_if<dispatch_step>(&request.entry->steps[static_cast<size_t>(time.step)]);
    if (!dispatch)
      continue;
    const int64_t items = request.run_plan->dispatches[dispatch->index].items;
    request.spans->push_back({dispatch->index, 0, on_host(time.begin), on_host(time.end), items, 0, items});
  }
}

/// Waits for segment |segment|, and learns how long it took.
heddle_status_t vulkan_session::finish(const run_request &request, const recording_cache::entry &entry, size_t segment,
                                       double *out_seconds) {
  const device &device = program_.device();
  heddle_status_t waited = wait_for(device, fences_[segment % 2]);
  --on_their_way_; // one way or the other
  HEDDLE_RETURN_IF_ERROR(waited);
  HEDDLE_RETURN_IF_ERROR(measure(entry, segment, out_seconds));
  if (request.spans)
    append_spans(request, entry, segment);
  return nullptr;
}

heddle_status_t vulkan_session::measure(const recording_cache::entry &entry, size_t segment, double *out_seconds) {
  const device &device = program_.device();
  HEDDLE_RETURN_IF_ERROR(entry.commands->measure(segment, out_seconds));
  device.learn(entry.commands->scheduled().segments[segment].seconds / entry.slowness, *out_seconds);
  return nullptr;
}

/// Segment |segment|, with the caller's buffers in front of the first and behind the last; of a run without segments
/// these alone.
submission vulkan_session::submission_of(const recording_cache::entry &entry, size_t segment, VkFence fence) const {
  const size_t count = entry.commands->scheduled().segments.size();
  submission work;
  work.fence = fence;
  if (segment == 0)
    work.add(copies_.before());
  if (segment < count)
    work.add(entry.commands->commands(segment));
  if (segment + 1 >= count)
    work.add(copies_.after());
  return work;
}

/// Keeps two submissions on their way: the device never waits for the host, and a cancelled run ends soon. The longest
/// one took |out_longest| seconds.
heddle_status_t vulkan_session::run_all(const run_request &request, const recording_cache::entry &entry,
                                        double *out_longest) {
  const device &device = program_.device();
  const size_t count = entry.commands->scheduled().segments.size();
  const size_t ahead = device.settings().is_serialized ? 1 : 2;
  size_t submitted = 0;
  heddle_status_t status = nullptr;
  double seconds = 0;
  for (size_t done = 0; done < submitted || (!status && done < count && !is_cancelled(request));) {
    while (!status && submitted < count && submitted - done < ahead && !is_cancelled(request)) {
      status = submit_segment(submitted, submission_of(entry, submitted, fences_[submitted % 2]));
      submitted += status ? 0 : 1;
    }
    // Whatever happened, what is on its way uses the session's memory: it is waited for.
    if (done == submitted)
      break;
    heddle_status_t waited = finish(request, entry, done++, &seconds);
    *out_longest = std::max(*out_longest, seconds);
    if (status)
      heddle_status_release(waited);
    else
      status = waited;
  }
  if (status)
    return status;
  return is_cancelled(request) ? cancelled() : nullptr;
}

heddle_status_t vulkan_session::fetch(const tensor_place &place, heddle_element_type_t type, uint64_t bytes,
                                      std::byte *to) {
  if (bytes == 0)
    return nullptr;
  const device &device = program_.device();
  const std::byte *from = arena_.mapped() ? arena_.mapped() + place.offset : nullptr;
  if (!from) {
    const uint64_t stored = device_bytes(type, bytes);
    if (observed_results_.bytes() < stored)
      HEDDLE_RETURN_IF_ERROR(observed_results_.create(device, memory_use::download, stored, "results to look at"));
    HEDDLE_RETURN_IF_ERROR(observed_.begin());
    const VkBufferCopy copy = {place.offset, 0, stored};
    device.api().vkCmdCopyBuffer(observed_.handle(), arena_.handle(), observed_results_.handle(), 1, &copy);
    HEDDLE_RETURN_IF_ERROR(observed_.run());
    from = observed_results_.mapped();
  }
  from_device(type, from, bytes, to);
  return nullptr;
}

heddle_status_t vulkan_session::observe(const run_request &request, const arena_layout &layout,
                                        const dispatch_step &dispatch, double seconds) {
  const size_t first_result = dispatch.bindings.size() - dispatch.results.size();
  if (result_data_.size() < dispatch.results.size())
    result_data_.resize(dispatch.results.size());
  std::vector<const void *> addresses;
  for (size_t i = 0; i < dispatch.results.size(); ++i) {
    const result_table &result = dispatch.results[i];
    int64_t dims[HEDDLE_MAX_RANK] = {};
    read_dims(*request.run_plan, result.slots, dims);
    uint64_t bytes = heddle_element_type_size(result.type);
    for (size_t dim = 0; dim < result.slots.size(); ++dim)
      bytes *= static_cast<uint64_t>(dims[dim]); // the plan has seen to it that this fits the tensor
    memory_block &block = result_data_[i];
    if (!block.reserve(bytes))
      return fail(error::H0313, "not enough memory to look at a kernel's result");
    HEDDLE_RETURN_IF_ERROR(fetch(layout.at(dispatch.bindings[first_result + i]), result.type, bytes, block.data()));
    addresses.push_back(block.data());
  }
  observation_.report(request, program_.tables(), dispatch, addresses.data(), static_cast<int64_t>(seconds * 1e9));
  return nullptr;
}

heddle_status_t vulkan_session::run_alone(VkCommandBuffer commands) {
  if (!commands)
    return nullptr;
  HEDDLE_RETURN_IF_ERROR(program_.device().submit(commands, fences_[0]));
  ++on_their_way_;
  heddle_status_t status = wait_for(program_.device(), fences_[0]);
  --on_their_way_;
  return status;
}

/// Each step by itself, waited for, and its results fetched before the next one may write over them.
heddle_status_t vulkan_session::run_observed(const run_request &request, const recording_cache::entry &entry) {
  const schedule &schedule = entry.commands->scheduled();
  size_t segment = 0;
  auto run_step = [&](int64_t step, double *out_seconds) -> heddle_status_t {
    for (; segment < schedule.segments.size() && schedule.segments[segment].first_step == step; ++segment) {
      const clock::time_point begin = clock::now();
      double seconds = 0;
      submission work;
      work.add(entry.commands->commands(segment));
      work.fence = fences_[segment % 2];
      HEDDLE_RETURN_IF_ERROR(submit_segment(segment, work));
      HEDDLE_RETURN_IF_ERROR(finish(request, entry, segment, &seconds));
      *out_seconds += seconds > 0 ? seconds : seconds_since(begin);
    }
    return nullptr;
  };
  double seconds = 0;
  HEDDLE_RETURN_IF_ERROR(run_alone(copies_.before()));
  HEDDLE_RETURN_IF_ERROR(run_step(before_steps, &seconds));
  for (size_t step = 0; step < request.entry->steps.size() && !is_cancelled(request); ++step) {
    seconds = 0;
    HEDDLE_RETURN_IF_ERROR(run_step(static_cast<int64_t>(step), &seconds));
    HEDDLE_RETURN_IF_ERROR(find_failure(request, schedule, static_cast<int64_t>(step), static_cast<int64_t>(step)));
    if (const auto *dispatch = std::get_if<dispatch_step>(&request.entry->steps[step]))
      HEDDLE_RETURN_IF_ERROR(observe(request, entry.layout, *dispatch, seconds));
  }
  if (is_cancelled(request))
    return cancelled();
  HEDDLE_RETURN_IF_ERROR(run_step(after_steps, &seconds));
  return run_alone(copies_.after());
}

heddle_status_t vulkan_session::begin_run(const run_request &request, recording_cache::entry **out) {
  const device &device = program_.device();
  HEDDLE_RETURN_IF_ERROR(device.check_alive());
  if (on_their_way_ != 0)
    device.drain(); // a run was left by an exception
  on_their_way_ = 0;
  const bool is_step_by_step = request.observer || device.settings().is_serialized;
  const auto form = is_step_by_step ? recording_cache::form::step_by_step
                    : request.spans ? recording_cache::form::timed
                                    : recording_cache::form::whole;
  HEDDLE_RETURN_IF_ERROR(prepare(request, form, out));
  HEDDLE_RETURN_IF_ERROR(copies_.record(request, (*out)->layout, arena_.handle()));
  return upload(request, (*out)->commands->scheduled());
}

heddle_status_t vulkan_session::end_run(const run_request &request, recording_cache::entry *entry, double longest) {
  const device &device = program_.device();
  const schedule &schedule = entry->commands->scheduled();
  HEDDLE_RETURN_IF_ERROR(find_failure(request, schedule, before_steps, after_steps));
  download(request, schedule);
  // Cut for a faster device than this one is; by now its speed is known better. Where it isn't, another recording would
  // be cut as this one.
  if (longest > 2e-6 * static_cast<double>(device.settings().submit_microseconds) &&
      device.slowness() > 1.25 * entry->slowness)
    recordings_.erase(entry);
  return device.take_validation_error();
}

heddle_status_t vulkan_session::run(const run_request &request) {
  recording_cache::entry *entry = nullptr;
  HEDDLE_RETURN_IF_ERROR(begin_run(request, &entry));
  double longest = 0;
  HEDDLE_RETURN_IF_ERROR(request.observer ? run_observed(request, *entry) : run_all(request, *entry, &longest));
  return end_run(request, entry, longest);
}

} // namespace heddle::runtime::vulkan
