// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Promises about targets, kernel names and images: the same bytes in every run, nothing a loader would have to change,
// clear errors.

#include <gtest/gtest.h>

#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cpu/LinkImage.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_harness.h"

using namespace mlir;

namespace heddle::conformance {
namespace {

/// A kernel that multiplies |argument| by |factor|.
std::string make_map(const std::string &name, const std::string &argument, const std::string &factor) {
  return "kernel.func @" + name + "(%" + argument + R"(: tensor<64xf32>) -> tensor<64xf32> {
  %r = kernel.map bounds(affine_map<() -> (64)>) ins(%)" +
         argument + R"( : tensor<64xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    %c = arith.constant )" +
         factor + R"( : f32
    %p = arith.mulf %e, %c : f32
    kernel.yield %p : f32
  } : tensor<64xf32>
  kernel.return %r : tensor<64xf32>
}
)";
}

/// Two maps that differ in one constant, and the first once more under other names.
const std::string maps =
    make_map("first", "x", "2.0") + make_map("second", "x", "3.0") + make_map("third", "renamed", "2.0");

TEST(Image, HasTheSameBytesInEveryRun) {
  auto first = kernel_module::compile(maps, "cpu:x86-64-v3"), second = kernel_module::compile(maps, "cpu:x86-64-v3");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->image().bytes, second->image().bytes);
  EXPECT_EQ(first->image().addresses, second->image().addresses);
  ASSERT_EQ(first->image().addresses.size(), 3u);
  EXPECT_EQ(first->image().addresses[0].first, "first");
}

TEST(Image, DoesNotDependOnTheNumberOfThreads) {
  cpu::registerCpuTarget();
  MLIRContext context;
  context.loadDialect<kernel::KernelDialect>();
  auto module = parseSourceString<ModuleOp>(maps, &context);
  auto target = llvm::cantFail(parseTarget("cpu:x86-64-v4"));
  PassManager pm(&context);
  target->addSelectionPass(pm);
  ASSERT_TRUE(module && succeeded(pm.run(*module)));
  size_t calls = 0;
  auto alone = target->compileKernels(*module, /*threads=*/1, [&](size_t done, size_t total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 3u);
  });
  auto together = target->compileKernels(*module, /*threads=*/3, nullptr);
  ASSERT_TRUE(succeeded(alone) && succeeded(together));
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(alone->bytes, together->bytes);
}

TEST(Image, ReportsAKernelThatCannotBeCompiled) {
  cpu::registerCpuTarget();
  MLIRContext context;
  context.loadDialect<kernel::KernelDialect>();
  std::string text = maps;
  text.replace(text.rfind("arith.mulf %e, %c"), std::string("arith.mulf %e, %c").size(), "math.cbrt %e     ");
  auto module = parseSourceString<ModuleOp>(text, &context);
  auto target = llvm::cantFail(parseTarget("cpu:x86-64-v3"));
  PassManager pm(&context);
  target->addSelectionPass(pm);
  ASSERT_TRUE(module && succeeded(pm.run(*module)));
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { messages.push_back(diagnostic.str()); });
  EXPECT_TRUE(failed(target->compileKernels(*module, /*threads=*/2, nullptr)));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "'math.cbrt' op has no expansion on this target");
}

TEST(Image, IsRefusedWhereAnObjectIsNone) {
  cpu::KernelObject broken{"broken", {'n', 'o', 'n', 'e'}};
  auto symbols = cpu::findUndefinedSymbols(broken);
  ASSERT_FALSE(symbols);
  llvm::consumeError(symbols.takeError());
  auto image = cpu::linkImage({broken});
  ASSERT_FALSE(image);
  EXPECT_NE(llvm::toString(image.takeError()).find("the linker failed"), std::string::npos);
}

TEST(KernelName, SpeaksOfTypesRootTileAndIsa) {
  cpu::registerCpuTarget();
  MLIRContext context;
  context.loadDialect<kernel::KernelDialect>();
  auto module = parseSourceString<ModuleOp>(maps, &context);
  auto target = llvm::cantFail(parseTarget("cpu:x86-64-v4"));
  PassManager pm(&context);
  target->addSelectionPass(pm);
  ASSERT_TRUE(module && succeeded(pm.run(*module)));
  auto name_of = [&](const char *kernel) {
    return target->getKernelName(module->lookupSymbol<kernel::FuncOp>(kernel));
  };
  EXPECT_EQ(name_of("first").find("f32_map_1x16__avx512_"), 0u) << name_of("first");
  EXPECT_EQ(name_of("first").size(), std::string("f32_map_1x16__avx512_").size() + 8);
  EXPECT_NE(name_of("first"), name_of("second"));
  EXPECT_EQ(name_of("first"), name_of("third")) << "names inside a kernel don't matter";
}

TEST(KernelName, SpeaksOfWhatNarrowNumbersMultiply) {
  cpu::registerCpuTarget();
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, kernel::KernelDialect>();
  auto name_of = [&](const std::string &text, const char *spec) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    auto target = llvm::cantFail(parseTarget(spec));
    PassManager pm(&context);
    target->addSelectionPass(pm);
    EXPECT_TRUE(module && succeeded(pm.run(*module)));
    std::string name = target->getKernelName(module->lookupSymbol<kernel::FuncOp>("product"));
    return name.substr(0, name.rfind('_'));
  };
  EXPECT_EQ(name_of(byte_layer(768, 64), "cpu:znver4"), "u8s8_contract_8x48__avx512vnni");
  EXPECT_EQ(name_of(byte_layer(768, 64, ", signed_lhs"), "cpu:x86-64-v4"), "s8s8_contract_8x32__avx512");
  EXPECT_EQ(name_of(byte_layer(768, 64, ", pair_safe"), "cpu:x86-64-v3"), "u8s8_contract_4x16__avx2");
  EXPECT_EQ(name_of(weight_product(768, 64), "cpu:x86-64-v3"), "f32s8_contract_6x16__avx2");
  EXPECT_EQ(name_of(half_byte_product(768, 64, 32), "cpu:znver4"), "f32s4_contract_8x32__avx512");
}

std::string error_of(const char *spec) {
  cpu::registerCpuTarget();
  auto target = parseTarget(spec);
  return target ? "" : llvm::toString(target.takeError());
}

TEST(TargetName, IsExplainedWhereItIsUnknown) {
  EXPECT_EQ(error_of("cpu:x86-64-v3"), "");
  EXPECT_EQ(error_of("cpu"), "");
  EXPECT_EQ(error_of("gpu"), "unknown target 'gpu'; did you mean 'cpu'?");
  EXPECT_NE(error_of("cpu:znver9").find("unknown CPU 'znver9'; did you mean 'znver1'"), std::string::npos);
  EXPECT_NE(error_of("cpu:nocona").find("lacks avx2 or fma"), std::string::npos);
}

TEST(TargetName, RecordsWhatTheCodeMayUse) {
  auto has = [](const char *spec, const char *feature) {
    auto target = llvm::cantFail(parseTarget(spec));
    return llvm::is_contained(target->getFeatures(), feature);
  };
  EXPECT_TRUE(has("cpu:x86-64-v3", "avx2") && has("cpu:x86-64-v3", "fma"));
  EXPECT_FALSE(has("cpu:x86-64-v3", "avx512f"));
  EXPECT_TRUE(has("cpu:x86-64-v4", "avx512f") && has("cpu:x86-64-v4", "avx512vl"));
  EXPECT_FALSE(has("cpu:x86-64-v4", "avx512vnni"));
  EXPECT_TRUE(has("cpu:znver4", "avx512vnni"));
}

} // namespace
} // namespace heddle::conformance
