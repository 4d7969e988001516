// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle tune: finds the fastest configurations of kernels on a device, and keeps them in a file.

#include "tools/heddle/command.h"
#include "tools/heddle/duration.h"
#include "tools/heddle/tune_measure.h"
#include "tools/heddle/tune_work.h"

namespace heddle::cli {

namespace {

class TuneCommand : public Command {
public:
  TuneCommand() : Command("tune", "find the fastest tiles for a device", "--measure ARTIFACT -o FILE [options]") {
    options.positionals("FILE", files, "with --merge: tuning files");
    options.text("-o,--output", output, "FILE", "the tuning file, as in zen4.tuning.jsonl");
    options.text("--measure", artifact, "ARTIFACT", "measure candidates of kernels; needs no compiler");
    options.text("--time", time, "T", "time for all of it, as in 90s or 1h30m; default: 10m");
    options.flag("--merge", merges, "put the lines of tuning files together; of two for the same the later one wins");
    execution.declare(options);
  }

  Exit run() override {
    require(output, "-o FILE");
    if (merges && !artifact.empty())
      fail(Exit::Usage, "H0132", "--merge and --measure exclude each other");
    if (merges)
      return merge();
    if (!files.empty())
      fail(Exit::Usage, "H0134", "unexpected argument '" + files[0] + "'", {},
           "usage: heddle tune " + options.usageText());
    require(artifact, "--measure ARTIFACT");
    return measureCandidates(artifact, output, execution, readTime());
  }

private:
  double readTime() const {
    if (std::optional<double> seconds = parseDuration(time))
      return *seconds;
    fail(Exit::Usage, "H0132", "--time expects a span such as 90s, 10m or 1h30m, got '" + time + "'");
  }

  Exit merge() const {
    require(files.empty() ? std::string() : files[0], "files to merge");
    TuningLines lines;
    std::vector<std::string> remarks;
    for (const std::string &path : files)
      lines.read(path, remarks);
    tell(remarks);
    lines.write(output);
    note(countLines(lines.size()) + " in " + output);
    return Exit::Fine;
  }

  std::vector<std::string> files;
  std::string output, artifact, time = "10m";
  bool merges = false;
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeTuneCommand() { return std::make_unique<TuneCommand>(); }

} // namespace heddle::cli
