// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that a shape function accepts: found where there are some, and none where there aren't.

#include "compiler/pipelines/TrialShapes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace mlir;

namespace {

class TrialShapesTest : public ::testing::Test {
protected:
  TrialShapesTest() { context.loadDialect<rt::RtDialect>(); }

  /// The result of a shape function with |body|, which yields %r, not below |least|; nothing if no sizes will do.
  std::optional<int64_t> find(const std::string &dims, const std::string &body, int64_t least = 0) {
    module = parseSourceString<ModuleOp>("rt.func @main attributes {inputs = [{name = \"x\", type = i64, dims = [" +
                                             dims + "]}], outputs = []} {\n%n = rt.shape_func {\n" + body +
                                             "\nrt.yield %r : index\n} : index\n}",
                                         ParserConfig(&context));
    EXPECT_TRUE(module);
    auto entry = module->lookupSymbol<rt::FuncOp>("main");
    auto function = *entry.getBody().getOps<rt::ShapeFuncOp>().begin();
    auto suits = [&](const TrialShapes &shapes) { return shapes.get(function.getResult(0)) >= least; };
    std::optional<TrialShapes> shapes = TrialShapes::find(entry, suits);
    if (!shapes)
      return std::nullopt;
    return shapes->get(function.getResult(0));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kBoth = "%a = rt.input_dim 0, 0\n%b = rt.input_dim 0, 1\n";

TEST_F(TrialShapesTest, SmallSizesThatLeaveSomethingOverComeFirst) {
  EXPECT_EQ(find("\"b\", \"s\"", std::string(kBoth) + "%c = rt.shape_constant 1000\n%t = rt.shape_arith mul %a, %c\n"
                                                      "%r = rt.shape_arith add %t, %b"),
            2019);
  EXPECT_EQ(find("\"s\", \"s\"", std::string(kBoth) + "%r = rt.shape_arith mul %a, %b"), 361);
  EXPECT_EQ(find("7, \"s\"", std::string(kBoth) + "%r = rt.shape_arith mul %a, %b"), 7 * 19);
}

TEST_F(TrialShapesTest, ChecksAreKept) {
  EXPECT_EQ(find("\"b\", \"s\"", std::string(kBoth) + "%c = rt.shape_constant 16\n%m = rt.shape_arith mod %b, %c\n"
                                                      "%z = rt.shape_constant 0\n"
                                                      "rt.check equal %m, %z node \"n\" message \"m\"\n"
                                                      "%r = rt.shape_arith add %b, %z"),
            16);
  // 35 is 32 and 3: one of the few sums among the sizes.
  EXPECT_EQ(find("\"past\", \"s\", \"total\"", std::string(kBoth) +
                                                   "%t = rt.input_dim 0, 2\n%r = rt.shape_arith add %a, %b\n"
                                                   "rt.check equal %r, %t node \"n\" message \"m\"")
                .has_value(),
            true);
}

TEST_F(TrialShapesTest, SizesAreTriedUntilTheySuit) {
  // Parts of 256 keys, of which short texts have none.
  const std::string parts = std::string(kBoth) + "%c = rt.shape_constant 256\n%r = rt.shape_arith floor_div %b, %c";
  EXPECT_EQ(find("\"b\", \"s\"", parts), 0);
  EXPECT_EQ(find("\"b\", \"s\"", parts, 1), 1);
  EXPECT_EQ(find("\"b\", \"s\"", parts, 2), std::nullopt);
}

TEST_F(TrialShapesTest, WhatCantBeIsNoSize) {
  EXPECT_EQ(find("\"b\", \"s\"", std::string(kBoth) + "%c = rt.shape_constant 1000\n"
                                                      "rt.check less_equal %c, %a node \"n\" message \"m\"\n"
                                                      "%r = rt.shape_arith add %a, %b"),
            std::nullopt);
  EXPECT_EQ(find("\"b\", \"s\"", std::string(kBoth) + "%z = rt.shape_constant 0\n%r = rt.shape_arith floor_div %a, %z"),
            std::nullopt);
  EXPECT_EQ(find("\"b\", \"s\"", std::string(kBoth) + "%z = rt.shape_constant 9223372036854775807\n"
                                                      "%r = rt.shape_arith add %b, %z"),
            std::nullopt);
}

} // namespace
