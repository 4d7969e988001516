// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts that the compiler writes: whole, or not at all and with a reason.

#include "compiler/support/OutputFile.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>

namespace heddle {
namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "heddle-output-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string at(const char *name) const { return (folder / name).string(); }
  std::string read(const char *name) const {
    std::ostringstream text;
    text << std::ifstream(at(name)).rdbuf();
    return text.str();
  }
  size_t countFiles() const { return std::distance(std::filesystem::directory_iterator(folder), {}); }
  /// The error of writing |text| to |name|; "" for none.
  std::string write(const char *name, llvm::StringRef text) { return toString(writeTextFile(at(name), text)); }

  std::filesystem::path folder;
};

TEST_F(OutputFileTest, ReplacesAnOlderFile) {
  EXPECT_EQ(write("a", "old"), "");
  EXPECT_EQ(write("a", "new"), "");
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputFileTest, AFullDiskLeavesTheOldFile) {
  EXPECT_EQ(write("a", "old"), "");
  // A limit on file sizes fails as a full disk does, in the middle of a write.
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit smaller = {4096, limit.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &smaller), 0);
  std::string error = write("a", std::string(100000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, "File too large");
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputFileTest, SaysWhatStandsInTheWay) {
  EXPECT_EQ(write("no/folder/a", "text"), "No such file or directory");
  EXPECT_EQ(toString(checkReplaceable(folder.string())), "Is a directory");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(toString(checkReplaceable(at("pipe"))), "it is no regular file");
  EXPECT_EQ(toString(checkReplaceable(at("nothing yet"))), "");
  // Standard output may be a file: it is written to, and the link that leads there stays.
  EXPECT_EQ(toString(checkReplaceable("/dev/stdout")), "it is no regular file");
  EXPECT_EQ(toString(writeTextFile("/dev/stdout", "")), "");
  EXPECT_TRUE(std::filesystem::is_symlink("/dev/stdout"));
  EXPECT_EQ(toString(writeTextFile("/dev/full", "text")), "No space left on device");
  EXPECT_EQ(toString(writeTextFile("/dev/null", "text")), "");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

} // namespace
} // namespace heddle
