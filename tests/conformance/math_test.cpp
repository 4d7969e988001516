// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accuracy of math functions in kernels, as their comments state it, and their values at special points.

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "compiler/targets/common/SingleMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

struct accuracy {
  const char *function;
  double low, high; // range of x
  double tolerance; // relative to the value, plus |absolute|
  double absolute;
};

std::string unary(const std::string &function, const std::string &type) {
  return llvm::formatv(R"(
kernel.func @f(%x: tensor<?x{1}> {{kernel.dims = array<i64: 0>}, %n: index) -> (tensor<?x{1}> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<?x{1}>)
      attributes {{indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {{
  ^bb0(%e: {1}):
    %r = math.{0} %e : {1}
    kernel.yield %r : {1}
  } : tensor<?x{1}>
  kernel.return %y : tensor<?x{1}>
})",
                       function, type);
}

/// Whether |target| has no double precision to take functions from.
bool is_single(const std::string &target) { return is_refused("tensor<8xf64>", target); }

/// The interpreter's double of the argument as stored: for f32 the rounded argument. On targets that have no double
/// precision where |without_doubles|, else on the others.
void check_accuracy(const accuracy &wanted, const std::string &type, bool without_doubles = false) {
  constexpr int64_t count = 20011;
  for (const std::string &target : runnable_targets()) {
    if (is_single(target) != without_doubles)
      continue;
    auto module = kernel_module::compile(unary(wanted.function, type), target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("f"), {count}, 1);
    for (int64_t i = 0; i < count; ++i)
      inputs[0].set_float(i, wanted.low + (wanted.high - wanted.low) * i / (count - 1));
    kernel_result actual = module->run("f", inputs, {count});
    // The expected value isn't rounded to f32: interpret in f64.
    host_tensor wide(mlir::FloatType::getF64(inputs[0].type.getContext()), {count});
    for (int64_t i = 0; i < count; ++i)
      wide.set_float(i, inputs[0].get_float(i));
    auto reference = kernel_module::compile(unary(wanted.function, "f64"), "cpu:x86-64-v3");
    ASSERT_TRUE(reference);
    kernel_result expected = interpret(reference->func("f"), {wide}, {count});
    for (int64_t i = 0; i < count; ++i) {
      double a = actual.outputs[0].get_float(i), b = expected.outputs[0].get_float(i);
      ASSERT_LE(std::fabs(a - b), wanted.tolerance * std::fabs(b) + wanted.absolute)
          << wanted.function << "(" << wide.get_float(i) << ") = " << a << " for " << b << " in " << type << " on "
          << target;
    }
  }
}

TEST(Math, HoldsItsAccuracyInSinglePrecision) {
  constexpr double ulp = 6e-8;
  const accuracy all[] = {
      {"exp", -87, 88, 1.2e-7, 0},     {"exp", -1, 1, 1.2e-7, 0},      {"exp2", -125, 127, 1.7e-7, 0},
      {"tanh", -10, 10, 2e-7, 0},      {"tanh", -0.7, 0.7, 2e-7, 0},   {"erf", -5, 5, 1.2e-7, 0},
      {"erf", -1, 1, 1.2e-7, 0},       {"log", 1e-3, 1e3, ulp, 0},     {"log", 0.9, 1.1, ulp, 0},
      {"log2", 1e-3, 1e3, ulp, 0},     {"log1p", -0.9, 1e3, ulp, 0},   {"expm1", -3, 3, ulp, 0},
      {"sin", -1e4, 1e4, ulp, 1e-12},  {"cos", -1e4, 1e4, ulp, 1e-12}, {"sqrt", 0, 1e4, ulp, 0},
      {"rsqrt", 1e-4, 1e4, 1.3e-7, 0}, {"floor", -1e3, 1e3, 0, 0},     {"ceil", -1e3, 1e3, 0, 0},
      {"roundeven", -1e3, 1e3, 0, 0}};
  for (const accuracy &wanted : all)
    check_accuracy(wanted, "f32");
}

TEST(Math, HoldsItsAccuracyWithoutDoublePrecision) {
  const accuracy all[] = {
      {"exp", -87, 88, 1.2e-7, 0},       {"exp", -1, 1, 1.2e-7, 0},        {"exp2", -125, 127, 1.7e-7, 0},
      {"tanh", -10, 10, 2e-7, 0},        {"tanh", -0.7, 0.7, 2e-7, 0},     {"erf", -5, 5, 1.2e-7, 0},
      {"erf", -1, 1, 1.2e-7, 0},         {"log", 1e-3, 1e3, 1.3e-7, 0},    {"log", 0.9, 1.1, 1.3e-7, 0},
      {"log", 1e30, 1e38, 1.3e-7, 0},    {"log2", 1e-3, 1e3, 2.2e-7, 0},   {"log2", 0.9, 1.1, 2.2e-7, 0},
      {"log10", 1e-3, 1e3, 2.2e-7, 0},   {"log10", 0.9, 1.1, 2.2e-7, 0},   {"log1p", -0.9, 1e3, 1.8e-7, 0},
      {"log1p", -1e-3, 1e-3, 1.8e-7, 0}, {"log1p", -0.9, 2, 1.8e-7, 0},    {"expm1", -3, 3, 1.8e-7, 0},
      {"expm1", -1e-3, 1e-3, 1.8e-7, 0}, {"expm1", -40, 88, 1.8e-7, 0},    {"sin", -1e4, 1e4, 1.5e-7, 5e-9},
      {"sin", -2e5, 2e5, 1.5e-7, 5e-9},  {"cos", -2e5, 2e5, 1.5e-7, 5e-9}, {"cos", -1, 1, 1.3e-7, 0},
      {"sin", -0.1, 0.1, 1.3e-7, 0},     {"sqrt", 0, 1e4, 2e-7, 0},        {"rsqrt", 1e-4, 1e4, 3e-7, 0},
      {"floor", -1e3, 1e3, 0, 0},        {"ceil", -1e3, 1e3, 0, 0},        {"roundeven", -1e3, 1e3, 0, 0}};
  for (const accuracy &wanted : all)
    check_accuracy(wanted, "f32", /*without_doubles=*/true);
}

TEST(Math, HoldsItsAccuracyInDoublePrecision) {
  const accuracy all[] = {{"exp", -700, 700, 1e-15, 0},  {"log", 1e-3, 1e3, 1e-15, 0}, {"tanh", -20, 20, 1e-15, 0},
                          {"erf", -7, 7, 2e-15, 0},      {"sin", -1e6, 1e6, 0, 1e-15}, {"cos", -1e6, 1e6, 0, 1e-15},
                          {"log1p", -0.9, 10, 2e-15, 0}, {"expm1", -3, 3, 2e-15, 0}};
  for (const accuracy &wanted : all)
    check_accuracy(wanted, "f64");
}

/// x (1 + erf(x)) of x = s (u + 127 v - 16320) / 2720, where u and v are the codes of a row and s is 1, of every row
/// one by |scale_map| (m), or of them all.
static std::string gelu_of_codes(const std::string &scale_type, const std::string &scale_map) {
  return llvm::formatv(R"(
kernel.func @f(%codes: tensor<?x4xi8> {{kernel.dims = array<i64: 0>}, %w: tensor<1x1x16x4xi8>,
               %s: {0}, %n: index) -> (tensor<?x1xf32> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.contract sizes(%n) bounds(affine_map<()[s0] -> (s0, 1, 4)>)
      ins(%codes, %w, %s : tensor<?x4xi8>, tensor<1x1x16x4xi8>, {1})
      attributes {{indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>,
                                   affine_map<(m, n, k)[s0] -> {2}>, affine_map<(m, n, k)[s0] -> (m, n)>],
                  packed_rhs = 1 : i64} epilogue {{
  ^bb0(%acc: i32, %scale: f32):
    %middle = arith.constant 16320 : i32
    %step = arith.constant 2720.0 : f32
    %one = arith.constant 1.0 : f32
    %d = arith.subi %acc, %middle : i32
    %f = arith.sitofp %d : i32 to f32
    %scaled = arith.mulf %f, %scale : f32
    %e = arith.divf %scaled, %step : f32
    %erf = math.erf %e : f32
    %sum = arith.addf %erf, %one : f32
    %r = arith.mulf %e, %sum : f32
    kernel.yield %r : f32
  } : tensor<?x1xf32>
  kernel.return %y : tensor<?x1xf32>
})",
                       scale_type, llvm::StringRef(scale_type).split(" ").first, scale_map);
}

/// Calls |check| with each x and what |text| makes of it.
static void check_gelu_of_codes(const std::string &text, bool has_rows,
                                llvm::function_ref<void(float x, float result, const std::string &target)> check) {
  constexpr int64_t count = 256 * 256;
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(text, target);
    ASSERT_TRUE(module);
    auto inputs = random_inputs(module->func("f"), {count}, 1);
    for (int64_t i = 0; i < inputs[1].size(); ++i)
      inputs[1].set_int(i, i == 0 ? 1 : i == 1 ? 127 : 0);
    for (int64_t i = 0; i < (has_rows ? count : 1); ++i)
      inputs[2].set_float(i, 1);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < 4; ++k)
        inputs[0].set_int(4 * i + k, static_cast<int8_t>(k == 0 ? i % 256 : i / 256));
    kernel_result actual = module->run("f", inputs, {count});
    for (int64_t i = 0; i < count; ++i)
      check(static_cast<float>(i % 256 + 127 * (i / 256) - 16320) / 2720, actual.outputs[0].get_float(i), target);
  }
}

/// There erf takes a shorter form, whose error codes of 8 bits don't show.
TEST(Math, HoldsItsAccuracyInAGeluOfCodes) {
  auto check = [](float x, float result, const std::string &target) {
    // 2e-5 of erf; exact where it has come to 1 and -1, so that far x multiply no error.
    double error = result - double(x) * (1 + std::erf(double(x)));
    EXPECT_LE(std::fabs(error), std::fabs(x) * 2e-5) << "x = " << x << " on " << target;
    if (std::fabs(x) >= 3.02F)
      EXPECT_EQ(result, x < 0 ? 0 : 2 * x) << "x = " << x << " on " << target;
  };
  check_gelu_of_codes(gelu_of_codes("tensor<?xf32> {kernel.dims = array<i64: 0>}", "(m)"), /*has_rows=*/true, check);
}

/// Codes of a model's file, with one scale for all rows, round where the file says: erf keeps its accuracy.
TEST(Math, HoldsItsAccuracyInAGeluOfAFilesCodes) {
  auto check = [](float x, float result, const std::string &target) {
    // erf is off by 1.2e-7 of itself, a sum of two numbers up to 1 by as much, the product by half a unit.
    double error = result - double(x) * (1 + std::erf(double(x)));
    EXPECT_LE(std::fabs(error), std::fabs(x) * 4e-7) << "x = " << x << " on " << target;
  };
  check_gelu_of_codes(gelu_of_codes("tensor<1xf32>", "(0)"), /*has_rows=*/false, check);
}

TEST(Math, KeepsSpecialValues) {
  const std::vector<double> points = {0.0,  -0.0,  1.0,      -1.0,  NAN,  INFINITY, -INFINITY, 1e-40, -1e-40,
                                      1e30, -1e30, 88.72283, 88.73, 89.0, -87.4,    -104.0,    1e-30, 0.5};
  for (const char *function : {"exp", "tanh", "erf", "log", "sqrt", "exp2", "log1p", "expm1", "floor"}) {
    for (const char *type : {"f32", "f64"}) {
      for (const std::string &target : runnable_targets()) {
        if (is_refused("tensor<8x" + std::string(type) + ">", target))
          continue;
        auto module = kernel_module::compile(unary(function, type), target);
        ASSERT_TRUE(module);
        std::vector<int64_t> sizes = {static_cast<int64_t>(points.size())};
        auto inputs = random_inputs(module->func("f"), sizes, 1);
        for (size_t i = 0; i < points.size(); ++i)
          inputs[0].set_float(i, points[i]);
        kernel_result actual = module->run("f", inputs, sizes);
        kernel_result expected = interpret(module->func("f"), inputs, sizes);
        for (size_t i = 0; i < points.size(); ++i) {
          double a = actual.outputs[0].get_float(i), b = expected.outputs[0].get_float(i);
          std::string where = std::string(function) + "(" + std::to_string(points[i]) + ") " + type + " " + target;
          EXPECT_EQ(std::isnan(a), std::isnan(b)) << where;
          if (std::isinf(b))
            EXPECT_EQ(a, b) << where;
          // Below the normal numbers results may be flushed to zero.
          if (std::isfinite(b))
            EXPECT_NEAR(a, b, 3e-7 * std::fabs(b) + 1.2e-38) << where;
        }
        if (std::string(function) == "exp" || std::string(function) == "exp2")
          EXPECT_EQ(actual.outputs[0].get_float(0), 1.0) << function << " of 0 must be 1 exactly";
      }
    }
  }
}

constexpr char kPower[] = R"(
kernel.func @pow(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %y: tensor<?xf32> {kernel.dims = array<i64: 0>},
                 %n: index) -> (tensor<?xf32> {kernel.dims = array<i64: 0>}, tensor<?xf32> {kernel.dims = array<i64: 0>},
                                tensor<?xf32> {kernel.dims = array<i64: 0>}) {
  %r:3 = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x, %y : tensor<?xf32>, tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>,
                                   affine_map<(i)[s0] -> (i)>, affine_map<(i)[s0] -> (i)>]} {
  ^bb0(%a: f32, %b: f32):
    %two = arith.constant 2.0 : f32
    %p = math.powf %a, %b : f32
    %q = math.powf %a, %two : f32
    %m = arith.remf %a, %b : f32
    kernel.yield %p, %q, %m : f32, f32, f32
  } : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  kernel.return %r#0, %r#1, %r#2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
})";

TEST(Math, RaisesToPowersAsCDoes) {
  const std::vector<double> points = {0.0,  -0.0, 1.0,  -1.0, 2.0,      -2.0,      0.5,  -0.5,  3.0,
                                      -3.0, 1.5,  7.25, NAN,  INFINITY, -INFINITY, 1e-3, 100.0, 1e10};
  for (const std::string &target : runnable_targets()) {
    auto module = kernel_module::compile(kPower, target);
    ASSERT_TRUE(module);
    int64_t count = points.size() * points.size();
    auto inputs = random_inputs(module->func("pow"), {count}, 1);
    for (int64_t i = 0; i < count; ++i) {
      inputs[0].set_float(i, points[i / points.size()]);
      inputs[1].set_float(i, points[i % points.size()]);
    }
    kernel_result actual = module->run("pow", inputs, {count});
    kernel_result expected = interpret(module->func("pow"), inputs, {count});
    for (int64_t output = 0; output < 3; ++output)
      for (int64_t i = 0; i < count; ++i) {
        double a = actual.outputs[output].get_float(i), b = expected.outputs[output].get_float(i);
        std::string where = "output " + std::to_string(output) + " of " + std::to_string(inputs[0].get_float(i)) +
                            ", " + std::to_string(inputs[1].get_float(i)) + " on " + target;
        ASSERT_EQ(std::isnan(a), std::isnan(b)) << where;
        if (!std::isnan(b))
          ASSERT_TRUE(a == b || std::fabs(a - b) <= 2e-7 * std::fabs(b)) << where << ": " << a << " for " << b;
      }
  }
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// The arithmetic of a device whose quotients are |units| of their last digit off.
class CoarseDivision : public FloatMath {
public:
  CoarseDivision(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, int64_t units)
      : FloatMath(b, loc, type), units(units) {}
  Value div(Value x, Value y) const override { return fromBits(addBits(toBits(FloatMath::div(x, y)), integer(units))); }

private:
  int64_t units;
};

/// What the ops of |block|, a function of two floats, fold to: f32 rounded once each.
float fold(mlir::Block &block, mlir::Value result, float x, float y) {
  llvm::DenseMap<mlir::Value, mlir::Attribute> known;
  auto type = mlir::FloatType::getF32(block.getArgument(0).getContext());
  known[block.getArgument(0)] = mlir::FloatAttr::get(type, x);
  known[block.getArgument(1)] = mlir::FloatAttr::get(type, y);
  for (mlir::Operation &op : block) {
    llvm::SmallVector<mlir::Attribute> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    llvm::SmallVector<mlir::OpFoldResult> folded;
    if (failed(op.fold(operands, folded)) || folded.size() != 1) {
      ADD_FAILURE() << op.getName().getStringRef().str() << " doesn't fold";
      return NAN;
    }
    auto value = llvm::dyn_cast<mlir::Value>(folded[0]);
    known[op.getResult(0)] = value ? known.lookup(value) : llvm::cast<mlir::Attribute>(folded[0]);
  }
  return llvm::cast<mlir::FloatAttr>(known.lookup(result)).getValue().convertToFloat();
}

TEST(Division, OfCodesIsCorrectOnADeviceWhoseOwnIsCoarse) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::Location loc = mlir::UnknownLoc::get(&context);
  mlir::Type f32 = mlir::FloatType::getF32(&context);
  for (int64_t units : {-3, -1, 0, 1, 3}) {
    mlir::Block block;
    block.addArguments({f32, f32}, {loc, loc});
    mlir::OpBuilder b(&context);
    b.setInsertionPointToStart(&block);
    CoarseDivision m(b, loc, f32, units);
    mlir::Value result = buildDivide32(m, block.getArgument(0), block.getArgument(1));
    std::mt19937 random(1);
    for (int i = 0; i < 600; ++i) {
      auto mantissa = [&](int bits) { return std::ldexp((1u << bits) + random() % (1u << bits), -bits); };
      float y = static_cast<float>(mantissa(23) * std::ldexp(i % 3 ? 1.0 : -1.0, i % 41 - 20));
      // Every other quotient is as near the middle between two floats as one can be.
      double middle = 1 + (2 * static_cast<double>(random() % (1u << 23)) + 1) * 0x1p-24;
      auto x = static_cast<float>(i % 2 ? mantissa(23) : middle * y);
      ASSERT_EQ(fold(block, result, x, y), x / y) << x << " / " << y << ", " << units << " units off";
    }
    if (units != 0)
      continue;
    for (float x : {0.0f, -0.0f, INFINITY, 1.0f, -1e-40f, 3e38f})
      for (float y : {1.0f, -INFINITY, 0.0f, 1e-30f, 3e38f}) {
        float quotient = fold(block, result, x, y);
        EXPECT_TRUE(quotient == x / y || std::isnan(quotient + x / y)) << x << " / " << y;
      }
  }
}

} // namespace
} // namespace heddle::conformance
