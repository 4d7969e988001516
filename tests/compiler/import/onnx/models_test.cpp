// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real models: the exports in the folder shared/ beside the repository, and MiniLM-L3 from the cache of tools/fetch.

#include "dialects/nn/Locations.h"
#include "dialects/nn/NnOps.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Every op carries its node; nothing but nn and attn is there.
void checkForm(const Import &import) {
  for (mlir::Operation &op : import.main().getBody().front().without_terminator()) {
    EXPECT_THAT(op.getDialect()->getNamespace().str(), testing::AnyOf("nn", "attn"));
    bool isNode = nn::findOnnxNode(op.getLoc()).has_value();
    EXPECT_TRUE(isNode || llvm::isa<nn::ConstantOp>(op)) << op.getName().getStringRef().str();
  }
}

/// The first operator in the file at |path| that can't be imported yet; empty where there is none.
std::string findObstacle(const fs::path &path) {
  static const std::set<std::string> operators = {"NonZero"};
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(readFile(path)));
  for (const ::onnx::NodeProto &node : model.graph().node())
    if (operators.count(node.op_type()))
      return "operator " + node.op_type() + " is not supported";
  return "";
}

TEST(Models, OfTheSharedFolderAreImportedOrRefusedByName) {
  fs::path folder = folderFromEnvironment("HEDDLE_SHARED_DIR") / "models";
  if (!fs::is_directory(folder))
    HEDDLE_MISSING("no models in " << folder);
  unsigned imported = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory())
      continue;
    Import import = importFile(entry.path() / "model.onnx");
    std::string obstacle = findObstacle(entry.path() / "model.onnx");
    EXPECT_EQ(!import.module, !obstacle.empty()) << entry.path() << import.errors.str();
    EXPECT_THAT(import.errors.str(), HasSubstr(obstacle));
    if (!import.module)
      continue;
    ++imported;
    checkForm(import);
  }
  EXPECT_GE(imported, 123u);
}

TEST(Models, MiniLmIsImported) {
  fs::path cache = folderFromEnvironment("HEDDLE_CACHE");
  if (cache.empty())
    cache = folderFromEnvironment("HOME") / ".cache/heddle";
  fs::path file = cache / "fetched/minilm-l3-0.2.1/paraphrase-MiniLM-L3-v2.onnx";
  if (!fs::exists(file))
    HEDDLE_MISSING("no " << file << ": run tools/fetch minilm-l3");
  Import import = importFile(file);
  ASSERT_TRUE(import.module) << import.errors.str();
  checkForm(import);
  mlir::FunctionType type = import.main().getFunctionType();
  EXPECT_EQ(type.getNumInputs(), 2u);
  EXPECT_EQ(type.getNumResults(), 4u);
  // Two outputs are inputs handed through; weights stay in the file.
  std::string text = import.text();
  EXPECT_THAT(text, HasSubstr("nn.dims = [\"batch_size\", \"sequence_length\"], nn.name = \"input_ids\""));
  EXPECT_THAT(text, HasSubstr("46881792> -> tensor<30522x384xf32>"));
  EXPECT_THAT(text, testing::Not(HasSubstr("dense_resource")));
}

} // namespace
} // namespace heddle::test
