// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the readers of all FlatBuffer tables share: null-safe access, index checks, and a budget for what they copy.

#pragma once

#include <string>
#include <vector>

#include <flatbuffers/flatbuffers.h>

#include "runtime/core/program_tables.h"
#include "runtime/core/status.h"
#include "runtime/include/heddle/artifact_generated.h"

namespace heddle::runtime {

/// Counts and strings that a writer left out are empty.
template <typename T> size_t count(const flatbuffers::Vector<T> *vector) { return vector ? vector->size() : 0; }
/// Whether elements of |alignment| may be read where they lie: the verifier knows the alignment of a vector's length,
/// not that of larger elements behind it.
template <typename T> bool is_aligned(const flatbuffers::Vector<T> *vector, size_t alignment) {
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % alignment == 0;
}
inline const char *text(const flatbuffers::String *string) { return string ? string->c_str() : ""; }

/// Reads tables on behalf of one artifact.
class table_reader {
public:
  /// |program_bytes| is the FlatBuffer's length.
  explicit table_reader(uint64_t program_bytes) : budget_(16 * program_bytes) {}

  heddle_status_t read_program(const fb::Program &program, uint64_t file_length, program_tables *out);

private:
  heddle_status_t read_sections(const fb::Program &program, uint64_t file_length);
  heddle_status_t read_target(const fb::Target *target);
  heddle_status_t read_addresses(const fb::Target &target, target_table *out);
  heddle_status_t read_constant(const fb::Constant *constant);
  heddle_status_t read_kernel(const fb::Kernel *kernel);

  heddle_status_t read_shaders(const fb::Target &target, target_table *out);
  heddle_status_t read_modules(const fb::Target &target, target_table *out);
  heddle_status_t read_shader(const fb::Shader &shader, const kernel_table &kernel, target_table *out);
  heddle_status_t read_variant(const fb::ShaderVariant &variant, const char *kernel, const target_table &target,
                               shader_variant_table *out);
  heddle_status_t read_self_test(const fb::SelfTest &test, const kernel_table &kernel,
                                 const std::vector<shader_operand_table> &operands, self_test_table *out);
  heddle_status_t read_self_test_operands(const fb::SelfTest &test, const char *kernel,
                                          const std::vector<shader_operand_table> &operands, self_test_table *out);
  heddle_status_t read_self_test_output(const fb::SelfTestOutput &output, const char *kernel, size_t element_bytes,
                                        self_test_output *out);

  heddle_status_t read_candidates(const fb::CandidateGroup &group);
  heddle_status_t read_candidate(const fb::Candidate &candidate, candidate_group_table *out);
  heddle_status_t read_candidate_case(const fb::CandidateCase &candidates, const candidate_group_table &group,
                                      candidate_case *out);
  heddle_status_t read_candidate_input(const fb::CandidateInput &input, const char *group, size_t element_bytes,
                                       candidate_case *out);

  heddle_status_t read_entry(const fb::Entry *entry);
  heddle_status_t read_inputs(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_default(const fb::Input &input, input_table *out);
  static void find_shared_dims(entry_table *entry);
  heddle_status_t read_outputs(const fb::Entry &entry, entry_table *out);
  /// Checks |out| against the entry point that it specializes, if it does.
  heddle_status_t read_specialization(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_dims(const flatbuffers::Vector<flatbuffers::Offset<fb::Dimension>> *dims, const char *tensor,
                            std::vector<heddle_dimension_t> *out);
  heddle_status_t read_shape_program(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_checks(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_buffers(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_steps(const fb::Entry &entry, entry_table *out);
  heddle_status_t read_dispatch(const fb::Dispatch &dispatch, size_t step, entry_table *out);
  heddle_status_t read_dispatch_bindings(const fb::Dispatch &dispatch, size_t step, const entry_table &entry,
                                         dispatch_step *out);
  heddle_status_t read_dispatch_targets(const fb::Dispatch &dispatch, size_t step, const entry_table &entry,
                                        dispatch_step *table);
  heddle_status_t check_shader_bindings(size_t step, const entry_table &entry, const dispatch_step &table) const;
  heddle_status_t read_results(const fb::Dispatch &dispatch, const entry_table &entry, dispatch_step *out);
  heddle_status_t read_store_slots(const fb::StoreSlots &store, size_t step, entry_table *out);
  heddle_status_t read_copy(const fb::Copy &copy, size_t step, entry_table *out);
  /// |is_written| asks for memory that a step may write.
  heddle_status_t read_binding(const fb::Binding *binding, bool is_written, size_t step, const entry_table &entry,
                               binding_table *out);
  heddle_status_t read_slots(const flatbuffers::Vector<uint32_t> *slots, const entry_table &entry,
                             std::vector<uint32_t> *out);

  /// Gives |string|, whose length it accounts for: names are hashed and compared.
  heddle_status_t read_name(const flatbuffers::String *string, const char **out);
  heddle_status_t check_slot(uint32_t slot, const entry_table &entry) const;
  heddle_status_t read_strings(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *strings,
                               std::vector<const char *> *out);

  /// Accounts for |elements| of |size| bytes about to be copied. A FlatBuffer may refer to one vector from many tables;
  /// without a budget a small file could ask for any amount of memory.
  heddle_status_t charge(size_t elements, size_t size);

  program_tables *tables_ = nullptr;
  uint64_t budget_;
};

/// Returns whether |value| is one of the element types.
inline bool is_element_type(fb::ElementType value) { return value <= fb::ElementType::boolean; }

} // namespace heddle::runtime
