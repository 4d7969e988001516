// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the whole program: sections, targets, constants, kernels. entry_reader.cpp has those of an entry point.

#include "runtime/core/table_reader.h"

#include <cstring>
#include <string_view>
#include <unordered_set>

#include <heddle/artifact_format.h>

#include "runtime/core/checked_math.h"

namespace heddle::runtime {

heddle_status_t table_reader::charge(size_t elements, size_t size) {
  const uint64_t bytes = uint64_t(elements) * size;
  if (bytes > budget_)
    return damaged("its tables share their data more often than a compiler would write them");
  budget_ -= bytes;
  return nullptr;
}

heddle_status_t table_reader::read_strings(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *strings,
                                           std::vector<const char *> *out) {
  HEDDLE_RETURN_IF_ERROR(charge(count(strings), sizeof(char *)));
  out->reserve(count(strings));
  for (size_t i = 0; i < count(strings); ++i)
    HEDDLE_RETURN_IF_ERROR(read_name(strings->Get(i), &out->emplace_back()));
  return nullptr;
}

heddle_status_t table_reader::read_name(const flatbuffers::String *string, const char **out) {
  *out = text(string);
  return charge(1, std::strlen(*out));
}

heddle_status_t table_reader::read_sections(const fb::Program &program, uint64_t file_length) {
  // In order and apart: two sections over the same bytes would make code of weights.
  uint64_t end = sizeof(heddle_artifact_header_t);
  for (size_t i = 0; i < count(program.sections()); ++i) {
    const fb::Section &section = *program.sections()->Get(i);
    const auto kind = section.kind();
    if (kind != fb::SectionKind::code && kind != fb::SectionKind::weights)
      return damaged(format("section %zu is of unknown kind %u", i, static_cast<unsigned>(kind)));
    if (section.offset() % HEDDLE_SECTION_ALIGNMENT != 0 || section.offset() < end)
      return damaged(format("section %zu isn't aligned or overlaps what precedes it", i));
    if (!range_fits(section.offset(), section.length(), file_length))
      return damaged(format("section %zu reaches past the end of the file", i));
    end = section.offset() + section.length();
    tables_->sections.push_back(
        {kind == fb::SectionKind::code, section.offset(), section.length(), section.checksum()});
  }
  return nullptr;
}

heddle_status_t table_reader::read_target(const fb::Target *target) {
  target_table out{"", {}, target->section(), {}, {}, {}};
  HEDDLE_RETURN_IF_ERROR(read_name(target->name(), &out.name));
  if (!*out.name)
    return damaged("a target has no name");
  if (out.section >= tables_->sections.size() || !tables_->sections[out.section].is_code)
    return damaged(format("target '%s' names section %u, which holds no code", out.name, out.section));
  HEDDLE_RETURN_IF_ERROR(read_strings(target->features(), &out.features));
  HEDDLE_RETURN_IF_ERROR(is_shader_target(out.name) ? read_shaders(*target, &out) : read_addresses(*target, &out));
  tables_->targets.push_back(std::move(out));
  return nullptr;
}

heddle_status_t table_reader::read_addresses(const fb::Target &target, target_table *out) {
  // Addresses are looked up by a kernel's number. Whether they lie in code, the image knows when it is mapped.
  if (count(target.kernels()) != tables_->kernels.size())
    return damaged(
        format("target '%s' has %zu of %zu kernels", out->name, count(target.kernels()), tables_->kernels.size()));
  if (count(target.modules()) != 0 || count(target.shaders()) != 0)
    return damaged(format("target '%s' has shaders", out->name));
  if (!is_aligned(target.kernels(), sizeof(uint64_t)))
    return damaged(format("the kernels of target '%s' aren't aligned", out->name));
  HEDDLE_RETURN_IF_ERROR(charge(tables_->kernels.size(), sizeof(uint64_t)));
  for (size_t i = 0; i < count(target.kernels()); ++i)
    out->kernels.push_back(target.kernels()->Get(i));
  return nullptr;
}

heddle_status_t table_reader::read_constant(const fb::Constant *constant) {
  const size_t index = tables_->constants.size();
  if (constant->section() >= tables_->sections.size() || tables_->sections[constant->section()].is_code)
    return damaged(format("constant %zu names section %u, which holds no weights", index, constant->section()));
  // The alignment that kernels rely on: sections are aligned to more, so it is that of the offset.
  const section_table &section = tables_->sections[constant->section()];
  if (constant->offset() % 64 != 0 || !range_fits(constant->offset(), constant->length(), section.length))
    return damaged(format("constant %zu isn't aligned or lies outside section %u", index, constant->section()));
  tables_->constants.push_back({section.offset + constant->offset(), constant->length(), constant->element_bits()});
  return nullptr;
}

heddle_status_t table_reader::read_kernel(const fb::Kernel *kernel) {
  kernel_table out{text(kernel->name()), text(kernel->root()), kernel->binding_count(), kernel->size_count()};
  if (!*out.name)
    return damaged(format("kernel %zu has no name", tables_->kernels.size()));
  tables_->kernels.push_back(out);
  return nullptr;
}

heddle_status_t table_reader::read_program(const fb::Program &program, uint64_t file_length, program_tables *out) {
  // Each kind before those that refer to it: sections, then constants and kernels, then targets, then entry points and
  // what is said of them.
  tables_ = out;
  out->producer = text(program.producer());
  out->model = text(program.model());
  HEDDLE_RETURN_IF_ERROR(charge(count(program.options()), sizeof(heddle_option_info_t)));
  for (size_t i = 0; i < count(program.options()); ++i) {
    const fb::Option &option = *program.options()->Get(i);
    out->options.push_back({text(option.key()), text(option.value())});
  }
  HEDDLE_RETURN_IF_ERROR(read_sections(program, file_length));
  for (size_t i = 0; i < count(program.constants()); ++i)
    HEDDLE_RETURN_IF_ERROR(read_constant(program.constants()->Get(i)));
  for (size_t i = 0; i < count(program.kernels()); ++i)
    HEDDLE_RETURN_IF_ERROR(read_kernel(program.kernels()->Get(i)));
  if (count(program.targets()) > HEDDLE_MAX_TARGETS)
    return damaged(format("it has %zu targets", count(program.targets())));
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < count(program.targets()); ++i) {
    HEDDLE_RETURN_IF_ERROR(read_target(program.targets()->Get(i)));
    if (!names.insert(out->targets.back().name).second)
      return damaged(format("two targets are named '%s'", out->targets.back().name));
  }
  names.clear();
  for (size_t i = 0; i < count(program.entries()); ++i) {
    HEDDLE_RETURN_IF_ERROR(read_entry(program.entries()->Get(i)));
    if (!names.insert(out->entries.back().name).second)
      return damaged(format("two entry points are named '%s'", out->entries.back().name));
  }
  for (size_t i = 0; i < count(program.candidates()); ++i)
    HEDDLE_RETURN_IF_ERROR(read_candidates(*program.candidates()->Get(i)));
  return nullptr;
}

} // namespace heddle::runtime
