// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linux tells what it knows in /proc and /sys; a container may hide some of it.

#include "tools/heddle/machine.h"

#include "tools/heddle/measure.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <heddle/heddle.h>

#include <sys/resource.h>
#include <unistd.h>

namespace heddle::cli {

namespace {

/// Shares of a CPU, of time and of a median that are worth a note.
constexpr double kOtherWork = 0.1, kDrift = 0.03, kSpread = 0.2;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string firstLine(const char *path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

struct CpuTimes {
  double busy = -1, stolen = 0; ///< seconds
};

CpuTimes readCpuTimes() {
  std::ifstream stat("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, steal = 0;
  if (!(stat >> label >> user >> nice >> system >> idle >> wait >> interrupts >> soft >> steal) || label != "cpu")
    return {};
  auto tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {(user + nice + system + interrupts + soft) / tick, steal / tick};
}

double ownCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Seconds of a fixed chain of additions and shifts, the best of some: what the core's clock makes of it.
double timeLoop() {
  double best = INFINITY;
  for (int attempt = 0; attempt < 8; ++attempt) {
    double begin = now();
    volatile uint64_t seed = 1;
    uint64_t value = seed;
    for (int i = 0; i < 200000; ++i)
      value = (value << 1) + (value >> 3) + static_cast<uint64_t>(i);
    seed = value;
    best = std::min(best, now() - begin);
  }
  return best;
}

std::string withPercent(const char *format, double share) {
  char text[160];
  std::snprintf(text, sizeof text, format, 100 * share);
  return text;
}

/// How the clock is governed.
void addGovernor(std::vector<std::string> *notes) {
  std::string governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty() && governor != "performance")
    notes->push_back("the clock's governor is " + governor + ", not performance");
  if (firstLine("/sys/devices/system/cpu/cpufreq/boost") == "1" ||
      firstLine("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0")
    notes->push_back("turbo is on: the clock depends on heat and on what other cores do");
}

} // namespace

void writeMachine(JsonWriter &json, const std::vector<Roofline> &rooflines, const std::vector<std::string> &notes) {
  const heddle_host_info_t &host = *heddle_host_info();
  json.key("machine").beginObject().key("architecture").string(host.architecture).key("cpu").string(host.cpu_name);
  json.key("features")
      .strings({host.features, host.features + host.feature_count})
      .key("l1d_bytes")
      .number(host.l1d_bytes)
      .key("l2_bytes")
      .number(host.l2_bytes);
  json.key("l3_bytes").number(host.l3_bytes).key("threads").number(uint64_t(host.thread_count));
  json.key("roofline").beginArray();
  for (const Roofline &roofline : rooflines) {
    writeMembers(json.beginObject(), roofline);
    json.endObject();
  }
  json.endArray().key("notes").strings(notes).endObject();
}

void writeShapes(JsonWriter &json, const NamedShapes &shapes) {
  json.key("shapes").beginObject();
  for (const auto &[name, dims] : shapes) {
    json.key(name).beginArray();
    for (int64_t dim : dims)
      json.number(dim);
    json.endArray();
  }
  json.endObject();
}

MachineWatch::MachineWatch() : started(now()), ownCpus(ownCpuSeconds()), loopSeconds(timeLoop()) {
  CpuTimes times = readCpuTimes();
  busyCpus = times.busy;
  stolen = times.stolen;
}

std::vector<std::string> MachineWatch::notes(unsigned threads) const {
  std::vector<std::string> notes;
  double elapsed = now() - started;
  CpuTimes times = readCpuTimes();
  unsigned cpus = heddle_host_info()->thread_count;
  if (threads > cpus)
    notes.push_back(std::to_string(threads) + " threads on " + std::to_string(cpus) + " CPUs: they take turns");
  addGovernor(&notes);
  if (double other = (times.busy - busyCpus - (ownCpuSeconds() - ownCpus)) / elapsed;
      busyCpus >= 0 && other > kOtherWork)
    notes.push_back(withPercent("other work took %.0f %% of a CPU meanwhile", other));
  if (double share = (times.stolen - stolen) / elapsed; busyCpus >= 0 && share > kDrift)
    notes.push_back(withPercent("the hypervisor withheld %.0f %% of a CPU meanwhile", share));
  if (double change = timeLoop() / loopSeconds - 1; std::abs(change) > kDrift)
    notes.push_back(withPercent(change > 0 ? "one core's clock slowed down by %.0f %% meanwhile"
                                           : "one core's clock sped up by %.0f %% meanwhile",
                                std::abs(change)));
  return notes;
}

std::vector<std::string> sampleNotes(const std::vector<double> &samples) {
  std::vector<std::string> notes;
  if (samples.size() < 100)
    notes.push_back("few runs (" + std::to_string(samples.size()) + "): p99 is the slowest one");
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  double median = percentile(sorted, 50);
  if (double spread = (percentile(sorted, 90) - sorted.front()) / median; spread > kSpread)
    notes.push_back(withPercent("noisy: from min to p90 it is %.0f %% of p50", spread));
  auto medianOf = [](std::vector<double> part) {
    std::sort(part.begin(), part.end());
    return percentile(part, 50);
  };
  auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  if (middle == samples.begin())
    return notes;
  double change = medianOf({middle, samples.end()}) / medianOf({samples.begin(), middle}) - 1;
  if (std::abs(change) > kDrift)
    notes.push_back(withPercent(change > 0 ? "drifting: the second half of the runs is %.0f %% slower than the first"
                                           : "drifting: the second half of the runs is %.0f %% faster than the first",
                                std::abs(change)));
  return notes;
}

} // namespace heddle::cli
