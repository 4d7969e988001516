// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU as a device: an artifact's kernel image mapped into this process, its constants, and the thread pool.

#pragma once

#include <heddle/executable_abi.h>

#include "runtime/core/device.h"
#include "runtime/core/thread_pool.h"
#include "runtime/devices/cpu/kernel_image.h"

namespace heddle::runtime::cpu {

extern const device_driver driver;

/// Code and constants of one program. Immutable.
class cpu_program final : public device_program {
public:
  heddle_status_t load(const load_request &request);

  std::unique_ptr<device_session> create_session() const override;
  heddle_status_t measure_memory(const entry_table &entry, const plan &plan, heddle_memory_info_t *out) const override;

  const program_tables &tables() const { return *tables_; }
  heddle_kernel_fn_t kernel(uint32_t index) const { return kernels_[index]; }
  const void *constant(uint32_t index) const { return constants_[index]; }
  thread_pool &pool() const { return *pool_; }

  /// Scratch of all threads, and from one thread's to the next one's; |out_stride| may be null. False if the sizes
  /// overflow.
  bool scratch_bytes(const plan &plan, size_t *out_stride, uint64_t *out_bytes) const;

private:
  heddle_status_t copy_constants(const artifact &loaded);

  const artifact_source *source_ = nullptr;
  const program_tables *tables_ = nullptr;
  kernel_image image_;
  std::vector<heddle_kernel_fn_t> kernels_;
  std::vector<const void *> constants_;
  memory_block copied_constants_;
  int64_t code_bytes_ = 0;
  thread_pool *pool_ = nullptr;
};

} // namespace heddle::runtime::cpu
