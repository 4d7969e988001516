// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work grows until a window is long enough for the clock and to keep all of the device busy; nothing is known of the
// device before, so it begins with what the slowest does in a moment.

#include "runtime/devices/vulkan/rate_meter.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/devices/vulkan/limit_shaders/dot_bytes.h"
#include "runtime/devices/vulkan/limit_shaders/multiply_bytes.h"
#include "runtime/devices/vulkan/limit_shaders/multiply_floats.h"
#include "runtime/devices/vulkan/limit_shaders/read_memory.h"
#include "runtime/devices/vulkan/recording.h"

namespace heddle::runtime::vulkan {

namespace {

using clock = std::chrono::steady_clock;

constexpr int windows = 16;
constexpr int least_windows = 3;
/// A rate's windows end after this, whatever their number.
constexpr std::chrono::milliseconds window_budget(40);
/// What a window takes at least; longer by the host's clock, to which a submission looks like work.
constexpr double window_seconds = 2e-3;
constexpr double window_seconds_of_host = 10e-3;
/// Rounds of arithmetic. lavapipe ends loops of 65,535 rounds in silence.
constexpr uint32_t first_rounds = 16;
constexpr uint32_t most_rounds = 8192;
/// More brings nothing, and every device has as many.
constexpr uint32_t most_invocations = 128;
/// A binding needs some memory, and its offset is 0.
constexpr uint64_t result_bytes = 256;

/// What the shaders are told, as limit_shaders/arguments.glsl has it.
struct shader_arguments {
  uint32_t rounds;
  uint32_t mask;
  uint32_t word;
  float factor;
  float never;
};

struct module_code {
  const uint32_t *words;
  size_t bytes;
  double amount; ///< of a round of one invocation: operations, or bytes
};

module_code code_of(limit_shader shader) {
  switch (shader) {
  case limit_shader::multiply_floats:
    return {spirv_multiply_floats, sizeof(spirv_multiply_floats), 384 * 2};
  case limit_shader::multiply_bytes:
    return {spirv_multiply_bytes, sizeof(spirv_multiply_bytes), 64 * 2};
  case limit_shader::dot_bytes:
    return {spirv_dot_bytes, sizeof(spirv_dot_bytes), 384 * 4 * 2};
  case limit_shader::read_memory:
    break;
  }
  return {spirv_read_memory, sizeof(spirv_read_memory), 8 * 16};
}

/// |value| times |factor|, at most |most|.
uint32_t scaled(uint32_t value, double factor, uint32_t most) {
  return static_cast<uint32_t>(std::min<double>(most, value * factor));
}

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

} // namespace

rate_meter::~rate_meter() {
  const VolkDeviceTable &api = device_.api();
  if (pipeline_)
    api.vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
  if (clock_)
    api.vkDestroyQueryPool(device_.handle(), clock_, nullptr);
  if (sets_pool_)
    api.vkDestroyDescriptorPool(device_.handle(), sets_pool_, nullptr);
}

uint32_t rate_meter::invocations() const {
  return std::min({most_invocations, device_.limits().invocations, device_.limits().workgroup[0]});
}

double rate_meter::amount_of(limit_shader shader, const rate_work &work) const {
  return code_of(shader).amount * invocations() * work.groups * work.rounds;
}

heddle_status_t rate_meter::create(uint64_t bytes, uint64_t least) {
  HEDDLE_RETURN_IF_ERROR(device_.check_alive());
  HEDDLE_RETURN_IF_ERROR(create_memory(bytes, least));
  HEDDLE_RETURN_IF_ERROR(layouts_.create(device_, /*buffer_count=*/2, sizeof(shader_arguments)));
  HEDDLE_RETURN_IF_ERROR(create_set());
  if (device_.limits().timestamp_nanoseconds > 0) {
    auto info = tagged<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    HEDDLE_RETURN_IF_ERROR(
        device_.check(device_.api().vkCreateQueryPool(device_.handle(), &info, nullptr, &clock_), "make a query pool"));
  }
  // Memory that nobody wrote to may not be there: a system has one page of zeros for all that is read.
  constexpr uint32_t one = 0x3f800000; // as f32
  HEDDLE_RETURN_IF_ERROR(commands_.begin());
  device_.api().vkCmdFillBuffer(commands_.handle(), data_.handle(), 0, data_.bytes(), one);
  device_.api().vkCmdFillBuffer(commands_.handle(), results_.handle(), 0, results_.bytes(), one);
  return commands_.run();
}

heddle_status_t rate_meter::create_memory(uint64_t bytes, uint64_t least) {
  HEDDLE_RETURN_IF_ERROR(results_.create(device_, memory_use::device, result_bytes, "a measurement"));
  for (;; bytes /= 2) {
    owned_status status(data_.create(device_, memory_use::device, bytes, "a measurement"));
    if (!status || bytes / 2 < least || std::strcmp(heddle_status_error_code(status.get()), "H0407") != 0)
      return status.release();
  }
}

heddle_status_t rate_meter::create_set() {
  const VolkDeviceTable &api = device_.api();
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
  auto pool = tagged<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool.maxSets = 1;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  HEDDLE_RETURN_IF_ERROR(device_.check(api.vkCreateDescriptorPool(device_.handle(), &pool, nullptr, &sets_pool_),
                                       "make a descriptor pool"));
  auto info = tagged<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = sets_pool_;
  info.descriptorSetCount = 1;
  VkDescriptorSetLayout layout = layouts_.set();
  info.pSetLayouts = &layout;
  HEDDLE_RETURN_IF_ERROR(
      device_.check(api.vkAllocateDescriptorSets(device_.handle(), &info, &set_), "make descriptor sets"));
  const VkDescriptorBufferInfo buffers[2] = {{data_.handle(), 0, data_.bytes()},
                                             {results_.handle(), 0, results_.bytes()}};
  auto write = tagged<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  write.dstSet = set_;
  write.descriptorCount = 2; // bindings 0 and 1
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = buffers;
  api.vkUpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
  return nullptr;
}

heddle_status_t rate_meter::make_pipeline(limit_shader shader) {
  const VolkDeviceTable &api = device_.api();
  if (pipeline_)
    api.vkDestroyPipeline(device_.handle(), pipeline_, nullptr);
  pipeline_ = VK_NULL_HANDLE;
  const module_code code = code_of(shader);
  auto module_info = tagged<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module_info.codeSize = code.bytes;
  module_info.pCode = code.words;
  VkShaderModule module = VK_NULL_HANDLE;
  HEDDLE_RETURN_IF_ERROR(device_.check(api.vkCreateShaderModule(device_.handle(), &module_info, nullptr, &module),
                                       "take a shader that measures it"));
  const uint32_t size = invocations();
  const VkSpecializationMapEntry entry = {0, 0, sizeof(size)};
  const VkSpecializationInfo constants = {1, &entry, sizeof(size), &size};
  auto info = tagged<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  info.layout = layouts_.pipeline();
  info.stage = tagged<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  const VkResult result = api.vkCreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_);
  api.vkDestroyShaderModule(device_.handle(), module, nullptr);
  return device_.check(result, "make a pipeline that measures it");
}

heddle_status_t rate_meter::read_clock(double *out_seconds) const {
  uint64_t ticks[2] = {};
  HEDDLE_RETURN_IF_ERROR(
      device_.check(device_.api().vkGetQueryPoolResults(device_.handle(), clock_, 0, 2, sizeof(ticks), ticks,
                                                        sizeof(ticks[0]), VK_QUERY_RESULT_64_BIT),
                    "read its clock"));
  *out_seconds = seconds_between(device_.limits(), ticks[0], ticks[1]);
  return nullptr;
}

heddle_status_t rate_meter::run(const rate_work &work, uint64_t bytes, double *out_seconds) {
  const VolkDeviceTable &api = device_.api();
  const shader_arguments arguments = {work.rounds, static_cast<uint32_t>(bytes / 16 - 1), 0x59a3171d, 0.5f, -1.0f};
  HEDDLE_RETURN_IF_ERROR(commands_.begin());
  VkCommandBuffer commands = commands_.handle();
  if (clock_) {
    api.vkCmdResetQueryPool(commands, clock_, 0, 2);
    api.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock_, 0);
  }
  api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  api.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layouts_.pipeline(), 0, 1, &set_, 0, nullptr);
  api.vkCmdPushConstants(commands, layouts_.pipeline(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(arguments), &arguments);
  api.vkCmdDispatch(commands, work.groups, 1, 1);
  if (clock_)
    api.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock_, 1);
  const clock::time_point begin = clock::now();
  HEDDLE_RETURN_IF_ERROR(commands_.run());
  *out_seconds = seconds_since(begin);
  if (!clock_)
    return nullptr;
  double seconds = 0;
  HEDDLE_RETURN_IF_ERROR(read_clock(&seconds));
  // A clock that stood still or went backwards says nothing.
  if (seconds > 0)
    *out_seconds = seconds;
  return nullptr;
}

double rate_meter::wanted_seconds() const { return clock_ ? window_seconds : window_seconds_of_host; }

rate_work rate_meter::first_work(limit_shader shader, uint64_t bytes) const {
  if (shader != limit_shader::read_memory)
    return {1, first_rounds};
  // All of the memory once, or the caches would be enough for what is touched.
  const double groups = static_cast<double>(bytes) / amount_of(shader, {1, 1});
  return {static_cast<uint32_t>(std::clamp<double>(groups, 1, device_.limits().groups[0])), 1};
}

/// Makes |work|, which took |seconds|, last a window, or returns false where that can't be.
bool rate_meter::grow(limit_shader shader, double seconds, rate_work *work) const {
  const uint32_t most_groups = device_.limits().groups[0];
  // Carefully: a small part of a device may be all that was busy, and then the whole is, for as long.
  const double factor = std::clamp(1.25 * wanted_seconds() / seconds, 2.0, 16.0);
  if (work->groups < most_groups)
    work->groups = scaled(work->groups, factor, most_groups);
  else if (shader != limit_shader::read_memory && work->rounds < most_rounds)
    work->rounds = scaled(work->rounds, factor, most_rounds);
  else
    return false;
  return true;
}

heddle_status_t rate_meter::measure(limit_shader shader, uint64_t bytes, double *out_rate) {
  HEDDLE_RETURN_IF_ERROR(make_pipeline(shader));
  rate_work work = first_work(shader, bytes);
  double seconds = 0;
  HEDDLE_RETURN_IF_ERROR(run(work, bytes, &seconds)); // when some drivers compile
  *out_rate = 0;
  clock::time_point begin = clock::now();
  for (int i = 0; i < windows && (i < least_windows || clock::now() - begin < window_budget); ++i) {
    HEDDLE_RETURN_IF_ERROR(run(work, bytes, &seconds));
    *out_rate = std::max(*out_rate, amount_of(shader, work) / seconds);
    // Others' work may have made the ones before look long enough.
    if (seconds >= wanted_seconds() || !grow(shader, seconds, &work))
      continue;
    i = -1;
    begin = clock::now();
  }
  return nullptr;
}

} // namespace heddle::runtime::vulkan
