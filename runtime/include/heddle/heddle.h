// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of the Heddle runtime: load an artifact, run it on tensors, look into it. Plain C99.
//
// Ownership. Handles are opaque. What `_create`, `_load` and `_wrap` hand out belongs to the caller, who gives it up
// with `_release`; `_retain` adds a reference where a type is shared. Strings and structs that a function returns by
// pointer stay the library's and live as long as the handle they came from. Every `_release` accepts null.
//
// Threads. Functions on different handles never disturb each other. Programs, thread pools and tensors' properties may
// be used from any number of threads; a session serves one call at a time.
//
// Errors. A function that can fail returns a heddle_status_t: null when all is well, else an object with code, message
// and help. Unless it says otherwise, a function that fails leaves its `out_` parameters untouched. The library never
// prints, never exits and never throws.

#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_API __attribute__((visibility("default")))

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

/// Returns the version of the library in use, "0.1.0"; static storage.
HEDDLE_API const char *heddle_version(void);

//===-- Status ---------------------------------------------------------------------------------------------------===//

/// What kind of failure it is. A program branches on this; people read the message.
typedef enum heddle_status_code_t {
  HEDDLE_STATUS_OK = 0,
  /// The caller's mistake: a tensor that doesn't fit, an unknown name, a handle in the wrong state.
  HEDDLE_STATUS_INVALID_ARGUMENT = 1,
  /// Understood, but not supported by this version.
  HEDDLE_STATUS_UNSUPPORTED = 2,
  /// The device isn't there, lacks what the artifact needs, or can't take work of this size.
  HEDDLE_STATUS_DEVICE_UNAVAILABLE = 3,
  /// The file was read, but it isn't an intact artifact.
  HEDDLE_STATUS_BAD_FILE = 4,
  /// The operating system refused to open, read or map the file.
  HEDDLE_STATUS_IO = 5,
  /// heddle_session_cancel stopped the run.
  HEDDLE_STATUS_CANCELLED = 6,
  HEDDLE_STATUS_OUT_OF_MEMORY = 7,
  /// A bug of Heddle's.
  HEDDLE_STATUS_INTERNAL = 8,
  /// The driver has given up the device. Sessions on it can't go on; a program that is loaded again gets a fresh one.
  HEDDLE_STATUS_DEVICE_LOST = 9
} heddle_status_code_t;

/// The outcome of a call: null for success, else an error that the receiver releases. Immutable, so any thread may
/// read or release it, but only one releases it.
typedef struct heddle_status_object_t *heddle_status_t;

/// Returns from the calling function with the status of |expression| unless that is success.
#define HEDDLE_RETURN_IF_ERROR(expression)                                                                             \
  do {                                                                                                                 \
    heddle_status_t heddle_status_ = (expression);                                                                     \
    if (heddle_status_)                                                                                                \
      return heddle_status_;                                                                                           \
  } while (0)

HEDDLE_API heddle_status_code_t heddle_status_code(heddle_status_t status);
/// Returns the stable code that `heddle explain` knows, "H0301"; "" for success. H01xx usage, H02xx model, H03xx inputs
/// and runs, H04xx device, H05xx file, H09xx bugs; heddle/error_codes.h lists those of the runtime.
HEDDLE_API const char *heddle_status_error_code(heddle_status_t status);
/// Returns one line that says what is wrong and where, without a full stop; "" for success.
HEDDLE_API const char *heddle_status_message(heddle_status_t status);
/// Returns one line of context ("in model.heddle, entry 'main'"), or "" where there is none.
HEDDLE_API const char *heddle_status_context(heddle_status_t status);
/// Returns one line that says what to do, or "" where there is nothing to say.
HEDDLE_API const char *heddle_status_help(heddle_status_t status);
HEDDLE_API void heddle_status_release(heddle_status_t status);

//===-- Tensors --------------------------------------------------------------------------------------------------===//

/// Type of a tensor's elements; the values are those of ElementType in artifact.fbs. A boolean is a byte, 0 or 1.
typedef enum heddle_element_type_t {
  HEDDLE_ELEMENT_F32 = 0,
  HEDDLE_ELEMENT_F64 = 1,
  HEDDLE_ELEMENT_F16 = 2,
  HEDDLE_ELEMENT_BF16 = 3,
  HEDDLE_ELEMENT_I8 = 4,
  HEDDLE_ELEMENT_I16 = 5,
  HEDDLE_ELEMENT_I32 = 6,
  HEDDLE_ELEMENT_I64 = 7,
  HEDDLE_ELEMENT_U8 = 8,
  HEDDLE_ELEMENT_U16 = 9,
  HEDDLE_ELEMENT_U32 = 10,
  HEDDLE_ELEMENT_U64 = 11,
  HEDDLE_ELEMENT_BOOL = 12
} heddle_element_type_t;

/// Returns the bytes of one element, or 0 for a value that is no element type.
HEDDLE_API size_t heddle_element_type_size(heddle_element_type_t type);
/// Returns "f32", "i64", "bool" ..., or "unknown"; static storage.
HEDDLE_API const char *heddle_element_type_name(heddle_element_type_t type);

/// Largest number of dimensions of a tensor.
#define HEDDLE_MAX_RANK 8

/// A dense row-major tensor in host memory (or in a VkBuffer: heddle/vulkan.h). Shape and type never change; the data
/// are the caller's to read and write while no run uses the tensor. Shared by reference counts, which any thread may
/// change.
typedef struct heddle_tensor_t heddle_tensor_t;

/// Called once when the last reference to a wrapped tensor, or to a program loaded from memory, is gone.
typedef void (*heddle_release_fn_t)(void *user, void *data);

/// Creates a tensor with memory of its own, aligned to 64 bytes and zeroed.
HEDDLE_API heddle_status_t heddle_tensor_create(heddle_element_type_t type, size_t rank, const int64_t *dims,
                                                heddle_tensor_t **out_tensor);
/// Makes a tensor of |data|, which holds |byte_length| bytes (at least what the shape needs) aligned to the element's
/// size and stays valid until |release| is called; |release| may be null. Nothing is copied. On failure |release|
/// isn't called.
HEDDLE_API heddle_status_t heddle_tensor_wrap(heddle_element_type_t type, size_t rank, const int64_t *dims, void *data,
                                              size_t byte_length, heddle_release_fn_t release, void *user,
                                              heddle_tensor_t **out_tensor);
HEDDLE_API void heddle_tensor_retain(heddle_tensor_t *tensor);
HEDDLE_API void heddle_tensor_release(heddle_tensor_t *tensor);
HEDDLE_API heddle_element_type_t heddle_tensor_type(const heddle_tensor_t *tensor);
HEDDLE_API size_t heddle_tensor_rank(const heddle_tensor_t *tensor);
/// Returns heddle_tensor_rank() sizes.
HEDDLE_API const int64_t *heddle_tensor_dims(const heddle_tensor_t *tensor);
/// Returns the first element. Null for a tensor in a VkBuffer, and only then: one without elements has an address.
HEDDLE_API void *heddle_tensor_data(const heddle_tensor_t *tensor);
HEDDLE_API size_t heddle_tensor_element_count(const heddle_tensor_t *tensor);
/// Returns the bytes that the elements take.
HEDDLE_API size_t heddle_tensor_byte_length(const heddle_tensor_t *tensor);

//===-- Thread pools ---------------------------------------------------------------------------------------------===//

/// Threads that help the calling thread through a dispatch. Shareable between programs; a session that finds the pool
/// busy with another session's dispatch runs its own on its own thread. Idle workers sleep. Never changes results.
typedef struct heddle_thread_pool_t heddle_thread_pool_t;

/// Creates a pool of |thread_count| threads, the calling one included, so 1 starts no thread at all. 0 takes
/// heddle_default_thread_count().
HEDDLE_API heddle_status_t heddle_thread_pool_create(unsigned thread_count, heddle_thread_pool_t **out_pool);
HEDDLE_API void heddle_thread_pool_retain(heddle_thread_pool_t *pool);
/// Gives up a reference; the last one joins the workers.
HEDDLE_API void heddle_thread_pool_release(heddle_thread_pool_t *pool);
HEDDLE_API unsigned heddle_thread_pool_thread_count(const heddle_thread_pool_t *pool);
/// Returns HEDDLE_THREADS where the environment has it, else the CPUs of the affinity mask, limited by the cgroup's
/// quota; at least 1.
HEDDLE_API unsigned heddle_default_thread_count(void);

//===-- Programs -------------------------------------------------------------------------------------------------===//

/// A loaded artifact bound to a device: immutable, shared by any number of sessions and threads, reference counted.
typedef struct heddle_program_t heddle_program_t;

/// Where weights live. Mapped pages come from the page cache, shared with other processes; copied ones are this
/// process's own, on huge pages where the system has them.
typedef enum heddle_weights_t { HEDDLE_WEIGHTS_MAP = 0, HEDDLE_WEIGHTS_COPY = 1 } heddle_weights_t;

/// How to load. Zero-initialise it: 0 and null mean the default everywhere. Strings are read during the call only.
typedef struct heddle_program_options_t {
  /// "cpu", "vulkan", "vulkan:1" by number or "vulkan:radeon" by part of a name; default: the CPU, or Vulkan where the
  /// artifact holds nothing else
  const char *device;
  const char *target;                ///< name of one of the artifact's targets; default: the best one the device has
  heddle_weights_t weights;          ///< default: mapped
  int verify_checksums;              ///< 1: read the whole file and compare checksums before anything is used
  int inspect_only;                  ///< 1: load for heddle_program_info and _plan alone; needs no matching device
  heddle_thread_pool_t *thread_pool; ///< retained; default: one pool that all programs of the process share
  /// heddle/vulkan.h: a device of the caller's to run on; default: the runtime makes its own. Goes with device
  /// "vulkan", which is then the default.
  const struct heddle_vulkan_device_t *vulkan_device;
} heddle_program_options_t;

/// Loads the artifact at |path|. The file is mapped and must not change while the program lives (replacing it by
/// rename is fine). |options| may be null.
/// Returns HEDDLE_STATUS_IO if it can't be read, HEDDLE_STATUS_BAD_FILE if it is no intact artifact of this version,
/// HEDDLE_STATUS_DEVICE_UNAVAILABLE if the device isn't there or no target fits it.
/// An artifact holds native code: load only files that you would execute.
HEDDLE_API heddle_status_t heddle_program_load(const char *path, const heddle_program_options_t *options,
                                               heddle_program_t **out_program);
/// Loads an artifact that lies in memory, aligned to 64 bytes; it must stay unchanged until |release| (which may be
/// null) is called. On failure |release| isn't called. Code is copied; weights only if the options say so.
HEDDLE_API heddle_status_t heddle_program_load_memory(const void *data, size_t length, heddle_release_fn_t release,
                                                      void *user, const heddle_program_options_t *options,
                                                      heddle_program_t **out_program);
HEDDLE_API void heddle_program_retain(heddle_program_t *program);
HEDDLE_API void heddle_program_release(heddle_program_t *program);

/// A dimension of an input or output.
typedef struct heddle_dimension_t {
  const char *symbol; ///< name of a dynamic dimension; "" for a static one
  int64_t value;      ///< size of a static dimension; -1 for a dynamic one
} heddle_dimension_t;

typedef struct heddle_tensor_info_t {
  const char *name;
  heddle_element_type_t type;
  size_t rank;
  const heddle_dimension_t *dims;
} heddle_tensor_info_t;

typedef struct heddle_entry_info_t {
  const char *name;
  const heddle_tensor_info_t *inputs;
  size_t input_count;
  const heddle_tensor_info_t *outputs;
  size_t output_count;
  size_t dispatch_count;
  const char *specializes; ///< name of the entry point that this one is for some sizes of inputs; "" for none
} heddle_entry_info_t;

typedef struct heddle_kernel_info_t {
  const char *name;
  const char *root;         ///< contract, rowwise, map ...
  const char *const *nodes; ///< the model's nodes that run in it, over all its dispatches
  size_t node_count;
  size_t dispatch_count; ///< over all entries
} heddle_kernel_info_t;

/// One form of a kernel for a GPU.
typedef struct heddle_shader_variant_info_t {
  const char *const *features; ///< what the device must have beyond Vulkan 1.1: "float16", "subgroup_arithmetic" ...
  size_t feature_count;
  size_t module;         ///< number of the SPIR-V module among the target's
  uint32_t workgroup[3]; ///< invocations of one workgroup along x, y, z
  uint32_t shared_bytes; ///< of one workgroup
} heddle_shader_variant_info_t;

/// A kernel for GPUs: the first variant is taken that the device can run and that suits the sizes of a run.
typedef struct heddle_shader_info_t {
  const heddle_shader_variant_info_t *variants; ///< best first; the last runs on any device
  size_t variant_count;
} heddle_shader_info_t;

typedef struct heddle_target_info_t {
  const char *name;            ///< "cpu:x86-64-v4", "vulkan"
  const char *const *features; ///< what the device must have; of a CPU by LLVM's names
  size_t feature_count;
  uint64_t code_bytes;
  const char *missing_feature;         ///< first feature that this machine's device lacks; "" if it can run the target
  int selected;                        ///< 1 for the target in use
  size_t module_count;                 ///< SPIR-V modules; 0 for a CPU
  const heddle_shader_info_t *shaders; ///< one for each of the program's kernels; null for a CPU
  size_t shader_count;
} heddle_target_info_t;

typedef struct heddle_section_info_t {
  const char *kind; ///< "code" or "weights"
  uint64_t offset;
  uint64_t length;
  uint64_t checksum; ///< XXH64 of the bytes
} heddle_section_info_t;

typedef struct heddle_option_info_t {
  const char *key;
  const char *value;
} heddle_option_info_t;

/// All that an artifact says about itself.
typedef struct heddle_program_info_t {
  uint32_t format_version;
  uint32_t executable_abi_version;
  uint64_t file_bytes;
  uint64_t program_bytes;  ///< of them: tables
  uint64_t constant_bytes; ///< of them: weights that dispatches name
  const char *producer;    ///< "heddle 0.1.0 (LLVM 19.1.7)"
  const char *model;       ///< file name of the model
  const heddle_option_info_t *options;
  size_t option_count;
  const heddle_section_info_t *sections;
  size_t section_count;
  const heddle_target_info_t *targets; ///< best first
  size_t target_count;
  const heddle_kernel_info_t *kernels;
  size_t kernel_count;
  const heddle_entry_info_t *entries;
  size_t entry_count;
} heddle_program_info_t;

/// Returns the description of |program|, which lives as long as the program.
HEDDLE_API const heddle_program_info_t *heddle_program_info(const heddle_program_t *program);

/// Returns remark |index|, one line for people, on how the device runs the program, or null behind the last: a shader
/// that failed its self-test, so that another one takes its place. Sessions may add some while they run. Lives as long
/// as the program.
HEDDLE_API const char *heddle_program_note(const heddle_program_t *program, size_t index);

/// Returns what stands for input |input| of |entry| (null: the first) where a run has null for it: the value that the
/// model file gives an input by default. Null where a run must give the input, or there is no such entry or input.
/// Lives as long as the program; its elements are read-only.
HEDDLE_API const heddle_tensor_t *heddle_program_default_input(const heddle_program_t *program, const char *entry,
                                                               size_t input);

/// What one run with given inputs takes.
typedef struct heddle_plan_info_t {
  int64_t arena_bytes;   ///< peak memory for intermediate results, per session
  int64_t scratch_bytes; ///< per thread
  int64_t flops;         ///< floating-point or integer operations, a multiply-add counted as two
  int64_t bytes;         ///< read and written by the dispatches
  size_t dispatch_count;
} heddle_plan_info_t;

/// Computes what a run of |entry| (null: the first) with inputs of these shapes takes. Of the data only those elements
/// of integer inputs are read that shapes depend on. Fails as heddle_session_run does.
HEDDLE_API heddle_status_t heddle_program_plan(const heddle_program_t *program, const char *entry,
                                               const heddle_tensor_t *const *inputs, size_t input_count,
                                               heddle_plan_info_t *out_plan);

/// What a loaded program and one session that runs one shape keep resident, in bytes; not what the libraries and a
/// GPU's driver take for themselves.
typedef struct heddle_memory_info_t {
  int64_t weight_bytes;        ///< in the host's memory: what a run maps of the artifact, or all of copied weights
  int64_t table_bytes;         ///< mapped weights beyond that, of tables: how much of them is touched, indices decide
  int64_t code_bytes;          ///< of the kernels, on a CPU
  int64_t program_bytes;       ///< tables of the artifact
  int64_t arena_bytes;         ///< intermediate results, in whole pages where they are large
  int64_t scratch_bytes;       ///< of all threads
  int64_t input_bytes;         ///< the caller's tensors of one run
  int64_t output_bytes;        ///< as the runtime allocates them, in whole pages where they are large
  int64_t transfer_bytes;      ///< the host's memory for inputs and outputs on their way to and from a GPU
  int64_t device_weight_bytes; ///< in a GPU's memory, which is the host's where they share it
  int64_t device_arena_bytes;  ///< inputs, outputs and intermediate results there
} heddle_memory_info_t;

/// Computes what running |entry| (null: the first) with inputs of these shapes takes, without running it. Reads the
/// inputs as heddle_program_plan does and fails as that, and with HEDDLE_STATUS_INVALID_ARGUMENT where the program was
/// loaded for inspection only: the device says how it holds things.
HEDDLE_API heddle_status_t heddle_program_memory(const heddle_program_t *program, const char *entry,
                                                 const heddle_tensor_t *const *inputs, size_t input_count,
                                                 heddle_memory_info_t *out_memory);

//===-- Sessions -------------------------------------------------------------------------------------------------===//

/// One user of a program: the memory of a run and the cache of its plans. Serves one run at a time (a second one is
/// refused); use one session per concurrent user. Keeps its program alive.
typedef struct heddle_session_t heddle_session_t;

HEDDLE_API heddle_status_t heddle_session_create(heddle_program_t *program, heddle_session_t **out_session);
/// Must not be called during a run.
HEDDLE_API void heddle_session_release(heddle_session_t *session);

/// Runs the entry point |entry| (null: the first) once. Where the artifact has one that specializes it for just the
/// inputs' sizes (heddle compile --bucket), that one does the work, to the same result within rounding.
///
/// |inputs| and |out_outputs| are in the order of heddle_program_info. Inputs stay the caller's and must neither change
/// nor go away until the call returns. An input may have i32 elements where i64 is asked for; it is widened. It may be
/// null where heddle_program_default_input has something to stand for it.
/// An element of |out_outputs| that is null receives a new tensor, which the caller releases; one that isn't must be a
/// tensor of the right type and shape that shares no memory with an input or another output, and is written in place.
/// A session allocates while shapes are new to it; a repeated run into given tensors allocates nothing.
/// On failure no tensor is handed out, and the content of given ones is unspecified.
/// Returns HEDDLE_STATUS_INVALID_ARGUMENT if an input doesn't fit the entry point's shapes or holds a value that a
/// kernel refuses (a token id outside its table), HEDDLE_STATUS_CANCELLED after heddle_session_cancel.
HEDDLE_API heddle_status_t heddle_session_run(heddle_session_t *session, const char *entry,
                                              const heddle_tensor_t *const *inputs, size_t input_count,
                                              heddle_tensor_t **out_outputs, size_t output_count);

/// Makes the run in progress return HEDDLE_STATUS_CANCELLED soon: when each thread has finished the part of a dispatch
/// that it is at. Callable from any thread. Does nothing when no run is in progress; a later run isn't affected.
HEDDLE_API void heddle_session_cancel(heddle_session_t *session);

/// A result of a dispatch, seen right after it was computed.
typedef struct heddle_result_info_t {
  const char *name; ///< the model's tensor; "" where the result is none of the model's
  heddle_element_type_t type;
  size_t rank;
  const int64_t *dims;        ///< as stored
  const uint8_t *permutation; ///< dimension i as stored is dimension permutation[i] of the model's tensor
  const void *data;           ///< valid during the call only
} heddle_result_info_t;

/// A dispatch that has just finished.
typedef struct heddle_dispatch_info_t {
  size_t index; ///< 0, 1, ... within the run
  const char *kernel;
  const char *root;
  const char *const *nodes;
  size_t node_count;
  const heddle_result_info_t *results;
  size_t result_count;
  int64_t items; ///< work items
  int64_t flops;
  int64_t bytes;
  int64_t nanoseconds; ///< wall time
  /// Where in the exported program each node comes from, |node_count| paths of modules: "encoder/layer.0/linear_3"; ""
  /// where the model file doesn't tell. PyTorch's exporter by torch.export does; an older one's node names are paths.
  const char *const *paths;
} heddle_dispatch_info_t;

/// Called on the thread that called heddle_session_run, between dispatches. May call heddle_session_cancel; must not
/// call any other function on the session. All pointers are valid during the call only.
typedef void (*heddle_observer_fn_t)(void *user, const heddle_dispatch_info_t *dispatch);

/// Has |observer| called after each dispatch of later runs; null ends that. Must not be called during a run.
HEDDLE_API void heddle_session_set_observer(heddle_session_t *session, heddle_observer_fn_t observer, void *user);

/// When one thread, or the device, was at work on a dispatch. Times are nanoseconds of CLOCK_MONOTONIC.
typedef struct heddle_span_t {
  size_t dispatch;           ///< as heddle_dispatch_info_t::index counts them
  unsigned thread;           ///< 0: the one that called heddle_session_run; else the pool's worker of that number
  int64_t begin_nanoseconds; ///< when it took its first work items
  int64_t end_nanoseconds;   ///< when it had done its last ones
  int64_t items;             ///< work items that it did in between
  int64_t first_item;        ///< the lowest of them
  int64_t end_item;          ///< behind the highest; what it didn't do of those between, others did
} heddle_span_t;

/// Has later runs keep spans, or with 0 no more: two clock reads a thread and dispatch, about 25 ns. Unlike an observer
/// it leaves a run as it is: a GPU still gets its work whole, and its own clock is read between dispatches. Must not be
/// called during a run.
HEDDLE_API void heddle_session_record_spans(heddle_session_t *session, int is_on);

/// Returns the |out_count| spans of the last heddle_session_run, which is over and succeeded, by thread and then by
/// begin. Those of one thread don't overlap; a dispatch without work items has none, nor has what isn't computed
/// (copies, transfers). A GPU is thread 0; where dispatches overlap there, the later one has the time after the earlier
/// one's end. Its clock is put beside the host's by the run's first submission, so that spans fit each other better
/// than the caller's times; without a clock of its own there are no spans. Valid until the session's next run or its
/// release.
HEDDLE_API const heddle_span_t *heddle_session_spans(const heddle_session_t *session, size_t *out_count);

//===-- Devices --------------------------------------------------------------------------------------------------===//

typedef struct heddle_device_info_t {
  const char *name;            ///< what heddle_program_options_t::device says for it: "cpu", "vulkan:0"
  const char *title;           ///< as it calls itself
  const char *kind;            ///< "cpu", "discrete", "integrated", "virtual", "software" or "other"
  const char *driver;          ///< whose driver, of which version; "" for a CPU
  uint64_t memory_bytes;       ///< its own memory; 0 for a CPU
  const char *const *features; ///< by the names that targets and shaders ask for
  size_t feature_count;
  const char *limits;  ///< for people: what bounds the sizes of work; "" where nothing does
  const char *problem; ///< why it can't be used; "" if it can
} heddle_device_info_t;

/// What this machine has to run programs on. Immutable; any thread may read it.
typedef struct heddle_device_list_t heddle_device_list_t;

/// Asks all drivers, which takes some milliseconds where there are GPUs. Of each kind of device the one comes first
/// that the kind's bare name means ("vulkan"). A kind that this machine has none of is listed by its bare name, with
/// the problem.
HEDDLE_API heddle_status_t heddle_device_list_create(heddle_device_list_t **out_list);
HEDDLE_API void heddle_device_list_release(heddle_device_list_t *list);
HEDDLE_API size_t heddle_device_list_count(const heddle_device_list_t *list);
/// Returns device |index|, below heddle_device_list_count(), or null; lives as long as the list.
HEDDLE_API const heddle_device_info_t *heddle_device_list_get(const heddle_device_list_t *list, size_t index);

//===-- This machine ---------------------------------------------------------------------------------------------===//

/// The CPU that this process runs on.
typedef struct heddle_host_info_t {
  const char *architecture;    ///< "x86-64"
  const char *cpu_name;        ///< as the CPU calls itself: "AMD EPYC 9575F 64-Core Processor"
  const char *const *features; ///< usable ones, the operating system asked too, by LLVM's names: "avx2", "fma" ...
  size_t feature_count;
  uint64_t l1d_bytes; ///< cache sizes as one core sees them; 0 where unknown
  uint64_t l2_bytes;
  uint64_t l3_bytes;
  unsigned thread_count; ///< heddle_default_thread_count()
} heddle_host_info_t;

/// Returns the description of this machine; static storage.
HEDDLE_API const heddle_host_info_t *heddle_host_info(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HEDDLE_HEDDLE_H
