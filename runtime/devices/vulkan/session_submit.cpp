// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that is left to the device: all of its submissions at once, then the wait for them when the caller asks.

#include <algorithm>

#include "runtime/devices/vulkan/session.h"

namespace heddle::runtime::vulkan {

namespace {

heddle_status_t check_sync(const device &device, const heddle_vulkan_sync_t &sync) {
  if ((!sync.wait_semaphores && sync.wait_semaphore_count != 0) ||
      (!sync.signal_semaphores && sync.signal_semaphore_count != 0))
    return fail(error::H0101, "semaphores are counted and not given");
  if ((sync.fence || sync.wait_semaphore_count != 0 || sync.signal_semaphore_count != 0) && !device.is_adopted())
    return fail(error::H0101, "a fence or semaphore was given to a program on a device of the runtime's own",
                "load the program with heddle_program_options_t::vulkan_device");
  return nullptr;
}

std::vector<VkSemaphore> semaphores_of(const uint64_t *numbers, size_t count) {
  std::vector<VkSemaphore> handles;
  for (size_t i = 0; i < count; ++i)
    handles.push_back(handle_of<VkSemaphore>(numbers[i]));
  return handles;
}

} // namespace

/// Segments stay submissions of their own: drivers time each. Only the last has a fence, the queue keeps their order.
heddle_status_t vulkan_session::submit_all(const run_request &request, const recording_cache::entry &entry,
                                           const heddle_vulkan_sync_t &sync) {
  const device &device = program_.device();
  const size_t count = std::max<size_t>(1, entry.commands->scheduled().segments.size());
  // Before anything is on its way: behind the first submission nothing may throw.
  std::vector<VkSemaphore> waits = semaphores_of(sync.wait_semaphores, sync.wait_semaphore_count);
  std::vector<VkSemaphore> signals = semaphores_of(sync.signal_semaphores, sync.signal_semaphore_count);
  for (size_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    const bool is_waited_for = !is_last && device.settings().is_serialized;
    submission work = submission_of(entry, i, is_last || is_waited_for ? fences_[0] : VK_NULL_HANDLE);
    if (i == 0)
      work.waits.swap(waits);
    if (is_last) {
      work.signals.swap(signals);
      work.callers_fence = handle_of<VkFence>(sync.fence);
    }
    if (is_cancelled(request))
      return cancelled();
    on_their_way_ = 1; // whether it succeeds or not: see device::submit()
    HEDDLE_RETURN_IF_ERROR(device.submit(work));
    if (is_waited_for)
      HEDDLE_RETURN_IF_ERROR(wait_for(device, fences_[0]));
  }
  return nullptr;
}

heddle_status_t vulkan_session::submit(const run_request &request, const heddle_vulkan_sync_t &sync) {
  HEDDLE_RETURN_IF_ERROR(check_sync(program_.device(), sync));
  recording_cache::entry *entry = nullptr;
  HEDDLE_RETURN_IF_ERROR(begin_run(request, &entry));
  heddle_status_t status = submit_all(request, *entry, sync);
  if (status) {
    if (on_their_way_ != 0)
      program_.device().drain();
    on_their_way_ = 0;
    return status;
  }
  submitted_ = request;
  submitted_entry_ = entry;
  return nullptr;
}

heddle_status_t vulkan_session::finish() {
  recording_cache::entry *entry = submitted_entry_;
  submitted_entry_ = nullptr;
  heddle_status_t waited = wait_for(program_.device(), fences_[0]);
  on_their_way_ = 0;
  HEDDLE_RETURN_IF_ERROR(waited);
  double longest = 0;
  for (size_t i = 0; i < entry->commands->scheduled().segments.size(); ++i) {
    double seconds = 0;
    HEDDLE_RETURN_IF_ERROR(measure(*entry, i, &seconds));
    longest = std::max(longest, seconds);
  }
  if (is_cancelled(submitted_))
    return cancelled();
  return end_run(submitted_, entry, longest);
}

} // namespace heddle::runtime::vulkan
