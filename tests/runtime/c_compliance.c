// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled as C99 with warnings as errors: the public headers are C, and a C program can use them.

#include <stdio.h>
#include <string.h>

#include <heddle/artifact_format.h>
#include <heddle/candidates.h>
#include <heddle/error_codes.h>
#include <heddle/executable_abi.h>
#include <heddle/heddle.h>
#include <heddle/self_test.h>
#include <heddle/vulkan.h>

static heddle_status_t make_tensor(heddle_tensor_t **out_tensor) {
  const int64_t dims[2] = {2, 3};
  HEDDLE_RETURN_IF_ERROR(heddle_tensor_create(HEDDLE_ELEMENT_F32, 2, dims, out_tensor));
  return NULL;
}

/// A build without Vulkan has these functions too, and says what is missing. Returns 0, or the exit code of a fault.
static int check_vulkan(void) {
  int anything = 0;
  heddle_tensor_t *tensor = NULL;
  const heddle_vulkan_buffer_t memory = {&anything, 1, 0, 2, 24};
  const int64_t dims[2] = {2, 3};
  const heddle_vulkan_sync_t sync = {0};
  heddle_vulkan_limits_t limits;
  heddle_status_t statuses[4];
  statuses[0] = heddle_vulkan_tensor_wrap(&memory, HEDDLE_ELEMENT_F32, 2, dims, NULL, NULL, &tensor);
  statuses[1] = heddle_vulkan_session_submit(NULL, NULL, NULL, 0, NULL, 0, &sync);
  statuses[2] = heddle_vulkan_session_finish(NULL);
  statuses[3] = heddle_vulkan_measure_limits(NULL, &limits);
  int wrong = 0;
  for (int i = 0; i < 4; ++i) {
    if (strcmp(heddle_status_error_code(statuses[i]), "H0101") != 0)
      wrong = 30 + i;
    heddle_status_release(statuses[i]);
  }
  return wrong;
}

int main(void) {
  heddle_tensor_t *tensor = NULL;
  heddle_program_t *program = NULL;
  heddle_program_options_t options = {0};
  heddle_status_t status = make_tensor(&tensor);
  if (status || heddle_tensor_byte_length(tensor) != 24)
    return 1;
  heddle_tensor_release(tensor);

  // Part of the format: what compilers before this one wrote tests with must stay what devices are tested with.
  if (heddle_self_test_bits(7, 3) != 821625149 || heddle_self_test_fraction(7, 3, 16) != -25787 ||
      heddle_self_test_integer(7, 3, 10) != 0)
    return 20;
  // Five columns and three rows in panels of four columns and pairs of rows: (1, 0, 0, 1) is column 4 and row 1.
  if (heddle_self_test_is_padding(17, 5, 3, 4, 2) || !heddle_self_test_is_padding(9, 5, 3, 4, 2) ||
      !heddle_self_test_is_padding(18, 5, 3, 4, 2))
    return 21;
  // Of rows of 80 bytes in units of 16 the units 0 and 1 of rows 0 to 2.
  const uint32_t extents[3] = {2, 3, 1}, strides[3] = {16, 80, 0};
  if (!heddle_self_test_reaches(191, extents, strides) || heddle_self_test_reaches(192, extents, strides) ||
      heddle_self_test_reaches(240, extents, strides))
    return 22;

  const int wrong = check_vulkan();
  if (wrong)
    return wrong;

  size_t (*volatile count_groups)(const heddle_program_t *) = heddle_candidate_group_count;
  const heddle_candidate_group_t *(*volatile find_group)(const heddle_program_t *, size_t) = heddle_candidate_group;
  if (!count_groups || !find_group)
    return 23;
  status = heddle_candidate_inputs_create(NULL, 0, HEDDLE_CANDIDATE_TIMING, &tensor, 1);
  if (heddle_status_code(status) != HEDDLE_STATUS_INVALID_ARGUMENT)
    return 24;
  heddle_status_release(status);
  status = heddle_candidate_compare(NULL, 0, NULL, 0, NULL);
  if (heddle_status_code(status) != HEDDLE_STATUS_INVALID_ARGUMENT)
    return 25;
  heddle_status_release(status);

  status = heddle_program_load("no such file", &options, &program);
  if (heddle_status_code(status) != HEDDLE_STATUS_IO || strcmp(heddle_status_error_code(status), "H0501") != 0)
    return 2;
  printf("%s: %s\n", heddle_version(), heddle_status_message(status));
  heddle_status_release(status);
  return program ? 3 : 0;
}
