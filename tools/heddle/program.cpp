// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading artifacts.

#include "tools/heddle/program.h"

#include "tools/heddle/text.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace heddle::cli {

void ExecutionOptions::declare(OptionSet &options) {
  options.text("--device", device, "DEVICE", "cpu, vulkan, vulkan:1 or vulkan:NAME; default: cpu where it can");
  options.count("--threads", threads, "N", "threads; default: all that the process may use");
  options.text("--vulkan-disable", vulkanDisable, "FEATURES",
               "do without float16, dot or subgroup, to find a driver's fault");
  options.flag("--vulkan-serialize", vulkanSerialize,
               "submit each step of a run alone, to find one that loses the device");
}

std::string ExecutionOptions::deviceOf(const LoadedProgram &loaded) const {
  return device.empty() ? selectedDevice(loaded) : device;
}

void ExecutionOptions::declareWeights(OptionSet &options) {
  options.choice("--weights", weights, {"map", "copy"}, "map weights from the file, or copy them to huge pages");
}

bool isModel(const std::string &path) {
  std::error_code ignored;
  return endsWith(path, ".onnx") || endsWith(path, ".mlir") || std::filesystem::is_directory(path, ignored);
}

static LoadedProgram load(const std::string &path, const heddle_program_options_t &options, unsigned threads) {
  if (isModel(path))
    fail(Exit::Usage, "H0138", "'" + path + "' is a model, expects an artifact", {},
         "heddle compile " + path + " -o model.heddle makes one");
  heddle_program_t *program = nullptr;
  check(heddle_program_load(path.c_str(), &options, &program), "in " + path);
  return {path, ProgramPtr(program), threads, !options.inspect_only, 0};
}

LoadedProgram loadProgram(const std::string &path, const ExecutionOptions &execution) {
  // The runtime reads the twins of these options itself. No other thread runs yet that could read the environment.
  if (!execution.vulkanDisable.empty())
    setenv("HEDDLE_VULKAN_DISABLE", execution.vulkanDisable.c_str(), 1);
  if (execution.vulkanSerialize)
    setenv("HEDDLE_VULKAN_SERIALIZE", "1", 1);
  heddle_thread_pool_t *pool = nullptr;
  check(heddle_thread_pool_create(execution.threads, &pool));
  ThreadPoolPtr owner(pool);
  heddle_program_options_t options = {};
  options.device = execution.device.empty() ? nullptr : execution.device.c_str();
  options.weights = execution.weights == "copy" ? HEDDLE_WEIGHTS_COPY : HEDDLE_WEIGHTS_MAP;
  options.thread_pool = pool;
  return load(path, options, heddle_thread_pool_thread_count(pool));
}

void LoadedProgram::tellNotes() const {
  for (; const char *line = heddle_program_note(program.get(), noted); ++noted)
    note(std::string("note: ") + line);
}

std::string selectedDevice(const LoadedProgram &loaded) {
  const heddle_program_info_t &info = loaded.info();
  for (size_t i = 0; i < info.target_count; ++i)
    if (info.targets[i].selected)
      return std::string(kindOf(info.targets[i].name));
  return {};
}

std::string_view kindOf(std::string_view name) { return name.substr(0, name.find(':')); }

LoadedProgram loadForInspection(const std::string &path) {
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  return load(path, options, heddle_default_thread_count());
}

std::vector<TensorPtr> defaultInputs(const LoadedProgram &loaded) {
  std::vector<TensorPtr> result(loaded.entry().input_count);
  for (size_t i = 0; i < result.size(); ++i)
    if (const heddle_tensor_t *standing = heddle_program_default_input(loaded.program.get(), nullptr, i)) {
      result[i] = createTensor(heddle_tensor_type(standing), dimsOf(standing));
      std::memcpy(heddle_tensor_data(result[i].get()), heddle_tensor_data(standing),
                  heddle_tensor_byte_length(standing));
    }
  return result;
}

std::vector<TensorPtr> runOnce(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs) {
  heddle_session_t *session = nullptr;
  check(heddle_session_create(loaded.program.get(), &session), loaded.context());
  SessionPtr owner(session);
  std::vector<heddle_tensor_t *> outputs(loaded.entry().output_count);
  check(heddle_session_run(session, nullptr, inputs.data(), inputs.size(), outputs.data(), outputs.size()),
        loaded.context());
  loaded.tellNotes();
  std::vector<TensorPtr> result;
  for (heddle_tensor_t *output : outputs)
    result.emplace_back(output);
  return result;
}

} // namespace heddle::cli
