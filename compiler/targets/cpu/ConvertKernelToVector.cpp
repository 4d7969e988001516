// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass cpu-convert-kernel-to-vector: plans each kernel and hands it to its root's generator.

#include "compiler/targets/cpu/ConfigBuckets.h"
#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

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

FailureOr<func::FuncOp> emitBody(OpBuilder &builder, const KernelPlan &plan) {
  KernelEmitter emitter(builder, plan);
  if (failed(emitRoot(emitter)))
    return failure();
  emitter.finish();
  return emitter.function;
}

/// A body for each config of |buckets|, one for those that are equal, and a function that calls the one for its rows.
FailureOr<func::FuncOp> emitBodies(OpBuilder &builder, const BucketPlans &buckets) {
  llvm::MapVector<Attribute, func::FuncOp> bodies;
  for (const BucketPlan &bucket : buckets.plans) {
    func::FuncOp &body = bodies[bucket.plan.config];
    if (body)
      continue;
    FailureOr<func::FuncOp> emitted = emitBody(builder, bucket.plan);
    if (failed(emitted))
      return failure();
    body = *emitted;
    body.setName((body.getName() + ".bucket" + Twine(bodies.size() - 1)).str());
    body->setAttr(kKernelAttrName, builder.getStringAttr(kBucketWord));
  }
  KernelEmitter entry(builder, buckets.plans.back().plan);
  Value rows = entry.size(buckets.rows);
  std::function<Value(ArrayRef<BucketPlan>)> emitCall = [&](ArrayRef<BucketPlan> left) -> Value {
    if (left.size() == 1)
      return builder.create<func::CallOp>(entry.loc, bodies[left.front().plan.config], entry.function.getArguments())
          .getResult(0);
    Value isFew =
        builder.create<arith::CmpIOp>(entry.loc, arith::CmpIPredicate::ule, rows, entry.index(left.front().mostRows));
    auto branch = builder.create<scf::IfOp>(entry.loc, builder.getI32Type(), isFew, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    builder.create<scf::YieldOp>(entry.loc, emitCall(left.take_front()));
    builder.setInsertionPointToStart(branch.elseBlock());
    builder.create<scf::YieldOp>(entry.loc, emitCall(left.drop_front()));
    return branch.getResult(0);
  };
  builder.create<func::ReturnOp>(entry.loc, emitCall(buckets.plans));
  return entry.function;
}

LogicalResult convertKernel(kernel::FuncOp func) {
  FailureOr<BucketPlans> buckets = BucketPlans::create(func);
  if (failed(buckets))
    return failure();
  OpBuilder builder(func.getContext());
  FailureOr<func::FuncOp> function =
      buckets->plans.size() == 1 ? emitBody(builder, buckets->plans.front().plan) : emitBodies(builder, *buckets);
  if (failed(function))
    return failure();
  WorkShape shape = buckets->getWorkShape();
  (*function)->setAttr("cpu.grid", AffineMapAttr::get(shape.grid));
  (*function)->setAttr("cpu.grain", AffineMapAttr::get(shape.grain));
  (*function)->setAttr("cpu.scratch", AffineMapAttr::get(shape.scratch));
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
