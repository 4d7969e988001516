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

  const program_tables &tables() const { return *tables_; }
  heddle_kernel_fn_t kernel(uint32_t index) const { return kernels_[index]; }
  const void *constant(uint32_t index) const { return constants_[index]; }
  thread_pool &pool() const { return *pool_; }

private:
  heddle_status_t copy_constants(const artifact &loaded);

  const program_tables *tables_ = nullptr;
  kernel_image image_;
  std::vector<heddle_kernel_fn_t> kernels_;
  std::vector<const void *> constants_;
  memory_block copied_constants_;
  thread_pool *pool_ = nullptr;
};

} // namespace heddle::runtime::cpu
