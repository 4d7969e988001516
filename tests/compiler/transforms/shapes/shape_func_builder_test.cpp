// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape function that expressions become: each expression once, and the same values as the expressions.

#include "compiler/transforms/shapes/ShapeFuncBuilder.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <random>

using namespace heddle;
using namespace mlir;

namespace {

/// Runs the arithmetic of a shape function as the runtime does.
class Interpreter {
public:
  explicit Interpreter(llvm::function_ref<int64_t(int64_t input, int64_t position)> valueOf) : valueOf(valueOf) {}

  SmallVector<int64_t> run(rt::ShapeFuncOp func) {
    SmallVector<int64_t> results;
    for (Operation &op : func.getBody().front()) {
      if (auto yield = dyn_cast<rt::YieldOp>(op))
        for (Value operand : yield.getOperands())
          results.push_back(values.lookup(operand));
      else if (op.getNumResults() == 1)
        values[op.getResult(0)] = compute(&op);
    }
    return results;
  }

private:
  int64_t compute(Operation *op) {
    if (auto constant = dyn_cast<rt::ShapeConstantOp>(op))
      return constant.getValue();
    if (auto dim = dyn_cast<rt::InputDimOp>(op))
      return valueOf(dim.getInput(), dim.getDim());
    if (auto value = dyn_cast<rt::InputValueOp>(op))
      return valueOf(value.getInput(), value.getElement());
    int64_t a = values.lookup(op->getOperand(0)), b = values.lookup(op->getOperand(1));
    if (isa<rt::ShapeSelectOp>(op))
      return a != 0 ? b : values.lookup(op->getOperand(2));
    switch (cast<rt::ShapeArithOp>(op).getKind()) {
    case rt::ShapeKind::Add:
      return a + b;
    case rt::ShapeKind::Sub:
      return a - b;
    case rt::ShapeKind::Mul:
      return a * b;
    case rt::ShapeKind::FloorDiv:
      return a / b - (a % b != 0 && (a < 0) != (b < 0));
    case rt::ShapeKind::CeilDiv:
      return a / b + (a % b != 0 && (a < 0) == (b < 0));
    case rt::ShapeKind::Mod:
      return ((a % b) + b) % b;
    case rt::ShapeKind::Min:
      return std::min(a, b);
    case rt::ShapeKind::Max:
      return std::max(a, b);
    case rt::ShapeKind::Equal:
      return a == b;
    case rt::ShapeKind::Less:
      return a < b;
    }
    return 0;
  }

  llvm::function_ref<int64_t(int64_t, int64_t)> valueOf;
  llvm::DenseMap<Value, int64_t> values;
};

class ShapeFuncBuilderTest : public ::testing::Test {
protected:
  ShapeFuncBuilderTest() {
    mlirContext.loadDialect<rt::RtDialect>();
    OpBuilder builder(&mlirContext);
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    func =
        builder.create<rt::FuncOp>(builder.getUnknownLoc(), "main", builder.getArrayAttr({}), builder.getArrayAttr({}),
                                   /*specializes=*/FlatSymbolRefAttr());
    func.getBody().emplaceBlock();
  }

  Block *body() { return &func.getBody().front(); }

  MLIRContext mlirContext;
  OwningOpRef<ModuleOp> module;
  rt::FuncOp func;
  ShapeContext context;
  ShapeExpr batch = context.symbol(0, 0, "B");
  ShapeExpr sequence = context.symbol(0, 1, "S");
};

TEST_F(ShapeFuncBuilderTest, EachExpressionIsOneSlot) {
  ShapeFuncBuilder builder(body(), func.getLoc());
  ShapeExpr rows = context.mul(batch, sequence);
  Value a = builder.slot(rows), b = builder.slot(rows), c = builder.slot(context.add(rows, context.constant(1)));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  OpBuilder steps = OpBuilder::atBlockEnd(body());
  auto buffer = steps.create<rt::BufferOp>(func.getLoc(), rt::BufferType::get(&mlirContext), a);
  rt::ShapeFuncOp shapeFunc = builder.finish();
  EXPECT_EQ(shapeFunc.getNumResults(), 2u);
  EXPECT_EQ(buffer.getBytes(), shapeFunc.getResult(0));
  EXPECT_EQ(&body()->front(), shapeFunc.getOperation());
  EXPECT_TRUE(succeeded(verify(*module)));
  unsigned products = 0;
  shapeFunc.walk([&](rt::ShapeArithOp op) { products += op.getKind() == rt::ShapeKind::Mul; });
  EXPECT_EQ(products, 1u);
}

TEST_F(ShapeFuncBuilderTest, ChecksStandBeforeTheArithmeticThatFollows) {
  ShapeFuncBuilder builder(body(), func.getLoc());
  builder.check({rt::CheckKind::LessEqual, context.constant(1), batch, "/Reshape", "expects {a}, got {b}"});
  builder.slot(context.floorDiv(sequence, batch));
  rt::ShapeFuncOp shapeFunc = builder.finish();
  EXPECT_TRUE(succeeded(verify(*module)));
  Operation *check = nullptr, *division = nullptr;
  shapeFunc.walk([&](rt::CheckOp op) { check = op; });
  shapeFunc.walk([&](rt::ShapeArithOp op) { division = op; });
  ASSERT_TRUE(check && division);
  EXPECT_TRUE(check->isBeforeInBlock(division));
  EXPECT_EQ(cast<rt::CheckOp>(check).getNode(), "/Reshape");
  EXPECT_EQ(cast<rt::CheckOp>(check).getMessage(), "expects {a}, got {b}");
}

TEST_F(ShapeFuncBuilderTest, SizesThatOverflowFailTheRun) {
  ShapeFuncBuilder builder(body(), func.getLoc());
  builder.slot(context.mul(context.constant(INT64_MAX), context.constant(3)));
  rt::ShapeFuncOp shapeFunc = builder.finish();
  ASSERT_TRUE(succeeded(verify(*module)));
  auto product = cast<rt::YieldOp>(shapeFunc.getBody().front().getTerminator()).getOperand(0).getDefiningOp();
  auto arith = dyn_cast<rt::ShapeArithOp>(product);
  ASSERT_TRUE(arith);
  EXPECT_EQ(arith.getKind(), rt::ShapeKind::Mul);
  EXPECT_EQ(arith.getLhs().getDefiningOp<rt::ShapeConstantOp>().getValue(), static_cast<uint64_t>(INT64_MAX));
}

TEST_F(ShapeFuncBuilderTest, TheShapeFunctionComputesWhatTheExpressionsSay) {
  ShapeExpr value = context.inputValue(1, 3, {INT64_MIN, INT64_MAX});
  std::vector<ShapeExpr> exprs = {
      context.constant(0),
      context.constant(INT64_MIN),
      batch,
      context.sub(context.product({batch, sequence, context.constant(384)}), context.constant(7)),
      context.sub(context.constant(5), sequence),
      context.floorDiv(value, context.constant(3)),
      context.ceilDiv(value, context.constant(3)),
      context.mod(value, context.constant(3)),
      context.min(context.min(batch, sequence), value),
      context.max(context.max(batch, sequence), value),
      context.equal(batch, sequence),
      context.less(batch, value),
      context.select(context.less(value, batch), context.add(value, batch), sequence),
  };
  ShapeFuncBuilder builder(body(), func.getLoc());
  builder.slots(exprs);
  rt::ShapeFuncOp shapeFunc = builder.finish();
  ASSERT_TRUE(succeeded(verify(*module)));
  std::mt19937 random(1);
  for (unsigned round = 0; round < 50; ++round) {
    int64_t b = random() % 5, s = random() % 9, v = static_cast<int64_t>(random() % 21) - 10;
    auto results = Interpreter([&](int64_t input, int64_t at) {
                     return input == 1 ? v : at == 0 ? b : s;
                   }).run(shapeFunc);
    ASSERT_EQ(results.size(), exprs.size());
    for (size_t i = 0; i < exprs.size(); ++i)
      EXPECT_EQ(results[i],
                evaluate(exprs[i], [&](ShapeExpr leaf) { return leaf == value   ? v
                                                                : leaf == batch ? b
                                                                                : s; }))
          << exprs[i].str();
  }
}

} // namespace
