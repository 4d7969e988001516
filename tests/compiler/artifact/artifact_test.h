// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the artifact writer share: a context, a folder, modules written and read back.

#ifndef HEDDLE_TESTS_COMPILER_ARTIFACT_ARTIFACT_TEST_H
#define HEDDLE_TESTS_COMPILER_ARTIFACT_ARTIFACT_TEST_H

#include "compiler/artifact/ArtifactWriter.h"
#include "dialects/kernel/KernelDialect.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

namespace heddle::test {

class ArtifactTest : public ::testing::Test {
protected:
  ArtifactTest() {
    context.loadDialect<kernel::KernelDialect, nn::NnDialect, rt::RtDialect>();
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("heddle-artifact-test", folder));
  }
  ~ArtifactTest() override { llvm::sys::fs::remove_directories(folder); }

  std::string at(llvm::StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  void parse(llvm::StringRef source) {
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    ASSERT_TRUE(module);
  }

  mlir::LogicalResult write(llvm::StringRef name, llvm::ArrayRef<TargetImage> images = {}) {
    return writeArtifact(*module, images, {"model.onnx", {{"target", "cpu:x86-64-v3"}}}, at(name), errors);
  }

  std::string bytes(llvm::StringRef name) {
    auto buffer = llvm::MemoryBuffer::getFile(at(name), /*IsText=*/false, /*RequiresNullTerminator=*/false);
    EXPECT_TRUE(buffer) << name.str();
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  unsigned countFiles() {
    std::error_code code;
    unsigned count = 0;
    for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
      ++count;
    return count;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallString<128> folder;
  ErrorList errors;
};

} // namespace heddle::test

#endif // HEDDLE_TESTS_COMPILER_ARTIFACT_ARTIFACT_TEST_H
