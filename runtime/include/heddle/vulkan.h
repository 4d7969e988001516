// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan objects of the application's own, for programs that run on them. Plain C99, without Vulkan's headers: handles
// of dispatchable objects (VkDevice) are pointers here.

#ifndef HEDDLE_VULKAN_H
#define HEDDLE_VULKAN_H

#include <stddef.h>
#include <stdint.h>

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

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_VULKAN_H
