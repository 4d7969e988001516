// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.contract on every target against plain loops, and its promises: no bit depends on rows, tiles or threads.

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

namespace heddle::conformance {
namespace {

/// The first rows of 29 with |depth| columns are the same without the others.
void check_rows_alone(const std::string &target, const std::string &text, int64_t depth) {
  auto module = kernel_module::compile(text, target);
  ASSERT_TRUE(module);
  auto inputs = random_inputs(module->func("product"), {29}, 3);
  kernel_result all = module->run("product", inputs, {29});
  for (int64_t count : {1, 2, 5, 8, 11}) {
    auto fewer = inputs;
    fewer[0] = host_tensor(inputs[0].type, {count, depth});
    std::copy_n(inputs[0].bytes.begin(), fewer[0].bytes.size(), fewer[0].bytes.begin());
    kernel_result part = module->run("product", fewer, {count});
    EXPECT_TRUE(std::equal(part.outputs[0].bytes.begin(), part.outputs[0].bytes.end(), all.outputs[0].bytes.begin()))
        << target << ", " << count << " rows";
  }
}

std::vector<std::vector<int64_t>> rows(std::initializer_list<int64_t> counts) {
  std::vector<std::vector<int64_t>> shapes;
  for (int64_t count : counts)
    shapes.push_back({count});
  return shapes;
}

TEST(Contract, MultipliesByPackedWeights) {
  for (auto [n, k] : {std::pair(64, 48), {48, 33}, {32, 16}, {16, 8}, {80, 5}, {50, 7}, {1, 3}, {129, 20}, {24, 0}})
    check_kernel(packed_product(n, k), "product", rows({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31, 260, 600}));
}

/// Beside the multiples of all tiles, with rests along each loop.
TEST(Contract, TakesOddSizes) {
  for (auto [n, k] : {std::pair(2049, 7), {7, 2049}, {33, 129}, {129, 33}})
    check_kernel(packed_product(n, k), "product", rows({1, 7, 33, 129}));
  check_kernel(packed_product(33, 7), "product", rows({2049}));
}

TEST(Contract, KnowsItsRowsBeforehand) {
  constexpr char text[] = R"(
kernel.func @product(%x: tensor<{0}x33xf32>, %w: tensor<9x33x16xf32>) -> tensor<{0}x129xf32> {{
  %y = kernel.contract bounds(affine_map<() -> ({0}, 129, 33)>) ins(%x, %w : tensor<{0}x33xf32>, tensor<9x33x16xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (0, 0, 0)>,
                                   affine_map<(m, n, k) -> (m, n)>], packed_rhs = 129 : i64} epilogue {{
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<{0}x129xf32>
  kernel.return %y : tensor<{0}x129xf32>
})";
  for (int64_t count : {0, 1, 2, 3, 7, 16, 260})
    check_kernel(llvm::formatv(text, count), "product", {{}});
}

/// x (rows, k) times weights of bf16, pairs of k side by side.
std::string paired_product(int64_t n, int64_t k) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}xf32> {{kernel.dims = array<i64: 0>}, %w: tensor<{2}x{3}x16x2xbf16>,
                     %bias: tensor<{0}xf32>, %m: index) -> (tensor<?x{0}xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, {0}, {1})>)
      ins(%x, %w, %bias : tensor<?x{1}xf32>, tensor<{2}x{3}x16x2xbf16>, tensor<{0}xf32>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = {0} : i64} epilogue {{
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kernel.yield %s : f32
  } : tensor<?x{0}xf32>
  kernel.return %y : tensor<?x{0}xf32>
})",
                       n, k, (n + 15) / 16, (k + 1) / 2);
}

/// Targets that multiply pairs and run here; where the CPU hasn't the instruction, HotPairs in assembly_test is what is
/// left of it.
std::vector<std::string> pair_targets() {
  if (std::getenv("HEDDLE_TEST_TARGET"))
    return runnable_targets();
  return llvm::sys::getHostCPUFeatures().lookup("avx512bf16") ? std::vector<std::string>{"cpu:znver4"}
                                                              : std::vector<std::string>();
}

TEST(ContractOfPairs, MultipliesByWeightsOfBf16) {
  if (pair_targets().empty())
    GTEST_SKIP() << "the machine lacks avx512bf16";
  for (const std::string &target : pair_targets())
    for (auto [n, k] : {std::pair(48, 48), {80, 33}, {64, 96}, {1, 3}, {129, 20}, {24, 0}, {32, 1}})
      // The rounding of factors is the interpreter's too; what differs are two roundings of sums per pair in f32.
      check_kernel_on(target, paired_product(n, k), "product", rows({0, 1, 2, 5, 8, 9, 13, 16, 31, 260}), 4e-6);
}

TEST(ContractOfPairs, GivesTheSameBitsForARowWhateverTheOthers) {
  if (pair_targets().empty())
    GTEST_SKIP() << "the machine lacks avx512bf16";
  for (const std::string &target : pair_targets())
    check_rows_alone(target, paired_product(80, 96), 96);
}

/// Widens weights to f32 as they are read: bytes exactly, half bytes with their scale, rounded once.
TEST(ContractByWeights, WidensBytes) {
  for (auto [n, k] : {std::pair(48, 48), {80, 33}, {64, 96}, {1, 3}, {129, 20}, {24, 0}, {32, 1}})
    check_kernel(weight_product(n, k), "product", rows({0, 1, 2, 3, 5, 8, 9, 13, 16, 31, 260}));
}

TEST(ContractByWeights, WidensHalfBytes) {
  for (auto [n, k, block] : {std::tuple(48, 64, 32),
                             {80, 33, 32},
                             {64, 96, 16},
                             {1, 3, 2},
                             {129, 20, 8},
                             {24, 0, 32},
                             {32, 1, 32},
                             {50, 70, 128}})
    check_kernel(half_byte_product(n, k, block), "product", rows({0, 1, 2, 3, 4, 5, 8, 9, 13, 16, 31, 260}));
}

TEST(ContractByWeights, WidensBlocksOfBytes) {
  for (auto [n, k, block] : {std::tuple(48, 64, 32),
                             {80, 33, 32},
                             {64, 96, 16},
                             {1, 3, 1},
                             {129, 20, 7},
                             {24, 0, 32},
                             {32, 1, 32},
                             {50, 70, 128}})
    check_kernel(block_byte_product(n, k, block), "product", rows({0, 1, 2, 3, 4, 5, 8, 9, 13, 16, 31, 260}));
}

TEST(ContractByWeights, GiveTheSameBitsForARowWhateverTheOthers) {
  for (const std::string &target : runnable_targets()) {
    check_rows_alone(target, weight_product(80, 96), 96);
    check_rows_alone(target, half_byte_product(80, 96, 32), 96);
    check_rows_alone(target, block_byte_product(80, 96, 32), 96);
  }
}

/// Rows whose k is no stride are copied, and so are those that a step of two k ends behind.
TEST(ContractByWeights, ReadRowsOfAnyStride) {
  for (bool is_half : {false, true}) {
    std::string text = is_half ? half_byte_product(48, 63, 32) : weight_product(48, 63);
    for (size_t at = 0; (at = text.find("tensor<?x63xf32>", at)) != std::string::npos;)
      text.replace(at, 16, "tensor<3x?x21xf32>");
    text.replace(text.find("(m, k)"), 6, "(k floordiv 21, m, k mod 21)");
    check_kernel(text, "product", rows({0, 1, 7, 40}));
  }
}

TEST(Contract, TakesTilesOfAnotherTarget) {
  auto module = kernel_module::compile(packed_product(48, 24), "cpu:x86-64-v3 with tiles of cpu:x86-64-v4");
  ASSERT_TRUE(module);
  auto config = module->func("product")->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  EXPECT_EQ(config.getInteger("column_vectors"), 3);
}

TEST(Contract, RunsItsEpilogueOnAccumulators) {
  check_kernel(packed_product(48, 24, "%r = math.tanh %s : f32"), "product", rows({1, 7, 20}));
}

TEST(Contract, GivesTheSameBitsForARowWhateverTheOthers) {
  for (const std::string &target : runnable_targets())
    check_rows_alone(target, packed_product(80, 96), 96);
}

/// query (b, m, h, d) . key (b, n, h, d) -> scores (b, h, m, n), as attention multiplies without transposing.
constexpr char kScores[] = R"(
#q = affine_map<(b, h, m, n, k)[s0, s1] -> (b, m, h, k)>
#k = affine_map<(b, h, m, n, k)[s0, s1] -> (b, n, h, k)>
#mask = affine_map<(b, h, m, n, k)[s0, s1] -> (b, n)>
#s = affine_map<(b, h, m, n, k)[s0, s1] -> (b, h, m, n)>
kernel.func @scores(%q: tensor<?x?x3x20xf32> {kernel.dims = array<i64: 0, 1>},
                    %k: tensor<?x?x3x20xf32> {kernel.dims = array<i64: 0, 1>},
                    %mask: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %b: index, %l: index)
    -> (tensor<?x3x?x?xf32> {kernel.dims = array<i64: 0, 1, 1>}) {
  %y = kernel.contract sizes(%b, %l) bounds(affine_map<()[s0, s1] -> (s0, 3, s1, s1, 20)>)
      ins(%q, %k, %mask : tensor<?x?x3x20xf32>, tensor<?x?x3x20xf32>, tensor<?x?xf32>)
      attributes {indexing_maps = [#q, #k, #mask, #s]} epilogue {
  ^bb0(%acc: f32, %e: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %acc, %half : f32
    %r = arith.addf %t, %e : f32
    kernel.yield %r : f32
  } : tensor<?x3x?x?xf32>
  kernel.return %y : tensor<?x3x?x?xf32>
})";

/// probabilities (b, h, m, n) . value (b, n, h, d) -> context (b, m, h, d).
constexpr char kContext[] = R"(
#p = affine_map<(b, h, m, n, k)[s0, s1] -> (b, h, m, k)>
#v = affine_map<(b, h, m, n, k)[s0, s1] -> (b, k, h, n)>
#c = affine_map<(b, h, m, n, k)[s0, s1] -> (b, m, h, n)>
kernel.func @context(%p: tensor<?x3x?x?xf32> {kernel.dims = array<i64: 0, 1, 1>},
                     %v: tensor<?x?x3x20xf32> {kernel.dims = array<i64: 0, 1>}, %b: index, %l: index)
    -> (tensor<?x?x3x20xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.contract sizes(%b, %l) bounds(affine_map<()[s0, s1] -> (s0, 3, s1, 20, s1)>)
      ins(%p, %v : tensor<?x3x?x?xf32>, tensor<?x?x3x20xf32>)
      attributes {indexing_maps = [#p, #v, #c]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x?x3x20xf32>
  kernel.return %y : tensor<?x?x3x20xf32>
})";

TEST(Contract, MultipliesActivationsInPlaceOfTheirHeads) {
  std::vector<std::vector<int64_t>> shapes = {{0, 5}, {1, 0}, {1, 1}, {2, 7}, {1, 16}, {3, 33}, {1, 70}, {1, 130}};
  check_kernel(kScores, "scores", shapes);
  check_kernel(kContext, "context", shapes);
}

/// Merged heads: k runs over (h, d) of a tensor (b, h, m, d), which is no stride; so does n of the result.
constexpr char kMerged[] = R"(
#x = affine_map<(b, m, n, k)[s0, s1] -> (b, k floordiv 32, m, k mod 32)>
#w = affine_map<(b, m, n, k)[s0, s1] -> (0, 0, 0)>
#y = affine_map<(b, m, n, k)[s0, s1] -> (b, n floordiv 16, m, n mod 16)>
kernel.func @merged(%x: tensor<?x2x?x32xf32> {kernel.dims = array<i64: 0, 1>}, %w: tensor<3x64x16xf32>, %b: index,
                    %l: index) -> (tensor<?x3x?x16xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.contract sizes(%b, %l) bounds(affine_map<()[s0, s1] -> (s0, s1, 48, 64)>)
      ins(%x, %w : tensor<?x2x?x32xf32>, tensor<3x64x16xf32>)
      attributes {indexing_maps = [#x, #w, #y], packed_rhs = 48 : i64} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x3x?x16xf32>
  kernel.return %y : tensor<?x3x?x16xf32>
})";

TEST(Contract, ReadsAndWritesSplitHeads) { check_kernel(kMerged, "merged", {{1, 1}, {2, 5}, {3, 17}, {1, 260}}); }

/// Left side transposed, right side in neither order, result transposed.
constexpr char kTransposed[] = R"(
#x = affine_map<(m, n, k)[s0, s1, s2] -> (k, m)>
#w = affine_map<(m, n, k)[s0, s1, s2] -> (k, n, 1)>
#y = affine_map<(m, n, k)[s0, s1, s2] -> (n, m)>
kernel.func @transposed(%x: tensor<?x?xf32> {kernel.dims = array<i64: 2, 0>},
                        %w: tensor<?x?x2xf32> {kernel.dims = array<i64: 2, 1>}, %m: index, %n: index, %k: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 1, 0>}) {
  %y = kernel.contract sizes(%m, %n, %k) bounds(affine_map<()[s0, s1, s2] -> (s0, s1, s2)>)
      ins(%x, %w : tensor<?x?xf32>, tensor<?x?x2xf32>) attributes {indexing_maps = [#x, #w, #y]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x?xf32>
  kernel.return %y : tensor<?x?xf32>
})";

TEST(Contract, ReadsAnyStrides) {
  check_kernel(kTransposed, "transposed", {{1, 1, 1}, {5, 40, 3}, {17, 16, 9}, {9, 33, 40}, {4, 5, 0}});
}

/// One row per batch, each with a right side of its own: batches must not become rows of one product.
constexpr char kSingleRows[] = R"(
#x = affine_map<(b, c, m, n, k)[s0] -> (b, c, k)>
#w = affine_map<(b, c, m, n, k)[s0] -> (b, k, n)>
#y = affine_map<(b, c, m, n, k)[s0] -> (b, c, m, n)>
kernel.func @rows(%x: tensor<?x1x20xf32> {kernel.dims = array<i64: 0>},
                  %w: tensor<?x20x33xf32> {kernel.dims = array<i64: 0>}, %b: index)
    -> (tensor<?x1x1x33xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.contract sizes(%b) bounds(affine_map<()[s0] -> (s0, 1, 1, 33, 20)>)
      ins(%x, %w : tensor<?x1x20xf32>, tensor<?x20x33xf32>) attributes {indexing_maps = [#x, #w, #y]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x1x1x33xf32>
  kernel.return %y : tensor<?x1x1x33xf32>
})";

TEST(Contract, KeepsBatchesWithTheirRightSides) { check_kernel(kSingleRows, "rows", {{0}, {1}, {5}}); }

/// Batches of rows that share the right side and lie flat are one long run of rows; a capture per batch prevents it.
constexpr char kSharedRight[] = R"(
#x = affine_map<(b, m, n, k)[s0, s1] -> (b, m, k)>
#w = affine_map<(b, m, n, k)[s0, s1] -> (n, k)>
#c = affine_map<(b, m, n, k)[s0, s1] -> (b, n)>
#y = affine_map<(b, m, n, k)[s0, s1] -> (b, m, n)>
kernel.func @shared(%x: tensor<?x?x20xf32> {kernel.dims = array<i64: 0, 1>}, %w: tensor<40x20xf32>,
                    %c: tensor<?x40xf32> {kernel.dims = array<i64: 0>}, %b: index, %m: index)
    -> (tensor<?x?x40xf32> {kernel.dims = array<i64: 0, 1>}, tensor<?x?x40xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y:2 = kernel.contract sizes(%b, %m) bounds(affine_map<()[s0, s1] -> (s0, s1, 40, 20)>)
      ins(%x, %w, %c : tensor<?x?x20xf32>, tensor<40x20xf32>, tensor<?x40xf32>)
      attributes {indexing_maps = [#x, #w, #c, #y, #y]} epilogue {
  ^bb0(%acc: f32, %e: f32):
    %i = kernel.index 2
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %r = arith.addf %acc, %e : f32
    %t = arith.mulf %acc, %f : f32
    kernel.yield %r, %t : f32, f32
  } : tensor<?x?x40xf32>, tensor<?x?x40xf32>
  kernel.return %y#0, %y#1 : tensor<?x?x40xf32>, tensor<?x?x40xf32>
})";

TEST(Contract, KnowsItsIndicesAndHasSeveralResults) { check_kernel(kSharedRight, "shared", {{1, 1}, {3, 7}, {2, 20}}); }

} // namespace
} // namespace heddle::conformance
