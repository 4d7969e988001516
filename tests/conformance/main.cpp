// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GoogleTest's main, for suites whose cases take minutes to compile: with HEDDLE_TEST_THIRD=0, 1 or 2 in the
// environment it runs that third of what the filter leaves. tests/README.md says who sets it.

#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  // Sharding is GoogleTest's own way to divide a suite; a caller's shards come first.
  if (const char *third = std::getenv("HEDDLE_TEST_THIRD")) {
    setenv("GTEST_TOTAL_SHARDS", "3", /*overwrite=*/0);
    setenv("GTEST_SHARD_INDEX", third, /*overwrite=*/0);
  }
  return RUN_ALL_TESTS();
}
