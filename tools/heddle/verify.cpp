// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle verify: an artifact against the reference evaluator, kernel by kernel, or against given outputs.

#include "tools/heddle/command.h"
#include "tools/heddle/compare.h"
#include "tools/heddle/compiler_library.h"
#include "tools/heddle/files.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"
#include "tools/heddle/program.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <cstdio>

namespace heddle::cli {

namespace {

class VerifyCommand : public Command {
public:
  VerifyCommand()
      : Command("verify", "compare an artifact with its model or with given outputs",
                "ARTIFACT MODEL|--expected FILE [options]") {
    options.positional("ARTIFACT", artifact, "the artifact to check");
    options.positional("MODEL", model, "the model it was made from, evaluated by the reference");
    options.text("--expected", expected, "FILE", "outputs to compare with in place of a model: .npz or .npy");
    options.list("--input", inputs, "NAME=VALUE", "as for heddle run; default: generated inputs");
    options.list("--shape", shapes, "NAME=1x128", "generate inputs of this shape");
    options.number("--tolerance", tolerance, "T",
                   "bound of max|a-b| / max|b|; default: 1e-5, for bf16 1e-2, of a quantised model each kernel 1e-4");
    execution.declare(options);
  }

  Exit run() override {
    require(artifact, "ARTIFACT");
    if (expected.empty()) {
      require(model, "MODEL or --expected FILE");
      return compareWithModel();
    }
    if (!model.empty())
      fail(Exit::Usage, "H0134", "expects MODEL or --expected, got both");
    return compareWithOutputs();
  }

private:
  Exit compareWithModel() const {
    // First, so that a missing compiler is the message, not a missing input; then the artifact, for its device.
    const CompilerLibrary &compiler = CompilerLibrary::load();
    LoadedProgram loaded = loadProgram(artifact, execution);
    heddle_verify_options_t request = {};
    request.artifact_path = artifact.c_str();
    request.model_path = model.c_str();
    request.tolerance = tolerance;
    request.thread_count = execution.threads;
    request.device = execution.device.c_str();
    RunInputs run;
    std::vector<heddle_compiler_tensor_t> tensors;
    if (!inputs.empty() || !shapes.empty()) {
      run = prepare(loaded);
      for (size_t i = 0; i < run.tensors.size(); ++i)
        tensors.push_back(describe(loaded.entry().inputs[i].name, run.tensors[i].get()));
      request.inputs = tensors.data();
      request.input_count = tensors.size();
    }
    return compiler.verify(request) ? Exit::Fine : Exit::Differs;
  }

  /// What was asked for, or what the artifact's arithmetic allows against given outputs. A product of two factors of
  /// bf16 is off by up to 2^-8, 4e-3, of itself; sums average that, and layers add it up. A quantised model is another
  /// model, of which only gross faults are seen this way; what it costs is in the compile report.
  double getTolerance(const LoadedProgram &loaded) const {
    if (tolerance >= 0)
      return tolerance;
    const heddle_program_info_t &info = loaded.info();
    for (size_t i = 0; i < info.option_count; ++i) {
      std::string key = info.options[i].key, value = info.options[i].value;
      if (key == "quantize" || (key == "attention-int8" && value == "on"))
        return 0.1;
      if (key == "precision")
        return 1e-2;
    }
    return 1e-5;
  }

  Exit compareWithOutputs() const {
    LoadedProgram loaded = loadProgram(artifact, execution);
    RunInputs run = prepare(loaded);
    std::vector<TensorPtr> outputs = runOnce(loaded, run.pointers());
    std::vector<TensorPtr> wanted = readExpected(loaded.entry());
    const double bound = getTolerance(loaded);
    Table table({"<output", "max|a-b|", "relative", "<result"});
    bool allEqual = true;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!wanted[i])
        continue;
      Difference difference = compareTensors(outputs[i].get(), wanted[i].get());
      bool equal = difference.sameShape && difference.relative <= bound;
      allEqual = allEqual && equal;
      std::string result = !difference.sameShape ? "has shape " + describeDims(dimsOf(outputs[i].get())) +
                                                       ", expects " + describeDims(dimsOf(wanted[i].get()))
                           : equal ? "fine"
                                   : "differs";
      table.addRow({loaded.entry().outputs[i].name, formatNumber(difference.largest, 3),
                    formatNumber(difference.relative, 3), result});
    }
    std::fputs(printable(table.aligned()).c_str(), stdout);
    return allEqual ? Exit::Fine : Exit::Differs;
  }

  RunInputs prepare(const LoadedProgram &loaded) const {
    RunInputs run =
        prepareInputs(loaded.entry(), inputs, shapes,
                      inputs.empty() || !shapes.empty() ? Missing::Generate : Missing::Refuse, defaultInputs(loaded));
    if (!run.generated.empty())
      note("generated inputs: " + join(run.generated, ", "));
    return run;
  }

  /// The expected outputs in the entry's order, null for those that the file leaves out.
  std::vector<TensorPtr> readExpected(const heddle_entry_info_t &entry) const {
    std::vector<TensorPtr> wanted(entry.output_count);
    std::string bytes = readFile(expected);
    if (!looksLikeZip(bytes)) {
      if (entry.output_count != 1)
        fail(Exit::Usage, "H0327",
             "a .npy file holds one array, but there are " + std::to_string(entry.output_count) + " outputs",
             "in " + expected, "expects a .npz file with the outputs under their names");
      wanted[0] = readNpy(bytes, expected);
      return wanted;
    }
    NpzReader archive(std::move(bytes), expected);
    std::vector<std::string> names;
    bool hasAny = false;
    for (size_t i = 0; i < entry.output_count; ++i) {
      names.push_back(entry.outputs[i].name);
      if (archive.has(names.back()))
        wanted[i] = archive.read(names.back());
      hasAny = hasAny || wanted[i];
    }
    if (!hasAny)
      fail(Exit::Usage, "H0326", "'" + expected + "' holds none of the outputs: " + join(archive.keys(), ", "), {},
           "outputs: " + join(names, ", "));
    return wanted;
  }

  static heddle_compiler_tensor_t describe(const char *name, const heddle_tensor_t *tensor) {
    static_assert(sizeof(long long) == sizeof(int64_t), "dimensions are passed on as they are");
    return {name, heddle_tensor_type(tensor), heddle_tensor_rank(tensor),
            reinterpret_cast<const long long *>(heddle_tensor_dims(tensor)), heddle_tensor_data(tensor)};
  }

  std::string artifact, model, expected;
  std::vector<std::string> inputs, shapes;
  double tolerance = -1; ///< none was given
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

} // namespace heddle::cli
