// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/RowBucket.h"

#include "llvm/ADT/STLExtras.h"

namespace heddle {

// A vector of one row, a tile's tail, a tile or two, some items, one item a thread, many: what is best differs between
// these more than within them.
static constexpr RowBucket kBuckets[] = {{"1", 0, 1},       {"2-4", 2, 4},       {"5-16", 5, 16},
                                         {"17-64", 17, 64}, {"65-256", 65, 256}, {"257-", 257, INT64_MAX}};

llvm::ArrayRef<RowBucket> getRowBuckets() { return kBuckets; }

const RowBucket &findRowBucket(int64_t rows) {
  return *llvm::find_if(kBuckets, [&](const RowBucket &bucket) { return rows <= bucket.most; });
}

const RowBucket *parseRowBucket(llvm::StringRef name) {
  const RowBucket *found = llvm::find_if(kBuckets, [&](const RowBucket &bucket) { return bucket.name == name; });
  return found == std::end(kBuckets) ? nullptr : found;
}

} // namespace heddle
