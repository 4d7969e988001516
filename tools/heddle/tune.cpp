// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle tune: finds the fastest configurations of a model's kernels on a device, and keeps them in a file.

#include "tools/heddle/command.h"
#include "tools/heddle/duration.h"
#include "tools/heddle/tune_measure.h"
#include "tools/heddle/tune_model.h"
#include "tools/heddle/tune_work.h"

namespace heddle::cli {

namespace {

class TuneCommand : public Command {
public:
  TuneCommand() : Command("tune", "find the fastest tiles for a device", "MODEL -o FILE [options]") {
    options.positionals("MODEL", arguments, "the model; with --merge the files");
    options.text("-o,--output", request.output, "FILE", "the tuning file, as in zen4.tuning.jsonl");
    options.text("--time", time, "T", "time for all of it, as in 90s or 1h30m; default: 10m");
    options.count("--candidates", request.candidates, "N",
                  "try up to so many of a kernel; default: by the time that there is");
    options.list("--shape", request.shapes, "NAME=1x128", "shape to tune for; naming an input again adds a shape");
    options.list("--tuning", request.tunings, "FILE", "start from these tiles; may be repeated, a later one wins");
    options.flag("--no-tuning", request.noTuning, "start from the table, without tuning files of ~/.config/heddle");
    options.text("--precision", request.precision, "f32|bf16", "as for heddle compile");
    options.text("--quantize", request.quantize, "w8a8|w8a32|w4a32", "as for heddle compile");
    options.text("--attention-int8", request.attention, "auto|on|off", "as for heddle compile");
    options.list("--exclude", request.excludes, "GLOB", "as for heddle compile");
    options.text("--export-candidates", exportPath, "ARTIFACT",
                 "write what is to be measured, for a device without compiler");
    options.text("--target", request.target, "TARGET", "with --export-candidates: of that device, as in cpu:x86-64-v3");
    options.text("--measure", artifact, "ARTIFACT", "measure such an artifact; needs no compiler");
    options.flag("--merge", merges, "put the lines of tuning files together; of two for the same the later one wins");
    request.execution.declare(options);
    options.rare();
    options.flag("--no-pair-safe", request.noPairSafe, "as for heddle compile");
  }

  Exit run() override {
    checkForm();
    if (merges)
      return merge();
    if (!time.empty())
      request.seconds = readTime();
    if (!artifact.empty())
      return measureCandidates(artifact, request.output, request.execution, request.seconds);
    request.model = arguments[0];
    return exportPath.empty() ? tuneModel(request) : exportCandidates(request, exportPath);
  }

private:
  /// One form at a time, with its arguments.
  void checkForm() const {
    const std::pair<const char *, bool> forms[] = {
        {"--merge", merges}, {"--measure", !artifact.empty()}, {"--export-candidates", !exportPath.empty()}};
    const char *form = nullptr;
    for (auto [name, isGiven] : forms) {
      if (isGiven && form)
        fail(Exit::Usage, "H0132", std::string(form) + " and " + name + " exclude each other");
      form = isGiven ? name : form;
    }
    if (exportPath.empty())
      require(request.output, "-o FILE");
    else if (!request.output.empty())
      fail(Exit::Usage, "H0132", "--export-candidates and -o exclude each other", {},
           "-o is for what heddle tune --measure finds");
    if (artifact.empty())
      require(arguments.empty() ? std::string() : arguments[0], merges ? "files to merge" : "MODEL");
    if (!merges && arguments.size() > (artifact.empty() ? 1u : 0u))
      fail(Exit::Usage, "H0134", "unexpected argument '" + arguments.back() + "'", {},
           "usage: heddle tune " + options.usageText());
    if (!request.target.empty() && exportPath.empty())
      fail(Exit::Usage, "H0132", "--target goes with --export-candidates", {}, "--device says what to tune for here");
    if (request.noTuning && !request.tunings.empty())
      fail(Exit::Usage, "H0132", "--no-tuning and --tuning exclude each other");
  }

  double readTime() const {
    if (std::optional<double> seconds = parseDuration(time))
      return *seconds;
    fail(Exit::Usage, "H0132", "--time expects a span such as 90s, 10m or 1h30m, got '" + time + "'");
  }

  Exit merge() const {
    TuningLines lines;
    std::vector<std::string> remarks;
    for (const std::string &path : arguments)
      lines.read(path, remarks);
    tell(remarks);
    lines.write(request.output);
    note(countLines(lines.size()) + " in " + request.output);
    return Exit::Fine;
  }

  TuneRequest request;
  std::vector<std::string> arguments;
  std::string time, exportPath, artifact;
  bool merges = false;
};

} // namespace

std::unique_ptr<Command> makeTuneCommand() { return std::make_unique<TuneCommand>(); }

} // namespace heddle::cli
