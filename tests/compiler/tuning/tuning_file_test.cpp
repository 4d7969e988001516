// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of tuning files: which are entries, and what is said of the others.

#include "compiler/tuning/TuningFile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heddle {
namespace {

constexpr const char *kEntry = R"({"heddle_tuning":1,"device":{"kind":"cpu","l2":524288},"signature":)"
                               R"("f32_contract_?x768x768_1f0c93aa","rows":"65-256","config":{"row_tile":8},)"
                               R"("ratio":0.91,"pairs":21,"producer":"heddle 0.1.0","mood":["fine"]})";

/// kEntry with |to| in place of |from|.
std::string changed(const std::string &from, const std::string &to) {
  std::string text = kEntry;
  return text.replace(text.find(from), from.size(), to);
}

/// What is wrong with the one line |text|; "" where it is an entry.
std::string problemOf(const std::string &text) {
  TuningFile file = parseTuningFile("x.tuning.jsonl", text);
  EXPECT_EQ(file.entries.size() + file.problems.size(), 1u) << text;
  return file.problems.empty() ? "" : file.problems.front();
}

TEST(TuningFile, HoldsAnEntryALine) {
  TuningFile file = parseTuningFile("x.tuning.jsonl", std::string(kEntry) + "\r\n\n" + changed("65-256", "any"));
  EXPECT_EQ(file.name, "x.tuning.jsonl");
  EXPECT_TRUE(file.problems.empty());
  ASSERT_EQ(file.entries.size(), 2u);
  EXPECT_EQ(file.entries[0].signature, "f32_contract_?x768x768_1f0c93aa");
  EXPECT_EQ(file.entries[0].rows, "65-256");
  EXPECT_EQ(file.entries[0].config.getInteger("row_tile"), 8);
  EXPECT_EQ(file.entries[0].device.getInteger("l2"), 524288);
  EXPECT_EQ(file.entries[1].rows, "any");
}

TEST(TuningFile, SaysWhatIsWrongWithALine) {
  EXPECT_EQ(problemOf("[1]"), "line 1: expects an object, got [1]");
  EXPECT_EQ(problemOf(changed("\"heddle_tuning\":1", "\"heddle_tuning\":2")),
            "line 1: expects \"heddle_tuning\" 1, the version of this format, got 2");
  EXPECT_EQ(
      problemOf(changed("\"kind\":\"cpu\"", "\"kind\":\"abacus\"")),
      "line 1: expects \"device\" with \"kind\" of \"cpu\" or \"vulkan\", got {\"kind\":\"abacus\",\"l2\":524288}");
  EXPECT_EQ(problemOf(changed("65-256", "65-257")),
            "line 1: expects \"rows\" as one of the buckets, such as \"2-4\", or \"any\", got \"65-257\"");
  EXPECT_EQ(problemOf(changed("f32_contract_?x768x768_1f0c93aa", "a b")),
            "line 1: expects \"signature\" of a kernel, got \"a b\"");
  EXPECT_EQ(problemOf(changed("\"config\"", "\"confix\"")), "line 1: expects \"config\" as an object, got none");
  std::string half = std::string(kEntry).substr(0, 100);
  EXPECT_EQ(problemOf("\n\n" + half).find("line 3: isn't JSON: "), 0u) << problemOf("\n\n" + half);
}

TEST(TuningFile, RefusesWhatWouldTakeAllTheStackOrMemory) {
  EXPECT_EQ(problemOf(std::string(60000, '[')), "line 1: is longer or nested more deeply than any entry");
  EXPECT_EQ(problemOf(std::string(1 << 20, '1')), "line 1: is longer or nested more deeply than any entry");
}

TEST(TuningFile, KeepsControlCharactersOffTheTerminal) {
  std::string problem = problemOf(changed("65-256", "\\u001b[2J"));
  EXPECT_EQ(problem.find('\x1b'), std::string::npos) << problem;
}

TEST(TuningFile, IsRefusedWhereItIsSomethingElse) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "heddle.tuning.jsonl";
  TuningFile file;
  ErrorList errors;
  EXPECT_TRUE(failed(readTuningFile("/nowhere/x.tuning.jsonl", file, errors)));
  EXPECT_TRUE(failed(readTuningFile(testing::TempDir(), file, errors)));
  std::ofstream(path) << "all about looms\n";
  EXPECT_TRUE(failed(readTuningFile(path.string(), file, errors)));
  ASSERT_EQ(errors.getErrors().size(), 3u);
  EXPECT_EQ(errors.getErrors()[0].message,
            "tuning file '/nowhere/x.tuning.jsonl' can't be used: No such file or directory");
  EXPECT_NE(errors.getErrors()[1].message.find("it is no regular file"), std::string::npos);
  EXPECT_NE(errors.getErrors()[2].message.find("line 1: isn't JSON"), std::string::npos);
  EXPECT_EQ(errors.exitCode(), 5);
  // Damaged in part it is used in part.
  std::ofstream(path) << kEntry << "\nall about looms\n";
  EXPECT_TRUE(succeeded(readTuningFile(path.string(), file, errors)));
  EXPECT_EQ(file.entries.size(), 1u);
  EXPECT_EQ(file.problems.size(), 1u);
  std::filesystem::remove(path);
}

} // namespace
} // namespace heddle
