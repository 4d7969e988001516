// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data in files beside the model: found from any working directory, and never outside the model's folder.

#include "dialects/nn/ConstantData.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using ::onnx::TensorProto;
using Entries = std::vector<std::pair<std::string, std::string>>;

/// A folder holds models/ with the model and its data, and what is outside of that.
class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    fs::create_directories(scratch / "models/sub");
    writeFile(scratch / "models/data.bin", std::string("\x01\x02\x03\x04\x05\x06\x07\x08", 8));
    writeFile(scratch / "models/sub/data.bin", "\x11\x12");
    writeFile(scratch / "outside.bin", "\x21\x22");
  }

  /// Imports a model that returns a tensor of |count| bytes with the given entries.
  Import import(const Entries &entries, int64_t count = 2) {
    ModelBuilder builder;
    builder.output("w", TensorProto::UINT8);
    TensorProto &tensor = builder.tensor("w", {count}, TensorProto::UINT8);
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto &[key, value] : entries) {
      ::onnx::StringStringEntryProto &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    writeFile(scratch / "models/model.onnx", builder.bytes());
    return importFile(scratch / "models/model.onnx");
  }

  std::string error(const Entries &entries, int64_t count = 2) {
    Import result = import(entries, count);
    EXPECT_EQ(result.errors.exitCode(), 5);
    std::string text = result.errors.str();
    return text.substr(0, text.find('\n'));
  }
  std::string refusal(const std::string &location) { return error({{"location", location}}); }

  ScratchFolder scratch;
};

TEST_F(ExternalData, IsReadRelativeToTheModel) {
  EXPECT_NE(import({{"location", "data.bin"}, {"offset", "3"}, {"length", "2"}}).text().find("dense<[4, 5]>"),
            std::string::npos);
  EXPECT_NE(import({{"location", "data.bin"}}).text().find("dense<[1, 2]>"), std::string::npos);
  EXPECT_NE(import({{"location", "sub/data.bin"}, {"checksum", "0"}}).text().find("dense<[17, 18]>"),
            std::string::npos);
  EXPECT_NE(import({{"location", "./sub//data.bin"}}).text().find("dense<[17, 18]>"), std::string::npos);
}

TEST_F(ExternalData, StaysInItsFileWhereItIsLarge) {
  writeFile(scratch / "models/large.bin", std::string(10000, 'x'));
  Import result = import({{"location", "large.bin"}, {"offset", "1000"}}, 5000);
  ASSERT_TRUE(result.module) << result.errors.str();
  EXPECT_NE(result.text().find("models/large.bin\", 1000, 5000>"), std::string::npos) << result.text();
  nn::ConstantOp constant = *result.main().getOps<nn::ConstantOp>().begin();
  EXPECT_TRUE(succeeded(nn::ConstantData::get(constant)));
}

TEST_F(ExternalData, IsRefusedOutsideOfTheFolder) {
  EXPECT_EQ(refusal("../outside.bin"), "error[H0516]: tensor 'w': external data '../outside.bin' refused: it lies "
                                       "outside the model's folder");
  EXPECT_NE(refusal("sub/../data.bin").find("outside the model's folder"), std::string::npos);
  EXPECT_NE(refusal((scratch / "outside.bin").string()).find("absolute paths are not followed"), std::string::npos);
  fs::create_symlink(scratch / "outside.bin", scratch / "models/link.bin");
  EXPECT_NE(refusal("link.bin").find("'link.bin' is a symbolic link"), std::string::npos);
  fs::create_directory_symlink(scratch.path, scratch / "models/folder");
  EXPECT_NE(refusal("folder/outside.bin").find("'folder' is a symbolic link"), std::string::npos);
  fs::create_hard_link(scratch / "outside.bin", scratch / "models/hard.bin");
  EXPECT_NE(refusal("hard.bin").find("it has several hard links"), std::string::npos);
}

TEST_F(ExternalData, IsRefusedWhereThereIsNoPlainFile) {
  EXPECT_EQ(refusal("missing.bin"),
            "error[H0516]: tensor 'w': external data 'missing.bin' refused: No such file or directory");
  EXPECT_NE(refusal("sub").find("it is no regular file"), std::string::npos);
  EXPECT_NE(refusal("data.bin/data.bin").find("refused: Not a directory"), std::string::npos);
  EXPECT_NE(refusal("").find("it has no location"), std::string::npos);
  EXPECT_NE(refusal("sub/").find("names no file"), std::string::npos);
  EXPECT_NE(refusal(std::string("data.bin\0x", 10)).find("holds a zero byte"), std::string::npos);
  // Opening a pipe would wait for a writer that never comes.
  ASSERT_EQ(::mkfifo((scratch / "models/pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal("pipe").find("it is no regular file"), std::string::npos);
}

TEST_F(ExternalData, IsRecognisedWhereItIsAGitLfsPointer) {
  writeFile(scratch / "models/pointer.bin",
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, '0') + "\nsize 71303168\n");
  EXPECT_EQ(error({{"location", "pointer.bin"}}, 1000),
            "error[H0516]: tensor 'w': external data 'pointer.bin' is a Git LFS pointer, not the data");
}

TEST_F(ExternalData, IsRefusedOutsideOfTheFile) {
  EXPECT_EQ(
      error({{"location", "data.bin"}, {"offset", "7"}}),
      "error[H0516]: tensor 'w': external data 'data.bin' ends past the end of the file: 2 bytes at offset 7, the "
      "file has 8");
  // The sum of offset and length would wrap around.
  EXPECT_NE(error({{"location", "data.bin"}, {"offset", "18446744073709551615"}}).find("ends past the end"),
            std::string::npos);
  EXPECT_EQ(error({{"location", "data.bin"}, {"length", "3"}}),
            "error[H0515]: tensor 'w': external data 'data.bin' has 3 of 2 bytes");
  for (const char *number : {"-1", "1x", "", "18446744073709551616"})
    EXPECT_NE(error({{"location", "data.bin"}, {"offset", number}}).find("of its external data is no number"),
              std::string::npos)
        << number;
}

} // namespace
} // namespace heddle::test
