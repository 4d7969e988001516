// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading JSON.

#include "tools/heddle/json_value.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

std::string lineOf(const std::string &text) {
  std::string error;
  std::optional<JsonValue> value = parseJson(text, error);
  return value ? value->line() : error;
}

TEST(JsonValue, HasOneText) {
  EXPECT_EQ(lineOf(" { \"b\" : [ 1 , -2.5e3, true, null ] , \"a\" : { } } "), "{\"a\":{},\"b\":[1,-2.5e3,true,null]}");
  EXPECT_EQ(lineOf("{\"b\":1,\"a\":2,\"b\":3}"), "{\"a\":2,\"b\":3}");
  EXPECT_EQ(lineOf("false"), "false");
}

TEST(JsonValue, ReadsEscapes) {
  EXPECT_EQ(lineOf(R"("\"\\\/\n\u0041\u00e9\u20ac\ud83d\ude00")"),
            "\"\\\"\\\\/\\u000aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

TEST(JsonValue, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(lineOf(""), "expects a value at character 1");
  EXPECT_EQ(lineOf("{\"a\":1"), "expects ',' or '}' at character 7");
  EXPECT_EQ(lineOf("{a:1}"), "expects a name in quotes at character 2");
  EXPECT_EQ(lineOf("[1,]"), "expects a value at character 4");
  EXPECT_EQ(lineOf("[1] 2"), "expects the end at character 5");
  EXPECT_EQ(lineOf("\"abc"), "expects a closing quote at character 5");
  EXPECT_EQ(lineOf("\"a\nb\""), "expects no control character in a string at character 3");
  for (const char *bad : {"01", "1.", "-", "1e", "+1", ".5", "tru", "nulll", "[", "{\"a\"}", "\"\\x\"", "\"\\u12\"",
                          "\"\\ud83d\"", "\"\\ud83d\\u0041\"", "\"\\ude00\""}) {
    std::string error;
    EXPECT_FALSE(parseJson(bad, error)) << bad;
    EXPECT_FALSE(error.empty()) << bad;
  }
}

TEST(JsonValue, RefusesDeepNestingWithoutRecursingFar) {
  std::string error;
  EXPECT_TRUE(parseJson(std::string(64, '[') + std::string(64, ']'), error));
  EXPECT_FALSE(parseJson(std::string(1 << 20, '['), error));
  EXPECT_EQ(error, "expects less nesting at character 66");
}

TEST(JsonValue, FindsMembersByTheirKind) {
  std::string error;
  JsonValue value = *parseJson(R"({"text":"x","whole":7,"half":0.5})", error);
  EXPECT_EQ(value.findString("text"), "x");
  EXPECT_EQ(value.findInteger("whole"), 7);
  EXPECT_EQ(value.findNumber("half"), 0.5);
  EXPECT_FALSE(value.findString("whole"));
  EXPECT_FALSE(value.findInteger("half"));
  EXPECT_FALSE(value.findNumber("none"));
}

} // namespace
} // namespace heddle::cli
