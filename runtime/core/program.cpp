// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading, from the options to a program that sessions can share, and the functions of the C API on it.

#include "runtime/core/program.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>

#include <heddle/executable_abi.h>

#include "runtime/core/border.h"
#include "runtime/core/input_check.h"
#include "runtime/core/shape_program.h"
#include "runtime/core/target_selection.h"
#include "runtime/core/tensor.h"
#include "runtime/core/thread_pool.h"

using namespace heddle::runtime;

heddle_program_t::~heddle_program_t() {
  // The device's code and constants refer to the artifact.
  device.reset();
  for (const std::vector<heddle_tensor_t *> &tensors : defaults)
    for (heddle_tensor_t *tensor : tensors)
      heddle_tensor_release(tensor);
  heddle_thread_pool_release(thread_pool);
  if (release)
    release(release_user, const_cast<std::byte *>(loaded.source.data()));
}

namespace heddle::runtime {

heddle_status_t find_entry(const program_tables &tables, const char *name, const entry_table **out_entry) {
  for (const entry_table &entry : tables.entries)
    if (!name || std::strcmp(entry.name, name) == 0) {
      *out_entry = &entry;
      return nullptr;
    }
  // Only for the message: a run that finds its entry point allocates nothing.
  std::string list;
  for (const entry_table &entry : tables.entries)
    list += (list.empty() ? "" : ", ") + std::string(entry.name);
  return fail(error::H0301, name ? format("there is no entry point '%s'", name) : "the artifact has no entry point",
              list.empty() ? "" : "entry points: " + list);
}

const entry_table *specialized_entry(const program_tables &tables, const entry_table *entry,
                                     const heddle_tensor_t *const *inputs) {
  for (uint32_t index : entry->specializations) {
    const entry_table &special = tables.entries[index];
    bool fits = true;
    for (size_t i = 0; fits && i < special.inputs.size(); ++i)
      for (size_t dim = 0; fits && dim < special.inputs[i].dims.size(); ++dim)
        fits = special.inputs[i].dims[dim].value < 0 || special.inputs[i].dims[dim].value == inputs[i]->dims[dim];
    if (fits)
      return &special;
  }
  return entry;
}

const std::vector<heddle_tensor_t *> &defaults_of(const heddle_program_t &program, const entry_table &entry) {
  return program.defaults[static_cast<size_t>(&entry - program.loaded.tables.entries.data())];
}

namespace {

const heddle_program_options_t default_options = {};

/// Makes tensors of the constants that stand for inputs. The reader has seen to it that they fit.
heddle_status_t wrap_defaults(heddle_program_t *program) {
  const program_tables &tables = program->loaded.tables;
  for (const entry_table &entry : tables.entries) {
    std::vector<heddle_tensor_t *> &tensors = program->defaults.emplace_back(entry.inputs.size());
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const input_table &input = entry.inputs[i];
      if (input.default_constant < 0)
        continue;
      const constant_table &constant = tables.constants[static_cast<size_t>(input.default_constant)];
      // Mapped read-only; the API hands it out as const.
      auto *data = const_cast<std::byte *>(program->loaded.source.data() + constant.offset);
      HEDDLE_RETURN_IF_ERROR(heddle_tensor_wrap(input.type, input.default_dims.size(), input.default_dims.data(), data,
                                                constant.length, nullptr, nullptr, &tensors[i]));
    }
  }
  return nullptr;
}

/// Takes the thread pool and has the device make the program's target ready.
heddle_status_t load_on_device(const device_driver &driver, const char *selector,
                               const heddle_program_options_t &options, heddle_program_t *program) {
  if (options.thread_pool) {
    heddle_thread_pool_retain(options.thread_pool);
    program->thread_pool = options.thread_pool;
  } else {
    HEDDLE_RETURN_IF_ERROR(retain_default_thread_pool(&program->thread_pool));
  }
  owned_status status(driver.load(
      {&program->loaded, program->target, selector, options.weights, program->thread_pool, options.vulkan_device},
      &program->device));
  if (!status || std::strcmp(heddle_status_error_code(status.get()), "H0401") != 0)
    return status.release();
  const std::string devices = list_devices(); // before the status is let go
  return with_help(status.release(), devices);
}

void describe(size_t selected, heddle_program_t *program) {
  std::vector<const char *> missing;
  for (const target_table &target : program->loaded.tables.targets) {
    const device_driver *driver = driver_of(target);
    missing.push_back(driver ? driver->missing_feature(target) : "a runtime with support for its device");
  }
  describe_program(program->loaded, missing, selected, &program->description);
}

/// Reads the opened artifact and makes it ready.
heddle_status_t load(const heddle_program_options_t &options, heddle_program_t *program) {
  if (options.weights != HEDDLE_WEIGHTS_MAP && options.weights != HEDDLE_WEIGHTS_COPY)
    return fail(error::H0101, format("%d is no way to hold weights", static_cast<int>(options.weights)));
  HEDDLE_RETURN_IF_ERROR(read_artifact(&program->loaded, options.verify_checksums != 0));
  HEDDLE_RETURN_IF_ERROR(wrap_defaults(program));
  const program_tables &tables = program->loaded.tables;
  const device_driver *driver = nullptr;
  const char *selector = "";
  const bool is_unnamed = !options.device || !*options.device;
  HEDDLE_RETURN_IF_ERROR(
      find_driver(is_unnamed && options.vulkan_device ? "vulkan" : options.device, tables, &driver, &selector));
  if (options.vulkan_device && (std::strcmp(driver->name, "vulkan") != 0 || *selector))
    return fail(error::H0101, format("a Vulkan device was given to run on, and '%s' was named", options.device));
  heddle_status_t selected = select_target(tables, *driver, options.target, &program->target);
  if (options.inspect_only) {
    // Any target will do for a description, but only one that can run is in use.
    const size_t in_use = selected ? tables.targets.size() : program->target;
    heddle_status_release(selected);
    describe(in_use, program);
    return nullptr;
  }
  HEDDLE_RETURN_IF_ERROR(with_context(selected, program->loaded.source.context()));
  HEDDLE_RETURN_IF_ERROR(
      with_context(load_on_device(*driver, selector, options, program), program->loaded.source.context()));
  describe(program->target, program);
  return nullptr;
}

heddle_status_t load_file(const char *path, const heddle_program_options_t *options, heddle_program_t **out_program) {
  if (!path || !out_program)
    return fail(error::H0101, !path ? "path is null" : "out_program is null");
  auto program = std::make_unique<heddle_program_t>();
  HEDDLE_RETURN_IF_ERROR(program->loaded.source.open_file(path));
  HEDDLE_RETURN_IF_ERROR(load(options ? *options : default_options, program.get()));
  *out_program = program.release();
  return nullptr;
}

heddle_status_t load_memory(const void *data, size_t length, heddle_release_fn_t release, void *user,
                            const heddle_program_options_t *options, heddle_program_t **out_program) {
  if (!data || !out_program)
    return fail(error::H0101, !data ? "data is null" : "out_program is null");
  if (reinterpret_cast<uintptr_t>(data) % HEDDLE_BUFFER_ALIGNMENT != 0)
    return fail(error::H0101, format("expects an artifact aligned to %d bytes", HEDDLE_BUFFER_ALIGNMENT));
  auto program = std::make_unique<heddle_program_t>();
  program->loaded.source.use_memory(data, length);
  HEDDLE_RETURN_IF_ERROR(load(options ? *options : default_options, program.get()));
  // Only now: a failure leaves the memory with the caller.
  program->release = release;
  program->release_user = user;
  *out_program = program.release();
  return nullptr;
}

/// Plans a run; |out_entry| is the entry point that does the work.
heddle_status_t plan_entry(const heddle_program_t *program, const char *entry, const heddle_tensor_t *const *inputs,
                           size_t input_count, const entry_table **out_entry, plan *out_plan) {
  const entry_table *found = nullptr;
  HEDDLE_RETURN_IF_ERROR(find_entry(program->loaded.tables, entry, &found));
  std::vector<const heddle_tensor_t *> complete;
  HEDDLE_RETURN_IF_ERROR(complete_inputs(*found, defaults_of(*program, *found), inputs, input_count, &complete));
  // A default's values may be read, and the artifact may have shrunk since it was mapped.
  HEDDLE_RETURN_IF_ERROR(program->loaded.source.check_length());
  *out_entry = specialized_entry(program->loaded.tables, found, complete.data());
  HEDDLE_RETURN_IF_ERROR(check_values_are_readable(**out_entry, complete.data()));
  return make_plan(program->loaded.tables, **out_entry, program->target, complete.data(), out_plan);
}

heddle_status_t describe_plan(const heddle_program_t *program, const char *entry, const heddle_tensor_t *const *inputs,
                              size_t input_count, heddle_plan_info_t *out_plan) {
  if (!program || !out_plan)
    return fail(error::H0101, !program ? "program is null" : "out_plan is null");
  const entry_table *found = nullptr;
  plan plan;
  HEDDLE_RETURN_IF_ERROR(plan_entry(program, entry, inputs, input_count, &found, &plan));
  *out_plan = {plan.arena_bytes, plan.scratch_bytes, plan.flops, plan.bytes, found->dispatch_count};
  return nullptr;
}

heddle_status_t measure_memory(const heddle_program_t *program, const char *entry, const heddle_tensor_t *const *inputs,
                               size_t input_count, heddle_memory_info_t *out_memory) {
  if (!program || !out_memory)
    return fail(error::H0101, !program ? "program is null" : "out_memory is null");
  if (!program->device)
    return fail(error::H0103, "the program was loaded for inspection only", "load it without inspect_only");
  const entry_table *found = nullptr;
  plan plan;
  HEDDLE_RETURN_IF_ERROR(plan_entry(program, entry, inputs, input_count, &found, &plan));
  heddle_memory_info_t memory = {};
  HEDDLE_RETURN_IF_ERROR(program->device->measure_memory(*found, plan, &memory));
  memory.program_bytes = static_cast<int64_t>(program->loaded.tables.program_bytes);
  memory.input_bytes = std::accumulate(plan.input_bytes.begin(), plan.input_bytes.end(), int64_t(0));
  for (int64_t bytes : plan.output_bytes)
    memory.output_bytes += static_cast<int64_t>(memory_block::rounded(static_cast<size_t>(bytes)));
  *out_memory = memory;
  return nullptr;
}

heddle_status_t measure_limits(const heddle_program_t *program, heddle_vulkan_limits_t *out_limits) {
  if (!program || !out_limits)
    return fail(error::H0101, !program ? "program is null" : "out_limits is null");
  if (!program->device)
    return fail(error::H0103, "the program was loaded for inspection only", "load it without inspect_only");
  return program->device->measure_limits(out_limits);
}

} // namespace
} // namespace heddle::runtime

heddle_status_t heddle_program_load(const char *path, const heddle_program_options_t *options,
                                    heddle_program_t **out_program) {
  return at_border([&] { return load_file(path, options, out_program); });
}

heddle_status_t heddle_program_load_memory(const void *data, size_t length, heddle_release_fn_t release, void *user,
                                           const heddle_program_options_t *options, heddle_program_t **out_program) {
  return at_border([&] { return load_memory(data, length, release, user, options, out_program); });
}

void heddle_program_retain(heddle_program_t *program) { program->references.fetch_add(1, std::memory_order_relaxed); }

void heddle_program_release(heddle_program_t *program) {
  if (program && program->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete program;
}

const heddle_program_info_t *heddle_program_info(const heddle_program_t *program) { return &program->description.info; }

const char *heddle_program_note(const heddle_program_t *program, size_t index) {
  return program->device ? program->device->note(index) : nullptr;
}

const heddle_tensor_t *heddle_program_default_input(const heddle_program_t *program, const char *entry, size_t input) {
  for (const entry_table &candidate : program->loaded.tables.entries)
    if (!entry || std::strcmp(candidate.name, entry) == 0)
      return input < candidate.inputs.size() ? defaults_of(*program, candidate)[input] : nullptr;
  return nullptr;
}

heddle_status_t heddle_program_plan(const heddle_program_t *program, const char *entry,
                                    const heddle_tensor_t *const *inputs, size_t input_count,
                                    heddle_plan_info_t *out_plan) {
  return at_border([&] { return describe_plan(program, entry, inputs, input_count, out_plan); });
}

heddle_status_t heddle_program_memory(const heddle_program_t *program, const char *entry,
                                      const heddle_tensor_t *const *inputs, size_t input_count,
                                      heddle_memory_info_t *out_memory) {
  return at_border([&] { return measure_memory(program, entry, inputs, input_count, out_memory); });
}

heddle_status_t heddle_vulkan_measure_limits(const heddle_program_t *program, heddle_vulkan_limits_t *out_limits) {
  return at_border([&] { return measure_limits(program, out_limits); });
}
