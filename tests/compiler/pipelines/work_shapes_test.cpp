// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What targets say of their work reaches dispatches, in the order of the targets; and what of a kernel's inputs are
// constants. The targets here say numbers that can be told apart.

#include "compiler/pipelines/AddWorkShapes.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace mlir;

namespace {

/// Two dispatches of one kernel: its second input is a constant in both, its third in the second only.
const char *const kProgram = R"(
module {
  rt.constant @w {source = dense<1.0> : tensor<2xf32>, source_type = tensor<2xf32>, recipe = []} : tensor<2xf32>
  kernel.func @add(%x: tensor<?xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2xf32>, %v: tensor<2xf32>, %n: index)
      -> (tensor<?xf32> {kernel.dims = array<i64: 0>}) {
    %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0)>) ins(%x : tensor<?xf32>)
        attributes {indexing_maps = [affine_map<(d0)[s0] -> (d0)>, affine_map<(d0)[s0] -> (d0)>]} {
    ^bb0(%e: f32):
      kernel.yield %e : f32
    } : tensor<?xf32>
    kernel.return %y : tensor<?xf32>
  }
  rt.func @main attributes {inputs = [{name = "x", type = f32, dims = ["n"]}, {name = "v", type = f32, dims = [2]}],
                            outputs = [{name = "y", type = f32, dims = ["n"]}]} {
    %n, %bytes = rt.shape_func {
      %0 = rt.input_dim 0, 0
      %1 = rt.shape_constant 4
      %2 = rt.shape_arith mul %0, %1
      rt.yield %0, %2 : index, index
    } : index, index
    %x = rt.input 0
    %v = rt.input 1
    %w = rt.constant_buffer @w
    %y = rt.output 0 sizes(%n)
    %a = rt.buffer %bytes
    rt.dispatch @add ins(%x, %w, %v) outs(%a) sizes(%n) result_sizes(%n)
        {nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
    rt.dispatch @add ins(%a, %w, %w) outs(%y) sizes(%n) result_sizes(%n)
        {nodes = [], results_info = [{name = "y", type = f32, permutation = array<i64: 0>}]}
  }
})";

/// Shares out work by |step| elements, with axes or without.
class NumberTarget : public Target {
public:
  NumberTarget(std::string name, int64_t step, bool hasAxes) : name(std::move(name)), step(step), hasAxes(hasAxes) {}

  StringRef getName() const override { return name; }
  ArrayRef<std::string> getFeatures() const override { return {}; }
  std::string getSummary() const override { return {}; }
  void addSelectionPass(OpPassManager &, const TunedConfigs *) const override {}
  std::string checkConfig(kernel::FuncOp, DictionaryAttr) const override { return {}; }
  std::string getKernelName(kernel::FuncOp) const override { return "named"; }
  std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp, ArrayRef<int64_t>,
                                                const DeviceLimits &) const override {
    return {};
  }
  FailureOr<KernelImage> compileKernels(ModuleOp, unsigned, const CompileProgress &) const override {
    return failure();
  }

  FailureOr<WorkShape> getWorkShape(kernel::FuncOp func) const override {
    MLIRContext *context = func.getContext();
    auto map = [&](AffineExpr expr) { return AffineMap::get(0, 1, expr); };
    AffineExpr units = getAffineSymbolExpr(0, context).ceilDiv(step), one = getAffineConstantExpr(1, context);
    WorkShape shape{map(units), map(one), map(getAffineConstantExpr(0, context)), {}};
    if (!hasAxes)
      return shape;
    shape.axes = {map(units), map(one), map(one)};
    for (unsigned i = 0; i < 4; ++i)
      for (int64_t stride : {4 * step + i, int64_t(0), int64_t(0)})
        shape.axes.push_back(map(getAffineConstantExpr(stride, context)));
    return shape;
  }

private:
  std::string name;
  int64_t step;
  bool hasAxes;
};

class WorkShapesTest : public ::testing::Test {
protected:
  WorkShapesTest() {
    context.loadDialect<kernel::KernelDialect, rt::RtDialect>();
    module = parseSourceString<ModuleOp>(kProgram, &context);
  }

  void addTarget(std::string name, int64_t step, bool hasAxes) {
    targets.push_back({std::make_unique<NumberTarget>(std::move(name), step, hasAxes), nullptr, {}});
    targets.back().kernels = cast<ModuleOp>((*module)->clone());
  }

  rt::DispatchOp dispatch(unsigned i) {
    auto entry = *module->getOps<rt::FuncOp>().begin();
    return *std::next(entry.getBody().getOps<rt::DispatchOp>().begin(), i);
  }

  /// The number that the shape function yields for |value|, where it is a constant; -1 for one that depends on inputs.
  static int64_t numberOf(Value value) {
    auto result = cast<OpResult>(value);
    auto function = cast<rt::ShapeFuncOp>(result.getOwner());
    Value yielded = function.getBody().front().getTerminator()->getOperand(result.getResultNumber());
    auto constant = yielded.getDefiningOp<rt::ShapeConstantOp>();
    return constant ? static_cast<int64_t>(constant.getValue()) : -1;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<CompiledTarget> targets;
};

TEST_F(WorkShapesTest, ACpuAloneHasNoAxes) {
  addTarget("cpu:a", 16, false);
  ASSERT_TRUE(succeeded(addWorkShapes(*module, targets)));
  EXPECT_TRUE(dispatch(0).getAxes().empty());
  EXPECT_TRUE(dispatch(0).getAxesCounts().empty());
  EXPECT_EQ(dispatch(1).getGrids().size(), 1u);
}

TEST_F(WorkShapesTest, AxesStandInTheOrderOfTheTargets) {
  addTarget("cpu:a", 16, false);
  addTarget("vulkan:b", 8, true);
  addTarget("vulkan:c", 32, true);
  ASSERT_TRUE(succeeded(addWorkShapes(*module, targets)));
  ASSERT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(dispatch(0).getAxesCounts(), (ArrayRef<int64_t>{0, 15, 15}));
  for (unsigned i : {0u, 1u}) {
    EXPECT_TRUE(dispatch(i).getAxesOf(0).empty());
    OperandRange axes = dispatch(i).getAxesOf(1);
    ASSERT_EQ(axes.size(), 15u);
    EXPECT_EQ(numberOf(axes[0]), -1);
    EXPECT_EQ(axes[0], dispatch(i).getGrids()[1]);
    EXPECT_EQ(numberOf(axes[1]), 1);
    EXPECT_EQ(numberOf(axes[3]), 32);
    EXPECT_EQ(numberOf(axes[12]), 35);
    EXPECT_EQ(numberOf(dispatch(i).getAxesOf(2)[3]), 128);
  }
}

TEST_F(WorkShapesTest, AnInputIsConstantIfItIsInEveryDispatch) {
  addTarget("vulkan:b", 8, true);
  ModuleOp kernels = *targets[0].kernels;
  markConstantInputs(*module, kernels);
  auto func = *kernels.getOps<kernel::FuncOp>().begin();
  EXPECT_FALSE(func.isConstantInput(0));
  EXPECT_TRUE(func.isConstantInput(1));
  EXPECT_FALSE(func.isConstantInput(2));
  EXPECT_TRUE(succeeded(verify(func)));
  // The program's own kernels stay as they are: other targets don't see the marks.
  EXPECT_FALSE((*module->getOps<kernel::FuncOp>().begin()).isConstantInput(1));
}

} // namespace
