// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan as a device: an artifact's shaders and constants on one of the machine's GPUs.

#pragma once

#include "runtime/core/device.h"
#include "runtime/devices/vulkan/constants.h"
#include "runtime/devices/vulkan/pipelines.h"

namespace heddle::runtime::vulkan {

extern const device_driver driver;

/// device_driver::list.
void list_for_people(std::vector<device_description> *out);

/// Immutable to its users; what is made on demand has a lock.
class vulkan_program final : public device_program {
public:
  ~vulkan_program() override;

  heddle_status_t load(const load_request &request);

  std::unique_ptr<device_session> create_session() const override;
  heddle_status_t measure_memory(const entry_table &entry, const plan &plan, heddle_memory_info_t *out) const override;
  heddle_status_t measure_limits(heddle_vulkan_limits_t *out) const override;
  const char *note(size_t index) const override;

  const program_tables &tables() const { return loaded_->tables; }
  size_t target() const { return target_; }
  const class device &device() const { return *device_; }
  const pipeline_set &pipelines() const { return pipelines_; }
  const constant_store &constants() const { return constants_; }

private:
  heddle_status_t store_cache() const;

  const artifact *loaded_ = nullptr;
  size_t target_ = 0;
  std::string cache_key_;
  std::string cache_path_;       ///< empty: nothing is kept
  uint64_t cached_checksum_ = 0; ///< of what is kept already
  // In this order, so that the device goes last.
  std::shared_ptr<class device> device_;
  constant_store constants_;
  pipeline_set pipelines_;
};

} // namespace heddle::runtime::vulkan
