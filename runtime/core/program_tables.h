// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of an artifact as the runtime works with it: the tables of artifact.fbs after every check, with plain
// indices and counts. Code that receives these structs trusts all indices in them; only artifact_reader makes them.
// Strings point into the artifact's FlatBuffer, of which the reader keeps a copy.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <heddle/heddle.h>

namespace heddle::runtime {

struct section_table {
  bool is_code;
  uint64_t offset; ///< within the file
  uint64_t length;
  uint64_t checksum;
};

/// A SPIR-V module.
struct shader_module_table {
  uint64_t offset; ///< within the target's section; a multiple of 4, as is the length
  uint64_t length;
};

struct shader_variant_table {
  std::vector<const char *> features; ///< what the device must have beyond Vulkan 1.1
  uint32_t module;                    ///< into target_table::modules
  std::array<uint32_t, 3> workgroup;  ///< local size along x, y, z: specialisation constants 0, 1, 2; at least 1 each
  std::vector<uint32_t> constants;    ///< specialisation constants 3, 4 ...
  std::array<uint32_t, 3> tile;       ///< units of the axes that one workgroup computes; at least 1 each
  std::array<uint32_t, 3> most;       ///< greatest extents of the axes that it is taken for; 0: any
  uint32_t shared_bytes;
};

/// The four storage buffers of every shader.
enum class shader_binding : uint8_t { constants, first_input, inputs, results };

struct shader_operand_table {
  heddle_element_type_t type;
  shader_binding binding;
};

/// An input of a self-test, made by heddle/self_test.h.
struct self_test_input {
  uint64_t bytes; ///< whole elements
  uint32_t seed, limit;
  uint32_t columns, depth, width, group; ///< of packed weights, none 0; else all 0
};

/// Elements of an output, side by side, that have values to be compared with.
struct self_test_run {
  uint32_t first, count; ///< within the output's bytes
};

struct self_test_output {
  uint64_t bytes; ///< whole elements
  std::vector<self_test_run> runs;
  const uint8_t *values; ///< of all runs, one after the other, not aligned
  float tolerance;       ///< of floats: by the largest magnitude among the values; finite, not negative
};

/// A small case of a kernel and what comes out of it; see artifact.fbs.
struct self_test_table {
  std::vector<int64_t> sizes;            ///< as many as the kernel has
  std::vector<uint32_t> axes;            ///< 3 extents, none 0, then 3 strides for each operand
  std::vector<self_test_input> inputs;   ///< for each operand but the last ones, which are results
  std::vector<self_test_output> outputs; ///< at least one
};

/// A kernel as compute shaders; see artifact.fbs.
struct shader_table {
  std::vector<shader_operand_table> operands; ///< as many as the kernel has bindings
  bool can_fail;
  uint32_t word_count;                        ///< of push constants
  std::optional<uint32_t> table;              ///< the operand that may be bound by rows; it is among the constants
  uint32_t table_row_bytes;                   ///< of one such row on the device; not 0 where there is a table
  std::vector<shader_variant_table> variants; ///< best first; the last runs on any device
  std::optional<self_test_table> self_test;
};

/// Either |kernels| or |shaders| has one for each kernel, and the other is empty: is_shader_target() says which.
struct target_table {
  const char *name;
  std::vector<const char *> features;
  uint32_t section;
  std::vector<uint64_t> kernels; ///< virtual addresses in the image
  std::vector<shader_module_table> modules;
  std::vector<shader_table> shaders;
};

/// Whether a target named |name| holds shaders: "vulkan", with or without a variant behind a colon.
bool is_shader_target(const char *name);

struct constant_table {
  uint64_t offset; ///< within the file
  uint64_t length;
  uint8_t element_bits; ///< 0 where unknown; unchecked
};

struct error_site_table {
  const char *node;
  const char *op;
  const char *what;
};

struct kernel_table {
  const char *name;
  const char *root;
  uint32_t binding_count;
  uint32_t size_count;
};

enum class shape_opcode : uint8_t {
  constant,
  input_dim,
  input_value,
  add,
  sub,
  mul,
  floor_div,
  ceil_div,
  mod,
  min,
  max,
  equal,
  less,
  select
};

/// Defines the slot of its own index from earlier slots; see artifact.fbs.
struct shape_instruction {
  int64_t value;
  uint32_t a, b, c;
  shape_opcode opcode;
};

struct shape_check_table {
  bool is_equal; ///< else: less or equal
  uint32_t a, b;
  const char *node;
  const char *message;
};

struct input_table {
  const char *name;
  heddle_element_type_t type;
  std::vector<heddle_dimension_t> dims;
  /// Index of the constant that stands for the input where a run leaves it out; negative if none does.
  int64_t default_constant = -1;
  std::vector<int64_t> default_dims; ///< sizes of that constant, as many as |dims|
};

/// Dimension |dim| of |input| must equal dimension |first_dim| of |first_input|, where their name occurs first.
struct shared_dimension {
  uint32_t input, dim;
  uint32_t first_input, first_dim;
};

struct output_table {
  const char *name;
  heddle_element_type_t type;
  std::vector<heddle_dimension_t> dims;
  std::vector<uint32_t> slots;
};

/// Arena memory, alive from step |first| to step |last| inclusive.
struct buffer_table {
  uint32_t bytes; ///< slot
  uint32_t first, last;
};

enum class binding_kind : uint8_t { input, output, constant, buffer };
struct binding_table {
  uint32_t index;
  binding_kind kind;
};

struct result_table {
  const char *name;
  heddle_element_type_t type;
  std::vector<uint32_t> slots;
  std::vector<uint8_t> permutation;
};

/// Slots of a dispatch that depend on the target.
struct target_dispatch {
  uint32_t grid, grain, scratch;
  /// Of shaders 3 extents, then 3 strides in bytes for each operand; else empty.
  std::vector<uint32_t> axes;
};

struct dispatch_step {
  uint32_t index; ///< counts the dispatches of its entry
  uint32_t kernel;
  std::vector<binding_table> bindings; ///< inputs, then one output per result
  std::vector<uint32_t> sizes;         ///< slots
  std::vector<target_dispatch> targets;
  std::vector<const char *> nodes;
  std::vector<const char *> paths; ///< one a node; "" where the model file has none
  std::vector<result_table> results;
  std::vector<error_site_table> error_sites; ///< what heddle_error_record_t::site points into
  uint32_t flops, bytes;                     ///< slots
};

struct store_slots_step {
  binding_table target;
  heddle_element_type_t type;
  std::vector<uint32_t> slots;
};

struct copy_step {
  binding_table source, target;
  uint32_t bytes; ///< slot
};

using step_table = std::variant<dispatch_step, store_slots_step, copy_step>;

struct entry_table {
  const char *name;
  std::vector<input_table> inputs;
  std::vector<shared_dimension> shared_dims;
  std::vector<output_table> outputs;
  std::vector<shape_instruction> shape_program;
  std::vector<shape_check_table> checks;
  std::vector<buffer_table> buffers;
  std::vector<step_table> steps;
  uint32_t dispatch_count;
  const char *specializes;               ///< name of the entry point that this one is for some sizes; "" for none
  std::vector<uint32_t> specializations; ///< those of this one, in the file's order
};

/// Elements of an input of a group's entry points, made by heddle/self_test.h or all |fill|.
struct candidate_input {
  uint64_t elements;
  uint32_t seed, limit;
  bool is_filled;
  int64_t fill;
};

/// What goes into a group's entry points; see artifact.fbs.
struct candidate_case {
  std::vector<int64_t> sizes;
  std::vector<candidate_input> inputs;   ///< one less than the entry points have
  std::vector<self_test_output> outputs; ///< as many as the entry points have, or none
};

struct candidate_table {
  uint32_t entry;
  const char *config;
  float seconds; ///< finite, not negative
};

/// Entry points that compute the same; see artifact.fbs.
struct candidate_group_table {
  const char *signature;
  const char *rows;
  const char *kernel;
  std::vector<const char *> nodes;
  float share; ///< from 0 to 1
  uint32_t dispatches;
  candidate_case timing;
  std::optional<candidate_case> check;     ///< with outputs
  std::vector<candidate_table> candidates; ///< at least one
};

struct program_tables {
  uint32_t format_version;
  uint32_t executable_abi_version;
  uint64_t program_bytes; ///< length of the FlatBuffer
  const char *producer;
  const char *model;
  std::vector<heddle_option_info_t> options;
  std::vector<section_table> sections;
  std::vector<target_table> targets; ///< best first
  std::vector<constant_table> constants;
  std::vector<kernel_table> kernels;
  std::vector<entry_table> entries;
  std::vector<candidate_group_table> candidates;
};

} // namespace heddle::runtime
