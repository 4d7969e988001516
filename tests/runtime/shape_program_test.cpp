// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape arithmetic: every opcode, rounding, and what overflows.

#include <limits>
#include <random>

#include "runtime/core/checked_math.h"
#include "runtime/core/shape_program.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

using runtime::shape_opcode;

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

/// The value of |opcode| on two constants, or nothing if it fails.
std::optional<int64_t> evaluate(shape_opcode opcode, int64_t a, int64_t b) {
  runtime::entry_table entry{};
  entry.shape_program = {
      {a, 0, 0, 0, shape_opcode::constant}, {b, 0, 0, 0, shape_opcode::constant}, {0, 0, 1, 0, opcode}};
  std::vector<int64_t> slots;
  const status status{runtime::evaluate_shapes(entry, nullptr, &slots)};
  EXPECT_EQ(status.error_code(), status.ok() ? "" : "H0308");
  return status.ok() ? std::optional(slots[2]) : std::nullopt;
}

TEST(ShapeProgram, Computes) {
  EXPECT_EQ(evaluate(shape_opcode::add, 3, -5), -2);
  EXPECT_EQ(evaluate(shape_opcode::sub, 3, 5), -2);
  EXPECT_EQ(evaluate(shape_opcode::mul, 3, 5), 15);
  EXPECT_EQ(evaluate(shape_opcode::min, 3, 5), 3);
  EXPECT_EQ(evaluate(shape_opcode::max, 3, 5), 5);
  EXPECT_EQ(evaluate(shape_opcode::equal, 3, 5), 0);
  EXPECT_EQ(evaluate(shape_opcode::equal, 5, 5), 1);
  EXPECT_EQ(evaluate(shape_opcode::less, 3, 5), 1);
  EXPECT_EQ(evaluate(shape_opcode::less, 5, 5), 0);
}

TEST(ShapeProgram, DivisionRoundsAsItsNameSays) {
  EXPECT_EQ(evaluate(shape_opcode::floor_div, 7, 2), 3);
  EXPECT_EQ(evaluate(shape_opcode::floor_div, -7, 2), -4);
  EXPECT_EQ(evaluate(shape_opcode::floor_div, 7, -2), -4);
  EXPECT_EQ(evaluate(shape_opcode::ceil_div, 7, 2), 4);
  EXPECT_EQ(evaluate(shape_opcode::ceil_div, -7, 2), -3);
  EXPECT_EQ(evaluate(shape_opcode::mod, -7, 2), 1);
  EXPECT_EQ(evaluate(shape_opcode::mod, 7, -2), -1);
  EXPECT_EQ(evaluate(shape_opcode::mod, lowest, -1), 0);
}

TEST(ShapeProgram, DivisionIdentitiesHold) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const int64_t a = static_cast<int64_t>(random()) >> (random() % 63);
    int64_t b = static_cast<int64_t>(random()) >> (random() % 63);
    b = b == 0 ? 1 : b;
    int64_t floor = 0;
    int64_t ceil = 0;
    int64_t mod = 0;
    if (!runtime::checked_floor_div(a, b, &floor))
      continue;
    ASSERT_TRUE(runtime::checked_ceil_div(a, b, &ceil));
    ASSERT_TRUE(runtime::checked_mod(a, b, &mod));
    ASSERT_EQ(floor * b + mod, a) << a << " / " << b;
    ASSERT_EQ(ceil - floor, mod != 0 ? 1 : 0) << a << " / " << b;
  }
}

TEST(ShapeProgram, OverflowAndDivisionByZeroFail) {
  EXPECT_EQ(evaluate(shape_opcode::add, highest, 1), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::sub, lowest, 1), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::mul, highest, 2), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::floor_div, 1, 0), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::floor_div, lowest, -1), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::ceil_div, 1, 0), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::ceil_div, lowest, -1), std::nullopt);
  EXPECT_EQ(evaluate(shape_opcode::mod, 1, 0), std::nullopt);
}

TEST(ShapeProgram, SelectTakesByCondition) {
  for (int64_t condition : {0, 1, -3}) {
    runtime::entry_table entry{};
    entry.shape_program = {{condition, 0, 0, 0, shape_opcode::constant},
                           {10, 0, 0, 0, shape_opcode::constant},
                           {20, 0, 0, 0, shape_opcode::constant},
                           {0, 0, 1, 2, shape_opcode::select}};
    std::vector<int64_t> slots;
    EXPECT_OK(runtime::evaluate_shapes(entry, nullptr, &slots));
    EXPECT_EQ(slots[3], condition ? 10 : 20);
  }
}

TEST(ShapeProgram, ABrokenCheckSaysMoreThanAnOverflowBehindIt) {
  runtime::entry_table entry{};
  entry.shape_program = {{0, 0, 0, 0, shape_opcode::constant},
                         {12, 0, 0, 0, shape_opcode::constant},
                         {0, 1, 0, 0, shape_opcode::floor_div}};
  entry.checks = {{true, 1, 2, "late", "never evaluated"},
                  {true, 0, 1, "Reshape_1", "{a} heads, expects {b}, not {a}"}};
  std::vector<int64_t> slots;
  expect_failure(runtime::evaluate_shapes(entry, nullptr, &slots), "H0307",
                 "node 'Reshape_1': 0 heads, expects 12, not 0");
}

TEST(ShapeProgram, AMissingElementIsNamed) {
  runtime::entry_table entry{};
  entry.inputs = {{"shape", HEDDLE_ELEMENT_U64, {{"n", -1}}, -1, {}}};
  entry.shape_program = {{0, 0, 1, 0, shape_opcode::input_value}};
  const tensor one = make_tensor<uint64_t>(HEDDLE_ELEMENT_U64, {1}, {7});
  const tensor two = make_tensor<uint64_t>(HEDDLE_ELEMENT_U64, {2}, {7, UINT64_MAX});
  std::vector<int64_t> key;
  const heddle_tensor_t *inputs[] = {one.get()};
  expect_failure(runtime::append_shape_key(entry, inputs, &key), "H0307",
                 "the model reads element 1 of input 'shape', which isn't there");
  inputs[0] = two.get();
  expect_failure(runtime::append_shape_key(entry, inputs, &key), "H0307",
                 "the model reads element 1 of input 'shape', which exceeds 64 signed bits");
}

TEST(CheckedMath, AProductWithAZeroNeverOverflows) {
  int64_t product = -1;
  const int64_t with_zero[] = {highest, highest, 0};
  EXPECT_TRUE(runtime::checked_product(with_zero, 3, &product));
  EXPECT_EQ(product, 0);
  EXPECT_FALSE(runtime::checked_product(with_zero, 2, &product));
  const int64_t negative[] = {0, -1};
  EXPECT_FALSE(runtime::checked_product(negative, 2, &product));
}

TEST(CheckedMath, RangesNeverWrap) {
  EXPECT_TRUE(runtime::range_fits(0, 10, 10));
  EXPECT_TRUE(runtime::range_fits(10, 0, 10));
  EXPECT_FALSE(runtime::range_fits(1, 10, 10));
  EXPECT_FALSE(runtime::range_fits(UINT64_MAX, 2, 10));
  EXPECT_FALSE(runtime::range_fits(5, UINT64_MAX, 10));
}

} // namespace
} // namespace heddle::test
