// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tuning files say of one target's kernels, as the target's selection takes it in place of its table. Each entry
// is input from a file: the target checks it, and its table serves where it may not be used.

#ifndef HEDDLE_COMPILER_TARGETS_TUNEDCONFIGS_H
#define HEDDLE_COMPILER_TARGETS_TUNEDCONFIGS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>

namespace heddle {

/// A configuration: on a CPU the entries of #kernel.lowering_config for one bucket of rows, on Vulkan one variant.
struct TunedConfig {
  llvm::json::Object config;
  std::string file;   ///< name of the tuning file, without its folder
  std::string device; ///< how the file's device fits: "this device", "same ISA and caches"
};

/// By (signature, bucket); a value type.
class TunedConfigs {
public:
  /// |rows|: a bucket's name or kAnyRows. A later entry replaces an earlier one.
  void set(llvm::StringRef signature, llvm::StringRef rows, TunedConfig config) {
    configs[{signature.str(), rows.str()}] = std::move(config);
  }
  /// Null where there is none.
  const TunedConfig *find(llvm::StringRef signature, llvm::StringRef rows) const {
    auto found = configs.find({signature.str(), rows.str()});
    return found == configs.end() ? nullptr : &found->second;
  }
  bool empty() const { return configs.empty(); }
  size_t size() const { return configs.size(); }

private:
  std::map<std::pair<std::string, std::string>, TunedConfig> configs;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_TUNEDCONFIGS_H
