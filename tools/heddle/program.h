// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading artifacts, and telling them from models.

#pragma once

#include "tools/heddle/handles.h"
#include "tools/heddle/options.h"

#include <string>

namespace heddle::cli {

/// Where and how an artifact runs.
struct ExecutionOptions {
  std::string device, vulkanDisable;
  bool vulkanSerialize = false;
  std::string weights = "map";
  unsigned threads = 0;

  /// --device, --threads and what looks for faults of drivers, for every command that executes.
  void declare(OptionSet &options);
  /// What reports call the device that |loaded| runs on: as it was asked for, else its kind.
  std::string deviceOf(const struct LoadedProgram &loaded) const;
  /// --weights, where the time or the memory of a run matters.
  void declareWeights(OptionSet &options);
};

struct LoadedProgram {
  std::string path;
  ProgramPtr program;
  unsigned threads;         ///< that runs use
  bool canRun;              ///< loaded for execution, not only to look into it
  mutable size_t noted = 0; ///< remarks that were told

  const heddle_program_info_t &info() const { return *heddle_program_info(program.get()); }
  /// The entry point that commands run: the first.
  const heddle_entry_info_t &entry() const { return info().entries[0]; }
  /// Tells on stderr what the device remarks since the last call: a shader that it computes wrongly.
  void tellNotes() const;
  /// The context line of errors: "in model.heddle".
  std::string context() const { return "in " + path; }
};

/// Loads for execution. Throws for anything that is no artifact for this machine.
LoadedProgram loadProgram(const std::string &path, const ExecutionOptions &options);

/// The kind of device that the program runs on: "cpu".
std::string selectedDevice(const LoadedProgram &loaded);

/// The kind of device of a target or a device by its name: "cpu" of "cpu:x86-64-v3".
std::string_view kindOf(std::string_view name);

/// Loads to look into: any target's artifact will do.
LoadedProgram loadForInspection(const std::string &path);

/// Copies of the tensors that stand for inputs which a run leaves out, null where it can't; in the entry's order.
std::vector<TensorPtr> defaultInputs(const LoadedProgram &loaded);

/// Whether |path| is a model by its name (.onnx, .mlir) or a folder, rather than an artifact.
bool isModel(const std::string &path);

/// Runs the entry point once on inputs in its order.
std::vector<TensorPtr> runOnce(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs);

} // namespace heddle::cli
