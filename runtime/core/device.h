// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device offers to the core. The cut is a whole run, not a dispatch: a GPU records all steps of a run into one
// command buffer and keeps the arena in its own memory, so only the device knows how to walk the steps.
//
// A device is a folder below runtime/devices and one line in runtime/devices/registration.cpp.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <heddle/vulkan.h>

#include "runtime/core/artifact_reader.h"
#include "runtime/core/plan.h"
#include "runtime/core/status.h"

namespace heddle::runtime {

enum class run_state { idle, running, cancelled };

/// One run, checked and planned. All pointers are valid until run() or, after submit(), finish() returns.
struct run_request {
  const entry_table *entry;
  const plan *run_plan;
  const void *const *inputs; ///< host memory in the declared types; null where a buffer is given
  void *const *outputs;      ///< host memory of the planned sizes, never shared with an input; null as with inputs
  /// Memory on the device that problem_of() has passed, in device_element_type(); null where host memory is given.
  const heddle_vulkan_buffer_t *const *input_buffers;
  const heddle_vulkan_buffer_t *const *output_buffers;
  const std::atomic<run_state> *state; ///< polled: another thread may set it to cancelled
  heddle_observer_fn_t observer;       ///< may be null
  void *observer_user;
  std::vector<heddle_span_t> *spans; ///< empty, for the run to fill as heddle_session_spans says; null: none are wanted
};

enum class buffer_access { read, write };

/// Memory of one session on a device; serves one run at a time. Destroying it waits for a submitted one.
class device_session {
public:
  virtual ~device_session() = default;
  virtual heddle_status_t run(const run_request &request) = 0;

  /// Why a run can't use |bytes| of |buffer|, to be put behind "input 'x' "; "" if it can.
  virtual std::string problem_of(const heddle_vulkan_buffer_t &, uint64_t, buffer_access) const {
    return "lies in a VkBuffer, which only programs on its VkDevice can use";
  }
  /// run() that leaves the device to it. A failure has left nothing on its way; success takes a finish().
  virtual heddle_status_t submit(const run_request &, const heddle_vulkan_sync_t &) {
    return fail(error::H0104, "the program runs on the CPU, to which no run can be submitted",
                "load it with device \"vulkan\", or use heddle_session_run");
  }
  /// Waits for what was submitted, with the outcome of run().
  virtual heddle_status_t finish() { return nullptr; }
};

/// An artifact's code and constants, ready on a device. Immutable; sessions of several threads share it.
class device_program {
public:
  virtual ~device_program() = default;
  virtual std::unique_ptr<device_session> create_session() const = 0;
  /// Sets what a session's run of |entry| by |plan| takes, and the program itself: all but the artifact's tables and
  /// the caller's tensors. |out| is zero.
  virtual heddle_status_t measure_memory(const entry_table &entry, const plan &plan,
                                         heddle_memory_info_t *out) const = 0;
  /// heddle_vulkan_measure_limits(); any thread.
  virtual heddle_status_t measure_limits(heddle_vulkan_limits_t *) const {
    return fail(error::H0101, "the program runs on the CPU, and the limits of a Vulkan device were asked for",
                "load it with device \"vulkan\"");
  }
  /// heddle_program_note(); any thread.
  virtual const char *note(size_t) const { return nullptr; }
};

/// What a device gets to load a program. |artifact| outlives the program.
struct load_request {
  const artifact *loaded;
  size_t target;        ///< index into the artifact's targets
  const char *selector; ///< which of the driver's devices: what the caller wrote behind "vulkan:"; "" for its choice
  heddle_weights_t weights;
  heddle_thread_pool_t *thread_pool;
  const heddle_vulkan_device_t *vulkan_device; ///< the caller's own; null: none was given
};

/// A device as people are told of it.
struct device_description {
  std::string name;                  ///< what heddle_program_options_t::device says for it: "cpu", "vulkan:0"
  std::string title;                 ///< as it calls itself
  std::string kind;                  ///< "cpu", "discrete", "integrated", "virtual", "software" or "other"
  std::string driver;                ///< whose driver, of which version; "" for a CPU
  uint64_t memory_bytes = 0;         ///< its own memory; 0 for a CPU
  std::vector<std::string> features; ///< by the names that artifacts use
  std::string limits;                ///< for people: what bounds the sizes of work; "" where nothing does
  std::string problem;               ///< why it can't be used; "" if it can
};

/// A kind of device. Instances are static.
struct device_driver {
  /// "cpu": the part of a target's name before the colon.
  const char *name;
  /// Whether there may be several of this kind, told apart by a selector.
  bool has_selector;
  /// Returns the first of |target|'s features that this machine lacks, or ""; static storage. |target| is for this
  /// kind. Opens no device: what one of several lacks, load() says.
  const char *(*missing_feature)(const target_table &target);
  /// Makes the code of a target ready that lacks no feature.
  heddle_status_t (*load)(const load_request &request, std::unique_ptr<device_program> *out_program);
  /// Appends the devices of this kind, the one first that is taken without a selector. Where there is none, or none can
  /// be asked for, appends one that is named as the driver and has nothing but the problem.
  void (*list)(std::vector<device_description> *out);
};

/// All drivers of this build, null-terminated; the first is the default.
extern const device_driver *const device_drivers[];

} // namespace heddle::runtime
