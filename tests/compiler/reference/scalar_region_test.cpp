// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter of scalar regions, run on the bodies of small functions.

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/reference/ScalarRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle::reference {
namespace {

class ScalarRegionTest : public ::testing::Test {
protected:
  ScalarRegionTest() { context.loadDialect<func::FuncDialect, arith::ArithDialect, math::MathDialect>(); }

  // The body of @f, whose |signature| and |ops| are given; "" or the error in |error|.
  ScalarRegion translate(const std::string &signature, const std::string &ops, std::string &error) {
    module = parseSourceString<ModuleOp>("func.func @f" + signature + " {\n" + ops + "\n}", ParserConfig(&context));
    if (!module) {
      error = "no IR: " + ops;
      return ScalarRegion();
    }
    auto function = module->lookupSymbol<func::FuncOp>("f");
    llvm::Expected<ScalarRegion> region = ScalarRegion::create(function.getBody().front());
    if (region)
      return std::move(*region);
    error = llvm::toString(region.takeError());
    return ScalarRegion();
  }

  Scalar run(const std::string &signature, const std::string &ops, std::vector<Scalar> arguments) {
    std::string error;
    ScalarRegion region = translate(signature, ops, error);
    EXPECT_EQ(error, "");
    if (!error.empty())
      return makeScalar(int64_t(-999));
    std::vector<Scalar> slots = region.makeSlots();
    EXPECT_EQ(region.getNumArguments(), arguments.size());
    std::copy(arguments.begin(), arguments.end(), slots.begin());
    region.run(slots);
    return region.getResult(slots);
  }

  // One op of two operands of |type|.
  int64_t runInts(const std::string &op, const std::string &type, int64_t a, int64_t b) {
    return run("(%a: " + type + ", %b: " + type + ") -> " + type,
               "%r = " + op + " %a, %b : " + type + " return %r : " + type, {makeScalar(a), makeScalar(b)})
        .integer;
  }
  double runFloats(const std::string &op, double a, double b) {
    return run("(%a: f32, %b: f32) -> f32", "%r = " + op + " %a, %b : f32 return %r : f32",
               {makeScalar(a), makeScalar(b)})
        .number;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ScalarRegionTest, IntegersWrapAtTheirWidth) {
  EXPECT_EQ(runInts("arith.addi", "i8", 127, 1), -128);
  EXPECT_EQ(runInts("arith.muli", "i32", 65536, 65536), 0);
  EXPECT_EQ(runInts("arith.subi", "index", 0, 1), -1);
  EXPECT_EQ(runInts("arith.shli", "i8", 1, 7), -128);
  EXPECT_EQ(runInts("arith.shrui", "i8", -128, 7), 1);
  EXPECT_EQ(runInts("arith.shrsi", "i8", -128, 7), -1);
  EXPECT_EQ(runInts("arith.xori", "i1", 1, 1), 0);
  EXPECT_EQ(runInts("arith.addi", "i1", 1, 1), 0);
}

TEST_F(ScalarRegionTest, DivisionsRoundAsNamedAndNeverTrap) {
  EXPECT_EQ(runInts("arith.divsi", "i32", -7, 2), -3);
  EXPECT_EQ(runInts("arith.floordivsi", "i32", -7, 2), -4);
  EXPECT_EQ(runInts("arith.ceildivsi", "i32", -7, 2), -3);
  EXPECT_EQ(runInts("arith.ceildivsi", "i32", 7, 2), 4);
  EXPECT_EQ(runInts("arith.ceildivui", "index", 7, 2), 4);
  EXPECT_EQ(runInts("arith.remsi", "i32", -7, 2), -1);
  EXPECT_EQ(runInts("arith.divui", "i8", -1, 2), 127);
  EXPECT_EQ(runInts("arith.remui", "i8", -1, 2), 1);
  EXPECT_EQ(runInts("arith.divsi", "i64", INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(runInts("arith.divsi", "i64", 1, 0), 0);
  EXPECT_EQ(runInts("arith.remui", "i64", 1, 0), 0);
}

TEST_F(ScalarRegionTest, ComparesSignedAndUnsigned) {
  auto compare = [&](const std::string &predicate, const std::string &type, int64_t a, int64_t b) {
    return run("(%a: " + type + ", %b: " + type + ") -> i1",
               "%r = arith.cmpi " + predicate + ", %a, %b : " + type + " return %r : i1",
               {makeScalar(a), makeScalar(b)})
        .integer;
  };
  EXPECT_EQ(compare("slt", "i32", -1, 1), 1);
  EXPECT_EQ(compare("ult", "i32", -1, 1), 0);
  EXPECT_EQ(compare("ugt", "i1", 1, 0), 1);
  EXPECT_EQ(compare("sgt", "i1", 1, 0), 0); // the one bit is the sign
  EXPECT_EQ(runInts("arith.maxui", "i8", -1, 1), -1);
  EXPECT_EQ(runInts("arith.maxsi", "i8", -1, 1), 1);
}

TEST_F(ScalarRegionTest, ConvertsBetweenTypes) {
  auto convert = [&](const std::string &op, const std::string &from, const std::string &to, Scalar value) {
    return run("(%a: " + from + ") -> " + to, "%r = " + op + " %a : " + from + " to " + to + " return %r : " + to,
               {value});
  };
  EXPECT_EQ(convert("arith.extsi", "i1", "i32", makeScalar(int64_t(1))).integer, -1);
  EXPECT_EQ(convert("arith.extui", "i1", "i32", makeScalar(int64_t(1))).integer, 1);
  EXPECT_EQ(convert("arith.extui", "i8", "i32", makeScalar(int64_t(-1))).integer, 255);
  EXPECT_EQ(convert("arith.trunci", "i32", "i8", makeScalar(int64_t(384))).integer, -128);
  EXPECT_EQ(convert("arith.index_cast", "index", "i32", makeScalar(int64_t(1) << 32)).integer, 0);
  EXPECT_EQ(convert("arith.uitofp", "i8", "f32", makeScalar(int64_t(-1))).number, 255);
  EXPECT_EQ(convert("arith.sitofp", "i8", "f32", makeScalar(int64_t(-1))).number, -1);
  EXPECT_EQ(convert("arith.fptosi", "f32", "i8", makeScalar(-3.9)).integer, -3);
  EXPECT_EQ(convert("arith.fptosi", "f32", "i8", makeScalar(1e9)).integer, 127);
  EXPECT_EQ(convert("arith.fptoui", "f32", "i8", makeScalar(255.0)).integer, -1);
  EXPECT_EQ(convert("arith.truncf", "f32", "bf16", makeScalar(1 + 0x1p-9)).number, 1);
  EXPECT_EQ(convert("arith.extf", "f16", "f32", makeScalar(0.1)).number, 0.1);
}

TEST_F(ScalarRegionTest, FloatsFollowTheirDefinitions) {
  EXPECT_TRUE(std::isnan(runFloats("arith.maximumf", NAN, 1)));
  EXPECT_EQ(runFloats("arith.maxnumf", NAN, 1), 1);
  EXPECT_TRUE(std::isnan(runFloats("arith.minimumf", 1, NAN)));
  EXPECT_EQ(runFloats("arith.minnumf", 1, NAN), 1);
  EXPECT_EQ(runFloats("arith.remf", -7, 3), -1);
  EXPECT_EQ(runFloats("math.powf", 2, 10), 1024);
  EXPECT_EQ(runFloats("math.copysign", 3, -0.0), -3);
  EXPECT_EQ(runFloats("arith.addf", 1, 0x1p-40), 1 + 0x1p-40); // doubles, not rounded
}

TEST_F(ScalarRegionTest, OrderedComparisonsOfNanAreFalse) {
  auto compare = [&](const std::string &predicate, double a, double b) {
    return run("(%a: f32, %b: f32) -> i1", "%r = arith.cmpf " + predicate + ", %a, %b : f32 return %r : i1",
               {makeScalar(a), makeScalar(b)})
        .integer;
  };
  EXPECT_EQ(compare("olt", 1, 2), 1);
  EXPECT_EQ(compare("olt", NAN, 2), 0);
  EXPECT_EQ(compare("ult", NAN, 2), 1);
  EXPECT_EQ(compare("one", NAN, 2), 0);
  EXPECT_EQ(compare("une", NAN, 2), 1);
  EXPECT_EQ(compare("uno", NAN, 2), 1);
  EXPECT_EQ(compare("ord", NAN, 2), 0);
}

TEST_F(ScalarRegionTest, RunsAWholeBodyWithConstantsAndSelect) {
  // ALiBi with a causal cut: j <= i ? s - 0.5 (i - j) : -1
  const char *ops = R"(
    %half = arith.constant 0.5 : f32
    %out = arith.constant -1.0 : f32
    %distance = arith.subi %i, %j : index
    %0 = arith.index_cast %distance : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    %2 = arith.mulf %half, %1 : f32
    %3 = arith.subf %s, %2 : f32
    %4 = arith.cmpi sle, %j, %i : index
    %5 = arith.select %4, %3, %out : f32
    return %5 : f32)";
  const char *signature = "(%s: f32, %i: index, %j: index) -> f32";
  EXPECT_EQ(run(signature, ops, {makeScalar(10.0), makeScalar(int64_t(5)), makeScalar(int64_t(1))}).number, 8);
  EXPECT_EQ(run(signature, ops, {makeScalar(10.0), makeScalar(int64_t(1)), makeScalar(int64_t(5))}).number, -1);
}

TEST_F(ScalarRegionTest, RefusesWhatIsNotScalar) {
  std::string error;
  translate("(%a: vector<4xf32>) -> vector<4xf32>", "%r = arith.addf %a, %a : vector<4xf32> return %r : vector<4xf32>",
            error);
  EXPECT_EQ(error, "expects scalar arith and math ops in the region, got 'arith.addf'");
  translate("(%a: i32) -> i32", "%r = func.call @f(%a) : (i32) -> i32 return %r : i32", error);
  EXPECT_EQ(error, "expects scalar arith and math ops in the region, got 'func.call'");
  translate("(%a: i128) -> i128", "%r = arith.addi %a, %a : i128 return %r : i128", error);
  EXPECT_EQ(error, "expects scalar arith and math ops in the region, got 'arith.addi'");
}

} // namespace
} // namespace heddle::reference
