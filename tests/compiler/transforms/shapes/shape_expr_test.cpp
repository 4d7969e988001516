// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The identities that shapes of real models need, each by pointer equality.

#include "compiler/transforms/shapes/ShapeExpr.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

class ShapeExprTest : public ::testing::Test {
protected:
  ShapeExpr c(int64_t value) { return context.constant(value); }

  ShapeContext context;
  ShapeExpr batch = context.symbol(0, 0, "B");
  ShapeExpr sequence = context.symbol(0, 1, "S");
  ShapeExpr past = context.symbol(1, 2, "P");
  ShapeExpr value = context.inputValue(2, 0, {INT64_MIN, INT64_MAX});
  ShapeExpr flag = context.inputValue(3, 0, {0, 1});
};

TEST_F(ShapeExprTest, SymbolsOfOneNameAreOne) {
  EXPECT_EQ(context.symbol(5, 7, "B"), batch);
  EXPECT_EQ(context.symbol(5, 7, "B").getInput(), 0u);
  EXPECT_NE(batch, sequence);
}

TEST_F(ShapeExprTest, SymbolsWithoutANameAreLikeNoOther) {
  ShapeExpr unnamed = context.symbol(5, 1, "");
  EXPECT_NE(unnamed, context.symbol(1, 1, ""));
  EXPECT_EQ(unnamed, context.symbol(5, 1, ""));
  // Not even like one that a model names as we print it.
  EXPECT_NE(unnamed, context.symbol(4, 2, unnamed.getName()));
  EXPECT_EQ(unnamed.str(), "input5.1");
}

TEST_F(ShapeExprTest, SumsAndProductsDoNotDependOnTheOrder) {
  ShapeExpr a = context.add(context.mul(batch, sequence), context.mul(c(2), past));
  ShapeExpr b = context.add(context.add(past, context.mul(sequence, batch)), past);
  EXPECT_EQ(a, b);
  EXPECT_EQ(context.sub(context.add(a, past), past), a);
  EXPECT_EQ(context.sub(a, a), c(0));
  EXPECT_EQ(a.str(), "B*S + 2*P");
}

TEST_F(ShapeExprTest, ProductsOverSumsMultiplyOut) {
  ShapeExpr total = context.add(past, sequence);
  EXPECT_EQ(context.mul(total, batch), context.add(context.mul(batch, past), context.mul(batch, sequence)));
}

TEST_F(ShapeExprTest, ReshapeOfHeadsDividesExactly) {
  ShapeExpr elements = context.product({batch, sequence, c(384)});
  EXPECT_EQ(context.floorDiv(elements, c(12 * 32)), context.mul(batch, sequence));
  EXPECT_EQ(context.floorDiv(elements, context.product({batch, sequence, c(12)})), c(32));
  EXPECT_EQ(context.divideExactly(elements, context.mul(batch, c(5))), ShapeExpr());
}

TEST_F(ShapeExprTest, PolynomialsDivideByPolynomials) {
  ShapeExpr total = context.add(past, sequence);
  ShapeExpr elements = context.product({total, batch, c(64)});
  EXPECT_EQ(context.floorDiv(elements, context.mul(total, batch)), c(64));
  EXPECT_EQ(context.floorDiv(context.mul(total, total), total), total);
}

TEST_F(ShapeExprTest, DivisionTakesWholeDivisorsOut) {
  ShapeExpr convolution = context.add(context.floorDiv(context.sub(sequence, c(8)), c(8)), c(1));
  EXPECT_EQ(convolution, context.floorDiv(sequence, c(8)));
  ShapeExpr odd = context.add(context.mul(sequence, c(2)), c(1));
  EXPECT_EQ(context.floorDiv(odd, c(2)), sequence);
  EXPECT_EQ(context.mod(odd, c(2)), c(1));
  EXPECT_EQ(context.floorDiv(context.floorDiv(sequence, c(4)), c(2)), context.floorDiv(sequence, c(8)));
  // Two convolutions one after the other: (((s - 10) / 5 + 1) - 3) / 2 + 1 == s / 10 - 1.
  ShapeExpr first = context.add(context.floorDiv(context.sub(sequence, c(10)), c(5)), c(1));
  EXPECT_EQ(context.add(context.floorDiv(context.sub(first, c(3)), c(2)), c(1)),
            context.sub(context.floorDiv(sequence, c(10)), c(1)));
  EXPECT_EQ(context.floorDiv(context.mul(sequence, c(6)), c(4)), context.floorDiv(context.mul(sequence, c(3)), c(2)));
}

TEST_F(ShapeExprTest, CeilingDivisionRoundsUp) {
  ShapeExpr ceiling = context.ceilDiv(sequence, c(2));
  EXPECT_EQ(evaluate(ceiling, [](ShapeExpr) { return 7; }), 4);
  EXPECT_EQ(context.ceilDiv(context.mul(sequence, c(4)), c(2)), context.mul(sequence, c(2)));
}

TEST_F(ShapeExprTest, DivisionByZeroHasNoValue) {
  EXPECT_FALSE(context.floorDiv(sequence, c(0)));
  EXPECT_FALSE(context.mod(sequence, c(0)));
  EXPECT_EQ(evaluate(context.floorDiv(sequence, batch), [](ShapeExpr) { return 0; }), std::nullopt);
}

TEST_F(ShapeExprTest, TheLeastNumberDividesWithoutOverflow) {
  EXPECT_EQ(context.mod(c(INT64_MIN), c(-1)), c(0));
  EXPECT_EQ(context.mod(c(INT64_MIN), c(3)), c(1));
  EXPECT_EQ(context.floorDiv(c(INT64_MIN), c(3)), c(INT64_MIN / 3 - 1));
  EXPECT_FALSE(context.floorDiv(c(INT64_MIN), c(-1)));
  EXPECT_EQ(evaluate(context.mod(value, c(3)), [](ShapeExpr) { return INT64_MIN; }), 1);
  ShapeExpr shifted = context.floorDiv(context.add(sequence, c(INT64_MIN)), c(3));
  EXPECT_EQ(evaluate(shifted, [](ShapeExpr) { return 7; }), (INT64_MIN + 7) / 3 - 1);
}

TEST_F(ShapeExprTest, OverflowHasNoValueAndSpreads) {
  ShapeExpr overflow = context.mul(c(INT64_MAX), c(2));
  EXPECT_FALSE(overflow);
  EXPECT_FALSE(context.select(flag, context.add(overflow, batch), batch));
  EXPECT_EQ(overflow.str(), "<none>");
  EXPECT_FALSE(context.add(context.mul(c(INT64_MAX), batch), batch));
}

TEST_F(ShapeExprTest, ClampsOfASliceVanish) {
  // 0 : INT64_MAX is all, and -1 counts from the end.
  EXPECT_EQ(context.max(context.min(c(INT64_MAX), sequence), c(0)), sequence);
  EXPECT_EQ(context.min(context.sub(sequence, c(1)), sequence), context.sub(sequence, c(1)));
  EXPECT_EQ(context.min(sequence, context.add(sequence, past)), sequence);
  EXPECT_EQ(context.max(context.min(sequence, c(512)), c(0)), context.min(sequence, c(512)));
  EXPECT_EQ(context.min(context.min(sequence, c(512)), sequence), context.min(sequence, c(512)));
  EXPECT_EQ(context.min(c(3), context.min(sequence, c(5))), context.min(c(3), sequence));
  EXPECT_EQ(context.min(sequence, context.max(sequence, past)), sequence);
}

TEST_F(ShapeExprTest, ProvesThatAMinimumIsLess) {
  ShapeExpr clamped = context.min(sequence, c(512));
  EXPECT_TRUE(context.isProvablyLessEqual(clamped, c(512)));
  EXPECT_TRUE(context.isProvablyLessEqual(clamped, context.add(sequence, past)));
  EXPECT_TRUE(context.isProvablyLessEqual(context.floorDiv(sequence, c(2)), sequence));
  EXPECT_TRUE(context.isProvablyLessEqual(c(0), context.ceilDiv(sequence, c(2))));
  EXPECT_FALSE(context.isProvablyLessEqual(context.floorDiv(value, c(2)), value));
  EXPECT_FALSE(context.isProvablyLessEqual(sequence, c(512)));
  EXPECT_FALSE(context.isProvablyLessEqual(c(1), sequence));
}

TEST_F(ShapeExprTest, ComparisonsOfSizesWithMinusOneAreDecided) {
  EXPECT_EQ(context.equal(sequence, sequence), c(1));
  EXPECT_EQ(context.equal(sequence, c(-1)), c(0));
  EXPECT_EQ(context.equal(sequence, context.add(sequence, c(1))), c(0));
  EXPECT_EQ(context.equal(context.mul(sequence, c(2)), context.add(context.mul(batch, c(2)), c(1))), c(0));
  EXPECT_EQ(context.less(sequence, c(0)), c(0));
  EXPECT_EQ(context.less(c(-1), sequence), c(1));
  EXPECT_EQ(context.equal(sequence, batch), context.equal(batch, sequence));
  EXPECT_EQ(context.equal(context.mul(sequence, c(2)), c(4)), context.equal(sequence, c(2)));
  EXPECT_EQ(context.equal(sequence, context.min(sequence, c(512))), context.lessEqual(sequence, c(512)));
}

TEST_F(ShapeExprTest, SelectsThatNeedNoCondition) {
  EXPECT_EQ(context.select(c(1), batch, sequence), batch);
  EXPECT_EQ(context.select(c(0), batch, sequence), sequence);
  EXPECT_EQ(context.select(value, batch, batch), batch);
  EXPECT_EQ(context.select(flag, c(1), c(0)), flag);
  EXPECT_EQ(context.select(context.equal(batch, sequence), batch, sequence), sequence);
}

TEST_F(ShapeExprTest, TruthValuesAreNumbers) {
  EXPECT_EQ(context.logicalNot(context.logicalNot(flag)), flag);
  EXPECT_EQ(context.logicalAnd(flag, flag), flag);
  EXPECT_EQ(context.logicalOr(flag, flag), flag);
  EXPECT_EQ(context.equal(flag, c(1)), flag);
  EXPECT_EQ(context.equal(flag, c(0)), context.logicalNot(flag));
  EXPECT_TRUE(context.logicalAnd(flag, context.less(batch, sequence)).isBoolean());
}

TEST_F(ShapeExprTest, EvaluatesAffineExpressions) {
  mlir::MLIRContext mlirContext;
  auto s0 = mlir::getAffineSymbolExpr(0, &mlirContext), s1 = mlir::getAffineSymbolExpr(1, &mlirContext);
  EXPECT_EQ(context.evaluateAffine((s0 * 384).floorDiv(12) + s1, {sequence, batch}),
            context.add(context.mul(sequence, c(32)), batch));
  EXPECT_EQ(context.evaluateAffine(s0.ceilDiv(16), {c(33)}), c(3));
  EXPECT_EQ(context.evaluateAffine(s0 % 16, {c(33)}), c(1));
  // Neither a dimension nor a missing symbol has a value.
  EXPECT_FALSE(context.evaluateAffine(mlir::getAffineDimExpr(0, &mlirContext), {sequence}));
  EXPECT_FALSE(context.evaluateAffine(s1, {sequence}));
}

TEST_F(ShapeExprTest, PrintsFormulas) {
  EXPECT_EQ(context.sub(context.product({batch, sequence, c(384)}), c(8)).str(), "384*B*S - 8");
  EXPECT_EQ(context.min(sequence, c(512)).str(), "min(S, 512)");
  EXPECT_EQ(context.sub(c(INT64_MIN), sequence).str(), "-S - 9223372036854775808");
  EXPECT_EQ(context.mul(value, value).str(), "input2[0]*input2[0]");
}

} // namespace
