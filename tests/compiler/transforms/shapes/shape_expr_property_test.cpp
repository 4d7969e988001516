// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random expressions: whatever is simplified, the canonical form has the value of the formula as written, within the
// interval that the form claims.

#include "compiler/transforms/shapes/ShapeExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace heddle;

namespace {

/// An expression and, beside it, the formula that it was built by.
struct Sample {
  ShapeExpr expr;
  /// Its value by wide arithmetic; none where some division is by zero.
  std::function<std::optional<__int128>(llvm::ArrayRef<int64_t>)> formula;
};

using Wide = std::optional<__int128>;

__int128 floorDivide(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

class Generator {
public:
  Generator(ShapeContext &context, unsigned seed) : context(context), random(seed) {
    leaves.push_back({context.symbol(0, 0, "B"), variable(0)});
    leaves.push_back({context.symbol(0, 1, "S"), variable(1)});
    leaves.push_back({context.inputValue(1, 0, {INT64_MIN, INT64_MAX}), variable(2)});
    leaves.push_back({context.inputValue(2, 0, {0, 1}), variable(3)});
  }

  Sample make(unsigned depth) {
    if (depth == 0)
      return leaf();
    Sample a = make(pick(depth)), b = make(pick(depth)), c = make(pick(depth));
    switch (pick(12)) {
    case 0:
    case 1:
      return binary(context.add(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x + y; });
    case 2:
      return binary(context.sub(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x - y; });
    case 3:
      return binary(context.mul(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x * y; });
    case 4:
      return binary(context.floorDiv(a.expr, b.expr), a, b,
                    [](auto x, auto y) -> Wide { return y == 0 ? Wide() : floorDivide(x, y); });
    case 5:
      return binary(context.ceilDiv(a.expr, b.expr), a, b,
                    [](auto x, auto y) -> Wide { return y == 0 ? Wide() : -floorDivide(-x, y); });
    case 6:
      return binary(context.mod(a.expr, b.expr), a, b,
                    [](auto x, auto y) -> Wide { return y == 0 ? Wide() : x - floorDivide(x, y) * y; });
    case 7:
      return binary(context.truncDiv(a.expr, b.expr), a, b,
                    [](auto x, auto y) -> Wide { return y == 0 ? Wide() : x / y; });
    case 8:
      return binary(context.min(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return std::min(x, y); });
    case 9:
      return binary(context.max(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return std::max(x, y); });
    case 10:
      return relation(a, b);
    default:
      return {context.select(c.expr, a.expr, b.expr), [=](llvm::ArrayRef<int64_t> values) -> Wide {
                Wide x = a.formula(values), y = b.formula(values), condition = c.formula(values);
                return x && y && condition ? (*condition != 0 ? x : y) : Wide();
              }};
    }
  }

private:
  unsigned pick(unsigned bound) { return random() % bound; }

  static std::function<Wide(llvm::ArrayRef<int64_t>)> variable(unsigned index) {
    return [=](llvm::ArrayRef<int64_t> values) -> Wide { return values[index]; };
  }

  Sample leaf() {
    if (pick(3) != 0)
      return leaves[pick(leaves.size())];
    int64_t number = static_cast<int64_t>(pick(13)) - 4;
    return {context.constant(number), [=](llvm::ArrayRef<int64_t>) -> Wide { return number; }};
  }

  Sample relation(const Sample &a, const Sample &b) {
    switch (pick(3)) {
    case 0:
      return binary(context.equal(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x == y; });
    case 1:
      return binary(context.less(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x < y; });
    default:
      return binary(context.lessEqual(a.expr, b.expr), a, b, [](auto x, auto y) -> Wide { return x <= y; });
    }
  }

  template <typename Function> Sample binary(ShapeExpr expr, const Sample &a, const Sample &b, Function function) {
    return {expr, [=](llvm::ArrayRef<int64_t> values) -> Wide {
              Wide x = a.formula(values), y = b.formula(values);
              return x && y ? function(*x, *y) : Wide();
            }};
  }

  ShapeContext &context;
  std::mt19937 random;
  std::vector<Sample> leaves;
};

TEST(ShapeExprProperty, CanonicalFormHasTheValueOfTheFormula) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    ShapeContext context;
    Generator generator(context, seed);
    Sample sample = generator.make(1 + seed % 4);
    if (!sample.expr)
      continue; // a division by a constant 0
    std::mt19937 random(seed);
    for (unsigned round = 0; round < 8; ++round) {
      int64_t values[] = {static_cast<int64_t>(random() % 6), static_cast<int64_t>(random() % 9),
                          static_cast<int64_t>(random() % 11) - 5, static_cast<int64_t>(random() % 2)};
      Wide expected = sample.formula(values);
      if (!expected)
        continue; // the canonical form may have cancelled the division
      auto valueOf = [&](ShapeExpr leaf) {
        return values[leaf.getInput() == 0 ? leaf.getPosition() : leaf.getInput() + 1];
      };
      std::optional<int64_t> actual = evaluate(sample.expr, valueOf);
      ASSERT_TRUE(actual.has_value()) << "seed " << seed << ": " << sample.expr.str();
      ASSERT_EQ(*actual, static_cast<int64_t>(*expected)) << "seed " << seed << ": " << sample.expr.str();
      ShapeRange range = sample.expr.getRange();
      ASSERT_LE(range.low, *actual) << "seed " << seed << ": " << sample.expr.str();
      ASSERT_GE(range.high, *actual) << "seed " << seed << ": " << sample.expr.str();
      ++compared;
    }
  }
  // Guards against a generator that only makes formulas without a value.
  EXPECT_GT(compared, 15000u);
}

TEST(ShapeExprProperty, ProofsHold) {
  unsigned proved = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    ShapeContext context;
    Generator generator(context, seed);
    Sample a = generator.make(1 + seed % 3), b = generator.make(1 + seed % 2);
    if (!context.isProvablyLessEqual(a.expr, b.expr))
      continue;
    ++proved;
    std::mt19937 random(seed);
    for (unsigned round = 0; round < 8; ++round) {
      int64_t values[] = {static_cast<int64_t>(random() % 6), static_cast<int64_t>(random() % 9),
                          static_cast<int64_t>(random() % 11) - 5, static_cast<int64_t>(random() % 2)};
      Wide x = a.formula(values), y = b.formula(values);
      if (x && y)
        ASSERT_TRUE(*x <= *y) << "seed " << seed << ": " << a.expr.str() << " <= " << b.expr.str();
    }
  }
  EXPECT_GT(proved, 300u);
}

} // namespace
