// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass cpu-convert-kernel-to-vector: plans each kernel and hands it to its root's generator.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/Passes.h"
#include "compiler/targets/cpu/WorkShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

#define GEN_PASS_DEF_CONVERTKERNELTOVECTORPASS
#include "compiler/targets/cpu/Passes.h.inc"

namespace {

LogicalResult emitRoot(KernelEmitter &emitter) {
  Operation *root = emitter.plan.root;
  if (isa<kernel::MapOp>(root))
    return emitMap(emitter);
  if (isa<kernel::RowwiseOp>(root))
    return emitRowwise(emitter);
  if (isa<kernel::ReduceOp>(root))
    return emitReduce(emitter);
  if (isa<kernel::ScanOp>(root))
    return emitScan(emitter);
  if (isa<kernel::ScatterOp>(root))
    return emitScatter(emitter);
  if (isa<kernel::TopKOp>(root))
    return emitTopK(emitter);
  return isa<kernel::ContractOp>(root) ? emitContract(emitter) : emitAttention(emitter);
}

LogicalResult convertKernel(kernel::FuncOp func) {
  FailureOr<KernelPlan> plan = KernelPlan::create(func);
  if (failed(plan))
    return failure();
  OpBuilder builder(func.getContext());
  KernelEmitter emitter(builder, *plan);
  if (failed(emitRoot(emitter)))
    return failure();
  emitter.finish();
  WorkShape shape = getWorkShape(*plan);
  emitter.function->setAttr("cpu.grid", AffineMapAttr::get(shape.grid));
  emitter.function->setAttr("cpu.grain", AffineMapAttr::get(shape.grain));
  emitter.function->setAttr("cpu.scratch", AffineMapAttr::get(shape.scratch));
  func.erase();
  return success();
}

class ConvertKernelToVectorPass : public impl::ConvertKernelToVectorPassBase<ConvertKernelToVectorPass> {
public:
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<kernel::FuncOp>())) {
      if (failed(convertKernel(func)))
        return signalPassFailure();
      ++numKernels;
    }
  }
};

} // namespace

} // namespace heddle::cpu
