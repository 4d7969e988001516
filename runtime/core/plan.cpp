// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads every slot that a run will need, and checks each against what it is used for: the executor then only adds
// offsets to addresses. What fails here and isn't the input's fault is the file's.

#include "runtime/core/plan.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "runtime/core/checked_math.h"
#include "runtime/core/memory_planner.h"
#include "runtime/core/shape_program.h"
#include "runtime/core/tensor.h"

namespace heddle::runtime {

namespace {

/// Builds one plan.
class plan_builder {
public:
  plan_builder(const program_tables &tables, const entry_table &entry, size_t target,
               const heddle_tensor_t *const *inputs, plan *out)
      : tables_(tables), entry_(entry), target_(target), inputs_(inputs), out_(*out) {}

  heddle_status_t build();

private:
  heddle_status_t size_tensors();
  heddle_status_t size_buffers();
  heddle_status_t plan_step(const dispatch_step &dispatch);
  heddle_status_t plan_step(const store_slots_step &store);
  heddle_status_t plan_step(const copy_step &copy);

  heddle_status_t overflow() const {
    return fail(error::H0308, "a size is negative or overflows, for " + describe_shapes(entry_, inputs_));
  }
  int64_t binding_bytes(const binding_table &binding) const;
  /// Bytes of a tensor whose sizes are in |slots|.
  bool tensor_bytes(const std::vector<uint32_t> &slots, heddle_element_type_t type, int64_t *out) const;

  const program_tables &tables_;
  const entry_table &entry_;
  size_t target_;
  const heddle_tensor_t *const *inputs_;
  plan &out_;
};

bool plan_builder::tensor_bytes(const std::vector<uint32_t> &slots, heddle_element_type_t type, int64_t *out) const {
  int64_t dims[HEDDLE_MAX_RANK] = {};
  read_dims(out_, slots, dims);
  int64_t elements = 0;
  return checked_product(dims, slots.size(), &elements) &&
         checked_mul(elements, static_cast<int64_t>(heddle_element_type_size(type)), out);
}

int64_t plan_builder::binding_bytes(const binding_table &binding) const {
  switch (binding.kind) {
  case binding_kind::input:
    return out_.input_bytes[binding.index];
  case binding_kind::output:
    return out_.output_bytes[binding.index];
  case binding_kind::constant:
    return static_cast<int64_t>(tables_.constants[binding.index].length);
  case binding_kind::buffer:
    return out_.buffer_bytes[binding.index];
  }
  return 0;
}

heddle_status_t plan_builder::size_tensors() {
  // As steps see it: in the declared type, even where the caller gave a narrower one.
  for (size_t i = 0; i < entry_.inputs.size(); ++i)
    out_.input_bytes.push_back(
        static_cast<int64_t>(inputs_[i]->element_count * heddle_element_type_size(entry_.inputs[i].type)));
  out_.output_bytes.resize(entry_.outputs.size());
  for (size_t i = 0; i < entry_.outputs.size(); ++i)
    if (!tensor_bytes(entry_.outputs[i].slots, entry_.outputs[i].type, &out_.output_bytes[i]))
      return overflow();
  return nullptr;
}

heddle_status_t plan_builder::size_buffers() {
  out_.buffer_bytes.reserve(entry_.buffers.size());
  for (const buffer_table &buffer : entry_.buffers) {
    const int64_t bytes = out_.slots[buffer.bytes];
    if (bytes < 0)
      return overflow();
    out_.buffer_bytes.push_back(bytes);
  }
  if (!plan_memory(entry_.buffers, out_.buffer_bytes, &out_.buffer_offsets, &out_.arena_bytes))
    return overflow();
  return nullptr;
}

heddle_status_t plan_builder::plan_step(const dispatch_step &dispatch) {
  // Without a target (a program opened for inspection) there is no work, but operations and bytes are known.
  dispatch_plan planned{
      0, 1, out_.slots[dispatch.flops], out_.slots[dispatch.bytes], out_.sizes.size(), out_.axes.size()};
  if (target_ < dispatch.targets.size()) {
    const target_dispatch &target = dispatch.targets[target_];
    const int64_t scratch = out_.slots[target.scratch];
    planned.items = out_.slots[target.grid];
    planned.grain = std::max<int64_t>(1, out_.slots[target.grain]);
    if (planned.items < 0 || scratch < 0)
      return overflow();
    out_.scratch_bytes = std::max(out_.scratch_bytes, scratch);
    for (uint32_t slot : target.axes) {
      // Devices count in 32 bits.
      const int64_t value = out_.slots[slot];
      if (value < 0 || value > std::numeric_limits<uint32_t>::max())
        return overflow();
      out_.axes.push_back(static_cast<uint32_t>(value));
    }
  }
  for (uint32_t slot : dispatch.sizes)
    out_.sizes.push_back(out_.slots[slot]);
  if (!checked_add(out_.flops, planned.flops, &out_.flops) || !checked_add(out_.bytes, planned.bytes, &out_.bytes))
    return overflow();
  // Observers read results by these shapes.
  const size_t first_result = dispatch.bindings.size() - dispatch.results.size();
  for (size_t i = 0; i < dispatch.results.size(); ++i) {
    int64_t bytes = 0;
    if (!tensor_bytes(dispatch.results[i].slots, dispatch.results[i].type, &bytes))
      return overflow();
    if (bytes > binding_bytes(dispatch.bindings[first_result + i]))
      return damaged(format("result '%s' of kernel '%s' is larger than its memory", dispatch.results[i].name,
                            tables_.kernels[dispatch.kernel].name));
  }
  out_.dispatches.push_back(planned);
  return nullptr;
}

heddle_status_t plan_builder::plan_step(const store_slots_step &store) {
  const uint64_t needed = store.slots.size() * heddle_element_type_size(store.type);
  if (needed > static_cast<uint64_t>(binding_bytes(store.target)))
    return damaged("slots are stored into memory that is too small");
  return nullptr;
}

heddle_status_t plan_builder::plan_step(const copy_step &copy) {
  const int64_t bytes = out_.slots[copy.bytes];
  if (bytes < 0)
    return overflow();
  if (bytes > binding_bytes(copy.source) || bytes > binding_bytes(copy.target))
    return damaged("a copy reaches past the end of its memory");
  return nullptr;
}

/// What a device keeps for a plan it finds by this number: an address may come back with another plan.
uint64_t next_plan_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

heddle_status_t plan_builder::build() {
  // Sizes of outputs and buffers before the steps, which are checked against them.
  HEDDLE_RETURN_IF_ERROR(evaluate_shapes(entry_, inputs_, &out_.slots));
  HEDDLE_RETURN_IF_ERROR(size_tensors());
  HEDDLE_RETURN_IF_ERROR(size_buffers());
  out_.dispatches.reserve(entry_.dispatch_count);
  for (const step_table &step : entry_.steps)
    HEDDLE_RETURN_IF_ERROR(std::visit([this](const auto &kind) { return plan_step(kind); }, step));
  return nullptr;
}

} // namespace

heddle_status_t make_plan(const program_tables &tables, const entry_table &entry, size_t target,
                          const heddle_tensor_t *const *inputs, plan *out) {
  out->id = next_plan_id();
  return plan_builder(tables, entry, target, inputs, out).build();
}

} // namespace heddle::runtime
