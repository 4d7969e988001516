// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time goes to kernels by their share; what one leaves over the next ones have.

#include "tools/heddle/tune_groups.h"

#include "tools/heddle/duration.h"
#include "tools/heddle/error.h"
#include "tools/heddle/json_value.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"
#include "tools/heddle/tune_server.h"

#include <algorithm>
#include <cmath>
#include <heddle/candidates.h>
#include <set>

namespace heddle::cli {

namespace {

/// One kernel's pairs: from the journal as far as it has them, then from the device.
class GroupPairs : public PairSource {
public:
  GroupPairs(const GroupSearch &search, PairServer &server, size_t index, const heddle_candidate_group_t &group,
             double seconds, std::function<void(double)> showBest)
      : search(search), server(server), index(index), seconds(seconds), showBest(std::move(showBest)) {
    for (size_t i = 0; i < group.candidate_count; ++i)
      trials.push_back({group.signature, group.rows, oneText(group.candidates[i].config)});
  }

  const std::vector<Trial> &allTrials() const { return trials; }

  std::optional<double> measure(size_t candidate, bool baselineFirst) override {
    if (search.journal->findFailure(trials[candidate]))
      return std::nullopt;
    const std::string &baseline = trials[0].config;
    if (std::optional<double> ratio = search.journal->takeRatio(trials[candidate], baseline))
      return ratio;
    if (!isRight(candidate))
      return std::nullopt;
    std::string failure;
    const Stopwatch pair;
    const std::optional<double> ratio = server.measure(index, candidate, baselineFirst, failure);
    pairSeconds += pair.seconds();
    ++pairs;
    if (ratio)
      search.journal->addRatio(trials[candidate], baseline, *ratio);
    else
      reject(candidate, failure);
    return ratio;
  }

  double secondsLeft() override { return search.interrupt->isInterrupted() ? 0 : seconds - watch.seconds(); }

  double secondsAPair() override { return pairs ? pairSeconds / static_cast<double>(pairs) : 0; }

  void tellBest(double ratio) override { showBest(ratio); }

private:
  /// As it would stand in a tuning file, whatever the artifact's form.
  static std::string oneText(const char *config) {
    std::string error;
    const std::optional<JsonValue> value = parseJson(config, error);
    if (!value || !value->isObject())
      fail(Exit::File, "H0141", std::string("'") + config + "' is no configuration of a kernel", {},
           "make the artifact again with heddle tune MODEL --export-candidates ARTIFACT");
    return value->line();
  }

  bool isRight(size_t candidate) {
    if (right.count(candidate))
      return true;
    if (std::optional<std::string> reason = server.check(index, candidate)) {
      reject(candidate, *reason);
      return false;
    }
    right.insert(candidate);
    return true;
  }

  void reject(size_t candidate, const std::string &reason) {
    search.journal->addFailure(trials[candidate], reason);
    note("candidate left out: " + trials[candidate].signature + " " + trials[candidate].config + ": " + reason);
  }

  const GroupSearch &search;
  PairServer &server;
  size_t index;
  double seconds;
  std::function<void(double)> showBest;
  Stopwatch watch;
  double pairSeconds = 0;
  size_t pairs = 0; ///< that the device made
  std::vector<Trial> trials;
  std::set<size_t> right; ///< that were checked
};

class GroupLoop {
public:
  explicit GroupLoop(const GroupSearch &search)
      : search(search), loaded(loadForInspection(search.artifact)),
        server([&search] { return makeCandidateBench(search.artifact, search.execution); }) {}

  std::vector<GroupResult> run() {
    const size_t count = heddle_candidate_group_count(loaded.program.get());
    double share = 0;
    for (size_t i = 0; i < count; ++i)
      share += groupAt(i).share;
    std::vector<GroupResult> results;
    for (size_t i = 0; i < count; ++i) {
      const double own = groupAt(i).share;
      results.push_back(secondsLeft() <= 0
                            ? describe(groupAt(i))
                            : searchGroup(i, count, secondsLeft() * (share > 0 ? std::min(own / share, 1.0) : 1)));
      share -= own;
    }
    progress.finish();
    return results;
  }

private:
  const heddle_candidate_group_t &groupAt(size_t index) const {
    return *heddle_candidate_group(loaded.program.get(), index);
  }

  double secondsLeft() const { return search.interrupt->isInterrupted() ? 0 : search.seconds - watch.seconds(); }

  /// |group| before it is searched.
  static GroupResult describe(const heddle_candidate_group_t &group) {
    GroupResult result{group.signature,           group.rows, group.node_count ? group.nodes[0] : "", group.share,
                       group.candidate_count - 1, 0};
    result.ranOut = true;
    return result;
  }

  GroupResult searchGroup(size_t index, size_t count, double seconds) {
    const heddle_candidate_group_t &group = groupAt(index);
    auto show = [&](double best) { progress.show(tuneLine(index + 1, count, best, secondsLeft()), false); };
    GroupResult result = describe(group);
    progress.show(tuneLine(index + 1, count, 1, secondsLeft()), true);
    if (std::optional<std::string> reason = server.check(index, 0)) {
      result.problem = *reason;
      return result;
    }
    GroupPairs pairs(search, server, index, group, seconds, show);
    const auto [win, ranOut] = findFastest(group.candidate_count, pairs);
    result.ranOut = ranOut;
    for (const Trial &trial : pairs.allTrials())
      result.failed += search.journal->findFailure(trial) != nullptr;
    if (win) {
      result.config = pairs.allTrials()[win->candidate].config;
      result.proof = win->proof;
    }
    return result;
  }

  const GroupSearch &search;
  LoadedProgram loaded;
  PairServer server;
  Stopwatch watch;
  Progress progress;
};

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

} // namespace

void checkCandidates(const std::string &path) {
  if (heddle_candidate_group_count(loadForInspection(path).program.get()) == 0)
    fail(Exit::Usage, "H0141", "'" + path + "' has nothing to measure", {},
         "expects an artifact of heddle tune MODEL --export-candidates ARTIFACT");
}

std::vector<GroupResult> searchGroups(const GroupSearch &search) { return GroupLoop(search).run(); }

std::vector<TuningEntry> entriesOf(const std::vector<GroupResult> &results, const std::string &device) {
  std::vector<TuningEntry> entries;
  for (const GroupResult &result : results)
    if (result.proof)
      entries.push_back({device, result.signature, result.rows, result.config,
                         std::round(result.proof->medianRatio * 1e4) / 1e4, result.proof->pairs,
                         std::string("heddle ") + heddle_version()});
  return entries;
}

size_t countUnfinished(const std::vector<GroupResult> &results) {
  return static_cast<size_t>(std::count_if(results.begin(), results.end(), [](const GroupResult &result) {
    return result.ranOut && !result.proof && result.problem.empty();
  }));
}

void endSearch(const std::vector<GroupResult> &results, bool isInterrupted, const WorkFolder &folder) {
  const size_t unfinished = countUnfinished(results);
  if (isInterrupted)
    note("interrupted; the same command goes on from here");
  else if (unfinished > 0)
    note("time ran out for " + std::to_string(unfinished) + " of " + std::to_string(results.size()) +
         " kernels; the same command goes on from here, --time gives it more");
  else
    folder.remove();
}

std::string formatResults(const std::vector<GroupResult> &results) {
  Table table({"<kernel", "<rows", "share_%", "candidates", "failed", "ratio", "pairs", "<result"});
  for (const GroupResult &result : results)
    table.addRow({result.signature, result.rows, fixed(100 * result.share, 1), std::to_string(result.candidates),
                  std::to_string(result.failed), result.proof ? fixed(result.proof->medianRatio, 3) : "-",
                  result.proof ? std::to_string(result.proof->pairs) : "-",
                  !result.problem.empty() ? result.problem
                  : result.proof          ? "faster"
                  : result.ranOut         ? "out of time"
                                          : "no gain"});
  return table.aligned();
}

std::string tuneLine(size_t kernel, size_t kernels, double best, double secondsLeft) {
  return "tune " + std::to_string(kernel) + "/" + std::to_string(kernels) + " kernels, best " + fixed(best, 2) + ", " +
         formatDuration(secondsLeft) + " left";
}

} // namespace heddle::cli
