// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configs as JSON and back, and buckets of rows.

#include "compiler/targets/ConfigJson.h"
#include "compiler/targets/RowBucket.h"

#include <gtest/gtest.h>

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace heddle {
namespace {

/// |text| as a config and as text again; "" where it can't be one.
std::string roundTrip(const char *text) {
  MLIRContext context;
  auto value = llvm::cantFail(llvm::json::parse(text));
  DictionaryAttr config = parseConfig(*value.getAsObject(), &context);
  return config ? formatConfig(config) : "";
}

TEST(ConfigJson, KeepsWhatConfigsHold) {
  for (const char *text : {R"({"a":1,"b":-3})", R"({"constants":[8,4],"features":["x","y"],"form":"tile"})",
                           R"({"a":[],"b":{"c":[1]},"d":[{"e":9223372036854775807}]})", "{}"})
    EXPECT_EQ(roundTrip(text), text);
}

TEST(ConfigJson, SortsKeysWhateverTheirOrder) {
  EXPECT_EQ(roundTrip(R"({ "row_tile" : 8, "column_vectors" : 2 })"), R"({"column_vectors":2,"row_tile":8})");
}

TEST(ConfigJson, RefusesWhatNoConfigHolds) {
  for (const char *text : {R"({"a":1.5})", R"({"a":true})", R"({"a":null})", R"({"":1})", R"({"a":[1,[2,null]]})",
                           R"({"a":1e300})", R"({"a":[[[[[[[[[1]]]]]]]]]})"})
    EXPECT_EQ(roundTrip(text), "") << text;
}

TEST(RowBucket, CoversEveryNumberOfRowsOnce) {
  int64_t next = 0;
  for (const RowBucket &bucket : getRowBuckets()) {
    EXPECT_EQ(bucket.least, next);
    EXPECT_EQ(&findRowBucket(bucket.least), &bucket);
    EXPECT_EQ(&findRowBucket(bucket.most), &bucket);
    EXPECT_EQ(parseRowBucket(bucket.name), &bucket);
    next = bucket.most == INT64_MAX ? 0 : bucket.most + 1;
  }
  EXPECT_EQ(next, 0) << "the last one has no end";
  EXPECT_EQ(findRowBucket(17).name, "17-64");
  EXPECT_EQ(parseRowBucket(kAnyRows), nullptr);
}

} // namespace
} // namespace heddle
