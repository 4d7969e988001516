// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants read the same from literals, files and resources, and bad ranges are refused.

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Locations.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

class ConstantData : public testing::Test {
protected:
  ConstantData() : handler(&context, [this](mlir::Diagnostic &diagnostic) { messages.push_back(diagnostic.str()); }) {
    context.loadDialect<nn::NnDialect>();
    int descriptor;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("heddle_constant", "bin", descriptor, path));
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true)
        << llvm::StringRef("\x01\xff\x80\x3f\x00\x00\x80\x40\x01", 9);
  }
  ~ConstantData() override { llvm::sys::fs::remove(path); }

  mlir::RankedTensorType tensor(llvm::StringRef text) {
    return llvm::cast<mlir::RankedTensorType>(mlir::parseType(text, &context));
  }

  mlir::FailureOr<nn::ConstantData> read(mlir::Attribute value, llvm::StringRef type) {
    mlir::Location location = mlir::UnknownLoc::get(&context);
    return nn::ConstantData::get(value, tensor(type), [=] { return mlir::emitError(location); });
  }

  mlir::FailureOr<nn::ConstantData> readLiteral(llvm::StringRef text, llvm::StringRef type) {
    return read(mlir::parseAttribute((text + " : " + type).str(), &context), type);
  }

  mlir::FailureOr<nn::ConstantData> readFile(int64_t offset, int64_t length, llvm::StringRef type) {
    return read(nn::ExternalAttr::get(&context, path, offset, length), type);
  }

  mlir::MLIRContext context;
  std::vector<std::string> messages;
  mlir::ScopedDiagnosticHandler handler;
  llvm::SmallString<128> path;
};

TEST_F(ConstantData, ReadsAnyElementTypeOfALiteral) {
  EXPECT_EQ(readLiteral("dense<[-5, 7]>", "tensor<2xi64>")->getInt(0), -5);
  EXPECT_EQ(readLiteral("dense<[-5, 7]>", "tensor<2xi32>")->getInt(0), -5);
  EXPECT_EQ(readLiteral("dense<[-5, 7]>", "tensor<2xi16>")->getInt(0), -5);
  EXPECT_EQ(readLiteral("dense<[-5, 7]>", "tensor<2xi8>")->getInt(0), -5);
  EXPECT_EQ(readLiteral("dense<[251, 7]>", "tensor<2xui8>")->getInt(0), 251);
  EXPECT_EQ(readLiteral("dense<[65535, 7]>", "tensor<2xui16>")->getInt(0), 65535);
  EXPECT_EQ(readLiteral("dense<[4294967295, 7]>", "tensor<2xui32>")->getInt(0), 4294967295);
  EXPECT_EQ(readLiteral("dense<18446744073709551615>", "tensor<2xui64>")->getDouble(1), 18446744073709551615.0);
  EXPECT_EQ(readLiteral("dense<[1.5, -2.0]>", "tensor<2xf64>")->getDouble(1), -2.0);
  EXPECT_EQ(readLiteral("dense<[1.5, -2.0]>", "tensor<2xf32>")->getDouble(0), 1.5);
  EXPECT_EQ(readLiteral("dense<[1.5, -2.0]>", "tensor<2xf16>")->getDouble(0), 1.5);
  EXPECT_EQ(readLiteral("dense<[1.5, -2.0]>", "tensor<2xbf16>")->getDouble(0), 1.5);
  EXPECT_EQ(readLiteral("dense<[1, 2]>", "tensor<2xi64>")->getDouble(1), 2.0);
  EXPECT_TRUE(std::isnan(readLiteral("dense<0x7FC00000>", "tensor<1xf32>")->getDouble(0)));
}

TEST_F(ConstantData, LaysOutLiteralsAsOnnxDoes) {
  auto bools = readLiteral("dense<[true, false, true]>", "tensor<3xi1>");
  EXPECT_EQ(bools->getBytes(), llvm::ArrayRef<uint8_t>({1, 0, 1}));
  EXPECT_EQ(bools->getInt(2), 1);
  auto splat = readLiteral("dense<true>", "tensor<9xi1>");
  EXPECT_EQ(splat->getBytes(), llvm::ArrayRef<uint8_t>(std::vector<uint8_t>(9, 1)));
  auto nibbles = readLiteral("dense<[1, -2, 7]>", "tensor<3xi4>");
  EXPECT_EQ(nibbles->getBytes(), llvm::ArrayRef<uint8_t>({0xe1, 0x07}));
  EXPECT_EQ(nibbles->getInt(1), -2);
  EXPECT_EQ(readLiteral("dense<[1, 14, 7]>", "tensor<3xui4>")->getInt(1), 14);
  EXPECT_EQ(readLiteral("dense<258>", "tensor<2xi16>")->getBytes(), llvm::ArrayRef<uint8_t>({2, 1, 2, 1}));
  EXPECT_TRUE(readLiteral("dense<>", "tensor<0xf32>")->getBytes().empty());
}

TEST_F(ConstantData, ReadsUnalignedRangesOfAFile) {
  EXPECT_EQ(readFile(0, 4, "tensor<1xf32>")->getBytes().size(), 4u);
  EXPECT_EQ(readFile(1, 2, "tensor<1xi16>")->getInt(0), int16_t(0x80ff));
  auto floats = readFile(1, 8, "tensor<2xf32>");
  EXPECT_EQ(floats->getBytes().front(), 0xff);
  EXPECT_EQ(readFile(4, 4, "tensor<1xf32>")->getDouble(0), 4.0);
  EXPECT_EQ(readFile(8, 1, "tensor<2xi4>")->getInt(0), 1);
  EXPECT_EQ(readFile(9, 0, "tensor<0xi8>")->getNumElements(), 0);
  EXPECT_TRUE(messages.empty()) << messages.front();
}

TEST_F(ConstantData, RefusesRangesOutsideTheFile) {
  EXPECT_TRUE(mlir::failed(readFile(8, 4, "tensor<1xf32>")));
  EXPECT_TRUE(mlir::failed(readFile(10, 0, "tensor<0xf32>")));
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0], "expects the range at 8 of 4 bytes within '" + path.str().str() + "', which has 9");
}

TEST_F(ConstantData, RefusesAFileThatIsNotThere) {
  EXPECT_TRUE(mlir::failed(read(nn::ExternalAttr::get(&context, "/nowhere/weights", 0, 4), "tensor<1xf32>")));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "expects a readable file '/nowhere/weights': No such file or directory");
}

TEST_F(ConstantData, RefusesSizesAndTypesThatDoNotFit) {
  EXPECT_TRUE(mlir::failed(readFile(0, 4, "tensor<2xf32>")));
  EXPECT_TRUE(mlir::failed(read(mlir::parseAttribute("dense<1> : tensor<2xi64>", &context), "tensor<3xi64>")));
  EXPECT_TRUE(mlir::failed(readFile(0, 4, "tensor<?xf32>")));
  EXPECT_TRUE(mlir::failed(read(mlir::UnitAttr::get(&context), "tensor<1xf32>")));
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0], "expects 8 bytes for 'tensor<2xf32>', got 4");
  EXPECT_EQ(messages[1], "expects elements of 'tensor<3xi64>', got 'tensor<2xi64>'");
  EXPECT_EQ(messages[2], "expects a static shape and integer or float elements, got 'tensor<?xf32>'");
  EXPECT_EQ(messages[3], "expects a dense literal, a file range or a dense resource, got unit");
}

TEST_F(ConstantData, ReadsAResource) {
  float data[] = {1.0f, -3.0f};
  auto blob = mlir::HeapAsmResourceBlob::allocateAndCopyInferAlign(llvm::ArrayRef<float>(data));
  auto value = mlir::DenseResourceElementsAttr::get(tensor("tensor<2xf32>"), "decoded", std::move(blob));
  auto read = this->read(value, "tensor<2xf32>");
  ASSERT_TRUE(mlir::succeeded(read));
  EXPECT_EQ(read->getDouble(1), -3.0);
}

TEST_F(ConstantData, RefusesAResourceWithoutData) {
  EXPECT_TRUE(mlir::failed(readLiteral("dense_resource<missing>", "tensor<2xf32>")));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "expects data for the resource 'missing'");
}

TEST_F(ConstantData, MapsAFileOnce) {
  auto &files = context.getLoadedDialect<nn::NnDialect>()->getMappedFiles();
  EXPECT_EQ(files.get(path)->get(), files.get(path)->get());
}

TEST_F(ConstantData, CountsBytesWithoutOverflow) {
  EXPECT_EQ(nn::getRawSize(tensor("tensor<3x5xi4>")), 8);
  EXPECT_EQ(nn::getRawSize(tensor("tensor<3x5xi1>")), 15);
  EXPECT_EQ(nn::getRawSize(tensor("tensor<f16>")), 2);
  EXPECT_EQ(nn::getRawSize(tensor("tensor<4611686018427387904x2xi8>")), std::nullopt);
  EXPECT_EQ(nn::getRawSize(tensor("tensor<2305843009213693952xf32>")), std::nullopt);
  EXPECT_EQ(nn::getRawSize(tensor("tensor<2xindex>")), std::nullopt);
}

TEST_F(ConstantData, LooksNoFurtherThanItsBudgetThroughCycles) {
  // Not yet verified IR may refer to itself: here a graph region, where that is even legal.
  constexpr llvm::StringLiteral text = R"(
    %0 = nn.concat %0, %0, %0, %0 {axis = 0 : i64} : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  )";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module) << messages.front();
  auto concat = *module->getOps<nn::ConcatOp>().begin();
  EXPECT_EQ(nn::getKnownInts(concat.getOutput()), std::nullopt);
}

TEST_F(ConstantData, ReckonsWithKnownExtents) {
  constexpr llvm::StringLiteral text = R"(
    %big = nn.constant dense<9223372036854775807> : tensor<1xi64>
    %sizes = nn.constant dense<[8, 6]> : tensor<2xi64>
    %two = nn.constant dense<2> : tensor<1xi64>
    %0 = nn.binary sub %sizes, %two : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
    %1 = nn.binary div %0, %two : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
    %2 = nn.binary add %big, %two : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  )";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module) << messages.front();
  auto ops = llvm::to_vector(module->getOps<nn::BinaryOp>());
  EXPECT_EQ(nn::getKnownInts(ops[1].getOutput()), llvm::SmallVector<int64_t>({3, 2}));
  // What would wrap is not known, but how many numbers there are.
  EXPECT_EQ(nn::getKnownInts(ops[2].getOutput()), llvm::SmallVector<int64_t>({mlir::ShapedType::kDynamic}));
}

TEST_F(ConstantData, RemembersNodesInLocations) {
  mlir::Location node = nn::getNodeLocation(&context, {"/layer.0/MatMul", "MatMul", "com.microsoft", 17});
  mlir::Location fused = mlir::FusedLoc::get(&context, {mlir::UnknownLoc::get(&context), node});
  auto found = nn::findOnnxNode(fused);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "/layer.0/MatMul");
  EXPECT_EQ(found->type, "MatMul");
  EXPECT_EQ(found->domain, "com.microsoft");
  EXPECT_EQ(found->opset, 17);
  EXPECT_EQ(found->path, "");
  mlir::Location inModule = nn::getNodeLocation(&context, {"node_0", "MatMul", "", 18, "layer.0/linear"});
  EXPECT_EQ(nn::findOnnxNode(inModule)->path, "layer.0/linear");
  EXPECT_FALSE(nn::findOnnxNode(mlir::UnknownLoc::get(&context)));
}

} // namespace
