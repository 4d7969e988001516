// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine code of contractions and attention must look like, as a stable stand-in for its speed: hot loops
// multiply and add from registers, never touch the stack and call nothing. Every target is checked on any machine.

#include <gtest/gtest.h>

#include "compiler/targets/cpu/CpuCodegen.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cpu/Passes.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "tests/conformance/attention_text.h"

using namespace mlir;

namespace heddle::conformance {
namespace {

constexpr char kProduct[] = R"(
kernel.func @product(%x: tensor<?x768xf32> {kernel.dims = array<i64: 0>}, %w: tensor<48x768x16xf32>,
                     %bias: tensor<768xf32>, %m: index) -> (tensor<?x768xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 768, 768)>)
      ins(%x, %w, %bias : tensor<?x768xf32>, tensor<48x768x16xf32>, tensor<768xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = 768 : i64} epilogue {
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kernel.yield %s : f32
  } : tensor<?x768xf32>
  kernel.return %y : tensor<?x768xf32>
})";

std::string compile_to_assembly(const std::string &text, const std::string &variant) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry);
  context.loadDialect<kernel::KernelDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  auto target = cpu::CpuTarget::parse(variant);
  EXPECT_TRUE(module && target);
  PassManager pm(&context);
  (*target)->addSelectionPass(pm);
  cpu::buildCodegenPipeline(pm);
  EXPECT_TRUE(succeeded(pm.run(*module)));
  auto code = cpu::emitCode(*module, static_cast<const cpu::CpuTarget &>(**target), cpu::CodeKind::Assembly);
  EXPECT_TRUE(succeeded(code));
  return std::string(code->begin(), code->end());
}

size_t occurrences(llvm::StringRef text, llvm::StringRef word) { return text.count(word); }

/// The stretches from a label to the next jump that hold at least |least| multiply-adds: bodies of hot loops.
std::vector<llvm::StringRef> find_hot_blocks(llvm::StringRef assembly, size_t least) {
  std::vector<llvm::StringRef> blocks;
  for (size_t begin = assembly.find("\n.L"); begin != llvm::StringRef::npos; begin = assembly.find("\n.L", begin + 1)) {
    llvm::StringRef block =
        assembly.slice(begin, std::min(assembly.find("\n\tj", begin), assembly.find("\n.L", begin + 1)));
    if (occurrences(block, "vfmadd231ps") >= least)
      blocks.push_back(block);
  }
  return blocks;
}

/// The one with the most of them.
llvm::StringRef find_hot_block(llvm::StringRef assembly) {
  llvm::StringRef hottest;
  for (llvm::StringRef block : find_hot_blocks(assembly, 1))
    if (occurrences(block, "vfmadd") > occurrences(hottest, "vfmadd"))
      hottest = block;
  return hottest;
}

struct expectation {
  const char *variant;
  size_t multiply_adds; // per step of k
  const char *registers;
};

class HotLoop : public testing::TestWithParam<expectation> {};

TEST_P(HotLoop, KeepsItsTileInRegisters) {
  std::string assembly = compile_to_assembly(kProduct, GetParam().variant);
  llvm::StringRef block = find_hot_block(assembly);
  size_t multiply_adds = occurrences(block, "vfmadd231ps");
  EXPECT_GT(multiply_adds, 0u);
  // LLVM may unroll the loop over k.
  EXPECT_EQ(multiply_adds % GetParam().multiply_adds, 0u) << block.str();
  EXPECT_EQ(occurrences(block, "vfmadd"), multiply_adds) << "a multiply-add moves its accumulator";
  EXPECT_EQ(occurrences(block, "(%rsp)") + occurrences(block, "(%rbp)"), 0u) << "the hot loop uses the stack:\n"
                                                                             << block.str();
  EXPECT_GT(occurrences(block, GetParam().registers), 0u);
  // The entry calls the body; nothing else is called.
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, HotLoop,
                         testing::Values(expectation{"x86-64-v3", 12, "%ymm"}, expectation{"znver3", 12, "%ymm"},
                                         expectation{"x86-64-v4", 24, "%zmm"}, expectation{"znver4", 24, "%zmm"},
                                         expectation{"znver5", 24, "%zmm"}, expectation{"skylake-avx512", 24, "%zmm"}),
                         [](const auto &info) {
                           std::string name = info.param.variant;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

class AttentionLoops : public testing::TestWithParam<expectation> {};

TEST_P(AttentionLoops, KeepTheirTilesInRegisters) {
  attention_text text{.key_heads = 12, .head_size = 64, .value_size = 64, .mask = kCausal};
  std::string assembly = compile_to_assembly(text.build(), GetParam().variant);
  // Scores, and the product with the values; smaller tiles have fewer multiply-adds.
  std::vector<llvm::StringRef> blocks = find_hot_blocks(assembly, GetParam().multiply_adds);
  EXPECT_GE(blocks.size(), 2u);
  for (llvm::StringRef block : blocks) {
    // Addresses may wait there, numbers may not.
    for (llvm::StringRef line : llvm::split(block, '\n'))
      EXPECT_FALSE((line.contains("(%rsp)") || line.contains("(%rbp)")) && line.contains("mm")) << block.str();
    EXPECT_GT(occurrences(block, GetParam().registers), 0u);
  }
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionLoops,
                         testing::Values(expectation{"x86-64-v3", 12, "%ymm"}, expectation{"znver3", 12, "%ymm"},
                                         expectation{"x86-64-v4", 16, "%zmm"}, expectation{"znver5", 16, "%zmm"}),
                         [](const auto &info) {
                           std::string name = info.param.variant;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace heddle::conformance
