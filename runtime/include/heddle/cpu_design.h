// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the vendor of this machine's CPU numbers its designs: timings are valid for one design. Plain C99.

#ifndef HEDDLE_CPU_DESIGN_H
#define HEDDLE_CPU_DESIGN_H

#include <heddle/heddle.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What heddle_host_info() doesn't tell of, since programs need not know it.
typedef struct heddle_cpu_design_t {
  const char *vendor; ///< "GenuineIntel", "AuthenticAMD" ...; "unknown"
  unsigned family;    ///< 0 where unknown
  unsigned model;     ///< 0 where unknown
} heddle_cpu_design_t;

/// Returns the design of the CPU that this process runs on; static storage.
HEDDLE_API const heddle_cpu_design_t *heddle_cpu_design(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_CPU_DESIGN_H
