// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle run: one run of an artifact, or of a model that is compiled into the cache first.

#include "tools/heddle/command.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/model_cache.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"
#include "tools/heddle/print.h"
#include "tools/heddle/program.h"
#include "tools/heddle/text.h"

#include <cstdio>

namespace heddle::cli {

namespace {

class RunCommand : public Command {
public:
  RunCommand() : Command("run", "run an artifact once", "ARTIFACT|MODEL [--input NAME=VALUE]... [options]") {
    options.positional("ARTIFACT", artifact, "artifact; or a model, which is compiled into the cache first");
    options.list("--input", inputs, "NAME=VALUE", "@file.npy, @file.npz:key, 1,2,3, [[1,2],[3,4]], random:7, ones, -");
    options.list("--shape", shapes, "NAME=1x128", "generate inputs of this shape");
    options.text("-o,--output", output, "FILE", "write outputs to .npz or .npy; default: print them");
    execution.declare(options);
    execution.declareWeights(options);
  }

  Exit run() override {
    require(artifact, "ARTIFACT");
    // A model is compiled for the device that it is to run on.
    std::string target = kindOf(execution.device) == "vulkan" ? "vulkan" : "";
    LoadedProgram loaded = loadProgram(isModel(artifact) ? cachedArtifact(artifact, target) : artifact, execution);
    checkOutput(loaded.entry());
    RunInputs run = prepareInputs(loaded.entry(), inputs, shapes, shapes.empty() ? Missing::Refuse : Missing::Generate,
                                  defaultInputs(loaded));
    if (!run.generated.empty())
      note("generated inputs: " + join(run.generated, ", "));
    write(loaded.entry(), runOnce(loaded, run.pointers()));
    return Exit::Fine;
  }

private:
  /// Before the run: it may take long.
  void checkOutput(const heddle_entry_info_t &entry) const {
    bool isNpy = endsWith(output, ".npy");
    if (!output.empty() && !isNpy && !endsWith(output, ".npz"))
      fail(Exit::Usage, "H0327", "expects an output file called .npz or .npy, got '" + output + "'");
    if (isNpy && entry.output_count != 1)
      fail(Exit::Usage, "H0327",
           "a .npy file holds one array, but there are " + std::to_string(entry.output_count) + " outputs", {},
           "write --output " + output.substr(0, output.size() - 3) + "npz");
  }

  void write(const heddle_entry_info_t &entry, const std::vector<TensorPtr> &outputs) const {
    if (endsWith(output, ".npy"))
      return writeNpy(output, outputs[0].get());
    std::vector<std::pair<std::string, const heddle_tensor_t *>> arrays;
    for (size_t i = 0; i < outputs.size(); ++i)
      arrays.emplace_back(entry.outputs[i].name, outputs[i].get());
    if (!output.empty())
      return writeNpz(output, arrays);
    for (const auto &[name, tensor] : arrays)
      std::fputs(formatTensor(printable(name), tensor).c_str(), stdout);
  }

  std::string artifact, output;
  std::vector<std::string> inputs, shapes;
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeRunCommand() { return std::make_unique<RunCommand>(); }

} // namespace heddle::cli
