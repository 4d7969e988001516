// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of one kind of work a device does in a second, by shaders of the runtime's own: those of limit_shaders/.

#pragma once

#include "runtime/devices/vulkan/layouts.h"
#include "runtime/devices/vulkan/memory.h"
#include "runtime/devices/vulkan/submission.h"

namespace heddle::runtime::vulkan {

/// Kinds of work.
enum class limit_shader {
  multiply_floats, ///< multiply-adds of f32
  multiply_bytes,  ///< products of bytes by shifts and multiplications
  dot_bytes,       ///< the same by the instruction for dot products; takes feature_dot
  read_memory,     ///< reads, side by side
};

/// What goes to the device at once.
struct rate_work {
  uint32_t groups;
  uint32_t rounds; ///< of each invocation
};

/// Measures by the device's clock, or by the host's where it has none. Each submission is of some milliseconds, or as
/// long as all that is to be read takes. For one thread; the device outlives it.
class rate_meter {
public:
  explicit rate_meter(const device &device) : device_(device), commands_(device) {}
  rate_meter(const rate_meter &) = delete;
  rate_meter &operator=(const rate_meter &) = delete;
  ~rate_meter();

  /// Takes |bytes| of the device's memory to read, a power of two, or where that is more than there is half of it, and
  /// so on down to |least|.
  heddle_status_t create(uint64_t bytes, uint64_t least);
  /// Bytes that it has got.
  uint64_t bytes() const { return data_.bytes(); }

  /// The best of some windows: operations in a second, a multiply-add counted as two, or bytes in a second of reads
  /// from the first |bytes| of memory, a power of two that create() got.
  heddle_status_t measure(limit_shader shader, uint64_t bytes, double *out_rate);

private:
  heddle_status_t create_set();
  heddle_status_t create_memory(uint64_t bytes, uint64_t least);
  heddle_status_t make_pipeline(limit_shader shader);
  heddle_status_t run(const rate_work &work, uint64_t bytes, double *out_seconds);
  heddle_status_t read_clock(double *out_seconds) const;
  uint32_t invocations() const;
  double amount_of(limit_shader shader, const rate_work &work) const;
  double wanted_seconds() const;
  bool grow(limit_shader shader, double seconds, rate_work *work) const;
  rate_work first_work(limit_shader shader, uint64_t bytes) const;

  const device &device_;
  one_time_commands commands_;
  buffer data_, results_;
  layouts layouts_;
  VkDescriptorPool sets_pool_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkQueryPool clock_ = VK_NULL_HANDLE; ///< null where the device has none
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

} // namespace heddle::runtime::vulkan
