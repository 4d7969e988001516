// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle inspect: all that an artifact says about itself, for people or as JSON.

#include "tools/heddle/command.h"
#include "tools/heddle/inspect_json.h"
#include "tools/heddle/memory.h"
#include "tools/heddle/print.h"
#include "tools/heddle/program.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <cstdio>

#include <heddle/candidates.h>

namespace heddle::cli {

namespace {

std::string describeTensor(const heddle_tensor_info_t &tensor) {
  return "  " + std::string(tensor.name) + " " + heddle_element_type_name(tensor.type) + describeDims(tensor);
}

std::string describeEntry(const heddle_program_t *program, const heddle_entry_info_t &entry) {
  std::string out = *entry.specializes
                        ? std::string(entry.name) + ", for runs of " + entry.specializes + " with just these sizes\n"
                        : "";
  out += "inputs\n";
  for (size_t i = 0; i < entry.input_count; ++i) {
    const heddle_tensor_t *standing = heddle_program_default_input(program, entry.name, i);
    out +=
        describeTensor(entry.inputs[i]) + (standing ? ", optional, default " + summarizeTensor(standing) : "") + "\n";
  }
  out += "outputs\n";
  for (size_t i = 0; i < entry.output_count; ++i)
    out += describeTensor(entry.outputs[i]) + "\n";
  return out;
}

/// "12 SPIR-V modules, 20 shaders in 31 variants", then which variants aren't for every device.
std::string describeShaders(const heddle_target_info_t &target) {
  size_t variants = 0;
  // By what they need, in the order of first use.
  std::vector<std::pair<std::string, size_t>> needs;
  for (size_t i = 0; i < target.shader_count; ++i)
    for (size_t j = 0; j < target.shaders[i].variant_count; ++j) {
      const heddle_shader_variant_info_t &variant = target.shaders[i].variants[j];
      std::string need = join({variant.features, variant.features + variant.feature_count}, " ");
      auto known = std::find_if(needs.begin(), needs.end(), [&](const auto &entry) { return entry.first == need; });
      ++(known == needs.end() ? needs.emplace_back(need, 0) : *known).second;
      ++variants;
    }
  auto counted = [](size_t count, const char *noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
  };
  std::string out = "    " + counted(target.module_count, "SPIR-V module") + ", " +
                    counted(target.shader_count, "kernel") + " in " + counted(variants, "variant") + "\n";
  for (const auto &[need, count] : needs)
    out += "    " + std::to_string(count) + (count == 1 ? " needs " : " need ") +
           (need.empty() ? "nothing beyond Vulkan 1.1" : need) + "\n";
  return out;
}

std::string describeTargets(const heddle_program_info_t &info) {
  std::string out = "targets, best first\n";
  for (size_t i = 0; i < info.target_count; ++i) {
    const heddle_target_info_t &target = info.targets[i];
    const bool isCpu = kindOf(target.name) == "cpu";
    out += "  " + std::string(target.name) + ", " + formatBytes(target.code_bytes) + " of code";
    if (*target.missing_feature)
      out += std::string(isCpu ? ", not for this CPU: it lacks " : ", not for this machine: it lacks ") +
             target.missing_feature;
    else if (isCpu)
      out += ", runs on this CPU";
    out += "\n";
    if (target.feature_count)
      out += "    needs " + join({target.features, target.features + target.feature_count}, " ") + "\n";
    if (target.shader_count)
      out += describeShaders(target);
  }
  return out;
}

std::string describeKernels(const heddle_program_info_t &info) {
  Table table({"<  kernel", "<root", "dispatches", "nodes"});
  for (size_t i = 0; i < info.kernel_count; ++i) {
    const heddle_kernel_info_t &kernel = info.kernels[i];
    table.addRow({"  " + std::string(kernel.name), kernel.root, std::to_string(kernel.dispatch_count),
                  std::to_string(kernel.node_count)});
  }
  return "kernels\n" + table.aligned();
}

/// The beginning of a text that is for programs rather than readers.
std::string shorten(const std::string &text) {
  constexpr size_t kMost = 200, kShown = 60;
  return text.size() <= kMost ? text : text.substr(0, kShown) + "... (" + std::to_string(text.size()) + " characters)";
}

std::string describeOptions(const heddle_program_info_t &info) {
  std::string out = info.option_count ? "\noptions it was compiled with\n" : "";
  for (size_t i = 0; i < info.option_count; ++i)
    out += "  " + std::string(info.options[i].key) + " = " + shorten(info.options[i].value) + "\n";
  return out;
}

/// Of an artifact for measurements, in the place of its entry points.
std::string describeCandidates(const heddle_program_t *program) {
  std::string out = "\nkernels to be measured, with expected times\n";
  for (size_t i = 0; i < heddle_candidate_group_count(program); ++i) {
    const heddle_candidate_group_t &group = *heddle_candidate_group(program, i);
    out += "  " + std::string(group.signature) + ", rows " + group.rows + ", " + formatNumber(group.share * 100, 3) +
           " % of the time, " + std::to_string(group.dispatches) + " dispatches a run" +
           (group.has_expected ? "" : ", results unknown") + "\n";
    for (size_t j = 0; j < group.candidate_count; ++j)
      out += "    " + std::string(group.candidates[j].entry) + "  " +
             formatNumber(group.candidates[j].seconds * 1e6, 4) + " us  " + group.candidates[j].config + "\n";
  }
  return out;
}

class InspectCommand : public Command {
public:
  InspectCommand() : Command("inspect", "show what an artifact holds", "ARTIFACT [options]") {
    options.positional("ARTIFACT", artifact, "the artifact");
    options.flag("--json", json, "print JSON");
    options.flag("--memory", memory, "also show the memory and work of one run");
    options.list("--shape", shapes, "NAME=1x128", "shapes for --memory; default: batch 1, length 128");
    execution.declare(options);
    execution.declareWeights(options);
  }

  Exit run() override {
    require(artifact, "ARTIFACT");
    LoadedProgram loaded = loadForInspection(artifact);
    std::optional<MemoryReport> report;
    if (memory || !shapes.empty())
      report = reportMemory(loaded);
    std::string text = json ? programJson(loaded.program.get(), report ? &*report : nullptr) : describe(loaded, report);
    std::fputs(printable(text).c_str(), stdout);
    return Exit::Fine;
  }

private:
  /// The memory of a run is the device's to tell; what none here can run has at least a plan.
  MemoryReport reportMemory(const LoadedProgram &inspected) const {
    try {
      return memoryOf(loadProgram(artifact, execution), shapes);
    } catch (const CommandError &error) {
      if (error.exit != Exit::Device || !execution.device.empty())
        throw;
    }
    return memoryOf(inspected, shapes);
  }

  std::string describe(const LoadedProgram &loaded, const std::optional<MemoryReport> &report) const {
    const heddle_program_info_t &info = loaded.info();
    std::string out = artifact + ": " + info.model + ", compiled by " + info.producer + "\n" + "format " +
                      std::to_string(info.format_version) + ", executable ABI " +
                      std::to_string(info.executable_abi_version) + ", " + formatBytes(info.file_bytes) + " (weights " +
                      formatBytes(info.constant_bytes) + ", tables " + formatBytes(info.program_bytes) + ")\n";
    const bool isForMeasurements = heddle_candidate_group_count(loaded.program.get()) != 0;
    for (size_t i = 0; i < info.entry_count && !isForMeasurements; ++i)
      out += "\n" + describeEntry(loaded.program.get(), info.entries[i]);
    if (isForMeasurements)
      out += describeCandidates(loaded.program.get());
    out += "\n" + describeTargets(info) + "\n" + describeKernels(info) + describeOptions(info);
    return report ? out + "\n" + describeMemory(*report) : out;
  }

  std::string artifact;
  std::vector<std::string> shapes;
  bool json = false, memory = false;
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeInspectCommand() { return std::make_unique<InspectCommand>(); }

} // namespace heddle::cli
