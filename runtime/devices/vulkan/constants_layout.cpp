// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which constants lie side by side. Weights that dispatches share (tied embeddings) must not be held twice, so large
// constants that are used together are joined into groups; scales and biases are small, and copied beside every large
// one that they are used with, or else a single zero point would join all weights of a model.

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/core/checked_math.h"
#include "runtime/devices/vulkan/arena.h"
#include "runtime/devices/vulkan/constants.h"
#include "runtime/devices/vulkan/elements.h"

namespace heddle::runtime::vulkan {

namespace {

/// Constants up to this many bytes are copied beside others.
constexpr uint64_t small_bytes = 64 << 10;

/// Steps whose constants are one range, as items in order without repetition.
struct constant_set {
  std::vector<uint32_t> items;
  uint32_t group = 0;
};

class layout_builder {
public:
  layout_builder(const program_tables &tables, size_t target, uint64_t range, constant_layout *out)
      : tables_(tables), target_(target), range_(range), out_(*out) {}

  void build() {
    collect();
    form_groups();
    resolve();
  }

private:
  /// An operand's way to its place: the set it belongs to, and its item.
  struct reference {
    uint32_t set;
    uint32_t item;
  };

  uint32_t item_of(uint32_t constant, heddle_element_type_t type) {
    const auto [at, is_new] = items_.try_emplace({constant, is_narrowed(type)}, out_.items.size());
    if (is_new) {
      out_.items.push_back({constant, type});
      out_.item_bytes.push_back(device_bytes(type, tables_.constants[constant].length));
    }
    return at->second;
  }

  uint32_t set_of(std::vector<uint32_t> items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    const auto [at, is_new] = set_numbers_.try_emplace(items, sets_.size());
    if (is_new)
      sets_.push_back({std::move(items), 0});
    return at->second;
  }

  bool is_small(uint32_t item) const { return out_.item_bytes[item] <= small_bytes; }

  uint32_t root_of(uint32_t item) {
    while (parents_[item] != item)
      item = parents_[item] = parents_[parents_[item]];
    return item;
  }

  std::vector<reference> references_of(const entry_table &entry, const dispatch_step &dispatch);
  std::vector<reference> references_of(const entry_table &entry, const copy_step &copy);
  std::vector<reference> references_of(const entry_table &, const store_slots_step &) { return {}; }
  std::vector<heddle_element_type_t> types_of_buffers(const entry_table &entry) const;
  void collect();
  void form_groups();
  uint32_t add_group(std::vector<uint32_t> items);
  void resolve();

  const program_tables &tables_;
  size_t target_;
  uint64_t range_;
  constant_layout &out_;
  std::map<std::pair<uint32_t, bool>, uint32_t> items_;
  std::vector<heddle_element_type_t> buffer_types_; ///< of the entry at hand
  std::map<std::vector<uint32_t>, uint32_t> set_numbers_;
  std::vector<constant_set> sets_;
  std::vector<uint32_t> parents_; ///< by item: union and find
  std::vector<std::vector<std::vector<reference>>> references_;
};

std::vector<layout_builder::reference> layout_builder::references_of(const entry_table &,
                                                                     const dispatch_step &dispatch) {
  const shader_table &shader = tables_.targets[target_].shaders[dispatch.kernel];
  std::vector<reference> references(dispatch.bindings.size());
  std::vector<uint32_t> together;
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
    if (dispatch.bindings[i].kind != binding_kind::constant)
      continue;
    references[i].item = item_of(dispatch.bindings[i].index, shader.operands[i].type);
    // What a shader reads as an input lies where it likes.
    if (shader.operands[i].binding == shader_binding::constants)
      together.push_back(references[i].item);
    else
      references[i].set = set_of({references[i].item});
  }
  const uint32_t set = together.empty() ? 0 : set_of(together);
  for (size_t i = 0; i < dispatch.bindings.size(); ++i)
    if (dispatch.bindings[i].kind == binding_kind::constant && shader.operands[i].binding == shader_binding::constants)
      references[i].set = set;
  return references;
}

/// What dispatches take the buffers of |entry| for; bytes where nobody looks into one.
std::vector<heddle_element_type_t> layout_builder::types_of_buffers(const entry_table &entry) const {
  std::vector<heddle_element_type_t> types(entry.buffers.size(), HEDDLE_ELEMENT_U8);
  for (const step_table &step : entry.steps)
    if (const auto *dispatch = std::get_if<dispatch_step>(&step))
      for (size_t i = 0; i < dispatch->bindings.size(); ++i)
        if (dispatch->bindings[i].kind == binding_kind::buffer)
          types[dispatch->bindings[i].index] = tables_.targets[target_].shaders[dispatch->kernel].operands[i].type;
  return types;
}

std::vector<layout_builder::reference> layout_builder::references_of(const entry_table &entry, const copy_step &copy) {
  if (copy.source.kind != binding_kind::constant)
    return {};
  const bool is_output = copy.target.kind == binding_kind::output;
  const uint32_t item =
      item_of(copy.source.index, is_output ? entry.outputs[copy.target.index].type : buffer_types_[copy.target.index]);
  return {{set_of({item}), item}};
}

void layout_builder::collect() {
  for (const entry_table &entry : tables_.entries) {
    std::vector<std::vector<reference>> &steps = references_.emplace_back();
    buffer_types_ = types_of_buffers(entry);
    for (const step_table &step : entry.steps)
      steps.push_back(std::visit([&](const auto &kind) { return references_of(entry, kind); }, step));
  }
}

uint32_t layout_builder::add_group(std::vector<uint32_t> items) {
  constant_group group;
  for (uint32_t item : items)
    group.bytes += align_up(std::max<uint64_t>(out_.item_bytes[item], 1), tensor_alignment);
  group.items = std::move(items);
  out_.groups.push_back(std::move(group));
  return static_cast<uint32_t>(out_.groups.size() - 1);
}

void layout_builder::form_groups() {
  parents_.resize(out_.items.size());
  std::iota(parents_.begin(), parents_.end(), 0u);
  // The anchor of a set: a large constant, or in a set of small ones the first. Those of a set are joined.
  auto is_anchor = [&](const constant_set &set, uint32_t item) {
    const bool has_large = std::any_of(set.items.begin(), set.items.end(), [&](uint32_t i) { return !is_small(i); });
    return has_large ? !is_small(item) : item == set.items.front();
  };
  auto anchor_of = [&](const constant_set &set) {
    return *std::find_if(set.items.begin(), set.items.end(), [&](uint32_t item) { return is_anchor(set, item); });
  };
  for (const constant_set &set : sets_)
    for (uint32_t item : set.items)
      if (is_anchor(set, item))
        parents_[root_of(item)] = root_of(anchor_of(set));

  std::map<uint32_t, std::vector<uint32_t>> members; // by root: sets
  for (uint32_t i = 0; i < sets_.size(); ++i)
    members[root_of(anchor_of(sets_[i]))].push_back(i);
  for (const auto &[root, numbers] : members) {
    std::vector<uint32_t> items;
    for (uint32_t number : numbers)
      items.insert(items.end(), sets_[number].items.begin(), sets_[number].items.end());
    // Small ones first: then the beginning of what is large, and sliced, is near to them.
    std::sort(items.begin(), items.end(),
              [&](uint32_t a, uint32_t b) { return is_small(a) != is_small(b) ? is_small(a) : a < b; });
    items.erase(std::unique(items.begin(), items.end()), items.end());
    uint64_t bytes = 0;
    for (uint32_t item : items)
      bytes += align_up(out_.item_bytes[item], tensor_alignment);
    if (bytes <= range_ || numbers.size() == 1) {
      const uint32_t group = add_group(std::move(items));
      for (uint32_t number : numbers)
        sets_[number].group = group;
      continue;
    }
    for (uint32_t number : numbers)
      sets_[number].group = add_group(sets_[number].items);
  }
}

void layout_builder::resolve() {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> offsets; // by group and item
  for (uint32_t group = 0; group < out_.groups.size(); ++group) {
    uint64_t offset = 0;
    for (uint32_t item : out_.groups[group].items) {
      offsets[{group, item}] = offset;
      offset += align_up(std::max<uint64_t>(out_.item_bytes[item], 1), tensor_alignment);
    }
  }
  for (const auto &steps : references_) {
    auto &entry_uses = out_.uses.emplace_back();
    for (const std::vector<reference> &operands : steps) {
      auto &step_uses = entry_uses.emplace_back();
      for (const reference &operand : operands) {
        // Operands that are no constants refer to set 0, and nobody asks for them.
        const uint32_t group = sets_.empty() ? 0 : sets_[operand.set].group;
        step_uses.push_back({group, operand.item, offsets[{group, operand.item}]});
      }
    }
  }
}

} // namespace

constant_layout lay_out_constants(const program_tables &tables, size_t target, uint64_t range) {
  constant_layout layout;
  layout_builder(tables, target, range, &layout).build();
  return layout;
}

} // namespace heddle::runtime::vulkan
