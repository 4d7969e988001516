// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between generated CPU kernels and the runtime that calls them. It stands alone: the compiler
// emits code for exactly these layouts and the runtime includes nothing else of the compiler's. Any change of a
// layout or a meaning raises HEDDLE_EXECUTABLE_ABI_VERSION, which every artifact records.

#ifndef HEDDLE_EXECUTABLE_ABI_H
#define HEDDLE_EXECUTABLE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_EXECUTABLE_ABI_VERSION 1

/// Alignment in bytes of every binding, of packed weights and of the scratch pointer.
#define HEDDLE_BUFFER_ALIGNMENT 64

/// Values that a kernel returns. Anything but OK ends the run; the error record then says what happened.
enum {
  HEDDLE_KERNEL_OK = 0,
  /// An index read from a tensor lies outside its table: |value| is the index, |limit| the table's extent
  /// (valid indices are -limit .. limit-1).
  HEDDLE_KERNEL_INDEX_OUT_OF_RANGE = 1,
  /// An integer was divided by zero.
  HEDDLE_KERNEL_DIVISION_BY_ZERO = 2,
  /// The driver that runs a shader left a loop before its end. The record's numbers are 0; kernels for CPUs have no
  /// driver.
  HEDDLE_KERNEL_LOOP_CUT_SHORT = 3,
};

/// Where and why a kernel gave up. Written by the kernel before it returns something other than OK; the caller
/// owns it and hands each thread its own.
typedef struct heddle_error_record_t {
  int64_t site;  ///< Index into the dispatch's list of error sites in the artifact (names the model's node).
  int64_t value; ///< The offending value.
  int64_t limit; ///< The bound that it broke.
} heddle_error_record_t;

/// One dispatch as all its work items see it. Read only, shared by the threads that run the dispatch, except for
/// |error|, which belongs to the calling thread.
typedef struct heddle_dispatch_t {
  /// Addresses of the operands in the order of the kernel's signature: inputs first, then outputs. Each is aligned
  /// to HEDDLE_BUFFER_ALIGNMENT, except caller-owned tensors, which are aligned to their element size.
  /// Distinct outputs never overlap each other or an input.
  void *const *bindings;
  /// The kernel's i64 parameters (dimensions and other shape arithmetic) in the order of its signature.
  const int64_t *sizes;
  heddle_error_record_t *error;
} heddle_dispatch_t;

/// Runs work items begin <= i < end of a dispatch. Items are independent: any split over threads, in any order,
/// gives the same bits. |scratch| points to at least the dispatch's scratch bytes, private to the calling thread,
/// with unspecified content. Returns a HEDDLE_KERNEL_* value. Never allocates, never throws, calls nothing.
typedef int32_t (*heddle_kernel_fn_t)(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch);

#ifdef __cplusplus
} // extern "C"

static_assert(sizeof(heddle_error_record_t) == 24, "layout is part of the ABI");
static_assert(sizeof(heddle_dispatch_t) == 24, "layout is part of the ABI");
static_assert(offsetof(heddle_dispatch_t, sizes) == 8 && offsetof(heddle_dispatch_t, error) == 16,
              "layout is part of the ABI");
#endif

#endif // HEDDLE_EXECUTABLE_ABI_H
