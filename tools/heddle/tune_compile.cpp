// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what tune was asked for to requests of the compiler's library.

#include "tools/heddle/tune_compile.h"

#include "tools/heddle/child_process.h"
#include "tools/heddle/compiler_library.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/text.h"
#include "tools/heddle/tuning_files.h"

#include <map>
#include <utility>

namespace heddle::cli {

namespace {

std::vector<const char *> pointersTo(const std::vector<std::string> &texts) {
  std::vector<const char *> pointers;
  for (const std::string &text : texts)
    pointers.push_back(text.c_str());
  return pointers;
}

/// A request for the compiler's library and all that it points to.
struct CompileCall {
  CompileCall(const TuneRequest &request, const std::string &artifact, const std::vector<std::string> &tunings,
              const std::string &device)
      : files(tunings, request.noTuning ? UserTuning::Leave : UserTuning::Take), excludes(pointersTo(request.excludes)),
        deviceText(device.c_str()) {
    auto orNull = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
    options.model_path = request.model.c_str();
    options.output_path = artifact.c_str();
    options.targets = orNull(request.target);
    options.precision = orNull(request.precision);
    options.quantize = orNull(request.quantize);
    options.attention_int8 = orNull(request.attention);
    options.excludes = excludes.data();
    options.exclude_count = excludes.size();
    options.no_pair_safe = request.noPairSafe;
    options.no_measure = 1;
    options.thread_count = request.execution.threads;
    files.attach(options);
    options.devices = &deviceText;
    options.device_count = 1;
  }

  TuningFiles files;
  std::vector<const char *> excludes;
  const char *deviceText;
  heddle_compile_options_t options = {};
};

/// What the child says while it makes candidates: how far it is, or of which candidate it makes the code.
constexpr char kSeparator = '\x1f';

void sendNaming(void *user, const char *signature, const char *rows, const char *config) {
  static_cast<const Channel *>(user)->send(std::string("making") + kSeparator + signature + kSeparator + rows +
                                           kSeparator + config);
}

void sendProgress(void *user, const char *phase, size_t done, size_t total) {
  if (total > 1)
    static_cast<const Channel *>(user)->send(progressText(phase, done, total, 0));
}

} // namespace

void TuneCompiler::compile(const std::string &artifact, const std::vector<std::string> &tunings) const {
  runInChild(
      [&] {
        CompilerLibrary::load().compileQuietly(CompileCall(request, artifact, tunings, device).options);
        return std::string();
      },
      "compiling " + request.model);
}

/// How an attempt to make candidates ended: well, or in the midst of one.
struct AttemptEnd {
  bool isDone;
  std::optional<Trial> last; ///< whose code was being made
  std::string reason;
};

static AttemptEnd attempt(heddle_candidate_options_t options, heddle_compile_options_t compile) {
  Child child([&](const Channel &channel) {
    compile.progress = sendProgress;
    compile.progress_user = const_cast<Channel *>(&channel);
    options.compile = &compile;
    options.on_candidate = sendNaming;
    options.on_candidate_user = const_cast<Channel *>(&channel);
    CompilerLibrary::load().exportCandidates(options);
    channel.send("done");
  });
  Progress progress;
  AttemptEnd end = {};
  for (std::optional<std::string> text = child.receive(); text && !end.isDone; text = child.receive()) {
    const std::vector<std::string_view> parts = split(*text, kSeparator);
    if (parts.size() == 4)
      end.last = Trial{std::string(parts[1]), std::string(parts[2]), std::string(parts[3])};
    else if (*text != "done")
      progress.show("candidates: " + *text, false);
    end.isDone = *text == "done";
  }
  progress.finish();
  end.reason = child.end();
  return end;
}

void TuneCompiler::exportCandidates(const std::string &artifact, const std::vector<std::string> &tunings,
                                    const ModelProfile &profile, size_t most, TuneJournal *journal) const {
  CompileCall call(request, artifact, tunings, device);
  const std::vector<const char *> shapes = pointersTo(profile.shapes);
  heddle_candidate_options_t options = {};
  options.shapes = shapes.data();
  options.shape_count = shapes.size();
  options.most_candidates = most;
  options.seconds = profile.shares.empty() ? nullptr : profile.shares.c_str();
  options.limits = profile.limits.empty() ? nullptr : profile.limits.c_str();
  std::map<Trial, std::string> failures = journal ? journal->failures() : std::map<Trial, std::string>();
  for (;;) {
    std::vector<heddle_left_out_candidate_t> leftOut;
    for (const auto &[trial, reason] : failures)
      leftOut.push_back({trial.signature.c_str(), trial.rows.c_str(), trial.config.c_str()});
    options.left_out = leftOut.data();
    options.left_out_count = leftOut.size();
    const AttemptEnd end = attempt(options, call.options);
    if (end.isDone)
      return;
    if (!end.last)
      fail(Exit::Bug, "H0903", "internal error: making candidates ended its process: " + end.reason);
    // Several threads make code at the same time: only a single one tells of which candidate it died.
    if (std::exchange(call.options.thread_count, 1) != 1)
      continue;
    if (failures.count(*end.last))
      fail(Exit::Bug, "H0903", "internal error: the compiler makes a candidate that it was to leave out");
    failures[*end.last] = end.reason;
    note("candidate left out: " + end.last->signature + " " + end.last->config + ": the compiler was " + end.reason);
    if (journal)
      journal->addFailure(*end.last, "the compiler was " + end.reason);
  }
}

} // namespace heddle::cli
