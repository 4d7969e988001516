// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds files and names devices; what is in the files the compiler reads.

#include "tools/heddle/tuning_files.h"

#include "tools/heddle/fingerprint.h"
#include "tools/heddle/text.h"

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

TuningFiles::TuningFiles(const std::vector<std::string> &named, UserTuning user) {
  std::error_code ignored;
  // Most users have no such folder.
  if (user == UserTuning::Take)
    for (const fs::directory_entry &entry : fs::directory_iterator(tuningFolder(), ignored))
      if (endsWith(entry.path().string(), ".tuning.jsonl"))
        paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  userCount = paths.size();
  paths.insert(paths.end(), named.begin(), named.end());
  for (const std::string &path : paths)
    pathPointers.push_back(path.c_str());
}

void TuningFiles::attach(heddle_compile_options_t &options) {
  options.tunings = pathPointers.data();
  options.tuning_count = pathPointers.size();
  options.user_tuning_count = userCount;
  if (paths.empty())
    return;
  devices = {fingerprintOfCpu(heddle_host_info()->thread_count)};
  if (options.targets && std::string_view(options.targets).find("vulkan") != std::string_view::npos)
    for (std::string &device : fingerprintsOfGpus())
      devices.push_back(std::move(device));
  devicePointers.clear();
  for (const std::string &device : devices)
    devicePointers.push_back(device.c_str());
  options.devices = devicePointers.data();
  options.device_count = devicePointers.size();
}

} // namespace heddle::cli
