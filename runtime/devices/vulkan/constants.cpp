// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of constants, and their way there: straight into memory that the host sees too, or through a staging buffer.

#include "runtime/devices/vulkan/constants.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/core/checked_math.h"
#include "runtime/core/memory_block.h"
#include "runtime/devices/vulkan/arena.h"
#include "runtime/devices/vulkan/elements.h"
#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

namespace {

/// Larger blocks save nothing, and drivers refuse them sooner.
constexpr uint64_t block_bytes = 256 << 20;
/// Bytes of a constant on their way at once, in its declared type.
constexpr uint64_t piece_bytes = 16 << 20;

} // namespace

/// Whether the constants of |group| lie near enough to each other in one imported section, in the form that shaders
/// read.
bool constant_store::import_group(const constant_group &group, uint64_t range, uint32_t *out_section) const {
  for (*out_section = 0; *out_section < imported_.size(); ++*out_section) {
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    bool is_here = true;
    for (uint32_t item : group.items) {
      const constant_table &constant = loaded_->tables.constants[layout_.items[item].constant];
      uint64_t offset = 0;
      is_here = is_here && imported_[*out_section].find(constant, &offset) && !is_narrowed(layout_.items[item].type);
      begin = std::min(begin, offset);
      end = std::max(end, offset + constant.length);
    }
    // One that is larger than a range is sliced, wherever it lies. Ranges begin and end at coarser bytes than tensors.
    if (is_here && (group.items.size() == 1 || end - begin + 2 * tensor_alignment <= range))
      return true;
  }
  return false;
}

/// A section that can't be imported leaves all to be uploaded: what became of the weights is then one line.
void constant_store::import_mapped(const device &device) {
  is_imported_.assign(layout_.groups.size(), false);
  groups_.resize(layout_.groups.size());
  if (!device.settings().imports_weights)
    return;
  std::string problem;
  for (const section_table &section : loaded_->tables.sections) {
    imported_weights imported;
    if (section.is_code || section.length == 0)
      continue;
    if (!imported.create(device, *loaded_, section, &problem))
      break;
    imported_.push_back(std::move(imported));
  }
  if (!problem.empty())
    imported_.clear();
  uint64_t bytes = 0;
  uint64_t all = 0;
  for (size_t i = 0; i < layout_.groups.size(); ++i) {
    uint32_t section = 0;
    is_imported_[i] = import_group(layout_.groups[i], device.limits().range, &section);
    groups_[i].block = section;
    bytes += is_imported_[i] ? layout_.groups[i].bytes : 0;
    all += layout_.groups[i].bytes;
  }
  note_ = format("%llu of %llu bytes of weights are used where the file is mapped, the others uploaded%s%s",
                 static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(all),
                 problem.empty() ? "" : ": ", problem.c_str());
}

/// Fills blocks with groups in their order. Where the device refuses a block, half of it is tried.
heddle_status_t constant_store::place_groups(const device &device) {
  uint64_t most = std::min(block_bytes, device.limits().allocation);
  for (size_t next = 0; next < layout_.groups.size();) {
    if (is_imported_[next]) {
      ++next;
      continue;
    }
    uint64_t bytes = 0;
    size_t end = next;
    while (end < layout_.groups.size() && !is_imported_[end] &&
           (end == next || bytes + layout_.groups[end].bytes <= most)) {
      groups_[end] = {static_cast<uint32_t>(blocks_.size()), bytes, layout_.groups[end].bytes};
      bytes += layout_.groups[end++].bytes;
    }
    buffer block;
    heddle_status_t status = block.create(device, memory_use::device, bytes, "weights");
    if (status && heddle_status_code(status) == HEDDLE_STATUS_OUT_OF_MEMORY && end - next > 1) {
      heddle_status_release(status);
      most = bytes / 2;
      continue;
    }
    HEDDLE_RETURN_IF_ERROR(status);
    blocks_.push_back(std::move(block));
    next = end;
  }
  return nullptr;
}

namespace {

/// Writes constants to blocks, piece by piece.
class uploader {
public:
  uploader(const device &device, const artifact &loaded) : device_(device), loaded_(loaded), commands_(device) {}

  heddle_status_t create() {
    if (!piece_.reserve(piece_bytes))
      return fail(error::H0313, "not enough memory to upload weights");
    return device_.is_unified() ? nullptr : staging_.create(device_, memory_use::upload, piece_bytes, "uploads");
  }

  /// What lies between tensors is read by kernels that load whole vectors: it must be no NaN.
  heddle_status_t clear(const buffer &block) {
    if (block.mapped()) {
      std::memset(block.mapped(), 0, block.bytes());
      return nullptr;
    }
    HEDDLE_RETURN_IF_ERROR(commands_.begin());
    device_.api().vkCmdFillBuffer(commands_.handle(), block.handle(), 0, VK_WHOLE_SIZE, 0);
    return commands_.run();
  }

  heddle_status_t upload(const constant_item &item, const buffer &block, uint64_t offset) {
    const constant_table &constant = loaded_.tables.constants[item.constant];
    for (uint64_t at = 0; at < constant.length; at += piece_bytes) {
      const uint64_t bytes = std::min(piece_bytes, constant.length - at);
      HEDDLE_RETURN_IF_ERROR(loaded_.source.read(constant.offset + at, bytes, piece_.data()));
      const uint64_t target = offset + device_bytes(item.type, at);
      std::byte *to = block.mapped() ? block.mapped() + target : staging_.mapped();
      int64_t value = 0;
      char text[24];
      if (!to_device(item.type, piece_.data(), bytes, to, &value))
        return fail(error::H0314, format("a constant of the model holds %s, and Vulkan devices compute in 32 bits",
                                         format_value(item.type, value, text)));
      // Of an integer that lacks bytes nothing is there.
      if (block.mapped() || device_bytes(item.type, bytes) == 0)
        continue;
      HEDDLE_RETURN_IF_ERROR(commands_.begin());
      const VkBufferCopy copy = {0, target, device_bytes(item.type, bytes)};
      device_.api().vkCmdCopyBuffer(commands_.handle(), staging_.handle(), block.handle(), 1, &copy);
      HEDDLE_RETURN_IF_ERROR(commands_.run());
    }
    return nullptr;
  }

private:
  const device &device_;
  const artifact &loaded_;
  one_time_commands commands_;
  buffer staging_;
  memory_block piece_;
};

} // namespace

heddle_status_t constant_store::upload(const device &device, const artifact &loaded) {
  if (blocks_.empty())
    return nullptr;
  HEDDLE_RETURN_IF_ERROR(loaded.source.check_length());
  uploader uploader(device, loaded);
  HEDDLE_RETURN_IF_ERROR(uploader.create());
  for (const buffer &block : blocks_)
    HEDDLE_RETURN_IF_ERROR(uploader.clear(block));
  for (size_t i = 0; i < layout_.groups.size(); ++i) {
    if (is_imported_[i])
      continue;
    uint64_t offset = groups_[i].offset;
    for (uint32_t item : layout_.groups[i].items) {
      HEDDLE_RETURN_IF_ERROR(uploader.upload(layout_.items[item], blocks_[groups_[i].block], offset));
      offset += align_up(std::max<uint64_t>(layout_.item_bytes[item], 1), tensor_alignment);
    }
  }
  return nullptr;
}

heddle_status_t constant_store::create(const device &device, const artifact &loaded, size_t target) {
  // What is joined lies in one block.
  layout_ = lay_out_constants(loaded.tables, target, std::min(device.limits().range, device.limits().allocation));
  loaded_ = &loaded;
  import_mapped(device);
  HEDDLE_RETURN_IF_ERROR(place_groups(device));
  return upload(device, loaded);
}

/// Bytes of all |held|.
template <typename Held> static uint64_t bytes_of(const std::vector<Held> &held) {
  return std::accumulate(held.begin(), held.end(), uint64_t(0),
                         [](uint64_t sum, const Held &one) { return sum + one.bytes(); });
}

uint64_t constant_store::bytes() const { return bytes_of(blocks_); }
uint64_t constant_store::imported_bytes() const { return bytes_of(imported_); }

constant_place constant_store::place(size_t entry, size_t step, size_t operand) const {
  const constant_layout::use &use = layout_.uses[entry][step][operand];
  const constant_place &group = groups_[use.group];
  if (is_imported_[use.group]) {
    uint64_t offset = group.offset;
    imported_[group.block].find(loaded_->tables.constants[layout_.items[use.item].constant], &offset);
    return {static_cast<uint32_t>(blocks_.size()) + group.block, offset, layout_.item_bytes[use.item]};
  }
  return {group.block, group.offset + use.offset, layout_.item_bytes[use.item]};
}

} // namespace heddle::runtime::vulkan
