// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loaded artifact behind heddle_program_t.

#pragma once

#include <atomic>

#include "runtime/core/device.h"
#include "runtime/core/program_description.h"

/// Immutable after loading, but for the count of references.
struct heddle_program_t {
  heddle_program_t() = default;
  heddle_program_t(const heddle_program_t &) = delete;
  heddle_program_t &operator=(const heddle_program_t &) = delete;
  /// Hands back the memory, if the artifact came from the caller's.
  ~heddle_program_t();

  std::atomic<size_t> references{1};
  heddle::runtime::artifact loaded;
  size_t target = 0; ///< in use; if the artifact has none that fits, 0
  /// By entry and input: what stands for an input that is left out, null where it must be given. Over the artifact's
  /// own bytes.
  std::vector<std::vector<heddle_tensor_t *>> defaults;
  heddle_thread_pool_t *thread_pool = nullptr;
  std::unique_ptr<heddle::runtime::device_program> device; ///< null if loaded for inspection only
  heddle::runtime::program_description description;
  heddle_release_fn_t release = nullptr;
  void *release_user = nullptr;
};

namespace heddle::runtime {

/// Finds the entry point |name|, null meaning the first.
heddle_status_t find_entry(const program_tables &tables, const char *name, const entry_table **out_entry);

/// The entry point that serves a run of |entry| with |inputs|, which have passed complete_inputs: one that specializes
/// it for just their sizes, or itself.
const entry_table *specialized_entry(const program_tables &tables, const entry_table *entry,
                                     const heddle_tensor_t *const *inputs);

/// What stands for the inputs of |entry|, one of |program|'s, where they are left out.
const std::vector<heddle_tensor_t *> &defaults_of(const heddle_program_t &program, const entry_table &entry);

} // namespace heddle::runtime
