// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.reduce, in one of two orders. Where neighbouring results read neighbouring elements each invocation reduces
// its own, one term after the other. Else the lanes of a workgroup go along the reduction, as along a row of
// kernel.rowwise.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace heddle::vulkan {

/// Merges loops of one kind and says which are reduced.
static SmallVector<bool> mergeByKind(KernelAccess &access) {
  auto op = cast<kernel::ReduceOp>(access.root);
  SmallVector<bool> reduced(access.nest.getNumLoops(), false), canMerge(access.nest.getNumLoops(), false), result;
  for (int64_t loop : op.getReductionLoops())
    reduced[loop] = true;
  // Merging reduction loops keeps their order, so no sum changes.
  for (unsigned loop = 0; loop + 1 < reduced.size(); ++loop)
    canMerge[loop] = reduced[loop] == reduced[loop + 1];
  mergeLoops(access.nest, canMerge, access.findUsedIndices());
  for (ArrayRef<unsigned> members : access.nest.originals)
    result.push_back(reduced[members.front()]);
  access.ensureLoop();
  result.resize(access.nest.getNumLoops(), false);
  return result;
}

ReductionShape getReductionShape(kernel::FuncOp func) {
  KernelAccess access(func);
  if (failed(access.readOperands()))
    return {};
  SmallVector<bool> isReduction = mergeByKind(access);
  ReductionShape shape;
  Polynomial length(1);
  bool besideEachOther = false;
  for (unsigned loop = 0; loop < access.nest.getNumLoops(); ++loop) {
    if (isReduction[loop])
      length = length * access.nest.bounds[loop];
    auto isUnit = [&](unsigned input) {
      return !access.getInput(input).isIrregularIn(loop) && access.getInput(input).strides[loop] == Polynomial(1);
    };
    int64_t inputs = cast<kernel::ReduceOp>(access.root).getInputCount();
    // A few neighbours leave most invocations without work.
    std::optional<int64_t> bound = access.nest.bounds[loop].getConstant();
    bool isShort = bound && *bound < kReductionInvocations / 4;
    besideEachOther |= !isReduction[loop] && !isShort && llvm::any_of(llvm::seq<unsigned>(0, inputs), isUnit);
  }
  shape.alongLanes = !besideEachOther;
  shape.length = length.getConstant().value_or(0);
  return shape;
}

LogicalResult planReduce(ShaderPlan &plan) {
  SmallVector<bool> isReduction = mergeByKind(plan);
  SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < plan.nest.getNumLoops(); ++loop)
    if (!isReduction[loop])
      loops.push_back(loop);
  plan.setNeighbourAxes(loops);
  return success();
}

namespace {

class ReduceGenerator {
public:
  ReduceGenerator(ShaderEmitter &emitter, LaneForm form)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::ReduceOp>(plan.root)), loops(plan.nest.getNumLoops()),
        merger(emitter, form) {
    for (auto [attr, value] : llvm::zip(op.getCombiners().getAsRange<kernel::CombinerAttr>(),
                                        op.getBody().front().getTerminator()->getOperands()))
      reduced.push_back({attr.getValue(), value.getType()});
    for (unsigned loop = 0; loop < loops.size(); ++loop)
      if (!llvm::any_of(plan.axisLoops, [&](auto &axis) { return llvm::is_contained(axis, loop); }))
        reductionLoops.push_back(loop);
  }

  LogicalResult emit() {
    bool isSingle = merger.form() == LaneForm::Single;
    std::string exists = merger.nameRow(loops);
    if (isSingle)
      emitter.open("if (" + exists + ")");
    SmallVector<std::string> sums;
    for (const Reduced &one : reduced)
      sums.push_back(emitter.let(ShaderEmitter::glslType(one.type), neutralLiteral(one), "sum"));
    unsigned level = emitter.level();
    if (isSingle)
      openNest();
    else
      openLanes();
    auto terms = emitRegion(op.getBody(), {}, 0, op.getInputCount());
    if (failed(terms))
      return failure();
    for (auto [i, sum] : llvm::enumerate(sums))
      emitter.line(sum + " = " + combineTerms(reduced[i], sum, (*terms)[i]) + ";");
    emitter.closeTo(level);
    for (unsigned loop : reductionLoops)
      loops[loop].clear();
    sums = merger.merge(reduced, sums, reduced.size());
    if (!isSingle)
      emitter.open("if (" + exists + " && " + merger.lane() + " == 0)");
    auto results = emitRegion(op.getFinish(), sums, op.getInputCount(), plan.getNumInputs());
    if (failed(results))
      return failure();
    for (auto [result, value] : llvm::enumerate(*results))
      emitter.storeResult(result, loops, value);
    emitter.close();
    return success();
  }

private:
  /// Loops in the order of the nest.
  void openNest() {
    for (unsigned loop : reductionLoops)
      loops[loop] = loop == reductionLoops.back()
                        ? emitter.openLongLoop("0", emitter.bound(loop), "1", plan.nest.bounds[loop], "r")
                        : emitter.openLoop("0", emitter.bound(loop), "1", "r");
  }

  /// One loop over all that is reduced, in the order of the nest.
  void openLanes() {
    Polynomial length(1);
    for (unsigned loop : reductionLoops)
      length = length * plan.nest.bounds[loop];
    std::string rest = emitter.openLongLoop(merger.lane(), emitter.size(length), merger.lanes(), length, "r");
    for (unsigned loop : llvm::reverse(reductionLoops)) {
      if (loop == reductionLoops.front()) {
        loops[loop] = rest;
        break;
      }
      std::string extent = emitter.bound(loop), quotient = emitter.let("int", rest + " / " + extent, "q");
      loops[loop] = emitter.let("int", rest + " - " + quotient + " * " + extent, "r");
      rest = quotient;
    }
  }

  /// Values of |region| for |leading| and the elements of inputs |first| to before |end|.
  FailureOr<SmallVector<std::string>> emitRegion(Region &region, ArrayRef<std::string> leading, unsigned first,
                                                 unsigned end) {
    SmallVector<std::string> arguments(leading);
    for (unsigned input = first; input < end; ++input)
      arguments.push_back(emitter.letInput(input, loops));
    return RegionPrinter(emitter, loops).print(region, arguments);
  }

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  kernel::ReduceOp op;
  SmallVector<std::string> loops;
  LaneMerger merger;
  SmallVector<Reduced> reduced;
  SmallVector<unsigned> reductionLoops;
};

} // namespace

LogicalResult emitReduce(ShaderEmitter &emitter, StringRef form) {
  return ReduceGenerator(emitter, parseLaneForm(form)).emit();
}

} // namespace heddle::vulkan
