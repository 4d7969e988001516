// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floating-point mode that kernels are compiled for: IEEE's defaults. An application may have set another rounding
// or flush denormals; results must not depend on that, and it must find its own mode again.

#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heddle::runtime::cpu {

/// Round to nearest, no flushing, no traps, for the calling thread while this lives.
class default_float_environment {
#if defined(__x86_64__)
public:
  default_float_environment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  /// Restores the flags too: what kernels raised is nobody's business.
  ~default_float_environment() { _mm_setcsr(saved_); }

private:
  unsigned saved_;
#elif defined(__aarch64__)
public:
  default_float_environment() : saved_(__builtin_aarch64_get_fpcr()) { __builtin_aarch64_set_fpcr(0); }
  ~default_float_environment() { __builtin_aarch64_set_fpcr(saved_); }

private:
  unsigned saved_;
#endif
public:
  default_float_environment(const default_float_environment &) = delete;
  default_float_environment &operator=(const default_float_environment &) = delete;
};

} // namespace heddle::runtime::cpu
