// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tests against every element of the tile. With constant bounds the emitted arithmetic folds to a constant, so
// nothing has to be compiled.

#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "compiler/transforms/sparsity/TileTest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace heddle::sparsity {
namespace {

/// What a mask sees: query, key, a length per batch (capture 0, i64), an offset per batch (capture 1, i32) and a flag
/// per key (capture 2, i1), of which the analysis knows the first two.
struct place {
  int64_t m, n, length, offset;
  bool flag;
};

struct mask {
  std::string name, text;
  std::function<bool(const place &)> keeps;
  /// The test must find every EMPTY and FULL tile; else it need only be right.
  bool is_exact = true;
};

/// What GoogleTest prints of a parameter.
void PrintTo(const mask &value, std::ostream *stream) { *stream << value.name; }

struct tile {
  int64_t m0, m1, n0, n1, length, offset;
};

const mask kMasks[] = {
    {"all", "%keep = arith.constant true", [](const place &) { return true; }},
    {"none", "%keep = arith.constant false", [](const place &) { return false; }},
    {"causal", "%keep = arith.cmpi ule, %n, %m : index", [](const place &p) { return p.n <= p.m; }},
    {"anticausal",
     "%past = arith.cmpi ule, %n, %m : index\n%true = arith.constant true\n"
     "%keep = arith.xori %past, %true : i1",
     [](const place &p) { return p.n > p.m; }},
    {"window",
     R"(%d = arith.subi %m, %n : index
        %zero = arith.constant 0 : index
        %w = arith.constant 13 : index
        %past = arith.cmpi sge, %d, %zero : index
        %near = arith.cmpi slt, %d, %w : index
        %keep = arith.andi %past, %near : i1)",
     [](const place &p) { return p.m - p.n >= 0 && p.m - p.n < 13; }},
    {"band",
     R"(%mi = arith.index_cast %m : index to i64
        %ni = arith.index_cast %n : index to i64
        %d = arith.subi %mi, %ni : i64
        %a = math.absi %d : i64
        %w = arith.constant 9 : i64
        %keep = arith.cmpi sle, %a, %w : i64)",
     [](const place &p) { return std::abs(p.m - p.n) <= 9; }},
    {"prefix",
     R"(%p = arith.constant 20 : index
        %early = arith.cmpi ult, %n, %p : index
        %past = arith.cmpi ule, %n, %m : index
        %keep = arith.ori %early, %past : i1)",
     [](const place &p) { return p.n < 20 || p.n <= p.m; }, false},
    {"blocks",
     R"(%size = arith.constant 8 : index
        %qb = arith.divui %m, %size : index
        %kb = arith.divui %n, %size : index
        %keep = arith.cmpi eq, %qb, %kb : index)",
     [](const place &p) { return p.m / 8 == p.n / 8; }},
    {"dilated",
     R"(%three = arith.constant 3 : index
        %one = arith.constant 1 : index
        %rest = arith.remui %n, %three : index
        %keep = arith.cmpi eq, %rest, %one : index)",
     [](const place &p) { return p.n % 3 == 1; }, false},
    {"length", "%ni = arith.index_cast %n : index to i64\n%keep = arith.cmpi slt, %ni, %c0 : i64",
     [](const place &p) { return p.n < p.length; }},
    {"shifted",
     R"(%off = arith.extsi %c1 : i32 to i64
        %mi = arith.index_cast %m : index to i64
        %ni = arith.index_cast %n : index to i64
        %p = arith.addi %mi, %off : i64
        %keep = arith.cmpi sge, %p, %ni : i64)",
     [](const place &p) { return p.m + p.offset >= p.n; }},
    {"wrapping window",
     R"(%mi = arith.index_cast %m : index to i64
        %ni = arith.index_cast %n : index to i64
        %end = arith.addi %ni, %c0 : i64
        %keep = arith.cmpi sgt, %end, %mi : i64)",
     [](const place &p) { return int64_t(uint64_t(p.n) + uint64_t(p.length)) > p.m; }, false},
    {"padded causal",
     R"(%past = arith.cmpi ule, %n, %m : index
        %keep = arith.andi %past, %c2 : i1)",
     [](const place &p) { return p.n <= p.m && p.flag; }, false},
    {"chosen",
     R"(%four = arith.constant 4 : index
        %global = arith.cmpi ult, %m, %four : index
        %past = arith.cmpi ule, %n, %m : index
        %true = arith.constant true
        %keep = arith.select %global, %true, %past : i1)",
     [](const place &p) { return p.m < 4 || p.n <= p.m; }, false},
    {"unsigned difference",
     R"(%d = arith.subi %m, %n : index
        %w = arith.constant 13 : index
        %keep = arith.cmpi ult, %d, %w : index)",
     [](const place &p) { return p.m >= p.n && p.m - p.n < 13; }, false},
    {"bounded",
     R"(%last = arith.constant 30 : index
        %low = arith.minui %m, %last : index
        %twice = arith.addi %low, %low : index
        %keep = arith.cmpi ne, %n, %twice : index)",
     [](const place &p) { return p.n != 2 * std::min<int64_t>(p.m, 30); }, false},
};

class TileTests : public ::testing::TestWithParam<mask> {
protected:
  TileTests() {
    context.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>();
    module = parseSourceString<ModuleOp>(text(GetParam().text), &context);
  }

  static std::string text(const std::string &mask) {
    return R"(#q = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, e)>
#o = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, e)>
#b = affine_map<(b, g, r, m, n, d, e)[s0] -> (b)>
#f = affine_map<(b, g, r, m, n, d, e)[s0] -> (n)>
kernel.func @f(%q: tensor<?x4xf32> {kernel.dims = array<i64: 0>}, %l: tensor<1xi64>, %o: tensor<1xi32>,
               %f: tensor<?xi1> {kernel.dims = array<i64: 0>}, %s: index)
    -> (tensor<?x4xf32> {kernel.dims = array<i64: 0>}) {
  %x = kernel.attention sizes(%s) bounds(affine_map<()[s0] -> (1, 1, 1, s0, s0, 4, 4)>)
      ins(%q, %q, %q, %l, %o, %f : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<1xi64>, tensor<1xi32>,
          tensor<?xi1>)
      attributes {indexing_maps = [#q, #k, #v, #b, #b, #f, #o], scale = 1.0 : f32, fully_masked = "zero"} score {
  ^bb0(%s0: f32, %c0: i64, %c1: i32, %c2: i1):
    kernel.yield %s0 : f32
  } mask {
  ^bb0(%c0: i64, %c1: i32, %c2: i1):
    %m = kernel.index 3
    %n = kernel.index 4
    )" + mask +
           R"(
    kernel.yield %keep : i1
  } : tensor<?x4xf32>
  kernel.return %x : tensor<?x4xf32>
})";
  }

  kernel::AttentionOp op() { return cast<kernel::AttentionOp>((*module->getOps<kernel::FuncOp>().begin()).getRoot()); }

  /// The test's answer for |t|; the arithmetic must fold.
  std::pair<bool, bool> classify(const tile &t) {
    // In a module of its own, which goes with its constants.
    OwningOpRef<ModuleOp> emitted(ModuleOp::create(UnknownLoc::get(&context)));
    OpBuilder b = OpBuilder::atBlockBegin(emitted->getBody());
    Location loc = emitted->getLoc();
    auto number = [&](int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value).getResult(); };
    TileScope scope;
    Value nought = number(0);
    for (unsigned loop = 0; loop < 3; ++loop)
      scope.loops.push_back({nought, nought});
    scope.loops.push_back({number(t.m0), number(t.m1)});
    scope.loops.push_back({number(t.n0), number(t.n1)});
    scope.getArgument = [&](unsigned i) -> Value {
      if (i == 0)
        return b.create<arith::ConstantIntOp>(loc, t.length, 64);
      return i == 1 ? b.create<arith::ConstantIntOp>(loc, t.offset, 32).getResult() : Value();
    };
    scope.getSize = [](Value) { return Value(); };
    TileTruth truth = buildTileTest(b, loc, op().getMask(), scope);
    APInt may, all;
    EXPECT_TRUE(matchPattern(truth.may, m_ConstantInt(&may)) && matchPattern(truth.all, m_ConstantInt(&all)))
        << GetParam().name << ": constants don't fold";
    return {!may.isZero(), !all.isZero()};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(TileTests, AgreeWithEveryElement) {
  ASSERT_TRUE(module);
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  const int64_t lengths[] = {0, -5, 17, INT64_MAX, INT64_MIN + 3};
  int64_t skipped = 0, whole = 0;
  for (int i = 0; i < 400; ++i) {
    tile t = {pick(0, 60), 0, pick(0, 60), 0, lengths[pick(0, 4)], pick(-40, 40)};
    t.m1 = t.m0 + pick(0, 8), t.n1 = t.n0 + pick(0, 16);
    bool any = false, every = true;
    for (int64_t m = t.m0; m <= t.m1; ++m)
      for (int64_t n = t.n0; n <= t.n1; ++n)
        for (bool flag : {false, true}) {
          bool kept = GetParam().keeps({m, n, t.length, t.offset, flag});
          any |= kept, every &= kept;
        }
    auto [may, all] = classify(t);
    std::string where = GetParam().name + " at m " + std::to_string(t.m0) + ".." + std::to_string(t.m1) + ", n " +
                        std::to_string(t.n0) + ".." + std::to_string(t.n1) + ", length " + std::to_string(t.length);
    EXPECT_TRUE(may || !any) << where << " would be skipped";
    EXPECT_TRUE(!all || every) << where << " would lose its mask";
    if (GetParam().is_exact) {
      EXPECT_EQ(may, any) << where;
      EXPECT_EQ(all, every) << where;
    }
    skipped += !may, whole += all;
  }
  // No analysis would pass by answering PARTIAL everywhere.
  EXPECT_GT(skipped + whole, 0) << GetParam().name;
  EXPECT_EQ(isAlwaysTrue(op().getMask()), GetParam().name == "all");
}

INSTANTIATE_TEST_SUITE_P(Masks, TileTests, ::testing::ValuesIn(kMasks), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

} // namespace
} // namespace heddle::sparsity
