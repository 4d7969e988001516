// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One arena with all operands of the case, one dispatch, and a look at what came out.

#include "runtime/devices/vulkan/self_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <heddle/executable_abi.h>

#include "runtime/core/checked_math.h"
#include "runtime/devices/vulkan/elements.h"
#include "runtime/devices/vulkan/recording.h"
#include "runtime/devices/vulkan/self_test_elements.h"
#include "runtime/devices/vulkan/slicing.h"
#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

namespace {

/// What one submission needs besides its commands.
class submission_objects {
public:
  explicit submission_objects(const device &device) : device_(device) {}
  submission_objects(const submission_objects &) = delete;
  submission_objects &operator=(const submission_objects &) = delete;
  ~submission_objects() {
    if (fence_)
      device_.api().vkDestroyFence(device_.handle(), fence_, nullptr);
    if (pool_)
      device_.api().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  }

  heddle_status_t create() {
    auto pool = tagged<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = device_.gpu().queue_family;
    HEDDLE_RETURN_IF_ERROR(device_.check(device_.api().vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_),
                                         "make a command pool"));
    const auto fence = tagged<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    return device_.check(device_.api().vkCreateFence(device_.handle(), &fence, nullptr, &fence_), "make a fence");
  }
  VkCommandPool pool() const { return pool_; }
  VkFence fence() const { return fence_; }

private:
  const device &device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

class self_test {
public:
  self_test(const device &device, const pipeline_set &pipelines, const tested_variant &variant)
      : device_(device), pipelines_(pipelines), variant_(variant), test_(*variant.shader->self_test), objects_(device) {
  }

  heddle_status_t run(std::string *out_fault);

private:
  const shader_operand_table &operand(size_t i) const { return variant_.shader->operands[i]; }
  const uint32_t *strides(size_t i) const { return test_.axes.data() + 3 + 3 * i; }
  void choose_extents();
  void lay_out();
  heddle_status_t make_schedule(schedule *out) const;
  heddle_status_t submit(schedule schedule);
  void fill(std::byte *to) const;
  std::string compare(const std::byte *results) const;
  std::string compare(size_t output, const std::byte *stored) const;
  bool is_computed(size_t output, uint64_t element) const;

  const device &device_;
  const pipeline_set &pipelines_;
  const tested_variant &variant_;
  const self_test_table &test_;
  uint32_t extents_[3] = {};
  std::vector<uint64_t> offsets_; ///< of each operand in the arena
  uint64_t record_ = 0;           ///< offset of the error record
  uint64_t bytes_ = 0;            ///< of the operands and the record
  buffer arena_, upload_, download_;
  submission_objects objects_;
  recording recording_; // last, since it goes before what it refers to
};

/// A variant for few units gets few: whole tiles that hold them.
void self_test::choose_extents() {
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t tile = variant_.table->tile[axis];
    const uint64_t most = variant_.table->most[axis];
    extents_[axis] = test_.axes[axis];
    if (most != 0)
      extents_[axis] = static_cast<uint32_t>(std::min<uint64_t>(extents_[axis], (most + tile - 1) / tile * tile));
  }
}

void self_test::lay_out() {
  // As in a session's arena, the first bytes belong to no tensor.
  bytes_ = tensor_alignment;
  auto place = [&](uint64_t bytes) {
    const uint64_t offset = bytes_;
    bytes_ = align_up(offset + bytes + record_bytes, tensor_alignment);
    return offset;
  };
  for (size_t i = 0; i < variant_.shader->operands.size(); ++i) {
    const bool is_input = i < test_.inputs.size();
    const uint64_t bytes = is_input ? test_.inputs[i].bytes : test_.outputs[i - test_.inputs.size()].bytes;
    offsets_.push_back(place(device_bytes(operand(i).type, bytes)));
  }
  record_ = place(record_bytes);
}

heddle_status_t self_test::make_schedule(schedule *out) const {
  if (!device_.is_unified())
    out->commands.push_back({copy_command{{upload_buffer, 0, bytes_}, arena_buffer, 0}, 0, 0});
  slice_work work = {variant_.kernel, variant_.made, {}, {}, {}, 0, 0};
  std::copy(extents_, extents_ + 3, work.extents);
  if (variant_.shader->can_fail)
    work.operands.push_back({shader_binding::results, arena_buffer, record_, record_bytes, {}});
  for (size_t i = 0; i < offsets_.size(); ++i) {
    const bool is_input = i < test_.inputs.size();
    const uint64_t bytes = is_input ? test_.inputs[i].bytes : test_.outputs[i - test_.inputs.size()].bytes;
    work.operands.push_back({operand(i).binding,
                             arena_buffer,
                             offsets_[i],
                             device_bytes(operand(i).type, bytes),
                             {strides(i)[0], strides(i)[1], strides(i)[2]},
                             variant_.shader->table == i ? variant_.shader->table_row_bytes : 0});
  }
  for (int64_t size : test_.sizes)
    work.sizes.push_back(static_cast<uint32_t>(size));
  slicer slicer(device_.limits(), 1, bytes_, out);
  HEDDLE_RETURN_IF_ERROR(slicer.cut(work));
  out->arena_bytes = slicer.arena_bytes();
  if (!device_.is_unified())
    out->commands.push_back({copy_command{{arena_buffer, 0, bytes_}, download_buffer, 0}, 0, 0});
  out->segments.push_back({0, out->commands.size(), 0, 0, 0});
  mark_waits(out);
  return nullptr;
}

void self_test::fill(std::byte *to) const {
  std::memset(to, 0, bytes_);
  for (size_t i = 0; i < offsets_.size(); ++i) {
    const bool is_input = i < test_.inputs.size();
    if (is_input)
      make_device_elements(operand(i).type, test_.inputs[i], to + offsets_[i]);
    else
      std::memset(to + offsets_[i], unwritten_byte(operand(i).type),
                  device_bytes(operand(i).type, test_.outputs[i - test_.inputs.size()].bytes));
  }
}

heddle_status_t self_test::submit(schedule schedule) {
  HEDDLE_RETURN_IF_ERROR(arena_.create(device_, memory_use::device, schedule.arena_bytes, "a shader's test"));
  if (!device_.is_unified()) {
    HEDDLE_RETURN_IF_ERROR(upload_.create(device_, memory_use::upload, bytes_, "a shader's test"));
    HEDDLE_RETURN_IF_ERROR(download_.create(device_, memory_use::download, bytes_, "a shader's test"));
  }
  fill(device_.is_unified() ? arena_.mapped() : upload_.mapped());
  HEDDLE_RETURN_IF_ERROR(objects_.create());
  HEDDLE_RETURN_IF_ERROR(recording_.create(device_, objects_.pool(), pipelines_,
                                           {arena_.handle(), upload_.handle(), download_.handle(), nullptr},
                                           std::move(schedule), /*times_steps=*/false));
  HEDDLE_RETURN_IF_ERROR(device_.submit(recording_.commands(0), objects_.fence()));
  return wait_for(device_, objects_.fence());
}

/// Whether the variant's units compute element |element| of an output: those of the case do.
bool self_test::is_computed(size_t output, uint64_t element) const {
  const size_t i = test_.inputs.size() + output;
  const uint64_t offset = element * device_bytes(operand(i).type, heddle_element_type_size(operand(i).type));
  for (size_t axis = 0; axis < 3; ++axis)
    if (extents_[axis] < test_.axes[axis] && strides(i)[axis] == 0)
      return false;
  return heddle_self_test_reaches(offset, extents_, strides(i)) != 0;
}

std::string self_test::compare(size_t output, const std::byte *stored) const {
  const self_test_output &expected = test_.outputs[output];
  const heddle_element_type_t type = operand(test_.inputs.size() + output).type;
  const size_t size = heddle_element_type_size(type);
  std::vector<std::byte> actual(expected.bytes);
  from_device(type, stored, expected.bytes, actual.data());
  const double allowed = expected.tolerance * largest_magnitude(type, expected);
  const uint8_t *value = expected.values;
  for (const self_test_run &run : expected.runs)
    for (uint64_t element = run.first; element < uint64_t(run.first) + run.count; ++element, value += size)
      if (is_computed(output, element) && difference_of(type, actual.data() + element * size, value, allowed) > 1)
        return format("element %llu of result %zu is %s instead of %s", static_cast<unsigned long long>(element),
                      output, format_element(type, actual.data() + element * size).c_str(),
                      format_element(type, value).c_str());
  return {};
}

std::string self_test::compare(const std::byte *results) const {
  std::string fault;
  int32_t words[4]; // state, site, value, limit
  std::memcpy(words, results + record_, sizeof(words));
  if (variant_.shader->can_fail && words[0] == HEDDLE_KERNEL_LOOP_CUT_SHORT)
    return "the driver ended a loop early, which takes more rounds than it allows";
  // No case fails.
  if (variant_.shader->can_fail && words[0] != HEDDLE_KERNEL_OK)
    return format("it reports failure %d at site %d", words[0], words[1]);
  for (size_t output = 0; output < test_.outputs.size() && fault.empty(); ++output)
    fault = compare(output, results + offsets_[test_.inputs.size() + output]);
  return fault;
}

heddle_status_t self_test::run(std::string *out_fault) {
  choose_extents();
  lay_out();
  schedule schedule;
  HEDDLE_RETURN_IF_ERROR(make_schedule(&schedule));
  HEDDLE_RETURN_IF_ERROR(submit(std::move(schedule)));
  *out_fault = compare(device_.is_unified() ? arena_.mapped() : download_.mapped());
  return nullptr;
}

} // namespace

heddle_status_t run_self_test(const device &device, const pipeline_set &pipelines, const tested_variant &variant,
                              std::string *out_fault) {
  return self_test(device, pipelines, variant).run(out_fault);
}

} // namespace heddle::runtime::vulkan
