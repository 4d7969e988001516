// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded into sanitized programs: keeps lavapipe and the validation layer in memory, which the loader of Vulkan
// would unload. Reports of sanitizers come at the end, and no suppression can name a library that is gone.

#include <dlfcn.h>
#include <stddef.h>

/// A sanitizer's; null in all other programs, which have nothing to report.
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

__attribute__((constructor)) static void pin_drivers(void) {
  if (!__sanitizer_print_stack_trace)
    return;
  const char *const libraries[] = {"libvulkan_lvp.so", "libVkLayer_khronos_validation.so"};
  for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); ++i)
    dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); // not there: no Vulkan either
}
