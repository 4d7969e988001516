// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans of a session's last shapes.

#pragma once

#include <memory>

#include "runtime/core/plan.h"

namespace heddle::runtime {

/// Keeps the plans used last, up to capacity(). Not for concurrent use.
class plan_cache {
public:
  /// Enough for bucketed lengths times batch sizes; looking through all of them takes less than one clock read.
  static constexpr size_t capacity() { return 64; }

  /// Returns the plan of |key|, or null. It stays valid until insert() is called. Allocates nothing.
  const plan *find(const std::vector<int64_t> &key);

  /// Adds a plan for |key|, which has none, in place of the one that wasn't used for longest if the cache is full.
  const plan *insert(const std::vector<int64_t> &key, std::unique_ptr<plan> plan);

  size_t size() const { return slots_.size(); }

private:
  struct slot {
    uint64_t hash;
    uint64_t last_use;
    std::vector<int64_t> key;
    std::unique_ptr<plan> value;
  };

  std::vector<slot> slots_;
  uint64_t clock_ = 0;
};

} // namespace heddle::runtime
