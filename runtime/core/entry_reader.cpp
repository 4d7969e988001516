// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of one entry point. Order matters: inputs and the shape program come first, because later tables refer to
// their slots, then buffers, then the steps that use all of them.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <heddle/artifact_format.h>

#include "runtime/core/checked_math.h"
#include "runtime/core/element_type.h"
#include "runtime/core/table_reader.h"

namespace heddle::runtime {

namespace {

/// Everything else has two operands, and select a third.
bool has_no_operand(shape_opcode opcode) { return opcode == shape_opcode::constant; }
bool reads_input(shape_opcode opcode) {
  return opcode == shape_opcode::input_dim || opcode == shape_opcode::input_value;
}

/// A static size is kept; a dynamic one keeps its name, so that equal ones stay equal, or becomes static.
bool is_special_dim(const heddle_dimension_t &general, const heddle_dimension_t &special) {
  if (general.value >= 0)
    return special.value == general.value;
  return special.value >= 0 || std::strcmp(special.symbol, general.symbol) == 0;
}

bool is_specialization(const entry_table &general, const entry_table &special) {
  auto is_special_input = [](const input_table &from, const input_table &to) {
    return std::strcmp(from.name, to.name) == 0 && from.type == to.type &&
           std::equal(from.dims.begin(), from.dims.end(), to.dims.begin(), to.dims.end(), is_special_dim);
  };
  auto is_same_output = [](const output_table &from, const output_table &to) {
    return std::strcmp(from.name, to.name) == 0 && from.type == to.type && from.slots.size() == to.slots.size();
  };
  return std::equal(general.inputs.begin(), general.inputs.end(), special.inputs.begin(), special.inputs.end(),
                    is_special_input) &&
         std::equal(general.outputs.begin(), general.outputs.end(), special.outputs.begin(), special.outputs.end(),
                    is_same_output);
}

} // namespace

heddle_status_t table_reader::check_slot(uint32_t slot, const entry_table &entry) const {
  if (slot >= entry.shape_program.size())
    return damaged(format("entry '%s' names slot %u of %zu", entry.name, slot, entry.shape_program.size()));
  return nullptr;
}

heddle_status_t table_reader::read_slots(const flatbuffers::Vector<uint32_t> *slots, const entry_table &entry,
                                         std::vector<uint32_t> *out) {
  HEDDLE_RETURN_IF_ERROR(charge(count(slots), sizeof(uint32_t)));
  out->reserve(count(slots));
  for (size_t i = 0; i < count(slots); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_slot(slots->Get(i), entry));
    out->push_back(slots->Get(i));
  }
  return nullptr;
}

heddle_status_t table_reader::read_dims(const flatbuffers::Vector<flatbuffers::Offset<fb::Dimension>> *dims,
                                        const char *tensor, std::vector<heddle_dimension_t> *out) {
  if (count(dims) > HEDDLE_MAX_RANK)
    return damaged(format("tensor '%s' has %zu dimensions", tensor, count(dims)));
  for (size_t i = 0; i < count(dims); ++i) {
    const fb::Dimension &dim = *dims->Get(i);
    if (dim.value() < -1)
      return damaged(format("dimension %zu of tensor '%s' is negative", i, tensor));
    HEDDLE_RETURN_IF_ERROR(read_name(dim.symbol(), &out->emplace_back(heddle_dimension_t{"", dim.value()}).symbol));
  }
  return nullptr;
}

heddle_status_t table_reader::read_default(const fb::Input &input, input_table *out) {
  out->default_constant = input.default_constant();
  if (out->default_constant < 0)
    return nullptr;
  if (static_cast<uint64_t>(out->default_constant) >= tables_->constants.size())
    return damaged(format("the default of input '%s' is constant %lld of %zu", out->name,
                          static_cast<long long>(out->default_constant), tables_->constants.size()));
  bool fits = count(input.default_dims()) == out->dims.size() && is_aligned(input.default_dims(), sizeof(int64_t));
  for (size_t i = 0; fits && i < out->dims.size(); ++i) {
    out->default_dims.push_back(input.default_dims()->Get(i));
    fits = out->dims[i].value < 0 || out->dims[i].value == out->default_dims[i];
  }
  // The product is checked against the constant's length, so that what stands for the input lies within the file.
  int64_t elements = 0;
  int64_t bytes = 0;
  fits = fits && checked_product(out->default_dims.data(), out->default_dims.size(), &elements) &&
         checked_mul(elements, static_cast<int64_t>(heddle_element_type_size(out->type)), &bytes) &&
         static_cast<uint64_t>(bytes) == tables_->constants[out->default_constant].length;
  return fits ? nullptr : damaged(format("the default of input '%s' doesn't fit it", out->name));
}

heddle_status_t table_reader::read_inputs(const fb::Entry &entry, entry_table *out) {
  if (count(entry.inputs()) > HEDDLE_MAX_TENSORS || count(entry.outputs()) > HEDDLE_MAX_TENSORS)
    return damaged(
        format("entry '%s' has %zu inputs and %zu outputs", out->name, count(entry.inputs()), count(entry.outputs())));
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < count(entry.inputs()); ++i) {
    const fb::Input &input = *entry.inputs()->Get(i);
    if (!is_element_type(input.type()))
      return damaged(format("input '%s' has an unknown element type", text(input.name())));
    input_table table{"", static_cast<heddle_element_type_t>(input.type()), {}, -1, {}};
    HEDDLE_RETURN_IF_ERROR(read_name(input.name(), &table.name));
    HEDDLE_RETURN_IF_ERROR(read_dims(input.dims(), table.name, &table.dims));
    HEDDLE_RETURN_IF_ERROR(read_default(input, &table));
    if (!names.insert(table.name).second)
      return damaged(format("entry '%s' has two inputs named '%s'", out->name, table.name));
    out->inputs.push_back(std::move(table));
  }
  find_shared_dims(out);
  return nullptr;
}

void table_reader::find_shared_dims(entry_table *entry) {
  std::unordered_map<std::string_view, std::pair<uint32_t, uint32_t>> first_uses;
  for (uint32_t input = 0; input < entry->inputs.size(); ++input)
    for (uint32_t dim = 0; dim < entry->inputs[input].dims.size(); ++dim) {
      const heddle_dimension_t &dimension = entry->inputs[input].dims[dim];
      // An unnamed dimension is free: it equals no other by name.
      if (dimension.value >= 0 || !*dimension.symbol)
        continue;
      auto [use, is_first] = first_uses.try_emplace(dimension.symbol, input, dim);
      if (!is_first)
        entry->shared_dims.push_back({input, dim, use->second.first, use->second.second});
    }
}

heddle_status_t table_reader::read_outputs(const fb::Entry &entry, entry_table *out) {
  for (size_t i = 0; i < count(entry.outputs()); ++i) {
    const fb::Output &output = *entry.outputs()->Get(i);
    if (!is_element_type(output.type()))
      return damaged(format("output '%s' has an unknown element type", text(output.name())));
    output_table table{text(output.name()), static_cast<heddle_element_type_t>(output.type()), {}, {}};
    HEDDLE_RETURN_IF_ERROR(read_dims(output.dims(), table.name, &table.dims));
    HEDDLE_RETURN_IF_ERROR(read_slots(output.slots(), *out, &table.slots));
    if (table.slots.size() != table.dims.size())
      return damaged(
          format("output '%s' has %zu dimensions but %zu sizes", table.name, table.dims.size(), table.slots.size()));
    out->outputs.push_back(std::move(table));
  }
  return nullptr;
}

heddle_status_t table_reader::read_specialization(const fb::Entry &entry, entry_table *out) {
  out->specializes = "";
  if (entry.specializes() < 0)
    return nullptr;
  const auto index = static_cast<size_t>(entry.specializes());
  // One step from the general to the special, and no way back.
  if (index >= tables_->entries.size() || *tables_->entries[index].specializes)
    return damaged(format("entry '%s' specializes entry %zu of %zu", out->name, index, tables_->entries.size()));
  entry_table &general = tables_->entries[index];
  out->specializes = general.name;
  // Runs that were checked against the general inputs are handed on without another check.
  if (!is_specialization(general, *out))
    return damaged(format("entry '%s' doesn't fit entry '%s', which it specializes", out->name, general.name));
  general.specializations.push_back(static_cast<uint32_t>(tables_->entries.size()));
  return nullptr;
}

heddle_status_t table_reader::read_shape_program(const fb::Entry &entry, entry_table *out) {
  HEDDLE_RETURN_IF_ERROR(charge(count(entry.shape_program()), sizeof(shape_instruction)));
  if (!is_aligned(entry.shape_program(), alignof(fb::ShapeInstruction)))
    return damaged(format("the shape program of entry '%s' isn't aligned", out->name));
  out->shape_program.reserve(count(entry.shape_program()));
  for (size_t i = 0; i < count(entry.shape_program()); ++i) {
    const fb::ShapeInstruction &source = *entry.shape_program()->Get(i);
    if (source.opcode() > fb::ShapeOpcode::select)
      return damaged(format("shape instruction %zu of entry '%s' has an unknown opcode", i, out->name));
    const shape_instruction instruction{source.value(), source.a(), source.b(), source.c(),
                                        static_cast<shape_opcode>(source.opcode())};
    const shape_opcode opcode = instruction.opcode;
    // Only earlier slots may be read: so one pass computes them all, and nothing can refer to itself.
    bool valid = true;
    if (reads_input(opcode)) {
      valid = instruction.a < out->inputs.size();
      if (valid && opcode == shape_opcode::input_dim)
        valid = instruction.b < out->inputs[instruction.a].dims.size();
      else if (valid)
        valid = is_integer(out->inputs[instruction.a].type);
    } else if (!has_no_operand(opcode)) {
      valid = instruction.a < i && instruction.b < i && (opcode != shape_opcode::select || instruction.c < i);
    }
    if (!valid)
      return damaged(format("shape instruction %zu of entry '%s' has an operand that isn't there", i, out->name));
    out->shape_program.push_back(instruction);
  }
  return nullptr;
}

heddle_status_t table_reader::read_checks(const fb::Entry &entry, entry_table *out) {
  for (size_t i = 0; i < count(entry.checks()); ++i) {
    const fb::ShapeCheck &check = *entry.checks()->Get(i);
    if (check.kind() > fb::CheckKind::less_equal)
      return damaged(format("shape check %zu of entry '%s' is of unknown kind", i, out->name));
    HEDDLE_RETURN_IF_ERROR(check_slot(check.a(), *out));
    HEDDLE_RETURN_IF_ERROR(check_slot(check.b(), *out));
    out->checks.push_back(
        {check.kind() == fb::CheckKind::equal, check.a(), check.b(), text(check.node()), text(check.message())});
  }
  return nullptr;
}

heddle_status_t table_reader::read_buffers(const fb::Entry &entry, entry_table *out) {
  if (count(entry.buffers()) > HEDDLE_MAX_BUFFERS)
    return damaged(format("entry '%s' has %zu buffers", out->name, count(entry.buffers())));
  for (size_t i = 0; i < count(entry.buffers()); ++i) {
    const fb::Buffer &buffer = *entry.buffers()->Get(i);
    HEDDLE_RETURN_IF_ERROR(check_slot(buffer.bytes(), *out));
    // The planner compares lives; one that ends before it begins would overlap with nothing.
    if (buffer.first() > buffer.last() || buffer.last() >= count(entry.steps()))
      return damaged(format("buffer %zu of entry '%s' lives from step %u to step %u of %zu", i, out->name,
                            buffer.first(), buffer.last(), count(entry.steps())));
    out->buffers.push_back({buffer.bytes(), buffer.first(), buffer.last()});
  }
  return nullptr;
}

heddle_status_t table_reader::read_binding(const fb::Binding *binding, bool is_written, size_t step,
                                           const entry_table &entry, binding_table *out) {
  if (!binding)
    return damaged(format("step %zu of entry '%s' lacks an operand", step, entry.name));
  const uint32_t index = binding->index();
  // Stays 0, which refuses every index, for a kind that isn't one of these.
  size_t limit = 0;
  switch (binding->kind()) {
  case fb::BindingKind::input:
    limit = entry.inputs.size();
    break;
  case fb::BindingKind::output:
    limit = entry.outputs.size();
    break;
  case fb::BindingKind::constant:
    limit = tables_->constants.size();
    break;
  case fb::BindingKind::buffer:
    limit = entry.buffers.size();
    break;
  }
  if (index >= limit)
    return damaged(format("step %zu of entry '%s' has an operand that isn't there", step, entry.name));
  *out = {index, static_cast<binding_kind>(binding->kind())};
  // Inputs are the caller's and constants are mapped read-only.
  if (is_written && (out->kind == binding_kind::input || out->kind == binding_kind::constant))
    return damaged(format("step %zu of entry '%s' writes an input or a constant", step, entry.name));
  if (out->kind == binding_kind::buffer && (step < entry.buffers[index].first || step > entry.buffers[index].last))
    return damaged(format("step %zu of entry '%s' uses buffer %u outside its life", step, entry.name, index));
  return nullptr;
}

heddle_status_t table_reader::read_results(const fb::Dispatch &dispatch, const entry_table &entry, dispatch_step *out) {
  for (size_t i = 0; i < count(dispatch.results()); ++i) {
    const fb::ResultInfo &result = *dispatch.results()->Get(i);
    if (!is_element_type(result.type()))
      return damaged(format("result '%s' has an unknown element type", text(result.name())));
    result_table table{text(result.name()), static_cast<heddle_element_type_t>(result.type()), {}, {}};
    HEDDLE_RETURN_IF_ERROR(read_slots(result.slots(), entry, &table.slots));
    // A permutation names each dimension once: as many as there are, all in range, none twice.
    const size_t rank = table.slots.size();
    bool valid = rank <= HEDDLE_MAX_RANK && count(result.permutation()) == rank;
    uint32_t seen = 0;
    for (size_t dim = 0; valid && dim < rank; ++dim) {
      const uint8_t source = result.permutation()->Get(dim);
      valid = source < rank && !(seen >> source & 1);
      seen |= valid ? 1u << source : 0;
      table.permutation.push_back(source);
    }
    if (!valid)
      return damaged(format("result '%s' has dimensions that are no permutation of the model's", table.name));
    out->results.push_back(std::move(table));
  }
  return nullptr;
}

heddle_status_t table_reader::read_dispatch_bindings(const fb::Dispatch &dispatch, size_t step,
                                                     const entry_table &entry, dispatch_step *out) {
  if (count(dispatch.results()) > count(dispatch.bindings()) || count(dispatch.bindings()) > HEDDLE_MAX_BINDINGS ||
      count(dispatch.results()) > HEDDLE_MAX_RESULTS)
    return damaged(format("step %zu of entry '%s' has %zu operands and %zu results", step, entry.name,
                          count(dispatch.bindings()), count(dispatch.results())));
  // A kernel's outputs stand behind its inputs, one for each result.
  HEDDLE_RETURN_IF_ERROR(charge(count(dispatch.bindings()), sizeof(binding_table)));
  const size_t first_result = count(dispatch.bindings()) - count(dispatch.results());
  std::unordered_set<uint64_t> seen;
  for (size_t i = 0; i < count(dispatch.bindings()); ++i) {
    binding_table binding;
    HEDDLE_RETURN_IF_ERROR(read_binding(dispatch.bindings()->Get(i), i >= first_result, step, entry, &binding));
    out->bindings.push_back(binding);
    // A result in the memory of another operand would break what kernels assume of their pointers.
    const bool is_new = seen.insert(uint64_t(binding.kind) << 32 | binding.index).second;
    if (!is_new && i >= first_result)
      return damaged(format("step %zu of entry '%s' writes one of its own operands", step, entry.name));
  }
  return nullptr;
}

heddle_status_t table_reader::read_dispatch_targets(const fb::Dispatch &dispatch, size_t step, const entry_table &entry,
                                                    dispatch_step *table) {
  if (count(dispatch.targets()) != tables_->targets.size())
    return damaged(format("step %zu of entry '%s' is for %zu of %zu targets", step, entry.name,
                          count(dispatch.targets()), tables_->targets.size()));
  for (size_t i = 0; i < count(dispatch.targets()); ++i) {
    const fb::TargetDispatch &target = *dispatch.targets()->Get(i);
    HEDDLE_RETURN_IF_ERROR(check_slot(target.grid(), entry));
    HEDDLE_RETURN_IF_ERROR(check_slot(target.grain(), entry));
    HEDDLE_RETURN_IF_ERROR(check_slot(target.scratch(), entry));
    target_dispatch out{target.grid(), target.grain(), target.scratch(), {}};
    HEDDLE_RETURN_IF_ERROR(read_slots(target.axes(), entry, &out.axes));
    // Extents, and strides of each operand: a device reads as many without asking.
    const target_table &of = tables_->targets[i];
    const size_t expected = is_shader_target(of.name) ? 3 + 3 * table->bindings.size() : 0;
    if (out.axes.size() != expected)
      return damaged(format("step %zu of entry '%s' has %zu of %zu axes for target '%s'", step, entry.name,
                            out.axes.size(), expected, of.name));
    table->targets.push_back(std::move(out));
  }
  return check_shader_bindings(step, entry, *table);
}

heddle_status_t table_reader::check_shader_bindings(size_t step, const entry_table &entry,
                                                    const dispatch_step &table) const {
  // A device keeps constants apart from what runs write, and finds each in the storage buffer that the shader names.
  const size_t first_result = table.bindings.size() - table.results.size();
  for (const target_table &target : tables_->targets) {
    if (target.shaders.empty())
      continue;
    for (size_t i = 0; i < table.bindings.size(); ++i) {
      const shader_binding binding = target.shaders[table.kernel].operands[i].binding;
      const bool is_result = i >= first_result;
      const bool is_constant = table.bindings[i].kind == binding_kind::constant;
      if (is_result != (binding == shader_binding::results) || (binding == shader_binding::constants && !is_constant))
        return damaged(format("step %zu of entry '%s' has operand %zu in another storage buffer than kernel '%s'", step,
                              entry.name, i, tables_->kernels[table.kernel].name));
    }
  }
  return nullptr;
}

heddle_status_t table_reader::read_dispatch(const fb::Dispatch &dispatch, size_t step, entry_table *out) {
  dispatch_step table{};
  table.index = out->dispatch_count++;
  table.kernel = dispatch.kernel();
  if (table.kernel >= tables_->kernels.size())
    return damaged(format("step %zu of entry '%s' names kernel %u of %zu", step, out->name, table.kernel,
                          tables_->kernels.size()));
  // Kernels index both arrays without asking: a shorter one would make them read what lies behind it.
  const kernel_table &kernel = tables_->kernels[table.kernel];
  if (count(dispatch.bindings()) != kernel.binding_count || count(dispatch.sizes()) != kernel.size_count)
    return damaged(format("step %zu of entry '%s' has %zu operands and %zu sizes, kernel '%s' takes %u and %u", step,
                          out->name, count(dispatch.bindings()), count(dispatch.sizes()), kernel.name,
                          kernel.binding_count, kernel.size_count));
  HEDDLE_RETURN_IF_ERROR(read_dispatch_bindings(dispatch, step, *out, &table));
  HEDDLE_RETURN_IF_ERROR(read_slots(dispatch.sizes(), *out, &table.sizes));
  HEDDLE_RETURN_IF_ERROR(read_results(dispatch, *out, &table));
  HEDDLE_RETURN_IF_ERROR(read_strings(dispatch.nodes(), &table.nodes));
  if (count(dispatch.paths()) != 0 && count(dispatch.paths()) != table.nodes.size())
    return damaged(format("step %zu of entry '%s' has %zu paths of %zu nodes", step, out->name, count(dispatch.paths()),
                          table.nodes.size()));
  HEDDLE_RETURN_IF_ERROR(read_strings(dispatch.paths(), &table.paths));
  table.paths.resize(table.nodes.size(), "");
  HEDDLE_RETURN_IF_ERROR(read_dispatch_targets(dispatch, step, *out, &table));
  HEDDLE_RETURN_IF_ERROR(charge(count(dispatch.error_sites()), sizeof(error_site_table)));
  for (size_t i = 0; i < count(dispatch.error_sites()); ++i) {
    const fb::ErrorSite &site = *dispatch.error_sites()->Get(i);
    table.error_sites.push_back({text(site.node()), text(site.op()), text(site.what())});
  }
  HEDDLE_RETURN_IF_ERROR(check_slot(dispatch.flops(), *out));
  HEDDLE_RETURN_IF_ERROR(check_slot(dispatch.bytes(), *out));
  table.flops = dispatch.flops();
  table.bytes = dispatch.bytes();
  out->steps.emplace_back(std::move(table));
  return nullptr;
}

heddle_status_t table_reader::read_store_slots(const fb::StoreSlots &store, size_t step, entry_table *out) {
  store_slots_step table{{}, static_cast<heddle_element_type_t>(store.type()), {}};
  if (!is_element_type(store.type()) || !is_integer(table.type))
    return damaged(format("step %zu of entry '%s' stores slots as something else than integers", step, out->name));
  HEDDLE_RETURN_IF_ERROR(read_binding(store.target(), /*is_written=*/true, step, *out, &table.target));
  HEDDLE_RETURN_IF_ERROR(read_slots(store.slots(), *out, &table.slots));
  out->steps.emplace_back(std::move(table));
  return nullptr;
}

heddle_status_t table_reader::read_copy(const fb::Copy &copy, size_t step, entry_table *out) {
  copy_step table{};
  HEDDLE_RETURN_IF_ERROR(read_binding(copy.source(), /*is_written=*/false, step, *out, &table.source));
  HEDDLE_RETURN_IF_ERROR(read_binding(copy.target(), /*is_written=*/true, step, *out, &table.target));
  if (table.source.kind == table.target.kind && table.source.index == table.target.index)
    return damaged(format("step %zu of entry '%s' copies memory onto itself", step, out->name));
  HEDDLE_RETURN_IF_ERROR(check_slot(copy.bytes(), *out));
  table.bytes = copy.bytes();
  out->steps.emplace_back(table);
  return nullptr;
}

heddle_status_t table_reader::read_steps(const fb::Entry &entry, entry_table *out) {
  if (count(entry.steps()) > HEDDLE_MAX_STEPS)
    return damaged(format("entry '%s' has %zu steps", out->name, count(entry.steps())));
  for (size_t i = 0; i < count(entry.steps()); ++i) {
    const fb::Step &step = *entry.steps()->Get(i);
    if (const fb::Dispatch *dispatch = step.instruction_as_Dispatch())
      HEDDLE_RETURN_IF_ERROR(read_dispatch(*dispatch, i, out));
    else if (const fb::StoreSlots *store = step.instruction_as_StoreSlots())
      HEDDLE_RETURN_IF_ERROR(read_store_slots(*store, i, out));
    else if (const fb::Copy *copy = step.instruction_as_Copy())
      HEDDLE_RETURN_IF_ERROR(read_copy(*copy, i, out));
    else
      return damaged(format("step %zu of entry '%s' is of unknown kind", i, out->name));
  }
  return nullptr;
}

heddle_status_t table_reader::read_entry(const fb::Entry *entry) {
  entry_table out{};
  HEDDLE_RETURN_IF_ERROR(read_name(entry->name(), &out.name));
  HEDDLE_RETURN_IF_ERROR(read_inputs(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_shape_program(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_outputs(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_specialization(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_checks(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_buffers(*entry, &out));
  HEDDLE_RETURN_IF_ERROR(read_steps(*entry, &out));
  tables_->entries.push_back(std::move(out));
  return nullptr;
}

} // namespace heddle::runtime
