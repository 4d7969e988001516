// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine code of hot loops must look like, as a stable stand-in for its speed: it works on whole vectors in
// registers, never on the stack or on single numbers, and calls nothing. Every target is checked on any machine.

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
#include "tests/conformance/contract_text.h"

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
  cpu::buildCodegenPipeline(pm, static_cast<const cpu::CpuTarget &>(**target).hasFeature("avx512f"));
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

/// The one with the most of them, of those that are whole steps of a tile of |multiply_adds|: LLVM may unroll the loop
/// over k, and a loop for few rows may be longer than a tile's where it unrolls that alone.
llvm::StringRef find_hot_block(llvm::StringRef assembly, size_t multiply_adds) {
  llvm::StringRef hottest;
  for (llvm::StringRef block : find_hot_blocks(assembly, multiply_adds))
    if (occurrences(block, "vfmadd231ps") % multiply_adds == 0 &&
        occurrences(block, "vfmadd") > occurrences(hottest, "vfmadd"))
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
  llvm::StringRef block = find_hot_block(assembly, GetParam().multiply_adds);
  size_t multiply_adds = occurrences(block, "vfmadd231ps");
  EXPECT_GT(multiply_adds, 0u);
  EXPECT_EQ(occurrences(block, "vfmadd"), multiply_adds) << "a multiply-add moves its accumulator";
  EXPECT_EQ(occurrences(block, "(%rsp)") + occurrences(block, "(%rbp)"), 0u) << "the hot loop uses the stack:\n"
                                                                             << block.str();
  EXPECT_GT(occurrences(block, GetParam().registers), 0u);
  // The entry calls the body; nothing else is called.
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

using lines = std::vector<std::string>;

/// Lines of |block| that keep numbers on the stack; addresses may wait there.
lines find_stack_uses(llvm::StringRef block) {
  lines found;
  for (llvm::StringRef line : llvm::split(block, '\n'))
    if ((line.contains("(%rsp)") || line.contains("(%rbp)")) && line.contains("mm"))
      found.push_back(line.str());
  return found;
}

/// Lines of |block| that compute single numbers. Constants for all lanes are loaded as one.
lines find_scalars(llvm::StringRef block) {
  lines found;
  for (llvm::StringRef line : llvm::split(block, '\n')) {
    llvm::StringRef instruction = line.ltrim().split('\t').first;
    if (instruction.ends_with("ss") && instruction != "vbroadcastss" && !line.contains("(%rip)"))
      found.push_back(line.str());
  }
  return found;
}

TEST_P(HotLoop, KeepsTilesOfFewRowsInRegisters) {
  std::string assembly = compile_to_assembly(kProduct, GetParam().variant);
  bool is_wide = llvm::StringRef(GetParam().registers) == "%zmm";
  size_t single_rows = 0, fetching = 0;
  // A row by a panel is two multiply-adds on AVX2, by three panels three on AVX-512.
  std::vector<llvm::StringRef> blocks = find_hot_blocks(assembly, 2);
  for (llvm::StringRef block : blocks) {
    EXPECT_EQ(find_stack_uses(block), lines()) << block.str();
    EXPECT_EQ(find_scalars(block), lines()) << block.str();
    size_t multiply_adds = occurrences(block, "vfmadd231ps"), rows = occurrences(block, "vbroadcastss");
    // LLVM may broadcast where it multiplies.
    rows += occurrences(block, "{1to16}");
    single_rows += multiply_adds == (is_wide ? 3 : 8) * rows;
    fetching += block.contains("prefetcht0");
  }
  // Heights 1 to 8; 1 to 6, and one and two rows by several panels.
  EXPECT_GE(blocks.size(), 8u);
  EXPECT_GE(single_rows, 1u) << "no tile for one row has several panels";
  EXPECT_GE(fetching, is_wide ? 8u : 6u);
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

/// Bodies of the innermost loops: from a label to the jump back to it, without another label between.
std::vector<llvm::StringRef> find_inner_loops(llvm::StringRef assembly) {
  std::vector<llvm::StringRef> loops;
  for (size_t begin = assembly.find("\n.L"); begin != llvm::StringRef::npos; begin = assembly.find("\n.L", begin + 1)) {
    llvm::StringRef label = assembly.drop_front(begin + 1).split(':').first;
    llvm::StringRef block = assembly.slice(begin + 1, assembly.find("\n.L", begin + 1) + 1);
    size_t jump = block.find("\t" + label.str() + "\n");
    if (jump != llvm::StringRef::npos)
      loops.push_back(block.take_front(jump));
  }
  return loops;
}

class HotPairs : public testing::TestWithParam<const char *> {};

TEST_P(HotPairs, KeepTheirTileInRegisters) {
  std::string text = kProduct;
  for (size_t at = 0; (at = text.find("48x768x16xf32", at)) != std::string::npos;)
    text.replace(at, 13, "48x384x16x2xbf16");
  text.replace(text.find("(0, 0, 0)"), 9, "(0, 0, 0, 0)");
  std::string assembly = compile_to_assembly(text, GetParam());
  size_t whole_tiles = 0;
  for (llvm::StringRef loop : find_inner_loops(assembly)) {
    size_t products = occurrences(loop, "vdpbf16ps");
    if (products == 0)
      continue;
    EXPECT_EQ(find_stack_uses(loop), lines()) << loop.str();
    EXPECT_EQ(find_scalars(loop), lines()) << loop.str();
    EXPECT_EQ(occurrences(loop, "vfmadd"), 0u);
    // Eight rows by three panels; LLVM may unroll the loop over pairs.
    whole_tiles += products % 24 == 0 && occurrences(loop, "vbroadcastss") + occurrences(loop, "{1to16}") > 0;
  }
  EXPECT_GE(whole_tiles, 1u);
  EXPECT_GT(occurrences(assembly, "vcvtneps2bf16"), 0u);
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, HotPairs, testing::Values("znver4", "znver5", "sapphirerapids"),
                         [](const auto &info) { return std::string(info.param); });

/// Casts from f32 to both halves.
constexpr char kCasts[] = R"(
kernel.func @casts(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?xbf16> {kernel.dims = array<i64: 0>}, tensor<?xf16> {kernel.dims = array<i64: 0>}) {
  %y:2 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%e: f32):
    %b = arith.truncf %e : f32 to bf16
    %h = arith.truncf %e : f32 to f16
    kernel.yield %b, %h : bf16, f16
  } : tensor<?xbf16>, tensor<?xf16>
  kernel.return %y#0, %y#1 : tensor<?xbf16>, tensor<?xf16>
})";

TEST(Casts, CallNoLibrary) {
  for (const char *variant : {"x86-64-v3", "x86-64-v4", "znver4"}) {
    std::string assembly = compile_to_assembly(kCasts, variant);
    // The entry's call of the body, if it isn't inlined.
    EXPECT_LE(occurrences(assembly, "\tcall"), 1u) << variant;
    EXPECT_EQ(occurrences(assembly, "__trunc"), 0u) << variant;
    EXPECT_GT(occurrences(assembly, "vcvtps2ph"), 0u) << variant;
  }
}

struct byte_expectation {
  const char *variant, *attributes;
  /// The instruction that multiplies, how many of them a step of a whole tile has, and what must not appear beside it.
  const char *instruction;
  size_t products;
  std::vector<const char *> others;
};

class HotBytes : public testing::TestWithParam<byte_expectation> {};

TEST_P(HotBytes, KeepTheirTileInRegisters) {
  const byte_expectation &expected = GetParam();
  std::string assembly = compile_to_assembly(byte_layer(768, 768, expected.attributes), expected.variant);
  size_t whole_tiles = 0;
  for (llvm::StringRef loop : find_inner_loops(assembly)) {
    size_t products = occurrences(loop, expected.instruction);
    if (products == 0)
      continue;
    EXPECT_EQ(find_stack_uses(loop), lines()) << loop.str();
    for (const char *other : expected.others)
      EXPECT_EQ(occurrences(loop, other), 0u) << other << " in\n" << loop.str();
    // LLVM may unroll the loop over k.
    whole_tiles += products % expected.products == 0;
  }
  EXPECT_GE(whole_tiles, 1u) << assembly;
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

/// What takes numbers apart or widens them by shuffles.
const std::vector<const char *> kDetours = {"vpmovsx", "vpmovzx", "vpunpck", "vpshuf", "vperm", "vpmulld", "vextract"};

std::vector<const char *> and_detours(std::vector<const char *> others) {
  others.insert(others.end(), kDetours.begin(), kDetours.end());
  return others;
}

INSTANTIATE_TEST_SUITE_P(
    Targets, HotBytes,
    testing::Values(
        // Eight rows by three panels.
        byte_expectation{"cascadelake", "", "vpdpbusd", 24, and_detours({"vpmadd", "vpadd"})},
        byte_expectation{"znver4", ", pair_safe", "vpdpbusd", 24, and_detours({"vpmadd", "vpadd"})},
        byte_expectation{"znver5", ", signed_lhs", "vpdpbusd", 24, and_detours({"vpmadd", "vpadd"})},
        byte_expectation{"skylake-avx512", ", pair_safe", "vpmaddubsw", 24, and_detours({"vpdp", "vpsll", "vpsra"})},
        // Four rows by two halves of a panel.
        byte_expectation{"x86-64-v3", ", pair_safe", "vpmaddubsw", 8, and_detours({"vpdp", "vpsll", "vpsra"})},
        byte_expectation{"znver3", ", pair_safe", "vpmaddubsw", 8, and_detours({"vpdp", "vpsll", "vpsra"})},
        // Six rows by two halves of a panel, and eight by two panels, by even and odd k.
        byte_expectation{"x86-64-v3", "", "vpmaddwd", 24, and_detours({"vpdp", "vpmaddubsw"})},
        byte_expectation{"znver3", ", signed_lhs", "vpmaddwd", 24, and_detours({"vpdp", "vpmaddubsw"})},
        byte_expectation{"skylake-avx512", "", "vpmaddwd", 32, and_detours({"vpdp", "vpmaddubsw"})}),
    [](const auto &info) {
      std::string name = std::string(info.param.variant) + info.param.attributes;
      for (char &letter : name)
        letter = std::isalnum(letter) ? letter : '_';
      return name;
    });

class HotWeights : public testing::TestWithParam<const char *> {};

TEST_P(HotWeights, AreWidenedInRegisters) {
  for (const std::string &text :
       {weight_product(768, 768), half_byte_product(768, 768, 32), block_byte_product(768, 768, 32)}) {
    std::string assembly = compile_to_assembly(text, GetParam());
    size_t loops = 0;
    for (llvm::StringRef loop : find_inner_loops(assembly)) {
      if (occurrences(loop, "vfmadd") < 2)
        continue;
      ++loops;
      // Unrolled and scheduled for one CPU or the other, a sum may pass by the stack now and then.
      EXPECT_LE(8 * find_stack_uses(loop).size(), occurrences(loop, "vfmadd")) << loop.str();
      EXPECT_EQ(find_scalars(loop), lines()) << loop.str();
      EXPECT_GT(occurrences(loop, "vcvtdq2ps") + occurrences(loop, "vperm"), 0u) << loop.str();
    }
    // Heights 1 to 4 at least.
    EXPECT_GE(loops, 4u);
    EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, HotWeights, testing::Values("x86-64-v3", "znver3", "x86-64-v4", "znver5"),
                         [](const auto &info) {
                           std::string name = info.param;
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
    EXPECT_EQ(find_stack_uses(block), lines()) << block.str();
    EXPECT_EQ(find_scalars(block), lines()) << block.str();
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

class AttentionOfCodes : public testing::TestWithParam<const char *> {};

TEST_P(AttentionOfCodes, KeepsItsTilesInRegisters) {
  attention_text text{.key_heads = 12, .head_size = 64, .value_size = 64, .mask = kCausal, .qk_int8 = true};
  std::string assembly = compile_to_assembly(text.build(), GetParam());
  size_t whole_tiles = 0;
  for (llvm::StringRef loop : find_inner_loops(assembly)) {
    size_t products = occurrences(loop, "vpdpbusd");
    if (products == 0)
      continue;
    EXPECT_EQ(find_stack_uses(loop), lines()) << loop.str();
    // Eight rows by two panels; what packs keys multiplies once a step, to sum them.
    whole_tiles += products % 16 == 0 && occurrences(loop, "vpbroadcastd") + occurrences(loop, "{1to16}") > 0;
  }
  EXPECT_GE(whole_tiles, 1u);
  EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Targets, AttentionOfCodes, testing::Values("cascadelake", "znver4", "znver5"),
                         [](const auto &info) { return std::string(info.param); });

constexpr char kNorm[] = R"(
#x = affine_map<(i, j)[s0, s1] -> (i, j)>
kernel.func @norm(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<sum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %sum: f32):
    %w = arith.constant 768.0 : f32
    %mean = arith.divf %sum, %w : f32
    %d = arith.subf %e, %mean : f32
    %q = arith.mulf %d, %d : f32
    kernel.yield %q : f32
  }, {
  ^bb0(%e: f32, %sum: f32, %squares: f32):
    %w = arith.constant 768.0 : f32
    %mean = arith.divf %sum, %w : f32
    %var = arith.divf %squares, %w : f32
    %d = arith.subf %e, %mean : f32
    %inv = math.rsqrt %var : f32
    %r = arith.mulf %d, %inv : f32
    kernel.yield %r : f32
  } : tensor<?x?xf32>
  kernel.return %y : tensor<?x?xf32>
})";

constexpr char kSoftmax[] = R"(
#x = affine_map<(i, j)[s0, s1] -> (i, j)>
kernel.func @softmax(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %n: index, %s: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %p = kernel.rowwise sizes(%n, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [#x, #x], combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }, {
  ^bb0(%e: f32, %max: f32):
    %d = arith.subf %e, %max : f32
    %y = math.exp %d : f32
    kernel.yield %y : f32
  }, {
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %d = arith.subf %e, %max : f32
    %y = math.exp %d : f32
    %r = arith.divf %y, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x?xf32>
  kernel.return %p : tensor<?x?xf32>
})";

class RowwiseLoops : public testing::TestWithParam<expectation> {};

TEST_P(RowwiseLoops, WorkOnWholeVectors) {
  for (const char *text : {kNorm, kSoftmax}) {
    std::string assembly = compile_to_assembly(text, GetParam().variant);
    size_t loops = 0;
    for (llvm::StringRef loop : find_inner_loops(assembly)) {
      if (!loop.contains("ps\t"))
        continue;
      ++loops;
      EXPECT_EQ(find_scalars(loop), lines()) << loop.str();
      EXPECT_TRUE(loop.contains(GetParam().registers)) << loop.str();
      // Four exponentials at once don't fit into 16 registers; two or one at a time are 3 to 7 % slower all the same.
      bool fits = text == kNorm || llvm::StringRef(GetParam().registers) == "%zmm";
      EXPECT_TRUE(!fits || find_stack_uses(loop).empty()) << loop.str();
    }
    // Two reductions and the map that follows.
    EXPECT_GE(loops, 3u) << assembly;
    EXPECT_EQ(occurrences(assembly, "\tcall"), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RowwiseLoops,
                         testing::Values(expectation{"x86-64-v3", 0, "%ymm"}, expectation{"x86-64-v4", 0, "%zmm"}),
                         [](const auto &info) {
                           std::string name = info.param.variant;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace heddle::conformance
