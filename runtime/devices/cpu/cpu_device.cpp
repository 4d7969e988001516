// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's side: code and constants, made ready once and then shared by all sessions of a program.

#include "runtime/devices/cpu/cpu_device.h"

#include <heddle/executable_abi.h>

#include "runtime/core/checked_math.h"
#include "runtime/devices/cpu/cpu_executor.h"
#include "runtime/devices/cpu/cpu_features.h"
#include "runtime/devices/cpu/mapped_weights.h"
#include "runtime/devices/cpu/perf_map.h"

namespace heddle::runtime::cpu {

/// Constants keep the file's bytes and their alignment; only their place changes.
heddle_status_t cpu_program::copy_constants(const artifact &loaded) {
  uint64_t total = 0;
  for (const constant_table &constant : tables_->constants)
    // Each is at most as long as the file, but they may overlap, so the sum is checked.
    if (__builtin_add_overflow(total, align_up(constant.length, HEDDLE_BUFFER_ALIGNMENT), &total))
      return damaged("its constants are larger than memory");
  if (!copied_constants_.reserve(total))
    return fail(error::H0313,
                format("not enough memory to copy %llu bytes of weights", static_cast<unsigned long long>(total)),
                "load the artifact with mapped weights");
  std::byte *next = copied_constants_.data();
  for (const constant_table &constant : tables_->constants) {
    HEDDLE_RETURN_IF_ERROR(loaded.source.read(constant.offset, constant.length, next));
    constants_.push_back(next);
    next += align_up(constant.length, HEDDLE_BUFFER_ALIGNMENT);
  }
  return nullptr;
}

heddle_status_t cpu_program::load(const load_request &request) {
  const artifact &loaded = *request.loaded;
  tables_ = &loaded.tables;
  source_ = &loaded.source;
  pool_ = &request.thread_pool->pool;
  // The CPU has been asked for the target's features before this: from here on its code may be executable.
  const target_table &target = tables_->targets[request.target];
  const section_table &section = tables_->sections[target.section];
  const bool has_perf_map = perf_map_is_wanted();
  HEDDLE_RETURN_IF_ERROR(image_.load(loaded.source, section, /*is_copy=*/has_perf_map));
  code_bytes_ = static_cast<int64_t>(section.length);
  for (size_t i = 0; i < target.kernels.size(); ++i) {
    const void *address = image_.code_address(target.kernels[i]);
    if (!address)
      return damaged(format("kernel '%s' lies outside the code of target '%s'", tables_->kernels[i].name, target.name));
    kernels_.push_back(reinterpret_cast<heddle_kernel_fn_t>(const_cast<void *>(address)));
  }
  if (has_perf_map)
    write_perf_map(*tables_, target, image_);
  if (request.weights == HEDDLE_WEIGHTS_COPY)
    return copy_constants(loaded);
  for (const constant_table &constant : tables_->constants)
    constants_.push_back(loaded.source.data() + constant.offset);
  return nullptr;
}

heddle_status_t cpu_program::measure_memory(const entry_table &entry, const plan &plan,
                                            heddle_memory_info_t *out) const {
  if (copied_constants_.data())
    out->weight_bytes = static_cast<int64_t>(copied_constants_.capacity());
  else
    measure_mapped_weights(*source_, *tables_, entry, plan, out);
  out->code_bytes = code_bytes_;
  out->arena_bytes = static_cast<int64_t>(memory_block::rounded(static_cast<size_t>(plan.arena_bytes)));
  uint64_t scratch = 0;
  if (!scratch_bytes(plan, nullptr, &scratch))
    return out_of_memory();
  out->scratch_bytes = static_cast<int64_t>(memory_block::rounded(scratch));
  return nullptr;
}

bool cpu_program::scratch_bytes(const plan &plan, size_t *out_stride, uint64_t *out_bytes) const {
  // Apart by whole cache line pairs, which adjacent-line prefetchers fetch together.
  uint64_t stride = 0;
  if (__builtin_add_overflow(static_cast<uint64_t>(plan.scratch_bytes), 127u, &stride))
    return false;
  stride &= ~uint64_t(127);
  if (out_stride)
    *out_stride = stride;
  return !__builtin_mul_overflow(stride, pool_->thread_count(), out_bytes);
}

std::unique_ptr<device_session> cpu_program::create_session() const { return std::make_unique<cpu_executor>(*this); }

namespace {

heddle_status_t load_program(const load_request &request, std::unique_ptr<device_program> *out_program) {
  auto program = std::make_unique<cpu_program>();
  HEDDLE_RETURN_IF_ERROR(program->load(request));
  *out_program = std::move(program);
  return nullptr;
}

const char *missing_feature(const target_table &target) {
  for (const char *feature : target.features)
    if (!has_feature(feature))
      return feature;
  return "";
}

void list_devices(std::vector<device_description> *out) {
  const heddle_host_info_t &host = *heddle_host_info();
  device_description &cpu = out->emplace_back();
  cpu.name = "cpu";
  cpu.title = host.cpu_name;
  cpu.kind = "cpu";
  cpu.features.assign(host.features, host.features + host.feature_count);
}

} // namespace

const device_driver driver = {"cpu", false, missing_feature, load_program, list_devices};

} // namespace heddle::runtime::cpu
