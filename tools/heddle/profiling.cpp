// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles.

#include "tools/heddle/profiling.h"

#include "tools/heddle/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle::cli {

namespace {

/// Runs that one for the trace is chosen from.
constexpr int kTraceChoice = 10;

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile(values, 50);
}

std::vector<heddle_span_t> lastSpans(const TimedSession &session) {
  size_t count = 0;
  const heddle_span_t *spans = heddle_session_spans(session.get(), &count);
  return {spans, spans + count};
}

/// Indices of the half of the runs whose times are nearest the median.
std::vector<size_t> middleRuns(const std::vector<double> &walls) {
  std::vector<size_t> order(walls.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return walls[a] < walls[b]; });
  size_t quarter = walls.size() / 4;
  return {order.begin() + static_cast<ptrdiff_t>(quarter), order.end() - static_cast<ptrdiff_t>(quarter)};
}

std::string layerOfDispatch(const DispatchCost &cost) {
  std::vector<std::string> places = cost.nodes;
  for (size_t i = 0; i < cost.paths.size(); ++i)
    if (!cost.paths[i].empty())
      places[i] = cost.paths[i];
  return layerOf(places);
}

/// The dispatches of one row.
struct Group {
  std::string name;
  std::vector<size_t> dispatches;
};

std::vector<Group> groupDispatches(const std::vector<DispatchCost> &dispatches, ProfileBy by) {
  std::vector<Group> groups;
  for (size_t i = 0; i < dispatches.size(); ++i) {
    std::string name = by == ProfileBy::Kernel ? dispatches[i].kernel : layerOfDispatch(dispatches[i]);
    auto known = std::find_if(groups.begin(), groups.end(), [&](const Group &group) { return group.name == name; });
    (known == groups.end() ? groups.emplace_back(Group{name, {}}) : *known).dispatches.push_back(i);
  }
  return groups;
}

/// Mean of |timeOf(run)| over |runs|.
template <typename TimeOf> double meanOf(const std::vector<size_t> &runs, TimeOf timeOf) {
  double sum = 0;
  for (size_t run : runs)
    sum += timeOf(run);
  return sum / static_cast<double>(runs.size());
}

template <typename TimeOf> double medianOverRuns(size_t runs, TimeOf timeOf) {
  std::vector<double> values;
  for (size_t run = 0; run < runs; ++run)
    values.push_back(timeOf(run));
  return medianOf(std::move(values));
}

ProfileRow rowOf(const Profile &profile, const Group &group, const std::vector<size_t> &middle, const Limits *limits) {
  ProfileRow row;
  row.name = group.name;
  row.dispatches = group.dispatches.size();
  BoundFinder bound;
  for (size_t i : group.dispatches) {
    const DispatchCost &cost = profile.dispatches[i];
    row.root = cost.root;
    row.operations += static_cast<double>(cost.flops);
    row.bytes += static_cast<double>(cost.bytes);
    for (const std::string &node : cost.nodes)
      if (std::find(row.nodes.begin(), row.nodes.end(), node) == row.nodes.end())
        row.nodes.push_back(node);
    if (limits)
      bound.add(limits->of(cost));
  }
  auto timeOf = [&](size_t run) {
    double sum = 0;
    for (size_t i : group.dispatches)
      sum += profile.times[run][i];
    return sum;
  };
  row.time = meanOf(middle, timeOf);
  row.median = medianOverRuns(profile.walls.size(), timeOf);
  row.leastTime = limits ? bound.leastSeconds() * 1e6 : std::nan("");
  row.boundBy = limits ? bound.boundOf(row.time * 1e-6) : "";
  return row;
}

ProfileRow runtimeRow(const Profile &profile, const std::vector<size_t> &middle) {
  ProfileRow row;
  row.name = "runtime";
  row.isRuntime = true;
  row.leastTime = std::nan("");
  auto timeOf = [&](size_t run) {
    return profile.walls[run] - std::accumulate(profile.times[run].begin(), profile.times[run].end(), 0.0);
  };
  row.time = meanOf(middle, timeOf);
  row.median = medianOverRuns(profile.walls.size(), timeOf);
  return row;
}

} // namespace

double Profile::medianWall() const { return medianOf(walls); }

std::vector<double> dispatchTimes(std::vector<heddle_span_t> spans, size_t dispatches) {
  std::sort(spans.begin(), spans.end(), [](const heddle_span_t &a, const heddle_span_t &b) {
    return a.dispatch != b.dispatch ? a.dispatch < b.dispatch : a.begin_nanoseconds < b.begin_nanoseconds;
  });
  std::vector<double> times(dispatches);
  // Threads overlap: what the ones before covered isn't counted again.
  int64_t covered = 0;
  size_t last = dispatches;
  for (const heddle_span_t &span : spans) {
    int64_t begin = span.dispatch == last ? std::max(covered, span.begin_nanoseconds) : span.begin_nanoseconds;
    int64_t end = std::max(begin, span.end_nanoseconds);
    times[span.dispatch] += static_cast<double>(end - begin) * 1e-3;
    covered = end;
    last = span.dispatch;
  }
  return times;
}

Profile takeProfile(const LoadedProgram &loaded, const std::vector<const heddle_tensor_t *> &inputs, double seconds) {
  TimedSession session(loaded, inputs);
  Profile profile;
  profile.dispatches = session.costs();
  profile.plan = planOf(loaded, inputs);
  heddle_session_record_spans(session.get(), 1);
  session.runFor(seconds / 10, 3, [](double) {});
  session.runFor(seconds, 10, [&](double microseconds) {
    profile.walls.push_back(microseconds);
    profile.times.push_back(dispatchTimes(lastSpans(session), profile.dispatches.size()));
  });
  // Not among the runs before: their spans would fill memory.
  double median = profile.medianWall(), nearest = INFINITY;
  session.runFor(0, kTraceChoice, [&](double microseconds) {
    if (std::abs(microseconds - median) >= nearest)
      return;
    nearest = std::abs(microseconds - median);
    profile.traced = {session.beginNanoseconds(), session.endNanoseconds(), lastSpans(session)};
  });
  return profile;
}

ProfileRows rowsOf(const Profile &profile, ProfileBy by, const Limits *limits) {
  std::vector<size_t> middle = middleRuns(profile.walls);
  ProfileRows result = {meanOf(middle, [&](size_t run) { return profile.walls[run]; }), {}};
  for (const Group &group : groupDispatches(profile.dispatches, by))
    result.rows.push_back(rowOf(profile, group, middle, limits));
  if (by == ProfileBy::Kernel)
    std::sort(result.rows.begin(), result.rows.end(),
              [](const ProfileRow &a, const ProfileRow &b) { return a.time > b.time; });
  result.rows.push_back(runtimeRow(profile, middle));
  for (ProfileRow &row : result.rows)
    row.share = row.time / result.wall;
  return result;
}

} // namespace heddle::cli
