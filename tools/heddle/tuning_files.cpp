// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/heddle/tuning_files.h"

#include "tools/heddle/fingerprint.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;

namespace heddle::cli {

std::string tuningFolder() {
  const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
  // By the XDG specification a relative path there is to be ignored.
  if (config && *config == '/')
    return (fs::path(config) / "heddle").string();
  return home && *home ? (fs::path(home) / ".config" / "heddle").string() : std::string();
}

TuningFiles::TuningFiles(const std::vector<std::string> &named, const std::string &targets) {
  constexpr std::string_view suffix = ".tuning.jsonl";
  std::error_code ignored;
  // Most users have no such folder.
  for (const fs::directory_entry &entry : fs::directory_iterator(tuningFolder(), ignored)) {
    const std::string path = entry.path().string();
    if (path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0)
      paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  userCount = paths.size();
  paths.insert(paths.end(), named.begin(), named.end());
  if (paths.empty())
    return;
  devices.push_back(fingerprintOfCpu(heddle_host_info()->thread_count));
  if (targets.find("vulkan") != std::string::npos)
    for (std::string &device : fingerprintsOfGpus())
      devices.push_back(std::move(device));
  for (const std::string &path : paths)
    pathPointers.push_back(path.c_str());
  for (const std::string &device : devices)
    devicePointers.push_back(device.c_str());
}

void TuningFiles::attach(heddle_compile_options_t &options) const {
  options.tunings = pathPointers.data();
  options.tuning_count = pathPointers.size();
  options.user_tuning_count = userCount;
  options.devices = devicePointers.data();
  options.device_count = devicePointers.size();
}

} // namespace heddle::cli
