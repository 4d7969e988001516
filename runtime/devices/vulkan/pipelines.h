// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shaders of a program as pipelines: which variant a dispatch takes, made at its first use.

#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "runtime/core/artifact_reader.h"
#include "runtime/devices/vulkan/device.h"
#include "runtime/devices/vulkan/layouts.h"

namespace heddle::runtime::vulkan {

/// Storage buffers of every shader; shader_binding names them.
constexpr uint32_t binding_count = 4;

/// A variant made ready.
struct pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  std::array<uint32_t, 3> tile = {};
};

/// Shared by sessions; any thread may use it.
class pipeline_set {
public:
  pipeline_set() = default;
  pipeline_set(const pipeline_set &) = delete;
  pipeline_set &operator=(const pipeline_set &) = delete;
  ~pipeline_set();

  /// Makes the layouts; pipelines come later. |device| and |loaded| outlive this. |cache_bytes| is what read_cache()
  /// gave for the same artifact on the same device, or nothing.
  heddle_status_t create(const device &device, const artifact &loaded, size_t target,
                         const std::vector<std::byte> &cache_bytes);

  /// The first variant of |kernel|'s shader that the device can run, whose |most| allows |extents|, that the driver
  /// takes, and that has passed its self-test.
  heddle_status_t choose(uint32_t kernel, const uint32_t *extents, const pipeline **out) const;

  VkDescriptorSetLayout set_layout() const { return layouts_.set(); }
  VkPipelineLayout layout() const { return layouts_.pipeline(); }

  /// Whether any pipeline was made, from the driver's cache or afresh.
  bool has_pipelines() const { return has_pipelines_.load(); }
  /// What self-tests have shown, and what the driver wants to find next time.
  heddle_status_t read_cache(std::vector<std::byte> *out) const;

  /// Remark |index| for people, which lives as long as this; null behind the last. More come with further choices.
  const char *note(size_t index) const;

private:
  enum class variant_state { untried, ready, unavailable };
  enum class verdict : uint8_t { unknown, right, wrong };
  struct variant {
    variant_state state = variant_state::untried;
    verdict result = verdict::unknown; ///< of the self-test
    std::string fault;                 ///< why it was rejected; empty: it wasn't
    bool is_refused = false;           ///< by the driver, once at least
    std::string message;               ///< of the failure that made it unavailable
    const char *missing = "";          ///< what of the device it lacks
    pipeline made;
  };
  struct kernel_variants {
    std::mutex
        mutex; ///< guards the others: who wants another kernel doesn't wait until this one is compiled and tested
    std::vector<variant> variants;
  };

  heddle_status_t make(uint32_t kernel, size_t index, VkResult *out_result) const;
  heddle_status_t make_module(uint32_t kernel, const shader_variant_table &table,
                              const std::vector<uint32_t> &constants, VkShaderModule *out) const;
  const char *obstacle(const shader_variant_table &table) const;
  heddle_status_t prepare(uint32_t kernel, size_t index) const;
  heddle_status_t take(uint32_t kernel, size_t index) const;
  heddle_status_t refuse(uint32_t kernel, size_t index, VkResult result) const;
  heddle_status_t test(uint32_t kernel, size_t index, variant *tested) const;
  heddle_status_t reject(uint32_t kernel, size_t index, const std::string &reason) const;
  heddle_status_t all_wrong(uint32_t kernel, const std::string &reason) const;
  void destroy(variant *variant) const;
  void add_note(std::string text) const;
  size_t take_verdicts(const std::vector<std::byte> &cache_bytes);

  const device *device_ = nullptr;
  const artifact *loaded_ = nullptr;
  const target_table *target_ = nullptr;
  layouts layouts_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  mutable std::deque<kernel_variants> kernels_; ///< by number; as many as there are from the start
  mutable std::atomic<bool> has_pipelines_{false};
  mutable std::mutex notes_mutex_;
  mutable std::deque<std::string> notes_; ///< a deque, whose strings stay where they are
};

} // namespace heddle::runtime::vulkan
