// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan objects of the application's own, for programs that run on them: a device and its queue, buffers as inputs and
// outputs, runs that are submitted and signal a fence. Plain C99, without Vulkan's headers: handles of dispatchable
// objects (VkDevice) are pointers here, all others (VkBuffer, VkFence) numbers of 64 bits, to which their C type is
// cast. What heddle.h says of ownership, threads and errors holds here too.
//
//     const heddle_vulkan_buffer_t memory = {device, (uint64_t)buffer, usage, 0, 4 * 128 * sizeof(float)};
//     heddle_vulkan_tensor_wrap(&memory, HEDDLE_ELEMENT_F32, 2, dims, NULL, NULL, &input);
//     const heddle_vulkan_sync_t sync = {(uint64_t)fence, NULL, 0, NULL, 0};
//     heddle_vulkan_session_submit(session, NULL, inputs, 1, outputs, 1, &sync);
//     vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
//     heddle_vulkan_session_finish(session);

#ifndef HEDDLE_VULKAN_H
#define HEDDLE_VULKAN_H

#include <heddle/heddle.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A device for heddle_program_options_t::vulkan_device. The objects stay the caller's and outlive each program that is
/// loaded with them; the struct is read during the load only. They are of the loader libvulkan.so.1 of this process.
///
/// The program makes buffers, pipelines and command buffers of its own on the device. It submits to |queue|, and never
/// to another; if others do so too, at any time, the two functions are needed.
typedef struct heddle_vulkan_device_t {
  void *instance;        ///< VkInstance, made for Vulkan 1.1 at least
  void *physical_device; ///< VkPhysicalDevice
  void *device;          ///< VkDevice
  void *queue;           ///< VkQueue of a family that computes
  uint32_t queue_family;
  /// What of heddle_device_info_t::features the device was made with: their features and extensions are enabled. Null
  /// for none, which every program can do without.
  const char *const *features;
  size_t feature_count;
  /// Called around each submission, and after a failure around a wait for the queue, from the thread that runs; null:
  /// nobody but programs uses the queue. Neither may call back.
  void (*lock_queue)(void *user);
  void (*unlock_queue)(void *user);
  void *user;
} heddle_vulkan_device_t;

//===-- Tensors in buffers of the caller's -----------------------------------------------------------------------===//

/// A part of a VkBuffer that holds a tensor.
typedef struct heddle_vulkan_buffer_t {
  void *device;         ///< VkDevice that it was made on: the one that the program was loaded with
  uint64_t buffer;      ///< VkBuffer, with memory bound to all of it
  uint32_t usage;       ///< VkBufferUsageFlags that it was made with
  uint64_t offset;      ///< bytes from its beginning; a multiple of 4
  uint64_t byte_length; ///< bytes from there on that the tensor may take; what lies behind them is never touched
} heddle_vulkan_buffer_t;

/// Makes a tensor whose elements lie in |memory|, dense and row-major, in the form that shaders have them. The struct
/// is read during the call only; the buffer stays the caller's and must live until |release|, which may be null, is
/// called with |user| and null. On failure |release| isn't called.
///
/// Elements lie as in a host tensor of |type|, with one exception: device memory has no integers of 64 bits. Where an
/// entry point declares i64 or u64, a VkBuffer holds i32 or u32, one word for each element, and that is the |type| to
/// give; HEDDLE_ELEMENT_I64 and _U64 are refused. A boolean is a byte, 0 or 1; types narrower than a word are packed.
/// Contents aren't checked but for what kernels check themselves (a token id outside its table).
///
/// heddle_tensor_data() is null for such a tensor; all else that heddle.h says of tensors holds. It goes to
/// heddle_session_run and heddle_vulkan_session_submit, as input or output, beside any number of host tensors, where
///   - the program was loaded with |memory->device| (heddle_program_options_t::vulkan_device);
///   - an input's buffer has VK_BUFFER_USAGE_TRANSFER_SRC_BIT, an output's VK_BUFFER_USAGE_TRANSFER_DST_BIT: the run
///     copies them, within the device's memory, in the submissions that it makes anyway;
///   - the queue family of the program's queue owns the buffer (or it has VK_SHARING_MODE_CONCURRENT);
///   - no shape depends on the input's values, which only the host could read.
/// What doesn't fit is HEDDLE_STATUS_INVALID_ARGUMENT with the tensor's name, before anything is submitted. That
/// |usage| and |device| are true can't be checked.
///
/// Order on the queue. A run begins after everything that was submitted to the queue before it, with what that has
/// written to memory being visible, and what is submitted after it finds the outputs written: no barrier is needed for
/// either. Work on another queue takes a semaphore (heddle_vulkan_sync_t). An input mustn't change between submission
/// and fence, an output mustn't be read.
HEDDLE_API heddle_status_t heddle_vulkan_tensor_wrap(const heddle_vulkan_buffer_t *memory, heddle_element_type_t type,
                                                     size_t rank, const int64_t *dims, heddle_release_fn_t release,
                                                     void *user, heddle_tensor_t **out_tensor);

//===-- Runs that are submitted ----------------------------------------------------------------------------------===//

/// What a submitted run waits for and signals. Zero-initialise it: 0 and null mean nothing. All are the caller's, of
/// the program's device; semaphores are binary ones.
typedef struct heddle_vulkan_sync_t {
  uint64_t fence; ///< VkFence, unsignalled and in no submission; signalled when the device has done the whole run
  const uint64_t *wait_semaphores; ///< VkSemaphore each; the run begins when all are signalled
  size_t wait_semaphore_count;
  const uint64_t *signal_semaphores; ///< VkSemaphore each; signalled at the end of the run
  size_t signal_semaphore_count;
} heddle_vulkan_sync_t;

/// heddle_session_run that returns when the device has got its work, as a rule long before that is done. Arguments are
/// those of heddle_session_run, with these differences:
///   - Of a host input, the elements are read during the call: they may change when it returns.
///   - Outputs are handed out by the call, but have their values after heddle_vulkan_session_finish (a host tensor) or
///     when |sync| is signalled (one in a VkBuffer).
///   - The session keeps a reference to each tensor until the run is finished; the caller may release its own.
/// |sync| may be null, and is read during the call only. Without fence or semaphores it serves a program on a device of
/// the runtime's own too. On a shape that is new to the session the call also allocates and compiles.
///
/// One run at a time: until heddle_vulkan_session_finish has returned the session refuses any other, as during
/// heddle_session_run. Sessions of one program may have a run each on their way, which then take turns on the queue.
/// heddle_session_cancel during this call stops it as it stops heddle_session_run; after it the device goes on to the
/// end and signals |sync|, but heddle_vulkan_session_finish returns HEDDLE_STATUS_CANCELLED.
/// On failure nothing is on its way, no output is handed out and neither fence nor semaphores get signalled; where the
/// device ran out of memory, was lost or the run was cancelled between two submissions, |wait_semaphores| may have been
/// waited for.
/// Returns HEDDLE_STATUS_INVALID_ARGUMENT for a program on the CPU and for a session with an observer, which looks at
/// each dispatch; else as heddle_session_run.
HEDDLE_API heddle_status_t heddle_vulkan_session_submit(heddle_session_t *session, const char *entry,
                                                        const heddle_tensor_t *const *inputs, size_t input_count,
                                                        heddle_tensor_t **out_outputs, size_t output_count,
                                                        const heddle_vulkan_sync_t *sync);

/// Waits until the run that was submitted is done, writes outputs in host memory and returns how it went: each call of
/// heddle_vulkan_session_submit that succeeded takes one, from any thread. The fence says whether it will have to wait,
/// not whether all went well: a bad token id is reported here, with the content of the outputs unspecified.
/// Afterwards the session is ready for another run, whatever the outcome, but for HEDDLE_STATUS_DEVICE_LOST.
/// heddle_session_release waits too, if it is called instead, and drops the outcome.
/// Returns HEDDLE_STATUS_INVALID_ARGUMENT if no run was submitted; else as heddle_session_run.
HEDDLE_API heddle_status_t heddle_vulkan_session_finish(heddle_session_t *session);

//===-- What a device does at most -------------------------------------------------------------------------------===//

/// Limits of a device, measured. Rates are per second.
typedef struct heddle_vulkan_limits_t {
  char device_name[256]; ///< as the device calls itself
  int is_software;       ///< 1: the device is the CPU, whose memory and caches it reads as fast as its code allows
  double f32_rate;       ///< operations on f32, a multiply-add counted as two
  double byte_rate;      ///< the same of products of bytes, by what shaders multiply them with on this device
  double memory_rate;    ///< bytes read from the device's memory, by invocations side by side
  double cache_rate;     ///< bytes read from its caches; as |memory_rate| where none was found
  uint64_t cache_bytes;  ///< what the caches hold, within a factor of four; 0: none was found
} heddle_vulkan_limits_t;

/// Measures the device that |program| runs on, with shaders of the runtime's own: a roofline for what its kernels do.
/// Takes half a second and up to 256 MiB of the device's memory, less where it hasn't got that. Whatever else the
/// device does at the time, runs of the program among it, lowers what is seen. Any thread; |out_limits| is written on
/// success alone. Returns HEDDLE_STATUS_INVALID_ARGUMENT for a program on the CPU and one that was loaded for
/// inspection only, HEDDLE_STATUS_OUT_OF_MEMORY, HEDDLE_STATUS_DEVICE_UNAVAILABLE where the driver refuses a shader,
/// HEDDLE_STATUS_DEVICE_LOST.
HEDDLE_API heddle_status_t heddle_vulkan_measure_limits(const heddle_program_t *program,
                                                        heddle_vulkan_limits_t *out_limits);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_VULKAN_H
