// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/ConfigCandidate.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

void heddle::orderCandidates(std::vector<ConfigCandidate> &candidates, size_t kept,
                             llvm::function_ref<int64_t(DictionaryAttr)> family) {
  auto first = candidates.begin() + std::min(kept, candidates.size());
  std::vector<ConfigCandidate> sorted(first, candidates.end()), ordered;
  // Equal ones stay as they are.
  std::vector<size_t> order(sorted.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order,
             [&](size_t a, size_t b) { return std::pair(first[a].seconds, a) < std::pair(first[b].seconds, b); });
  for (auto [place, number] : llvm::enumerate(order))
    sorted[place] = first[number];
  llvm::DenseSet<int64_t> seen;
  for (const ConfigCandidate &candidate : llvm::make_range(candidates.begin(), first))
    seen.insert(family(candidate.lowering));
  std::vector<bool> isTaken(sorted.size(), false);
  auto take = [&](auto accepts) {
    for (size_t i = 0; i < sorted.size(); ++i)
      if (!isTaken[i] && accepts(sorted[i])) {
        isTaken[i] = true;
        seen.insert(family(sorted[i].lowering));
        ordered.push_back(sorted[i]);
        return;
      }
  };
  while (ordered.size() < sorted.size()) {
    take([](const ConfigCandidate &) { return true; });
    take([&](const ConfigCandidate &candidate) { return !seen.contains(family(candidate.lowering)); });
  }
  std::copy(ordered.begin(), ordered.end(), first);
}
