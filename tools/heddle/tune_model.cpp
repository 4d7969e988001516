// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parent has neither threads nor drivers: whatever compiles or runs does so in children, which may die.

#include "tools/heddle/tune_model.h"

#include "tools/heddle/child_process.h"
#include "tools/heddle/compiler_library.h"
#include "tools/heddle/duration.h"
#include "tools/heddle/files.h"
#include "tools/heddle/model_cache.h"
#include "tools/heddle/shapes.h"
#include "tools/heddle/text.h"
#include "tools/heddle/tune_compile.h"
#include "tools/heddle/tune_groups.h"
#include "tools/heddle/tune_server.h"
#include "tools/heddle/tune_work.h"
#include "tools/heddle/tuning_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace heddle::cli {

namespace fs = std::filesystem;

namespace {

/// Pairs for the whole model: more than a proof takes, since a gain of one kernel is a small one of the model.
constexpr unsigned kModelPairs = 31;
/// Part of the time that measuring has at least, however long compiling took.
constexpr double kLeastShare = 0.2;

std::string surveyCompiler() {
  return runInChild([] { return std::string(CompilerLibrary::load().version()); }, "loading the compiler");
}

/// How many candidates of a kernel there is time for: making one takes some tenths of a second, measuring it as much.
size_t mostCandidates(const TuneRequest &request) {
  return request.candidates ? request.candidates : std::clamp<size_t>(static_cast<size_t>(request.seconds / 4), 2, 64);
}

std::string formatRatio(const Comparison &comparison) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3f of the time over %u pairs, by chance at %.2g", comparison.medianRatio,
                comparison.pairs, comparison.probability);
  return text;
}

class ModelTuner {
public:
  explicit ModelTuner(const TuneRequest &request)
      : request(request), device(surveyDevice(request.execution)), folder(request.output),
        kept(readOutput(request.output)), compiler(request, device), rows(shapeRows(request.shapes)),
        tunings(request.tunings) {
    if (kept.size())
      tunings.push_back(request.output);
  }

  Exit run() {
    std::vector<std::string> remarks;
    TuneJournal journal(folder.file("journal.jsonl"), key(), remarks);
    tell(remarks);
    prepare(journal);
    const InterruptGuard interrupt;
    const double seconds =
        std::max(request.seconds - watch.seconds() - secondsForModel(), kLeastShare * request.seconds);
    const std::vector<GroupResult> results =
        searchGroups({folder.file("candidates.heddle"), request.execution, device, &journal, &interrupt, seconds});
    std::fputs(formatResults(results).c_str(), stdout);
    std::fflush(stdout); // before there are more children
    keep(entriesOf(results, device), countUnfinished(results) > 0);
    endSearch(results, interrupt.isInterrupted(), folder);
    return Exit::Fine;
  }

private:
  /// All that measurements depend on, as text.
  std::string key() const {
    std::string key =
        device + " " + surveyCompiler() + " heddle " + heddle_version() + "; " + modelIdentity(request.model);
    for (const std::vector<std::string> *list : {&request.shapes, &request.excludes})
      key += "; " + join(*list, ", ");
    key += "; " + request.precision + " " + request.quantize + " " + request.attention;
    return key + (request.noPairSafe ? " no pair-safe" : "") + (request.noTuning ? " no tuning" : "");
  }

  /// The files that tuning starts from. Ratios are to a known configuration, so they don't depend on it.
  std::string startText() const {
    const TuningFiles files(tunings, request.noTuning ? UserTuning::Leave : UserTuning::Take);
    std::string text;
    for (const std::string &path : files.getPaths())
      text += fileIdentity(path) + "; ";
    return text;
  }

  /// Whether an earlier run has made the artifacts.
  bool hasArtifacts() {
    const std::string path = folder.file("profile.json");
    for (const std::string &file : {path, folder.file("base.heddle"), folder.file("candidates.heddle")})
      if (!fs::exists(file))
        return false;
    profile = parseProfile(readFile(path), path);
    return profile.start == startText();
  }

  /// Has the artifacts made, unless an earlier run has.
  void prepare(TuneJournal &journal) {
    if (journal.resumedCount() > 0)
      note("going on with " + std::to_string(journal.resumedCount()) + " measurements of an earlier run");
    if (journal.isResumed() && hasArtifacts())
      return;
    try {
      makeArtifacts(journal);
    } catch (const CommandError &) {
      // A model that can't be compiled leaves nothing to go on with.
      if (journal.resumedCount() == 0)
        folder.remove();
      throw;
    }
  }

  void makeArtifacts(TuneJournal &journal) {
    const std::string path = folder.file("profile.json"), base = folder.file("base.heddle");
    note("compiling " + request.model);
    const Stopwatch compiling;
    compiler.compile(base, tunings);
    const double compileSeconds = compiling.seconds();
    note("measuring where its time goes");
    auto work = [&] { return profileModel(base, rows, request.execution).json(); };
    profile = parseProfile(runInChild(work, "running the model"), path);
    profile.compileSeconds = compileSeconds;
    profile.start = startText();
    note("making candidates");
    compiler.exportCandidates(folder.file("candidates.heddle"), tunings, profile, mostCandidates(request), &journal);
    OutputFile file(path);
    file.write(profile.json());
    file.commit();
  }

  /// That compiling with what was found and comparing will take.
  double secondsForModel() const { return 1.2 * profile.compileSeconds + 2.5 * kModelPairs * profile.runSeconds; }

  /// Writes what makes the whole model faster.
  void keep(const std::vector<TuningEntry> &entries, bool ranOut) {
    TuningLines all = kept;
    for (const TuningEntry &entry : entries)
      all.add(entry);
    const std::string problem = entries.empty() ? (ranOut ? "no gain in this time" : "no gain") : findProblem(all);
    if (!problem.empty())
      std::printf("%s: %s in %s\n", problem.c_str(), countLines(kept.size()).c_str(), request.output.c_str());
    else
      std::printf("%s in %s\n", countLines(all.size()).c_str(), request.output.c_str());
    (problem.empty() ? all : kept).write(request.output);
  }

  /// compareModels, for which nothing must be lost that an error ends.
  std::string findProblem(const TuningLines &lines) {
    try {
      return compareModels(lines);
    } catch (const CommandError &error) {
      return "nothing is taken, the model with what was found: " + std::string(split(error.text, '\n')[0]);
    }
  }

  /// Compares the model with |lines| with the model as it was. "" if it is faster, else what stands against it.
  std::string compareModels(const TuningLines &lines) {
    const std::string file = folder.file("found.tuning.jsonl"), tuned = folder.file("tuned.heddle");
    lines.write(file);
    std::vector<std::string> files = request.tunings;
    files.push_back(file);
    note("comparing the whole model");
    compiler.compile(tuned, files);
    PairServer server([&] { return makeModelBench(folder.file("base.heddle"), tuned, rows, request.execution); });
    for (size_t row = 0; row < rows.size(); ++row)
      if (std::optional<std::string> reason = server.check(row, 1))
        return "nothing is taken, " + *reason;
    std::vector<double> ratios;
    for (unsigned pair = 0; pair < kModelPairs; ++pair) {
      std::string failure;
      std::optional<double> ratio = measurePair(server, pair % 2 == 0, failure);
      if (!ratio)
        return "nothing is taken, the model with what was found: " + failure;
      ratios.push_back(*ratio);
    }
    const Comparison comparison = compare(ratios);
    std::printf("whole model: %s\n", formatRatio(comparison).c_str());
    return isProven(comparison, kModelBound) ? "" : "no gain on the whole model";
  }

  /// The geometric mean over the shapes.
  std::optional<double> measurePair(PairServer &server, bool baselineFirst, std::string &failure) const {
    double logarithms = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      std::optional<double> ratio = server.measure(row, 1, baselineFirst, failure);
      if (!ratio)
        return std::nullopt;
      logarithms += std::log(*ratio);
    }
    return std::exp(logarithms / static_cast<double>(rows.size()));
  }

  Stopwatch watch;
  const TuneRequest &request;
  std::string device; ///< fingerprint
  WorkFolder folder;
  TuningLines kept;
  TuneCompiler compiler;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> tunings; ///< what tuning starts from
  ModelProfile profile;
};

} // namespace

Exit tuneModel(const TuneRequest &request) {
  TuneRequest own = request;
  own.target = request.execution.device.empty() ? "cpu" : std::string(kindOf(request.execution.device));
  return ModelTuner(own).run();
}

Exit exportCandidates(const TuneRequest &request, const std::string &path) {
  const TuneCompiler compiler(request, surveyDevice(request.execution));
  const WorkFolder folder(path);
  const std::string base = folder.file("base.heddle");
  // Of the model only the shapes of its inputs are of interest.
  note("compiling " + request.model);
  compiler.compile(base, request.tunings);
  const ModelProfile profile = describeModel(base, shapeRows(request.shapes));
  note("making candidates");
  compiler.exportCandidates(path, request.tunings, profile, mostCandidates(request), nullptr);
  folder.remove();
  return Exit::Fine;
}

} // namespace heddle::cli
