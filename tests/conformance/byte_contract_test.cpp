// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.contract of bytes: the same i32 from every instruction that multiplies them, to the last bit, at the ends of
// their ranges, for any rows, columns and depth.

#include <gtest/gtest.h>

#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

enum class codes { random, extreme };

/// A byte of any value, or the least and the greatest that are signed or unsigned.
int64_t random_byte(std::mt19937 &random, codes kind) {
  constexpr int64_t ends[] = {-128, 127, 0, -1};
  return kind == codes::extreme ? ends[random() % 4] : static_cast<int64_t>(random() % 256) - 128;
}

/// Replaces x and packed w of |inputs|. Weights are zero beyond n and k; where |is_safe|, pairs keep to the rule.
void fill_bytes(std::vector<host_tensor> &inputs, int64_t n, int64_t k, codes kind, bool is_safe, unsigned seed) {
  std::mt19937 random(seed);
  for (int64_t i = 0; i < inputs[0].size(); ++i)
    inputs[0].set_int(i, random_byte(random, kind));
  host_tensor &w = inputs[1];
  for (int64_t i = 0; i < w.size(); ++i) {
    int64_t panel = i / (w.dims[1] * 64), column = panel * 16 + i % 64 / 4, depth = i / 64 % w.dims[1] * 4 + i % 4;
    int64_t code = column < n && depth < k ? random_byte(random, kind) : 0;
    // Of two of equal sign the second is what the first leaves of 128.
    if (is_safe && i % 2 == 1) {
      int64_t other = w.get_int(i - 1);
      if ((other < 0) == (code < 0) && std::abs(other + code) > 128)
        code = other < 0 ? -128 - other : 128 - other;
    }
    w.set_int(i, code);
  }
}

struct variant {
  bool is_signed, is_safe;
  std::string attributes() const {
    return std::string(is_signed ? ", signed_lhs" : "") + (is_safe ? ", pair_safe" : "");
  }
};
constexpr variant kVariants[] = {{false, false}, {true, false}, {false, true}, {true, true}};

void check_product(int64_t n, int64_t k, const variant &which, const std::vector<int64_t> &rows) {
  std::string text = byte_product(n, k, which.attributes());
  std::vector<std::unique_ptr<kernel_module>> modules;
  for (const std::string &target : byte_targets()) {
    modules.push_back(kernel_module::compile(text, target));
    ASSERT_TRUE(modules.back());
  }
  for (int64_t m : rows)
    for (codes kind : {codes::random, codes::extreme}) {
      auto inputs = random_inputs(modules[0]->func("product"), {m}, 1);
      fill_bytes(inputs, n, k, kind, which.is_safe, static_cast<unsigned>(m));
      kernel_result expected = interpret(modules[0]->func("product"), inputs, {m});
      for (size_t i = 0; i < modules.size(); ++i) {
        std::string where = byte_targets()[i] + which.attributes() + " " + std::to_string(m) + "x" + std::to_string(n) +
                            "x" + std::to_string(k);
        expect_near(modules[i]->run("product", inputs, {m}), expected, 0, where);
        expect_near(modules[i]->run("product", inputs, {m}, 1), expected, 0, where + ", item by item");
      }
    }
}

TEST(ContractOfBytes, GivesTheSameSumsOnEveryTarget) {
  for (const variant &which : kVariants)
    for (auto [n, k] : {std::pair(48, 64), {33, 7}, {16, 4}, {1, 1}, {129, 66}})
      check_product(n, k, which, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31});
}

TEST(ContractOfBytes, CutsManyRowsAndColumns) {
  for (const variant &which : kVariants)
    check_product(320, 12, which, {100, 260});
}

TEST(ContractOfBytes, WrapsLikeIntegers) {
  // 140,000 products of 255 and 127, or of 255 and -128, are more than 32 bits hold.
  constexpr int64_t depth = 140000;
  for (const std::string &target : byte_targets()) {
    auto module = kernel_module::compile(byte_product(2, depth), target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("product"), {1}, 1);
    for (int64_t i = 0; i < depth; ++i) {
      inputs[0].set_int(i, -1);
      for (int64_t column = 0; column < 2; ++column)
        inputs[1].set_int(i / 4 * 64 + column * 4 + i % 4, column == 0 ? 127 : -128);
    }
    kernel_result result = module->run("product", inputs, {1});
    EXPECT_EQ(result.outputs[0].get_int(0), static_cast<int32_t>(depth * 255 * 127)) << target;
    EXPECT_EQ(result.outputs[0].get_int(1), static_cast<int32_t>(depth * 255 * -128)) << target;
  }
}

TEST(ContractOfBytes, MultipliesNothing) { check_product(20, 0, {false, true}, {0, 1, 9}); }

/// Merged heads, transposed rows, bytes at any stride: what a step of four k can't read where it lies.
std::string strided_product(const std::string &type, const std::string &map, int64_t k) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<{0}xi8> {{kernel.dims = array<i64: 0>}, %w: tensor<2x{2}x16x4xi8>, %m: index)
    -> (tensor<?x20xi32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 20, {3})>)
      ins(%x, %w : tensor<{0}xi8>, tensor<2x{2}x16x4xi8>)
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> ({1})>, affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>], packed_rhs = 20 : i64, pair_safe} epilogue {{
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  } : tensor<?x20xi32>
  kernel.return %y : tensor<?x20xi32>
})",
                       type, map, (k + 3) / 4, k);
}

TEST(ContractOfBytes, ReadsRowsOfAnyStride) {
  // The second with an odd number of bytes between rows.
  for (auto [type, map, k] : {std::tuple("2x?x32", "k floordiv 32, m, k mod 32", 64),
                              {"?x37", "m, k + 1", 36},
                              {"8x?", "k, m", 8},
                              {"?x60x2", "m, k, 1", 60},
                              {"2x?x6", "k floordiv 6, m, k mod 6", 12}})
    for (const std::string &target : byte_targets()) {
      std::string text = strided_product(type, map, k);
      check_kernel_on(target, text, "product", {{0}, {1}, {2}, {7}, {16}, {40}}, 0);
      text.erase(text.find(", pair_safe"), 11);
      check_kernel_on(target, text, "product", {{0}, {1}, {2}, {7}, {16}, {40}}, 0);
    }
}

/// Images of channels of positions, by features: rows that lie side by side, of the left side and of the result.
std::string channels_product(int64_t n, int64_t k, const std::string &attributes, const std::string &type,
                             const std::string &epilogue) {
  return llvm::formatv(R"(
kernel.func @product(%x: tensor<?x{1}x?xi8> {{kernel.dims = array<i64: 0, 1>}, %w: tensor<{2}x{3}x16x4xi8>, %b: index,
                     %m: index) -> (tensor<?x{0}x?x{5}> {{kernel.dims = array<i64: 0, 1>}) {{
  %y = kernel.contract sizes(%b, %m) bounds(affine_map<()[s0, s1] -> (s0, s1, {0}, {1})>)
      ins(%x, %w : tensor<?x{1}x?xi8>, tensor<{2}x{3}x16x4xi8>)
      attributes {{indexing_maps = [affine_map<(b, m, n, k)[s0, s1] -> (b, k, m)>,
                                   affine_map<(b, m, n, k)[s0, s1] -> (0, 0, 0, 0)>,
                                   affine_map<(b, m, n, k)[s0, s1] -> (b, n, m)>], packed_rhs = {0} : i64{4}} epilogue {{
  ^bb0(%acc: i32):
    {6}
  } : tensor<?x{0}x?x{5}>
  kernel.return %y : tensor<?x{0}x?x{5}>
})",
                       n, k, (n + 15) / 16, (k + 3) / 4, attributes, type, epilogue);
}

TEST(ContractOfBytes, ReadsAndWritesChannelsFirst) {
  // Whole blocks of 16 rows and k, and parts of them; columns that fill their panels, and don't.
  for (auto [n, k] : {std::pair(48, 64), {20, 24}, {64, 12}})
    for (const char *attributes : {"", ", pair_safe"})
      for (auto [type, epilogue] :
           {std::pair("i32", "kernel.yield %acc : i32"),
            {"i8", "%r = arith.trunci %acc : i32 to i8\n    kernel.yield %r : i8"},
            {"f32", "%r = arith.sitofp %acc : i32 to f32\n    kernel.yield %r : f32"},
            {"i1", "%c = arith.constant 0 : i32\n    %r = arith.cmpi sgt, %acc, %c : i32\n    kernel.yield %r : i1"}})
        for (const std::string &target : byte_targets())
          check_kernel_on(target, channels_product(n, k, attributes, type, epilogue), "product",
                          {{1, 1}, {0, 5}, {2, 16}, {3, 23}, {1, 101}}, 0);
}

TEST(ContractOfBytes, FinishesByZeroPointsAndScales) {
  // Integers are exact; what follows rounds three times.
  for (const std::string &target : byte_targets())
    for (const char *attributes : {"", ", pair_safe", ", signed_lhs"})
      for (auto [n, k] : {std::pair(48, 64), {50, 12}})
        check_kernel_on(target, byte_layer(n, k, attributes), "product", {{1}, {2}, {8}, {13}, {100}}, 4e-7);
}

} // namespace
} // namespace heddle::conformance
