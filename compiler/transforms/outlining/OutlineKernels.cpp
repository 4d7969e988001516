// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-outline-kernels: checks that every op has a kernel, decides the groups, and writes kernels and program.

#include "compiler/transforms/outlining/OutlinePlan.h"
#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/Passes.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/nn/NnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

#define DEBUG_TYPE "nn-outline-kernels"

namespace heddle::nn {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/transforms/outlining/Passes.h.inc"
} // namespace heddle::nn

using namespace mlir;
using namespace heddle;

/// Why |op| has no kernel; empty if it has one.
static StringRef findObstacle(Operation *op, const ShapeAnalysis &analysis) {
  if (op->getNumResults() == 1 && analysis.getElements(op->getResult(0)))
    return ""; // computed by the shape program
  auto isPacked = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getElementType().getIntOrFloatBitWidth() == 4;
  };
  if (llvm::any_of(op->getOperandTypes(), isPacked) || llvm::any_of(op->getResultTypes(), isPacked))
    return "expects elements of a byte or more";
  if (getOutlineRole(op) == OutlineRole::Unsupported)
    return "expects an operator that has a kernel";
  auto isF32 = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isF32(); };
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op)) {
    if (!isF32(sdpa.getQuery()) || !isF32(sdpa.getKey()) || !isF32(sdpa.getValue()) || !isF32(sdpa.getOutput()))
      return "expects query, key and value of element type f32";
  }
  return "";
}

namespace {
struct OutlineKernelsPass : public nn::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp func : functions)
      if (failed(outline(func)))
        return signalPassFailure();
    numKernels += llvm::range_size(module.getOps<kernel::FuncOp>());
  }

  LogicalResult outline(func::FuncOp func) {
    std::unique_ptr<ShapeAnalysis> analysis = ShapeAnalysis::create(func);
    if (!analysis)
      return failure();
    bool hasAll = true;
    for (Operation &op : func.getBody().front().without_terminator())
      if (StringRef obstacle = findObstacle(&op, *analysis); !obstacle.empty()) {
        op.emitError() << obstacle << "; the CPU target has no kernel for it";
        hasAll = false;
      }
    if (!hasAll)
      return failure();
    OutlinePlan plan(func, *analysis);
    Outliner(func, *analysis, plan, getOperation()).run();
    func.erase();
    for (auto entry : getOperation().getOps<rt::FuncOp>())
      numDispatches += llvm::range_size(entry.getBody().getOps<rt::DispatchOp>());
    return success();
  }
};
} // namespace
