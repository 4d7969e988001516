// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a table a run reads the rows that its indices name. How many there are is known beforehand, which ones isn't, so
// they are taken to lie side by side at its start, where vocabularies have their frequent words.

#include "runtime/devices/cpu/mapped_weights.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>
#include <string_view>

namespace heddle::runtime::cpu {

namespace {

/// A map's or a row's result has an element for each one that it reads of an operand at most: what is larger is a
/// table, of which it reads some rows. Any other root may read all of it.
uint64_t read_bytes(const program_tables &tables, const dispatch_step &dispatch, const plan &plan,
                    const constant_table &constant) {
  const std::string_view root = tables.kernels[dispatch.kernel].root;
  if (root != "map" && root != "rowwise")
    return constant.length;
  uint64_t read = 0;
  for (const result_table &result : dispatch.results) {
    int64_t dims[HEDDLE_MAX_RANK] = {};
    read_dims(plan, result.slots, dims);
    const auto elements =
        static_cast<uint64_t>(std::accumulate(dims, dims + result.slots.size(), int64_t(1), std::multiplies<>()));
    const uint64_t bits =
        constant.element_bits == 0 ? heddle_element_type_size(result.type) * CHAR_BIT : constant.element_bits;
    // No constant has more elements than bits, and so nothing overflows.
    read += std::min(elements, constant.length * CHAR_BIT) * bits / CHAR_BIT;
  }
  return std::min(read, constant.length);
}

/// Of each constant the most that any step reads.
std::vector<uint64_t> read_of_constants(const program_tables &tables, const entry_table &entry, const plan &plan) {
  std::vector<uint64_t> read(tables.constants.size(), 0);
  auto note = [&](const binding_table &binding, uint64_t bytes) {
    if (binding.kind == binding_kind::constant)
      read[binding.index] = std::max(read[binding.index], bytes);
  };
  for (const step_table &step : entry.steps) {
    if (const auto *dispatch = std::get_if<dispatch_step>(&step))
      for (const binding_table &binding : dispatch->bindings)
        if (binding.kind == binding_kind::constant)
          note(binding, read_bytes(tables, *dispatch, plan, tables.constants[binding.index]));
    if (const auto *copy = std::get_if<copy_step>(&step))
      note(copy->source, static_cast<uint64_t>(plan.slots[copy->bytes]));
  }
  return read;
}

/// The block that the byte at |offset| lies in. The kernel makes its cache of a file's end of smaller and smaller
/// blocks (page_cache_ra_order in Linux' mm/readahead.c), but maps so much around a page at least.
byte_range block_at(uint64_t offset, uint64_t block, uint64_t length) {
  while (block > artifact_source::least_fault_bytes && offset / block * block + block > length)
    block /= 2;
  const uint64_t begin = offset / block * block;
  return {begin, std::min(begin + block, length)};
}

} // namespace

int64_t bytes_of_blocks(std::vector<byte_range> ranges, uint64_t block, uint64_t length) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t total = 0;
  uint64_t counted = 0; // to here
  for (const auto &[begin, end] : ranges) {
    const uint64_t first = std::max(block_at(begin, block, length).first, counted);
    const uint64_t last = block_at(end - 1, block, length).second;
    if (last > first)
      total += last - first;
    counted = std::max(counted, last);
  }
  return static_cast<int64_t>(total);
}

void measure_mapped_weights(const artifact_source &source, const program_tables &tables, const entry_table &entry,
                            const plan &plan, heddle_memory_info_t *out) {
  const std::vector<uint64_t> read = read_of_constants(tables, entry, plan);
  std::vector<byte_range> least;
  std::vector<byte_range> most;
  for (size_t i = 0; i < read.size(); ++i) {
    const constant_table &constant = tables.constants[i];
    if (read[i] == 0)
      continue;
    least.emplace_back(constant.offset, constant.offset + read[i]);
    most.emplace_back(constant.offset, constant.offset + constant.length);
  }
  if (least.empty())
    return;
  const uint64_t block = source.fault_bytes(least.front().first);
  out->weight_bytes = bytes_of_blocks(std::move(least), block, source.length());
  out->table_bytes = bytes_of_blocks(std::move(most), block, source.length()) - out->weight_bytes;
}

} // namespace heddle::runtime::cpu
