// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector that is searched from end to end: 64 hashes fit into eight cache lines, and nothing is allocated to look.

#include "runtime/core/plan_cache.h"

#include <algorithm>

namespace heddle::runtime {

namespace {

/// FNV-1a over whole words: keys are short, and equality is checked anyway.
uint64_t hash_key(const std::vector<int64_t> &key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t word : key)
    hash = (hash ^ static_cast<uint64_t>(word)) * 0x100000001b3u;
  return hash;
}

} // namespace

const plan *plan_cache::find(const std::vector<int64_t> &key) {
  const uint64_t hash = hash_key(key);
  for (slot &slot : slots_)
    if (slot.hash == hash && slot.key == key) {
      slot.last_use = ++clock_;
      return slot.value.get();
    }
  return nullptr;
}

const plan *plan_cache::insert(const std::vector<int64_t> &key, std::unique_ptr<plan> plan) {
  slot added{hash_key(key), ++clock_, key, std::move(plan)};
  if (slots_.size() < capacity())
    return slots_.emplace_back(std::move(added)).value.get();
  slot &oldest = *std::min_element(slots_.begin(), slots_.end(),
                                   [](const slot &a, const slot &b) { return a.last_use < b.last_use; });
  oldest = std::move(added);
  return oldest.value.get();
}

} // namespace heddle::runtime
