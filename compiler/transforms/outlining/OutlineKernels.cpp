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

/// Whether the extents of |type| that are known say that no memory holds it.
static bool isTooLarge(Type type) {
  constexpr int64_t kMaxBytes = int64_t(1) << 47; // the address space of a process
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  int64_t bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  // Strides are products as well, whether another extent is 0 or not.
  return llvm::any_of(tensor.getShape(), [&](int64_t extent) {
    return extent > 0 && (llvm::MulOverflow(bytes, extent, bytes) || bytes > kMaxBytes);
  });
}

/// Why |op| has no kernel; empty if it has one.
static StringRef findObstacle(Operation *op, const ShapeAnalysis &analysis) {
  if (op->getNumResults() == 1 && analysis.getElements(op->getResult(0)))
    return ""; // computed by the shape program
  if (llvm::any_of(op->getOperandTypes(), isTooLarge) || llvm::any_of(op->getResultTypes(), isTooLarge))
    return "expects tensors of at most 2^47 bytes";
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
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    ProgramLibrary library(module);
    for (func::FuncOp func : functions)
      if (failed(outline(func, library)))
        return signalPassFailure();
    numKernels += llvm::range_size(module.getOps<kernel::FuncOp>());
    for (auto entry : module.getOps<rt::FuncOp>())
      numDispatches += llvm::range_size(entry.getBody().getOps<rt::DispatchOp>());
  }

  LogicalResult outline(func::FuncOp func, ProgramLibrary &library) {
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
    Outliner(func, *analysis, plan, getOperation(), library, bf16Weights).run();
    func.erase();
    return success();
  }
};
} // namespace
