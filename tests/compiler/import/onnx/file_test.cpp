// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that aren't models, and what they are.

#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class File : public testing::Test {
protected:
  std::string error(const std::string &bytes) {
    writeFile(scratch / "file", bytes);
    return errorOf(scratch / "file");
  }
  std::string errorOf(const std::filesystem::path &path) {
    Import import = importFile(path);
    EXPECT_EQ(import.errors.exitCode(), 5);
    return import.errors.str();
  }
  ScratchFolder scratch;
};

TEST_F(File, IsRecognisedForWhatItIs) {
  std::string quoted = "error[H0512]: '" + (scratch / "file").string() + "' is ";
  auto expect = [&](const std::string &bytes, const std::string &what) {
    EXPECT_THAT(error(bytes), HasSubstr(quoted + what + ", not an ONNX model\n"));
  };
  expect("", "empty");
  expect("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer");
  expect("PK\x03\x04zip", "a zip archive");
  expect("PK\x03\x04 m/data.pkl", "a PyTorch checkpoint");
  expect("PK\x03\x04 m/data.pkl m/constants.pkl", "a TorchScript model");
  expect("\x1f\x8b\x08", "gzip-compressed");
  expect("\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model)");
  expect("GGUF\x03", "a GGUF file");
  expect(std::string("\x80\x02}q\x00.", 6), "a Python pickle (a PyTorch checkpoint)");
  expect(std::string("\x10\0\0\0\0\0\0\0{\"a\":{}}", 16), "a safetensors file");
  expect("HEDDLE\r\n", "a compiled artifact of Heddle");
  expect("  <!DOCTYPE html><html>", "a web page");
  expect("ir_version: 8\ngraph { }\n", "a text file");
  expect("{\"model_type\": \"bert\"}", "a JSON file");
  expect("<?xml version=\"1.0\"?>\n<net name=\"m\">", "an OpenVINO model");
  expect("\x01\x02\x03", "of an unknown format (it begins with 01 02 03)");
}

TEST_F(File, SaysWhatToDo) {
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\n"),
              EndsWith("  help: fetch the real file: git lfs pull\n"));
}

TEST_F(File, NeedsAGraph) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  EXPECT_THAT(error(model.SerializeAsString()), HasSubstr("is not an ONNX model: it has no graph"));
}

TEST_F(File, HasToBeReadable) {
  EXPECT_EQ(errorOf(scratch / "missing"),
            "error[H0511]: can't read '" + (scratch / "missing").string() + "': No such file or directory\n");
  EXPECT_THAT(errorOf(scratch.path), HasSubstr("it is a folder"));
  EXPECT_THAT(errorOf("/dev/null"), HasSubstr("it is no regular file"));
}

TEST_F(File, IsReportedWhereProtobufCannotReadIt) {
  // The scan copies a node's name as it is; in place of the text there is a number.
  std::string node = std::string("\x18\x01", 2), graph = std::string("\x0a\x02", 2) + node;
  EXPECT_THAT(error(std::string("\x3a\x04", 2) + graph), HasSubstr("error[H05"));
}

} // namespace
} // namespace heddle::test
