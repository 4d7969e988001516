// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of target kinds.

#include "compiler/targets/TargetRegistry.h"

#include <map>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

static std::map<std::string, TargetParser> &parsers() {
  static std::map<std::string, TargetParser> table;
  return table;
}

void registerTarget(llvm::StringRef kind, TargetParser parser) { parsers()[kind.str()] = parser; }

std::vector<std::string> findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  constexpr unsigned kMost = 3;
  std::vector<std::pair<unsigned, std::string>> near;
  for (llvm::StringRef candidate : candidates) {
    unsigned limit = std::max<size_t>(2, word.size() / 3);
    unsigned distance = word.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, limit);
    if (distance <= limit)
      near.emplace_back(distance, candidate.str());
  }
  llvm::sort(near);
  std::vector<std::string> names;
  for (auto &[distance, name] : llvm::ArrayRef(near).take_front(kMost))
    names.push_back(name);
  return names;
}

std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates) {
  std::vector<std::string> names = findNearest(word, candidates);
  if (names.empty())
    return "";
  return "; did you mean '" + llvm::join(names, "' or '") + "'?";
}

llvm::Expected<std::unique_ptr<Target>> parseTarget(llvm::StringRef spec) {
  auto [kind, variant] = spec.split(':');
  auto found = parsers().find(kind.str());
  if (found != parsers().end())
    return found->second(variant);
  std::vector<llvm::StringRef> kinds;
  for (auto &entry : parsers())
    kinds.push_back(entry.first);
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "unknown target '%s'%s", spec.str().c_str(),
                                 didYouMean(kind, kinds).c_str());
}

} // namespace heddle
