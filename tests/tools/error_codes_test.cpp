// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every error code that the tree mentions has exactly one explanation, and every explained code of the command is used.

#include "compiler/support/ErrorCodes.h"
#include "tools/heddle/error_codes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <heddle/error_codes.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> listedCodes() {
  return {
#define HEDDLE_CODE(code, summary, explanation) #code,
      HEDDLE_TOOL_ERROR_CODES(HEDDLE_CODE) HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_CODE)
          HEDDLE_COMPILER_ERROR_CODES(HEDDLE_CODE)
#undef HEDDLE_CODE
  };
}

/// The codes in the sources of |room|, with a file that has each; lists of codes don't count.
std::map<std::string, std::string> codesIn(const std::string &room) {
  static const std::regex code("\\bH0[0-9]{3}\\b");
  static const std::set<std::string> lists = {"error_codes.h", "ErrorCodes.h"}, kinds = {".h", ".cpp", ".td", ".py"};
  std::map<std::string, std::string> found;
  for (const fs::directory_entry &file :
       fs::recursive_directory_iterator(fs::path(std::getenv("HEDDLE_SOURCE_DIR")) / room)) {
    if (!file.is_regular_file() || lists.count(file.path().filename()) || !kinds.count(file.path().extension()))
      continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    std::string content = text.str();
    for (std::sregex_iterator match(content.begin(), content.end(), code), end; match != end; ++match)
      found.emplace(match->str(), file.path().string());
  }
  return found;
}

TEST(ErrorCodes, AreListedOnce) {
  std::set<std::string> seen;
  for (const std::string &code : listedCodes())
    EXPECT_TRUE(seen.insert(code).second) << code << " is listed twice";
}

TEST(ErrorCodes, AreAllExplained) {
  std::vector<std::string> listed = listedCodes();
  std::set<std::string> known(listed.begin(), listed.end());
  for (const char *room : {"tools/heddle", "runtime", "compiler", "dialects"})
    for (const auto &[code, file] : codesIn(room))
      EXPECT_TRUE(known.count(code)) << code << " in " << file << " has no explanation";
}

/// Three sentences are what it takes to say what happened, why, and what to do; an example is worth more than a fourth.
TEST(ErrorCodes, AreExplainedAtLengthWithAnExample) {
  const std::map<std::string, std::string> texts = {
#define HEDDLE_CODE(code, summary, explanation) {#code, explanation},
      HEDDLE_TOOL_ERROR_CODES(HEDDLE_CODE) HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_CODE)
          HEDDLE_COMPILER_ERROR_CODES(HEDDLE_CODE)
#undef HEDDLE_CODE
  };
  const std::string separator = "\n\nExample: ";
  const std::regex sentence("[.!?](\\s|$)");
  for (const auto &[code, text] : texts) {
    const size_t example = text.find(separator);
    ASSERT_NE(example, std::string::npos) << code << " has no example";
    EXPECT_GE(text.size() - example - separator.size(), 20u) << code;
    const std::string explanation = text.substr(0, example);
    EXPECT_GE(
        std::distance(std::sregex_iterator(explanation.begin(), explanation.end(), sentence), std::sregex_iterator()),
        3)
        << code << ": " << explanation;
    // One text may not serve two codes: then one of them isn't explained.
    for (const auto &[other, otherText] : texts)
      EXPECT_TRUE(other == code || otherText.substr(0, otherText.find(separator)) != explanation)
          << code << " and " << other;
  }
}

TEST(ErrorCodes, OfTheCommandAreAllUsed) {
  std::map<std::string, std::string> used = codesIn("tools/heddle");
#define HEDDLE_CODE(code, summary, explanation) EXPECT_TRUE(used.count(#code)) << #code << " is never reported";
  HEDDLE_TOOL_ERROR_CODES(HEDDLE_CODE)
#undef HEDDLE_CODE
}

} // namespace
} // namespace heddle::cli
