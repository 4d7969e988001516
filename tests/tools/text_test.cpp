// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text helpers, JSON, tables, progress lines, the crash message's command line.

#include "tools/heddle/crash.h"
#include "tools/heddle/json.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

TEST(EditDistance, CountsSingleEditsAndSwaps) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("abc", ""), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("compile", "complie"), 1u);
  EXPECT_EQ(editDistance("ca", "ac"), 1u);
}

TEST(NearestName, FindsMisspeltNamesOnly) {
  std::vector<std::string> known = {"compile", "run", "inspect"};
  EXPECT_EQ(nearestName("complie", known), "compile");
  EXPECT_EQ(nearestName("Inspct", known), "inspect");
  EXPECT_EQ(nearestName("frobnicate", known), "");
  EXPECT_EQ(nearestName("", known), "");
  EXPECT_EQ(nearestName("x", {"y"}), "");
  EXPECT_EQ(nearestName(std::string(100000, 'a'), {std::string(100000, 'b')}), "");
}

TEST(ParseCount, TakesPlainNumbersOnly) {
  EXPECT_EQ(parseCount("0"), 0);
  EXPECT_EQ(parseCount("9223372036854775807"), INT64_MAX);
  for (const char *bad : {"", "-0", "-1", "+1", "1 ", " 1", "1.0", "9223372036854775808", "0x10", "a"})
    EXPECT_FALSE(parseCount(bad)) << bad;
}

TEST(FormatBytes, RoundsToOneDecimal) {
  EXPECT_EQ(formatBytes(1), "1 byte");
  EXPECT_EQ(formatBytes(999), "999 bytes");
  EXPECT_EQ(formatBytes(1000), "1.0 kB");
  EXPECT_EQ(formatBytes(999'999), "1.0 MB");
  EXPECT_EQ(formatBytes(69'512'345), "69.5 MB");
}

TEST(Json, WritesNestedValuesInOrder) {
  JsonWriter json;
  json.beginObject().key("a").beginArray().number(int64_t(-1)).number(0.1).boolean(true).null().endArray();
  json.key("b").beginObject().endObject().endObject();
  EXPECT_EQ(json.take(), "{\n  \"a\": [\n    -1,\n    0.1,\n    true,\n    null\n  ],\n  \"b\": {}\n}\n");
}

TEST(Json, EscapesAndRepairsStrings) {
  JsonWriter json;
  json.string("\"\\\n\x01 caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff \xc0\x80 \xed\xa0\x80 \xe2\x82");
  EXPECT_EQ(json.take(), "\"\\\"\\\\\\u000a\\u0001 caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\ufffd \\ufffd\\ufffd "
                         "\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"\n");
}

TEST(Json, HasNullForWhatIsNoNumber) {
  JsonWriter json;
  json.beginArray().number(std::nan("")).number(INFINITY).endArray();
  EXPECT_EQ(json.take(), "[\n  null,\n  null\n]\n");
}

TEST(TableText, AlignsColumns) {
  Table table({"<name", "value"});
  table.addRow({"a", "10"});
  table.addRow({"long", "1"});
  EXPECT_EQ(table.aligned(), "name  value\na        10\nlong      1\n");
}

TEST(TableText, QuotesCsv) {
  Table table({"<name", "value"});
  table.addRow({"a,\"b\"", "1"});
  EXPECT_EQ(table.csv(), "name,value\n\"a,\"\"b\"\"\",1\n");
}

TEST(ProgressLine, EstimatesOnceThereIsSomethingToEstimateFrom) {
  EXPECT_EQ(progressText("import", 0, 1, 0), "import");
  EXPECT_EQ(progressText("codegen", 0, 48, 0), "codegen 0/48 kernels");
  EXPECT_EQ(progressText("codegen", 24, 48, 12), "codegen 24/48 kernels, 12 s left");
  EXPECT_EQ(progressText("codegen", 48, 48, 12), "codegen 48/48 kernels");
}

TEST(CommandLine, QuotesWhatAShellWouldChange) {
  std::string arguments[] = {"heddle", "run", "a b.heddle", "x=[1]", "it's", ""};
  char *pointers[6];
  for (size_t i = 0; i < 6; ++i)
    pointers[i] = arguments[i].data();
  EXPECT_EQ(commandLine(6, pointers), "heddle run 'a b.heddle' 'x=[1]' 'it'\\''s' ''");
}

} // namespace
} // namespace heddle::cli
