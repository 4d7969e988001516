// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a signature tells apart, and what it doesn't; the rows that buckets count.

#include "compiler/targets/common/KernelSignature.h"
#include "tests/conformance/contract_text.h"

#include <gtest/gtest.h>

#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace heddle::conformance;

namespace heddle {
namespace {

class KernelSignature : public testing::Test {
protected:
  KernelSignature() { context.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>(); }

  kernel::FuncOp parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return module ? *module->getOps<kernel::FuncOp>().begin() : kernel::FuncOp();
  }
  std::string signatureOf(const std::string &text) { return getKernelSignature(parse(text)); }
  /// |text| with |from| in place of the first |to|.
  static std::string replace(std::string text, const std::string &from, const std::string &to) {
    return text.replace(text.find(from), from.size(), to);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(KernelSignature, NamesTypesRootAndBounds) {
  std::string signature = signatureOf(packed_product(768, 3072));
  EXPECT_EQ(signature.find("f32_contract_?x768x3072_"), 0u) << signature;
  EXPECT_EQ(signature.size(), std::string("f32_contract_?x768x3072_").size() + 8);
  EXPECT_EQ(signatureOf(byte_product(64, 32)).find("u8s8_contract_?x64x32_"), 0u);
}

TEST_F(KernelSignature, IsTheSameWhateverNamesAndConfigs) {
  std::string text = packed_product(64, 32), signature = signatureOf(text);
  EXPECT_EQ(signatureOf(replace(text, "@product", "@renamed")), signature);
  kernel::FuncOp func = parse(text);
  func.setArgAttr(1, kernel::kConstantAttrName, UnitAttr::get(&context));
  EXPECT_EQ(getKernelSignature(func), signature) << "whether weights are constants depends on the target";
  cpu::registerCpuTarget();
  auto target = llvm::cantFail(parseTarget("cpu:x86-64-v3"));
  PassManager pm(&context);
  target->addSelectionPass(pm);
  ASSERT_TRUE(succeeded(pm.run(*module)));
  EXPECT_EQ(getKernelSignature(func), signature);
}

TEST_F(KernelSignature, TellsEpiloguesAndSizesApart) {
  std::string plain = packed_product(64, 32);
  EXPECT_NE(signatureOf(plain), signatureOf(packed_product(64, 32, "%r = arith.addf %s, %s : f32")));
  EXPECT_NE(signatureOf(plain), signatureOf(packed_product(64, 48)));
  EXPECT_NE(signatureOf(byte_product(64, 32)), signatureOf(byte_product(64, 32, ", pair_safe")));
}

TEST_F(KernelSignature, CountsRowsWithTheBatchesThatMergeIntoThem) {
  auto rows = getKernelRows(parse(packed_product(64, 32)));
  ASSERT_TRUE(succeeded(rows) && *rows);
  EXPECT_EQ(rows->getResult(0), getAffineSymbolExpr(0, &context));
  rows = getKernelRows(parse(R"(
kernel.func @product(%x: tensor<?x4x8xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x8x16xf32>, %b: index)
    -> (tensor<?x4x16xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.contract sizes(%b) bounds(affine_map<()[s0] -> (s0, 4, 16, 8)>)
      ins(%x, %w : tensor<?x4x8xf32>, tensor<1x8x16xf32>)
      attributes {indexing_maps = [affine_map<(b, m, n, k)[s0] -> (b, m, k)>,
                                   affine_map<(b, m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(b, m, n, k)[s0] -> (b, m, n)>], packed_rhs = 16 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x4x16xf32>
  kernel.return %y : tensor<?x4x16xf32>
})"));
  ASSERT_TRUE(succeeded(rows) && *rows);
  EXPECT_EQ(rows->getResult(0), getAffineSymbolExpr(0, &context) * 4);
}

TEST_F(KernelSignature, CountsNoRowsOfOtherRoots) {
  auto rows = getKernelRows(parse(R"(
kernel.func @map(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%x : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
})"));
  ASSERT_TRUE(succeeded(rows));
  EXPECT_FALSE(*rows);
}

} // namespace
} // namespace heddle
