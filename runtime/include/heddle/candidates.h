// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates: artifacts that `heddle tune` makes for measurements hold, instead of a model, kernels of one in several
// configs each. This page says what they have and makes what goes into them; programs are loaded and run as all others
// are, each candidate by its entry point. Plain C99.
//
// Ownership, threads and errors are those of heddle/heddle.h. The functions take any program: one that isn't for
// measurements has no groups.

#ifndef HEDDLE_CANDIDATES_H
#define HEDDLE_CANDIDATES_H

#include <heddle/heddle.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A config of a kernel.
typedef struct heddle_candidate_t {
  const char *entry;  ///< name of the entry point that runs it
  const char *config; ///< JSON object, as a tuning file has it
  double seconds;     ///< what the compiler expects one run at the model's sizes to take; an order, no promise
} heddle_candidate_t;

/// Configs of one kernel for one bucket of rows. Their entry points have the same inputs and outputs, all of one
/// dimension: first the kernel's sizes, then what it reads but for weights, which the artifact holds.
typedef struct heddle_candidate_group_t {
  const char *signature; ///< of the kernel: what a tuning file names it by
  const char *rows;      ///< the bucket: "1", "2-4", "5-16", "17-64", "65-256", "257-", or "any"
  const char *kernel;    ///< its name in an artifact of the model
  const char *const *nodes;
  size_t node_count;
  double share;        ///< of the model's time that it takes, from 0 to 1
  size_t dispatches;   ///< that one run makes, each on weights of its own, so that they come from where a model's do
  int has_expected;    ///< 1: heddle_candidate_compare knows what must come out of HEDDLE_CANDIDATE_CHECK
  size_t input_count;  ///< of each entry point
  size_t output_count; ///< of each entry point
  const heddle_candidate_t *candidates; ///< in the order to try them; the first is what is compiled without measurement
  size_t candidate_count;               ///< at least 1
} heddle_candidate_group_t;

/// Returns how many groups |program| has; 0 if it isn't for measurements.
HEDDLE_API size_t heddle_candidate_group_count(const heddle_program_t *program);

/// Returns group |index|, those that take most of the model's time first, or null behind the last; lives as long as the
/// program.
HEDDLE_API const heddle_candidate_group_t *heddle_candidate_group(const heddle_program_t *program, size_t index);

/// What a group's inputs are for.
typedef enum heddle_candidate_case_t {
  /// The model's sizes: for times, and to compare candidates with each other, which give the same bits.
  HEDDLE_CANDIDATE_TIMING = 0,
  /// A small case whose results are known, where heddle_candidate_group_t::has_expected says so.
  HEDDLE_CANDIDATE_CHECK = 1
} heddle_candidate_case_t;

/// Makes the inputs of group |group| for |kind|, the same on every machine. |out_inputs| has room for |input_count|
/// tensors, as many as the group says; the caller releases each.
/// Returns HEDDLE_STATUS_INVALID_ARGUMENT if there is no such group or case, HEDDLE_STATUS_OUT_OF_MEMORY if there is no
/// room for them.
HEDDLE_API heddle_status_t heddle_candidate_inputs_create(const heddle_program_t *program, size_t group,
                                                          heddle_candidate_case_t kind, heddle_tensor_t **out_inputs,
                                                          size_t input_count);

/// Compares what a candidate of group |group| made of HEDDLE_CANDIDATE_CHECK's inputs with what must come out.
/// |out_difference| receives the largest difference in units of what is allowed: results are right where it is at most
/// 1. It is infinite where integers differ, or where there is no number.
/// Returns HEDDLE_STATUS_INVALID_ARGUMENT if there is no such group or case, or |outputs| aren't an entry point's.
HEDDLE_API heddle_status_t heddle_candidate_compare(const heddle_program_t *program, size_t group,
                                                    const heddle_tensor_t *const *outputs, size_t output_count,
                                                    double *out_difference);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_CANDIDATES_H
