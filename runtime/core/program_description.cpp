// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the arrays of heddle_program_info_t. All strings stay where they are, in the artifact's tables.

#include "runtime/core/program_description.h"

#include <unordered_set>

namespace heddle::runtime {

namespace {

/// One for each kernel of |target|; none where it is code of a CPU.
std::vector<heddle_shader_info_t> describe_shaders(const target_table &target, program_description *out) {
  std::vector<heddle_shader_info_t> shaders;
  for (const shader_table &shader : target.shaders) {
    std::vector<heddle_shader_variant_info_t> &variants = out->variants.emplace_back();
    for (const shader_variant_table &variant : shader.variants)
      variants.push_back({variant.features.data(),
                          variant.features.size(),
                          variant.module,
                          {variant.workgroup[0], variant.workgroup[1], variant.workgroup[2]},
                          variant.shared_bytes});
    shaders.push_back({variants.data(), variants.size()});
  }
  return shaders;
}

void describe_targets(const program_tables &tables, const std::vector<const char *> &missing_features, size_t selected,
                      program_description *out) {
  for (size_t i = 0; i < tables.targets.size(); ++i) {
    const target_table &target = tables.targets[i];
    const std::vector<heddle_shader_info_t> &shaders = out->shaders.emplace_back(describe_shaders(target, out));
    out->targets.push_back({target.name, target.features.data(), target.features.size(),
                            tables.sections[target.section].length, missing_features[i], i == selected,
                            target.modules.size(), shaders.data(), shaders.size()});
  }
  for (const section_table &section : tables.sections)
    out->sections.push_back({section.is_code ? "code" : "weights", section.offset, section.length, section.checksum});
}

void describe_entries(const program_tables &tables, program_description *out) {
  for (const entry_table &entry : tables.entries) {
    std::vector<heddle_tensor_info_t> &tensors = out->tensors.emplace_back();
    for (const input_table &input : entry.inputs)
      tensors.push_back({input.name, input.type, input.dims.size(), input.dims.data()});
    for (const output_table &output : entry.outputs)
      tensors.push_back({output.name, output.type, output.dims.size(), output.dims.data()});
    const size_t input_count = entry.inputs.size();
    out->entries.push_back({entry.name, tensors.data(), input_count, tensors.data() + input_count, entry.outputs.size(),
                            entry.dispatch_count, entry.specializes});
  }
}

void describe_kernels(const program_tables &tables, program_description *out) {
  for (const kernel_table &kernel : tables.kernels)
    out->kernels.push_back({kernel.name, kernel.root, nullptr, 0, 0});
  out->kernel_nodes.resize(tables.kernels.size());
  // Several entry points of one model name the same nodes.
  std::vector<std::unordered_set<std::string>> seen(tables.kernels.size());
  for (const entry_table &entry : tables.entries)
    for (const step_table &step : entry.steps)
      if (const auto *dispatch = std::get_if<dispatch_step>(&step)) {
        ++out->kernels[dispatch->kernel].dispatch_count;
        for (const char *node : dispatch->nodes)
          if (seen[dispatch->kernel].insert(node).second)
            out->kernel_nodes[dispatch->kernel].push_back(node);
      }
  for (size_t i = 0; i < tables.kernels.size(); ++i) {
    out->kernels[i].nodes = out->kernel_nodes[i].data();
    out->kernels[i].node_count = out->kernel_nodes[i].size();
  }
}

void describe_candidates(const program_tables &tables, program_description *out) {
  for (const candidate_group_table &group : tables.candidates) {
    std::vector<heddle_candidate_t> &candidates = out->candidates.emplace_back();
    for (const candidate_table &candidate : group.candidates)
      candidates.push_back({tables.entries[candidate.entry].name, candidate.config, candidate.seconds});
    const entry_table &entry = tables.entries[group.candidates.front().entry];
    out->candidate_groups.push_back({group.signature, group.rows, group.kernel, group.nodes.data(), group.nodes.size(),
                                     group.share, group.dispatches, group.check.has_value(), entry.inputs.size(),
                                     entry.outputs.size(), candidates.data(), candidates.size()});
  }
}

} // namespace

void describe_program(const artifact &artifact, const std::vector<const char *> &missing_features, size_t selected,
                      program_description *out) {
  const program_tables &tables = artifact.tables;
  describe_targets(tables, missing_features, selected, out);
  describe_entries(tables, out);
  describe_kernels(tables, out);
  describe_candidates(tables, out);

  heddle_program_info_t &info = out->info;
  info.format_version = tables.format_version;
  info.executable_abi_version = tables.executable_abi_version;
  info.file_bytes = artifact.source.length();
  info.program_bytes = tables.program_bytes;
  for (const constant_table &constant : tables.constants)
    info.constant_bytes += constant.length;
  info.producer = tables.producer;
  info.model = tables.model;
  info.options = tables.options.data();
  info.option_count = tables.options.size();
  info.sections = out->sections.data();
  info.section_count = out->sections.size();
  info.targets = out->targets.data();
  info.target_count = out->targets.size();
  info.kernels = out->kernels.data();
  info.kernel_count = out->kernels.size();
  info.entries = out->entries.data();
  info.entry_count = out->entries.size();
}

} // namespace heddle::runtime
