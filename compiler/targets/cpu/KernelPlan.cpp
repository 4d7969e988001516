// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of the roots (ContractPlan.cpp and AttentionPlan.cpp have their own). Items are cut so that one is a few
// microseconds of work at most and any split over threads gives the same bits: no item shares an accumulator with
// another.

#include "compiler/targets/cpu/KernelPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

AffineExpr product(ArrayRef<AffineExpr> factors, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(1, context);
  for (AffineExpr factor : factors)
    result = factor * result;
  return result;
}

} // namespace

// Sizes are far below the divisor.
AffineExpr isAtMost(AffineExpr value, int64_t limit) { return 1 - value.floorDiv(limit + 1).ceilDiv(int64_t(1) << 48); }

KernelPlan::KernelPlan(kernel::FuncOp func, kernel::LoweringConfigAttr config) : KernelAccess(func), config(config) {
  items.workPerItem = items.scratchBytes = getAffineConstantExpr(0, func.getContext());
}

FailureOr<KernelPlan> KernelPlan::create(kernel::FuncOp func, kernel::LoweringConfigAttr config) {
  KernelPlan plan(func, config);
  if (!isa<kernel::MapOp, kernel::RowwiseOp, kernel::ReduceOp, kernel::ScanOp, kernel::ScatterOp, kernel::TopKOp,
           kernel::ContractOp, kernel::AttentionOp>(plan.root))
    return plan.root->emitOpError("has no code generator on this target");
  if (failed(plan.readOperands()))
    return failure();
  if (isa<kernel::MapOp>(plan.root))
    plan.planMap();
  else if (isa<kernel::RowwiseOp>(plan.root))
    plan.planRowwise();
  else if (isa<kernel::ReduceOp>(plan.root))
    plan.planReduce();
  else if (isa<kernel::ScanOp>(plan.root))
    plan.planScan();
  else if (isa<kernel::ScatterOp>(plan.root))
    plan.planScatter();
  else if (isa<kernel::TopKOp>(plan.root))
    plan.planTopK();
  else if (failed(isa<kernel::ContractOp>(plan.root) ? plan.planContract() : plan.planAttention()))
    return failure();
  return plan;
}

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

unsigned KernelPlan::chooseVectorLoop() {
  // Stores decide before loads: a scatter costs a store per lane, a gather can at least overlap.
  auto score = [&](unsigned loop) {
    int64_t sum = 0;
    for (auto [i, access] : llvm::enumerate(nest.accesses)) {
      bool isResult = i >= getNumInputs();
      switch (getLaneStride(access, loop, kLanes)) {
      case LaneStride::Uniform:
        sum += isResult ? -8 : 1;
        break;
      case LaneStride::Unit:
        sum += isResult ? 8 : 2;
        break;
      case LaneStride::Other:
        sum += isResult ? -4 : -1;
        break;
      }
    }
    // Most lanes of a loop that short would idle.
    std::optional<int64_t> bound = nest.bounds[loop].getConstant();
    return bound && *bound < kLanes / 2 ? sum - 6 : sum;
  };
  unsigned best = nest.getNumLoops() - 1;
  for (int64_t loop = static_cast<int64_t>(best) - 1; loop >= 0; --loop)
    if (!isReduction[loop] && (isReduction[best] || score(loop) > score(best)))
      best = loop;
  return best;
}

void KernelPlan::planMap() {
  SmallVector<bool> canMerge(nest.getNumLoops(), true);
  mergeLoops(nest, canMerge, findUsedIndices());
  ensureLoop();
  isReduction.assign(nest.getNumLoops(), false);
  vectorLoop = chooseVectorLoop();
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop)
    if (loop != vectorLoop)
      items.digits.push_back(toExpr(nest.bounds[loop]));
  // The last digit cuts the vectorised loop into chunks.
  int64_t chunk = config.getInteger(config::kElementsPerItem);
  AffineExpr length = toExpr(nest.bounds[vectorLoop]);
  items.digits.push_back(length.ceilDiv(chunk));
  std::optional<int64_t> constant = nest.bounds[vectorLoop].getConstant();
  items.workPerItem = constant && *constant > chunk ? getAffineConstantExpr(chunk, func.getContext()) : length;
}

//===----------------------------------------------------------------------===//
// rowwise and reduce
//===----------------------------------------------------------------------===//

void KernelPlan::planRowwise() {
  SmallVector<bool> canMerge(nest.getNumLoops(), true);
  // The row stays a loop of its own.
  if (nest.getNumLoops() >= 2)
    canMerge[nest.getNumLoops() - 2] = false;
  mergeLoops(nest, canMerge, findUsedIndices());
  vectorLoop = nest.getNumLoops() - 1;
  isReduction.assign(nest.getNumLoops(), false);
  for (unsigned loop = 0; loop < vectorLoop; ++loop)
    items.digits.push_back(toExpr(nest.bounds[loop]));
  items.workPerItem = toExpr(nest.bounds[vectorLoop]) * static_cast<int64_t>(root->getNumRegions());
}

void KernelPlan::planReduce() {
  auto reduce = cast<kernel::ReduceOp>(root);
  SmallVector<bool> reduced(nest.getNumLoops(), false);
  for (int64_t loop : reduce.getReductionLoops())
    reduced[loop] = true;
  // Only loops of one kind merge. Merging reduction loops keeps their order, so no sum changes.
  SmallVector<bool> canMerge(nest.getNumLoops(), false);
  for (unsigned loop = 0; loop + 1 < nest.getNumLoops(); ++loop)
    canMerge[loop] = reduced[loop] == reduced[loop + 1];
  mergeLoops(nest, canMerge, findUsedIndices());
  for (ArrayRef<unsigned> members : nest.originals)
    isReduction.push_back(reduced[members.front()]);
  ensureLoop();
  isReduction.resize(nest.getNumLoops(), false);

  unsigned last = nest.getNumLoops() - 1;
  bool hasParallel = llvm::is_contained(isReduction, false);
  unsigned lastReduction = last;
  while (lastReduction > 0 && !isReduction[lastReduction])
    --lastReduction;
  bool unitAlongReduction =
      isReduction[lastReduction] && getLaneStride(nest.accesses.front(), lastReduction, kLanes) == LaneStride::Unit;
  unsigned parallel = chooseVectorLoop();
  bool unitAlongParallel = hasParallel && getLaneStride(nest.accesses.front(), parallel, kLanes) == LaneStride::Unit;
  // A sum of products: where lanes are neighbouring results, no operand needs a gather and none is idle.
  std::optional<int64_t> width = nest.bounds[parallel].getConstant();
  bool walksParallel =
      hasParallel && (!width || *width >= kLanes / 2) && llvm::all_of(nest.accesses, [&](auto &access) {
        return getLaneStride(access, parallel, kLanes) != LaneStride::Other;
      });
  reducesLanes =
      isReduction[lastReduction] && (!hasParallel || (unitAlongReduction && !unitAlongParallel && !walksParallel));
  vectorLoop = reducesLanes ? lastReduction : parallel;

  SmallVector<AffineExpr> reducedBounds;
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop) {
    if (isReduction[loop])
      reducedBounds.push_back(toExpr(nest.bounds[loop]));
    else if (reducesLanes || loop != vectorLoop)
      items.digits.push_back(toExpr(nest.bounds[loop]));
  }
  items.workPerItem = product(reducedBounds, func.getContext());
  if (reducesLanes)
    return;
  int64_t columns = kLanes * config.getInteger(config::kVectorsPerItem);
  items.digits.push_back(toExpr(nest.bounds[vectorLoop]).ceilDiv(columns));
  items.workPerItem = items.workPerItem * columns;
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

void KernelPlan::planScan() {
  // The scan stays a loop of its own, the last one.
  SmallVector<bool> canMerge(nest.getNumLoops(), true);
  if (nest.getNumLoops() >= 2)
    canMerge[nest.getNumLoops() - 2] = false;
  mergeLoops(nest, canMerge, findUsedIndices());
  unsigned last = nest.getNumLoops() - 1;
  isReduction.assign(nest.getNumLoops(), false);
  isReduction[last] = true;
  // Lanes are neighbouring scans. Where those don't lie side by side gathers would cost more than lanes bring.
  unsigned parallel = chooseVectorLoop();
  vectorLoop = getLaneStride(getResult(0), parallel, kLanes) == LaneStride::Unit ? parallel : last;
  for (unsigned loop = 0; loop < last; ++loop)
    if (loop != vectorLoop)
      items.digits.push_back(toExpr(nest.bounds[loop]));
  items.workPerItem = toExpr(nest.bounds[last]);
  if (vectorLoop == last)
    return;
  int64_t columns = kLanes * config.getInteger(config::kVectorsPerItem);
  items.digits.push_back(toExpr(nest.bounds[vectorLoop]).ceilDiv(columns));
  items.workPerItem = items.workPerItem * columns;
}

//===----------------------------------------------------------------------===//
// scatter and top_k
//===----------------------------------------------------------------------===//

void KernelPlan::planScatter() {
  auto scatter = cast<kernel::ScatterOp>(root);
  // Updates keep their order, and each parallel loop stays the dimension of the result that it is.
  unsigned parallel = scatter.getNumParallel();
  mergeLoops(nest, SmallVector<bool>(nest.getNumLoops(), false), SmallVector<bool>(nest.getNumLoops(), true));
  isReduction.assign(nest.getNumLoops(), true);
  std::fill_n(isReduction.begin(), parallel, false);
  // Without a parallel loop of unit stride there are no lanes: updates are made one by one.
  vectorLoop = nest.getNumLoops();
  for (unsigned loop = 0; loop < parallel; ++loop)
    if (getLaneStride(getResult(0), loop, kLanes) == LaneStride::Unit)
      vectorLoop = loop;
  SmallVector<AffineExpr> perItem;
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop) {
    if (isReduction[loop])
      perItem.push_back(toExpr(nest.bounds[loop]));
    else if (loop != vectorLoop)
      items.digits.push_back(toExpr(nest.bounds[loop]));
  }
  items.workPerItem = product(perItem, func.getContext());
  if (vectorLoop == nest.getNumLoops())
    return;
  int64_t columns = kLanes * config.getInteger(config::kVectorsPerItem);
  items.digits.push_back(toExpr(nest.bounds[vectorLoop]).ceilDiv(columns));
  items.workPerItem = items.workPerItem * columns;
}

void KernelPlan::planTopK() {
  // Rows merge, but neither with their own elements nor with the ranks.
  unsigned numLoops = nest.getNumLoops();
  SmallVector<bool> canMerge(numLoops, false);
  for (unsigned loop = 0; loop + 3 < numLoops; ++loop)
    canMerge[loop] = true;
  mergeLoops(nest, canMerge, findUsedIndices());
  numLoops = nest.getNumLoops();
  isReduction.assign(numLoops, false);
  for (unsigned loop = 0; loop + 2 < numLoops; ++loop)
    items.digits.push_back(toExpr(nest.bounds[loop]));
  items.workPerItem = toExpr(nest.bounds[numLoops - 2]);
}

} // namespace heddle::cpu
