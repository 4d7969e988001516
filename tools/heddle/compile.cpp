// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle compile: a model file becomes an artifact. All the work is the compiler library's.

#include "tools/heddle/calibration.h"
#include "tools/heddle/command.h"
#include "tools/heddle/compiler_library.h"
#include "tools/heddle/text.h"
#include "tools/heddle/tuning_files.h"

#include <cstdio>

namespace heddle::cli {

namespace {

class CompileCommand : public Command {
public:
  CompileCommand() : Command("compile", "compile a model file to an artifact", "MODEL -o ARTIFACT [options]") {
    options.positional("MODEL", model, "model: .onnx, or .mlir as --compile-to import writes it");
    options.text("-o,--output", output, "FILE", "the artifact; with --compile-to the IR, '-' for standard output");
    options.text("--target", targets, "TARGET,...",
                 "cpu (this machine, the default), cpu:x86-64-v3, cpu:x86-64-v4 ...");
    options.list("--shape", shapes, "NAME=1x128", "fix the shape of an input; may be repeated");
    options.text("--bucket", bucket, "SIZE,...",
                 "also compile for just these lengths, as in 32,64 or sequence=32,64; others run as well");
    options.text("--precision", precision, "f32|bf16",
                 "of weights of matrix products; bf16 (targets with avx512bf16) halves them; default: f32");
    options.text("--quantize", quantize, "w8a8|w8a32|w4a32",
                 "store weights as 8 or 4 bits; w8a8 multiplies integers too; default: float weights");
    options.text("--embedding", embedding, "int8|f32", "embedding tables of a quantised model; default: int8");
    options.list("--exclude", excludes, "GLOB", "nodes that stay float, as in '*/layer.0/*'; may be repeated");
    options.number("--max-loss", maxLoss, "X",
                   "leave nodes float until max|difference| / max|float| is at most X, as in 0.01");
    options.list("--calibrate", calibration, "PATH",
                 ".npz files, a folder of them, or .jsonl of ids: measure on these; may be repeated");
    options.flag("--no-measure", noMeasure, "don't measure what quantisation costs");
    options.text("--attention-int8", attention, "auto|on|off",
                 "multiply attention as 8 bits, values by --calibrate data; auto, the default: with w8a8, where it is "
                 "faster and "
                 "loses little");
    options.list("--tuning", tunings, "FILE",
                 "take tiles from a file that heddle tune wrote; may be repeated, a later one wins");
    options.flag("--no-tuning", noTuning, "take no tiles from tuning files, not even from those of ~/.config/heddle");
    options.text("--compile-to", phase, "PHASE", "stop after import, fusion, quantization, outlining, tiling ...");
    options.text("--dump-phases-to", dumpFolder, "FOLDER", "write the IR after each phase");
    options.text("--report", report, "FILE", "write the compile report: .json or .html");
    options.count("--threads", threads, "N", "threads to compile with; default: all that the process may use");
    options.rare();
    options.flag("--no-pair-safe", noPairSafe, "w8a8 without the coarser weights that AVX2 multiplies fastest");
    options.flag("--no-fusion", noFusion, "leave the model's operators as they are written, for comparison");
  }

  Exit run() override {
    require(model, "MODEL");
    if (phase.empty())
      require(output, "-o ARTIFACT");
    std::vector<const char *> shapePointers = toPointers(shapes), excludePointers = toPointers(excludes);
    auto orNull = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
    heddle_compile_options_t request = {};
    request.model_path = model.c_str();
    request.output_path = output.empty() ? "-" : output.c_str(); // only IR goes to standard output
    request.targets = orNull(targets);
    request.shapes = shapePointers.data();
    request.shape_count = shapePointers.size();
    request.bucket = orNull(bucket);
    request.precision = orNull(precision);
    request.quantize = orNull(quantize);
    request.embedding = orNull(embedding);
    request.excludes = excludePointers.data();
    request.exclude_count = excludePointers.size();
    checkMeasuring();
    checkTuning();
    TuningFiles tuningFiles(tunings);
    tuningFiles.attach(request);
    request.no_tuning = noTuning;
    request.max_loss = maxLoss == kNone ? 0 : maxLoss;
    request.no_measure = noMeasure;
    request.no_pair_safe = noPairSafe;
    request.attention_int8 = orNull(attention);
    request.compile_to = orNull(phase);
    request.dump_phases_to = orNull(dumpFolder);
    request.report_path = orNull(report);
    request.thread_count = threads;
    request.no_fusion = noFusion;
    Calibration data(calibration);
    data.check();
    data.attach(request);
    try {
      CompilerLibrary::load().compile(request);
    } catch (const CommandError &) {
      data.rethrow();
      throw;
    }
    return Exit::Fine;
  }

private:
  /// Options about the loss go with something that has one.
  void checkMeasuring() const {
    const char *option = maxLoss != kNone ? "--max-loss" : !calibration.empty() ? "--calibrate" : nullptr;
    bool hasLoss = !quantize.empty() || (attention == "on" && maxLoss == kNone);
    if (option && !hasLoss)
      fail(Exit::Usage, "H0132", std::string(option) + " is about what quantisation costs, but nothing is quantised",
           {}, std::string("add --quantize w8a8, or leave ") + option + " out");
    if (option && noMeasure)
      fail(Exit::Usage, "H0132", std::string("--no-measure and ") + option + " exclude each other");
    if (maxLoss != kNone && !(maxLoss > 0))
      fail(Exit::Usage, "H0132", "--max-loss expects a number above 0, got " + formatNumber(maxLoss, 3));
  }

  void checkTuning() const {
    if (noTuning && !tunings.empty())
      fail(Exit::Usage, "H0132", "--no-tuning and --tuning exclude each other");
  }

  static std::vector<const char *> toPointers(const std::vector<std::string> &texts) {
    std::vector<const char *> pointers;
    for (const std::string &text : texts)
      pointers.push_back(text.c_str());
    return pointers;
  }

  std::string model, output, targets, bucket, precision, quantize, embedding, attention, phase, dumpFolder, report;
  std::vector<std::string> shapes, excludes, calibration, tunings;
  static constexpr double kNone = -1;
  double maxLoss = kNone;
  unsigned threads = 0;
  bool noMeasure = false, noPairSafe = false, noFusion = false, noTuning = false;
};

} // namespace

std::unique_ptr<Command> makeCompileCommand() { return std::make_unique<CompileCommand>(); }

} // namespace heddle::cli
