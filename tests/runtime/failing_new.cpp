// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/failing_new.h"

#include <cstdlib>
#include <new>

#include "tests/runtime/sanitizers.h"

namespace heddle::test {

thread_local allocation_faults faults;

bool is_refused() {
  if (faults.budget < 0 || faults.aside != 0)
    return false;
  if (faults.budget > 0)
    return --faults.budget, false;
  faults.budget = faults.fails_on ? 0 : -1;
  return faults.was_refused = true;
}

} // namespace heddle::test

namespace {

using heddle::test::is_refused;

void *allocate(size_t size) { return is_refused() ? nullptr : std::malloc(size == 0 ? 1 : size); }
void *allocate(size_t size, std::align_val_t alignment) {
  void *memory = nullptr;
  return is_refused() || posix_memalign(&memory, static_cast<size_t>(alignment), size) != 0 ? nullptr : memory;
}
void *or_throw(void *memory) { return memory ? memory : throw std::bad_alloc(); }

} // namespace

#pragma GCC visibility push(default)
void *operator new(size_t size) { return or_throw(allocate(size)); }
void *operator new[](size_t size) { return or_throw(allocate(size)); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void *operator new(size_t size, std::align_val_t alignment) { return or_throw(allocate(size, alignment)); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

// A sanitizer has its own of this, which must stay.
#ifndef HEDDLE_TEST_SANITIZED
extern "C" {
void *__libc_memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size) noexcept {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}
}
#endif
#pragma GCC visibility pop
