// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as a library behind a plain C interface. `heddle` opens libheddle-compiler.so with dlopen and looks
// these functions up by name, so the command serves as well on devices where no compiler is installed.
//
// Threads: calls may come from any thread, several at once. Errors: every function returns the exit code of
// interface.md (0 fine, 1 differs, 2 usage, 3 model not supported, 4 device, 5 file, 70 bug) and, unless it is 0, hands
// out one text to print, complete with `error[Hxxxx]:` lines, which the caller frees with heddle_compiler_free.

#ifndef HEDDLE_COMPILER_H
#define HEDDLE_COMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_COMPILER_API __attribute__((visibility("default")))

/// Raised when a struct below changes.
#define HEDDLE_COMPILER_API_VERSION 9

/// Called as phases pass, from any of the compiler's threads but one call at a time: |phase| is one of the phase names,
/// |done| of |total| units. First it is called with |total| 0: then |phase| is a line to show as it is, which says what
/// was chosen ("target cpu:znver3 (avx2, fma), 2 threads").
typedef void (*heddle_compiler_progress_fn_t)(void *user, const char *phase, size_t done, size_t total);

/// One named tensor in host memory, row-major and contiguous; |type| is an ElementType of artifact.fbs.
typedef struct heddle_compiler_tensor_t {
  const char *name;
  int type;
  size_t rank;
  const long long *dims;
  const void *data;
} heddle_compiler_tensor_t;

/// One run's inputs; |name| says in messages where they are from ("ids.jsonl, line 3").
typedef struct heddle_compiler_sample_t {
  const char *name;
  const heddle_compiler_tensor_t *tensors;
  size_t tensor_count;
} heddle_compiler_sample_t;

/// Hands out sample |index| of calibration data, from 0 on and perhaps anew from 0. Returns 1 with |out_sample|, whose
/// contents live until the next call, 0 where there is no more, and -1 where it can't be read: then compilation fails
/// without an error of its own, since the callback knows why.
typedef int (*heddle_compiler_sample_fn_t)(void *user, size_t index, heddle_compiler_sample_t *out_sample);

/// What `heddle compile` asks for. Strings stay the caller's. Zero-initialise; null or 0 means the default.
typedef struct heddle_compile_options_t {
  const char *model_path;
  const char *output_path;   ///< the artifact; may be null with |compile_to|
  const char *targets;       ///< comma-separated; null: this host
  const char *const *shapes; ///< "NAME=1x128"
  size_t shape_count;
  const char *bucket;          ///< "32,64" or "sequence=32,64": sizes with entry points of their own; null: none
  const char *precision;       ///< of weights: "f32" (null) or "bf16"
  const char *quantize;        ///< "w8a8", "w8a32" or "w4a32"; null: nothing is quantised
  const char *embedding;       ///< tables of quantised models: "int8" (null) or "f32"
  const char *const *excludes; ///< globs on names of nodes that stay float
  size_t exclude_count;
  int no_measure;                      ///< not 0: what quantisation costs isn't measured
  double max_loss;                     ///< bound of the relative error, by which places stay float; 0: none
  heddle_compiler_sample_fn_t samples; ///< calibration data; null: generated inputs
  void *samples_user;
  int no_pair_safe;           ///< not 0: plain scales even for targets without VNNI
  const char *attention_int8; ///< scores as 8 bits: "auto" (null), "on" or "off"
  const char *compile_to;     ///< phase to stop after; its IR is written to |output_path| ("-": standard output)
  const char *dump_phases_to; ///< folder for the IR after each phase
  const char *report_path;    ///< compile report, JSON, or HTML if it ends in .html
  unsigned thread_count;      ///< 0: as many as the process may use
  int no_fusion;              ///< not 0: the model's ops stay as they are written
  const char *const *tunings; ///< tuning files, in order: a later one wins
  size_t tuning_count;
  size_t user_tuning_count;   ///< so many of the first are of the user's folder: what is wrong with them is no error
  int no_tuning;              ///< not 0: tiles are the targets' tables' alone
  const char *const *devices; ///< what this machine has, as tuning files call it (JSON): its CPU, Vulkan devices
  size_t device_count;
  heddle_compiler_progress_fn_t progress;
  void *progress_user;
} heddle_compile_options_t;

/// What `heddle verify` asks for.
typedef struct heddle_verify_options_t {
  const char *artifact_path;
  const char *model_path;
  const heddle_compiler_tensor_t *inputs; ///< empty: generated ones, which the summary names
  size_t input_count;
  double tolerance; ///< bound of max|a-b| / max|b| per tensor; negative: what the arithmetic allows (Verify.h)
  unsigned thread_count;
  const char *device; ///< that runs the artifact, as heddle_program_options_t has it; null: its default
} heddle_verify_options_t;

/// A config that isn't to be measured: it has ended a compiler or a device before.
typedef struct heddle_left_out_candidate_t {
  const char *signature;
  const char *rows;
  const char *config; ///< JSON, as an artifact for measurements has it
} heddle_left_out_candidate_t;

/// Called before code of a candidate is made, one call at a time. Where |compile|'s thread_count is 1, the candidate
/// before is done by then; else so many may be under way.
typedef void (*heddle_compiler_candidate_fn_t)(void *user, const char *signature, const char *rows, const char *config);

/// What an artifact for measurements is made of (heddle/candidates.h).
typedef struct heddle_candidate_options_t {
  const heddle_compile_options_t *compile; ///< the model, its one target, the artifact's path
  const char *const *shapes;               ///< each "NAME=1x128,NAME=1x128", for all inputs with dynamic dimensions
  size_t shape_count;
  const char *seconds; ///< JSON object, kernels' names to seconds of a run; null: times are estimated
  /// JSON object, all of it optional: "threads"; "f32_gflops", "int8_gops"; "l1_gbs", "l2_gbs", "l3_gbs", "dram_gbs";
  /// "l1d", "l2", "l3" in bytes; of devices that run shaders "is_cpu" (0 or 1), "features" (their names),
  /// "shared_bytes", "invocations". Null: a small machine's.
  const char *limits;
  /// Of one kernel and bucket of rows, fewer where it takes less than a quarter of the time; 0: 24.
  size_t most_candidates;
  double most_share; ///< of the time that the kernels take which are measured; 0: 0.97
  const heddle_left_out_candidate_t *left_out;
  size_t left_out_count;
  heddle_compiler_candidate_fn_t on_candidate; ///< may be null
  void *on_candidate_user;
} heddle_candidate_options_t;

HEDDLE_COMPILER_API int heddle_compiler_api_version(void);
/// "LLVM 19.1.7"; static storage.
HEDDLE_COMPILER_API const char *heddle_compiler_version(void);
/// Compiles. |out_summary| receives the ten-line summary, |out_error| the errors; both may be null.
HEDDLE_COMPILER_API int heddle_compiler_compile(const heddle_compile_options_t *options, char **out_summary,
                                                char **out_error);
/// Runs the artifact and the reference evaluator side by side, kernel by kernel. |out_summary| is the table to print.
HEDDLE_COMPILER_API int heddle_compiler_verify(const heddle_verify_options_t *options, char **out_summary,
                                               char **out_error);
/// Writes an artifact for measurements. |out_summary| receives a line that says what it holds.
HEDDLE_COMPILER_API int heddle_compiler_export_candidates(const heddle_candidate_options_t *options, char **out_summary,
                                                          char **out_error);
HEDDLE_COMPILER_API void heddle_compiler_free(char *text);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_COMPILER_H
