// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of row counts. How fast a tile is depends on how many rows there are, which is known at run time only: a
// kernel may have a configuration of its own for each class.

#ifndef HEDDLE_COMPILER_TARGETS_ROWBUCKET_H
#define HEDDLE_COMPILER_TARGETS_ROWBUCKET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace heddle {

/// |least| to |most| rows; the last class ends at INT64_MAX.
struct RowBucket {
  llvm::StringLiteral name; ///< "1", "2-4", ... "257-"
  int64_t least, most;
};

/// The word in place of a bucket's name for roots without rows: one configuration serves all sizes.
inline constexpr llvm::StringLiteral kAnyRows = "any";

/// All buckets, ascending and without gaps.
llvm::ArrayRef<RowBucket> getRowBuckets();
/// The bucket of |rows|; no rows at all count as one.
const RowBucket &findRowBucket(int64_t rows);
/// The bucket of that name; null where there is none.
const RowBucket *parseRowBucket(llvm::StringRef name);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_ROWBUCKET_H
