// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shaders of a program as pipelines: which variant a dispatch takes, made at its first use.

#pragma once

#include <array>
#include <mutex>

#include "runtime/core/artifact_reader.h"
#include "runtime/devices/vulkan/device.h"

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

  /// Makes the layouts; pipelines come later. |device| and |loaded| outlive this. |cache_bytes| is what a driver's
  /// cache held when it was last stored, or nothing.
  heddle_status_t create(const device &device, const artifact &loaded, size_t target,
                         const std::vector<std::byte> &cache_bytes);

  /// The first variant of |kernel|'s shader that the device can run, whose |most| allows |extents|, and that the driver
  /// takes.
  heddle_status_t choose(uint32_t kernel, const uint32_t *extents, const pipeline **out) const;

  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  VkPipelineLayout layout() const { return layout_; }

  /// Whether any pipeline was made, from the driver's cache or afresh.
  bool has_pipelines() const;
  /// What the driver wants to find next time.
  heddle_status_t read_cache(std::vector<std::byte> *out) const;

private:
  enum class variant_state { untried, ready, unavailable };
  struct variant {
    variant_state state = variant_state::untried;
    pipeline made;
  };

  heddle_status_t create_layouts();
  heddle_status_t make(const shader_variant_table &table, const char *kernel, variant *out) const;
  heddle_status_t make_module(const shader_variant_table &table, const char *kernel, VkShaderModule *out) const;
  const char *obstacle(const shader_variant_table &table) const;

  const device *device_ = nullptr;
  const artifact *loaded_ = nullptr;
  const target_table *target_ = nullptr;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  mutable std::mutex mutex_; ///< guards what follows
  mutable std::vector<std::vector<variant>> variants_;
  mutable bool has_pipelines_ = false;
};

} // namespace heddle::runtime::vulkan
