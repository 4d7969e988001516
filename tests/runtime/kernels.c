// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for the runtime's tests, in C, linked into an image of the form that the compiler emits: so the runtime is
// tested whole where no LLVM is installed.

#include <heddle/executable_abi.h>

#define BLOCK 16

/// out = a + b, 16 elements a work item. Sizes: element count.
int32_t test_add(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  const float *a = dispatch->bindings[0];
  const float *b = dispatch->bindings[1];
  float *out = dispatch->bindings[2];
  (void)scratch;
  for (int64_t i = begin * BLOCK; i < end * BLOCK && i < dispatch->sizes[0]; ++i)
    out[i] = a[i] + b[i];
  return HEDDLE_KERNEL_OK;
}

/// out[i] = x[i] * factor[0]. Sizes: element count.
int32_t test_scale(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  const float *x = dispatch->bindings[0];
  const float *factor = dispatch->bindings[1];
  float *out = dispatch->bindings[2];
  (void)scratch;
  for (int64_t i = begin * BLOCK; i < end * BLOCK && i < dispatch->sizes[0]; ++i)
    out[i] = x[i] * factor[0];
  return HEDDLE_KERNEL_OK;
}

/// Rows of a table by ids, one id a work item. Sizes: rows, width. Error site 0: an id outside the table.
int32_t test_gather(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  const int64_t *ids = dispatch->bindings[0];
  const float *table = dispatch->bindings[1];
  float *out = dispatch->bindings[2];
  const int64_t rows = dispatch->sizes[0];
  const int64_t width = dispatch->sizes[1];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t id = ids[i];
    if (id < -rows || id >= rows) {
      dispatch->error->site = 0;
      dispatch->error->value = id;
      dispatch->error->limit = rows;
      return HEDDLE_KERNEL_INDEX_OUT_OF_RANGE;
    }
    for (int64_t j = 0; j < width; ++j)
      out[i * width + j] = table[(id < 0 ? id + rows : id) * width + j];
  }
  return HEDDLE_KERNEL_OK;
}

/// Fills 64 bytes of scratch and sums them into out[i]: a thread whose scratch another one writes gives a wrong sum.
int32_t test_scratch(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  volatile float *mine = scratch;
  float *out = dispatch->bindings[0];
  for (int64_t i = begin; i < end; ++i) {
    for (int j = 0; j < 16; ++j)
      mine[j] = (float)i;
    float sum = 0;
    for (int j = 0; j < 16; ++j)
      sum += mine[j];
    out[i] = sum;
  }
  return HEDDLE_KERNEL_OK;
}

/// out = a / b for i64. Error site 1: division by zero.
int32_t test_divide(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  const int64_t *a = dispatch->bindings[0];
  const int64_t *b = dispatch->bindings[1];
  int64_t *out = dispatch->bindings[2];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i) {
    if (b[i] == 0) {
      dispatch->error->site = 1;
      return HEDDLE_KERNEL_DIVISION_BY_ZERO;
    }
    out[i] = a[i] / b[i];
  }
  return HEDDLE_KERNEL_OK;
}

/// Takes about a millisecond a work item.
int32_t test_slow(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  float *out = dispatch->bindings[0];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i) {
    volatile float value = 0;
    for (int j = 0; j < 500000; ++j)
      value = value + 1;
    out[i] = value;
  }
  return HEDDLE_KERNEL_OK;
}

/// What test_slow computes, at once.
int32_t test_quick(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  float *out = dispatch->bindings[0];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i)
    out[i] = 500000;
  return HEDDLE_KERNEL_OK;
}

/// Ends the process.
int32_t test_trap(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  (void)dispatch, (void)begin, (void)end, (void)scratch;
  __builtin_trap();
}

/// Returns a value that no version of the ABI has.
int32_t test_unknown_code(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  (void)begin, (void)end, (void)scratch;
  dispatch->error->site = 0;
  return 99;
}

/// What a shader reports whose driver has left a loop early.
int32_t test_cut_short(const heddle_dispatch_t *dispatch, int64_t begin, int64_t end, void *scratch) {
  (void)dispatch, (void)begin, (void)end, (void)scratch;
  return HEDDLE_KERNEL_LOOP_CUT_SHORT;
}
