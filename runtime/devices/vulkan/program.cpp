// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's side: a device chosen, constants uploaded, shaders at hand.

#include "runtime/devices/vulkan/program.h"

#include "runtime/core/border.h"
#include "runtime/core/checked_math.h"
#include "runtime/devices/vulkan/arena.h"
#include "runtime/devices/vulkan/cache_file.h"
#include "runtime/devices/vulkan/measured_limits.h"
#include "runtime/devices/vulkan/session.h"

namespace heddle::runtime::vulkan {

/// Only now it is known which pipelines were made. What isn't stored, for want of memory or room, is made again.
vulkan_program::~vulkan_program() {
  heddle_status_release(at_border([&] { return store_cache(); }));
}

heddle_status_t vulkan_program::store_cache() const {
  if (cache_path_.empty() || !pipelines_.has_pipelines())
    return nullptr;
  std::vector<std::byte> content;
  HEDDLE_RETURN_IF_ERROR(pipelines_.read_cache(&content));
  if (!content.empty() && content_checksum(content) != cached_checksum_)
    write_cache_file(cache_path_, cache_key_, content);
  return nullptr;
}

heddle_status_t vulkan_program::load(const load_request &request) {
  loaded_ = request.loaded;
  target_ = request.target;
  HEDDLE_RETURN_IF_ERROR(request.vulkan_device ? device::adopt(*request.vulkan_device, &device_)
                                               : device::acquire(request.selector, &device_));
  std::vector<std::byte> cached;
  if (device_->settings().uses_cache) {
    cache_key_ = cache_key(device_->gpu(), *loaded_);
    cache_path_ = cache_path(cache_key_);
    cached = read_cache_file(cache_path_, cache_key_);
    cached_checksum_ = content_checksum(cached);
  }
  HEDDLE_RETURN_IF_ERROR(pipelines_.create(*device_, *loaded_, target_, cached));
  HEDDLE_RETURN_IF_ERROR(constants_.create(*device_, *loaded_, target_));
  return device_->take_validation_error();
}

const char *vulkan_program::note(size_t index) const {
  const std::string &weights = constants_.note();
  if (weights.empty())
    return pipelines_.note(index);
  return index == 0 ? weights.c_str() : pipelines_.note(index - 1);
}

/// But for copies that put far operands side by side, which only arenas beyond the device's ranges need.
heddle_status_t vulkan_program::measure_memory(const entry_table &entry, const plan &plan,
                                               heddle_memory_info_t *out) const {
  arena_layout layout;
  HEDDLE_RETURN_IF_ERROR(lay_out_arena(entry, plan, &layout));
  out->device_weight_bytes = static_cast<int64_t>(constants_.bytes());
  out->weight_bytes = static_cast<int64_t>(constants_.imported_bytes());
  out->device_arena_bytes = static_cast<int64_t>(layout.bytes);
  if (device_->is_unified())
    return nullptr;
  for (const std::vector<tensor_place> *places : {&layout.inputs, &layout.outputs})
    for (const tensor_place &place : *places)
      out->transfer_bytes += static_cast<int64_t>(align_up(place.bytes, tensor_alignment));
  return nullptr;
}

heddle_status_t vulkan_program::measure_limits(heddle_vulkan_limits_t *out) const {
  return vulkan::measure_limits(*device_, out);
}

std::unique_ptr<device_session> vulkan_program::create_session() const {
  return std::make_unique<vulkan_session>(*this);
}

namespace {

heddle_status_t load_program(const load_request &request, std::unique_ptr<device_program> *out_program) {
  auto program = std::make_unique<vulkan_program>();
  HEDDLE_RETURN_IF_ERROR(program->load(request));
  *out_program = std::move(program);
  return nullptr;
}

/// Vulkan 1.1 is all that a target needs; what single shaders want is asked when one is chosen.
const char *missing_feature(const target_table &target) { return target.features.empty() ? "" : target.features[0]; }

} // namespace

const device_driver driver = {"vulkan", true, missing_feature, load_program, list_for_people};

} // namespace heddle::runtime::vulkan
