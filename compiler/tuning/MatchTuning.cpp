// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/tuning/MatchTuning.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace heddle;

namespace {
/// How well an entry fits: by |rank|, which is lower where it fits better.
struct Fit {
  unsigned rank;
  std::string device;
};

class Matcher {
public:
  Matcher(const TuningSources &sources, const Target &target)
      : sources(sources), target(target), kind(target.getName().split(':').first) {}

  std::optional<Fit> match(const TuningEntry &entry, bool isNamed, bool hasOneDevice) const {
    if (entry.device.getString("kind") != kind)
      return std::nullopt;
    if (kind == "vulkan")
      return matchVulkan(entry, isNamed && hasOneDevice);
    return target.isHost() ? matchHost(entry) : matchFeatures(entry);
  }

private:
  std::optional<Fit> matchVulkan(const TuningEntry &entry, bool isOnly) const {
    for (auto [i, device] : llvm::enumerate(sources.devices))
      if (device == entry.device)
        return Fit{static_cast<unsigned>(i), "this device"};
    if (isOnly)
      return Fit{static_cast<unsigned>(sources.devices.size()), "the file's device"};
    return std::nullopt;
  }

  std::optional<Fit> matchHost(const TuningEntry &entry) const {
    auto host = llvm::find_if(sources.devices,
                              [](const llvm::json::Object &device) { return device.getString("kind") == "cpu"; });
    if (host == sources.devices.end())
      return matchFeatures(entry);
    if (*host == entry.device)
      return Fit{0, "this device"};
    auto isEqual = [&](llvm::StringRef key) {
      const llvm::json::Value *own = host->get(key), *other = entry.device.get(key);
      return own && other && *own == *other;
    };
    bool isAlike = llvm::all_of(llvm::ArrayRef<llvm::StringRef>{"features", "l1d", "l2", "l3"}, isEqual);
    return isAlike ? std::optional<Fit>({1, "same ISA and caches"}) : std::nullopt;
  }

  std::optional<Fit> matchFeatures(const TuningEntry &entry) const {
    const llvm::json::Array *listed = entry.device.getArray("features");
    if (!listed)
      return std::nullopt;
    llvm::SmallVector<llvm::StringRef> features;
    for (const llvm::json::Value &feature : *listed)
      if (std::optional<llvm::StringRef> name = feature.getAsString())
        features.push_back(*name);
    return target.isCodeForFeatures(features) ? std::optional<Fit>({0, "same ISA"}) : std::nullopt;
  }

  const TuningSources &sources;
  const Target &target;
  llvm::StringRef kind;
};
} // namespace

/// Whether all entries of |file| for Vulkan are of one device.
static bool hasOneVulkanDevice(const TuningFile &file) {
  const llvm::json::Object *first = nullptr;
  for (const TuningEntry &entry : file.entries) {
    if (entry.device.getString("kind") != "vulkan")
      continue;
    if (first && !(*first == entry.device))
      return false;
    first = &entry.device;
  }
  return first != nullptr;
}

/// Calls |take| with each entry that fits |target|: its file's number, and how it fits.
static void forEachFit(const TuningSources &sources, const Target &target,
                       llvm::function_ref<void(size_t file, const TuningEntry &, const Fit &)> take) {
  Matcher matcher(sources, target);
  for (auto [i, file] : llvm::enumerate(sources.files)) {
    bool hasOneDevice = hasOneVulkanDevice(file);
    for (const TuningEntry &entry : file.entries)
      if (std::optional<Fit> fit = matcher.match(entry, i >= sources.userFileCount, hasOneDevice))
        take(i, entry, *fit);
  }
}

TunedConfigs heddle::matchTuning(const TuningSources &sources, const Target &target) {
  // How good what is taken so far is: whether its file wasn't named, its rank.
  std::map<std::pair<std::string, std::string>, std::pair<bool, unsigned>> taken;
  TunedConfigs tuned;
  forEachFit(sources, target, [&](size_t file, const TuningEntry &entry, const Fit &fit) {
    std::pair<bool, unsigned> quality(file < sources.userFileCount, fit.rank);
    auto [known, isNew] = taken.try_emplace({entry.signature, entry.rows}, quality);
    if (!isNew && known->second < quality)
      return;
    known->second = quality;
    tuned.set(entry.signature, entry.rows, {entry.config, sources.files[file].name, fit.device});
  });
  return tuned;
}

std::vector<std::string> heddle::findForeignFiles(const TuningSources &sources,
                                                  llvm::ArrayRef<const Target *> targets) {
  std::vector<bool> isUsed(sources.files.size(), false);
  for (const Target *target : targets)
    forEachFit(sources, *target, [&](size_t file, const TuningEntry &, const Fit &) { isUsed[file] = true; });
  std::vector<std::string> foreign;
  for (size_t i = sources.userFileCount; i < sources.files.size(); ++i)
    if (!isUsed[i] && !sources.files[i].entries.empty())
      foreign.push_back(sources.files[i].name);
  return foreign;
}
