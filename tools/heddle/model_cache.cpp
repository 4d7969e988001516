// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of `heddle run MODEL`. An entry's name holds a hash of all that the artifact depends on: the model and its
// data files (by path, size and time of change, as ccache does for headers), the compiler and this CPU.

#include "tools/heddle/model_cache.h"

#include "tools/heddle/compiler_library.h"
#include "tools/heddle/error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/tuning_files.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <heddle/heddle.h>
#include <set>
#include <sys/stat.h>

namespace heddle::cli {

namespace fs = std::filesystem;

std::vector<std::string> externalFiles(const std::string &bytes) {
  // StringStringEntryProto { key = "location", value = NAME }: field 1, then field 2 with its length as a varint.
  constexpr std::string_view pattern("\x0a\x08location\x12", 11);
  std::set<std::string> names;
  for (size_t at = bytes.find(pattern); at != std::string::npos; at = bytes.find(pattern, at + 1)) {
    size_t begin = at + pattern.size(), length = 0;
    for (unsigned shift = 0; shift < 14 && begin < bytes.size(); shift += 7) {
      unsigned char part = static_cast<unsigned char>(bytes[begin++]);
      length |= size_t(part & 0x7F) << shift;
      if (part < 0x80)
        break;
    }
    if (length <= bytes.size() - begin)
      names.insert(bytes.substr(begin, length));
  }
  return {names.begin(), names.end()};
}

/// FNV-1a, 64 bits.
static uint64_t hashOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

std::string fileIdentity(const std::string &path) {
  struct stat status;
  std::string identity = path;
  if (stat(path.c_str(), &status) == 0)
    identity += " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
                std::to_string(status.st_mtim.tv_nsec);
  return identity + "\n";
}

std::string modelIdentity(const std::string &model) {
  std::error_code ignored;
  fs::path path = fs::canonical(model, ignored);
  std::string key = fileIdentity(path.string());
  if (fs::is_directory(path, ignored)) {
    // Sorted, because folders list their files in any order.
    std::set<fs::path> files;
    for (const fs::directory_entry &file : fs::directory_iterator(path, ignored))
      files.insert(file.path());
    for (const fs::path &file : files)
      key += fileIdentity(file.string());
  } else {
    for (const std::string &name : externalFiles(readFile(path)))
      key += fileIdentity((path.parent_path() / name).string());
  }
  return key;
}

static std::string keyOf(const std::string &model, const std::string &target, const TuningFiles &tuning,
                         const CompilerLibrary &compiler) {
  std::string key = modelIdentity(model);
  for (const std::string &file : tuning.getPaths())
    key += fileIdentity(file);
  key += std::string(heddle_version()) + " " + compiler.version() + " ";
  if (!target.empty())
    return key + target;
  key += heddle_host_info()->cpu_name;
  for (size_t i = 0; i < heddle_host_info()->feature_count; ++i)
    key += std::string(" ") + heddle_host_info()->features[i];
  return key;
}

static fs::path cacheFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  // By the XDG specification a relative path there is to be ignored.
  fs::path base = cache && *cache == '/' ? fs::path(cache) : fs::path(home && *home ? home : "/tmp") / ".cache";
  fs::path folder = base / "heddle";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail(Exit::File, "H0521", "cannot create the cache folder '" + folder.string() + "': " + error.message(), {},
         "set XDG_CACHE_HOME to a folder that is writable");
  return folder;
}

std::string cachedArtifact(const std::string &model, const std::string &target) {
  const CompilerLibrary &compiler = CompilerLibrary::load();
  if (!fs::exists(model))
    fail(Exit::File, "H0520", "cannot read '" + model + "': No such file or directory");
  fs::path path = fs::path(model).lexically_normal();
  std::string stem = (path.has_filename() ? path : path.parent_path()).stem().string();
  TuningFiles tuning({});
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx",
                static_cast<unsigned long long>(hashOf(keyOf(path, target, tuning, compiler))));
  std::string artifact = (cacheFolder() / (stem + "-" + hash + ".heddle")).string();
  if (fs::exists(artifact)) {
    note("using " + artifact);
    return artifact;
  }
  note("compiling " + model + " to " + artifact);
  heddle_compile_options_t options = {};
  options.model_path = model.c_str();
  options.output_path = artifact.c_str();
  options.targets = target.empty() ? nullptr : target.c_str();
  tuning.attach(options);
  compiler.compile(options);
  return artifact;
}

} // namespace heddle::cli
