// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The affinity mask says which CPUs the process may use, the cgroup how much of them: a container on a large machine
// often sees all CPUs but may use the time of two.

#include "runtime/core/thread_count.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "runtime/core/border.h"

namespace heddle::runtime {

namespace {

/// Keeps the smallest limit in |limit|, where 0 means none.
void apply_limit(double quota, double period, unsigned *limit) {
  if (quota <= 0 || period <= 0)
    return;
  // Rounded up: two threads on a quota of one and a half CPUs do more than one.
  const double cpus = std::min(quota / period, double(max_thread_count));
  const unsigned rounded = std::max(1u, static_cast<unsigned>(cpus) + (cpus > static_cast<unsigned>(cpus) ? 1 : 0));
  *limit = *limit == 0 ? rounded : std::min(*limit, rounded);
}

/// The text of a small file of the kernel; empty where there is none. Not through a stream: that would swallow the lack
/// of memory and make of it another number of threads.
std::string read_text(const std::string &path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return {};
  // Nothing may throw while the descriptor is open.
  char buffer[4096];
  size_t length = 0;
  ssize_t count = 0;
  do {
    count = read(descriptor, buffer + length, sizeof(buffer) - length);
    length += count > 0 ? static_cast<size_t>(count) : 0;
  } while (count > 0 || (count < 0 && errno == EINTR));
  close(descriptor);
  return std::string(buffer, length);
}

/// cgroup version 2: "max 100000" or "150000 100000".
void read_version_2(const std::string &folder, unsigned *limit) {
  const std::string text = read_text(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (std::sscanf(text.c_str(), "%lf %lf", &quota, &period) == 2)
    apply_limit(quota, period, limit);
}

void read_version_1(const std::string &folder, unsigned *limit) {
  const std::string quota = read_text(folder + "/cpu.cfs_quota_us");
  const std::string period = read_text(folder + "/cpu.cfs_period_us");
  apply_limit(std::atof(quota.c_str()), std::atof(period.c_str()), limit);
}

/// Whether a cgroup line's comma-separated list names the cpu controller.
bool names_cpu_controller(const std::string &controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

unsigned affinity_count() {
  // The kernel refuses a set smaller than its own, which has more than CPU_SETSIZE bits on large machines.
  for (size_t cpus = CPU_SETSIZE; cpus <= (size_t(1) << 20); cpus *= 2) {
    std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
    if (sched_getaffinity(0, set.size() * sizeof(cpu_set_t), set.data()) == 0)
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(set.size() * sizeof(cpu_set_t), set.data())));
  }
  return 1;
}

unsigned available_cpu_count() {
  unsigned count = std::min(affinity_count(), max_thread_count);
  unsigned limit = cgroup_cpu_limit("");
  return limit == 0 ? count : std::min(count, limit);
}

} // namespace

unsigned cgroup_cpu_limit(const std::string &root) {
  unsigned limit = 0;
  const std::string text = read_text(root + "/proc/self/cgroup");
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    // hierarchy:controllers:path; version 2 has the hierarchy 0 and no controllers.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names_cpu_controller(controllers))
      continue;
    const bool version_2 = controllers.empty();
    const std::string mount = root + "/sys/fs/cgroup" + (version_2 ? "" : "/cpu");
    // A parent's quota binds its children too. In a container the path is often the host's and only the mount's root
    // is there, which the walk ends at.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      (version_2 ? read_version_2 : read_version_1)(mount + path, &limit);
      if (path.find('/') == std::string::npos)
        break;
    }
  }
  return limit;
}

heddle_status_t default_thread_count(unsigned *out_count) {
  const char *text = std::getenv("HEDDLE_THREADS");
  if (!text || !*text) {
    *out_count = available_cpu_count();
    return nullptr;
  }
  char *end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 1 || count > long(max_thread_count))
    return fail(error::H0101,
                format("HEDDLE_THREADS expects a number between 1 and %u, got '%s'", max_thread_count, text),
                "unset it to use all CPUs of this process");
  *out_count = static_cast<unsigned>(count);
  return nullptr;
}

} // namespace heddle::runtime

unsigned heddle_default_thread_count(void) {
  using namespace heddle::runtime;
  // One thread is what works where there isn't even memory to read the limits.
  unsigned count = 1;
  heddle_status_release(at_border([&] {
    heddle_status_t status = default_thread_count(&count);
    if (!status)
      return status;
    heddle_status_release(status);
    count = available_cpu_count();
    return heddle_status_t(nullptr);
  }));
  return count;
}
