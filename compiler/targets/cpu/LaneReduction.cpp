// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combiners, and passes along a row with several vector accumulators (one addition takes four cycles, four
// accumulators hide them).

#include "compiler/targets/cpu/LaneReduction.h"

#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

static TypedAttr neutralAttr(Builder &b, kernel::Combiner combiner, Type type) {
  if (auto real = dyn_cast<FloatType>(type)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (combiner) {
    case kernel::Combiner::Sum:
      // -0 + -0 is -0, so only -0 changes nothing.
      return b.getFloatAttr(real, -0.0);
    case kernel::Combiner::Product:
      return b.getFloatAttr(real, 1.0);
    case kernel::Combiner::Maximum:
      return b.getFloatAttr(real, -kInfinity);
    case kernel::Combiner::Minimum:
      return b.getFloatAttr(real, kInfinity);
    }
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isBool = width == 1; // false < true, so the bounds are those of an unsigned number
  switch (combiner) {
  case kernel::Combiner::Sum:
    return b.getIntegerAttr(type, 0);
  case kernel::Combiner::Product:
    return b.getIntegerAttr(type, 1);
  case kernel::Combiner::Maximum:
    return b.getIntegerAttr(type, isBool ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  case kernel::Combiner::Minimum:
    return b.getIntegerAttr(type, isBool ? APInt::getAllOnes(width) : APInt::getSignedMaxValue(width));
  }
  return {};
}

Value buildNeutral(KernelEmitter &emitter, kernel::Combiner combiner, Type type) {
  TypedAttr attr = neutralAttr(emitter.b, combiner, getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return emitter.b.create<arith::ConstantOp>(emitter.loc, attr);
}

Value buildCombined(KernelEmitter &emitter, kernel::Combiner combiner, Value left, Value right) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  Type element = getElementTypeOrSelf(left.getType());
  bool isFloat = isa<FloatType>(element), isBool = element.isInteger(1);
  switch (combiner) {
  case kernel::Combiner::Sum:
    return isFloat ? b.create<arith::AddFOp>(loc, left, right).getResult()
                   : b.create<arith::AddIOp>(loc, left, right).getResult();
  case kernel::Combiner::Product:
    return isFloat ? b.create<arith::MulFOp>(loc, left, right).getResult()
                   : b.create<arith::MulIOp>(loc, left, right).getResult();
  case kernel::Combiner::Maximum:
    // Telling +0 from -0 would take two more instructions; NaN is kept.
    if (isFloat)
      return b.create<arith::MaximumFOp>(loc, left, right, arith::FastMathFlags::nsz);
    return isBool ? b.create<arith::OrIOp>(loc, left, right).getResult()
                  : b.create<arith::MaxSIOp>(loc, left, right).getResult();
  case kernel::Combiner::Minimum:
    if (isFloat)
      return b.create<arith::MinimumFOp>(loc, left, right, arith::FastMathFlags::nsz);
    return isBool ? b.create<arith::AndIOp>(loc, left, right).getResult()
                  : b.create<arith::MinSIOp>(loc, left, right).getResult();
  }
  return nullptr;
}

Value buildLaneReduction(KernelEmitter &emitter, kernel::Combiner combiner, Value vector) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, half));
    SmallVector<int64_t> high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    Value left = emitter.b.create<vector::ShuffleOp>(emitter.loc, vector, vector, low);
    Value right = emitter.b.create<vector::ShuffleOp>(emitter.loc, vector, vector, high);
    vector = buildCombined(emitter, combiner, left, right);
  }
  return emitter.b.create<vector::ExtractOp>(emitter.loc, vector, 0);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// For each combiner: together they take the registers that the config means one to have.
static int64_t numAccumulators(const KernelEmitter &emitter, const RowReduction &reduction) {
  int64_t count = emitter.plan.config.getInteger(config::kAccumulators);
  return std::max<int64_t>(count / llvm::PowerOf2Ceil(reduction.combiners.size()), 1);
}

SmallVector<Value> buildRowAccumulators(KernelEmitter &emitter, const RowReduction &reduction) {
  SmallVector<Value> result;
  for (int64_t i = 0; i < numAccumulators(emitter, reduction); ++i)
    for (auto [combiner, type] : llvm::zip(reduction.combiners, reduction.types))
      result.push_back(buildNeutral(emitter, combiner, VectorType::get({kLanes}, type)));
  return result;
}

/// Merges the terms at |i| into |accumulators|, one per combiner.
static FailureOr<SmallVector<Value>> buildStep(KernelEmitter &emitter, const RowReduction &reduction, Value i,
                                               const Lanes &lanes, ValueRange accumulators) {
  FailureOr<SmallVector<Value>> terms = reduction.emitTerms(i, lanes);
  if (failed(terms))
    return failure();
  SmallVector<Value> result;
  for (auto [combiner, term, accumulator] : llvm::zip(reduction.combiners, *terms, accumulators)) {
    Value lanesOfTerm = emitter.broadcast(term, kLanes);
    if (lanes.mask)
      lanesOfTerm = emitter.b.create<arith::SelectOp>(emitter.loc, lanes.mask, lanesOfTerm,
                                                      buildNeutral(emitter, combiner, lanesOfTerm.getType()));
    result.push_back(buildCombined(emitter, combiner, accumulator, lanesOfTerm));
  }
  return result;
}

FailureOr<SmallVector<Value>> buildRowPass(KernelEmitter &emitter, const RowReduction &reduction,
                                           ValueRange accumulators) {
  OpBuilder &b = emitter.b;
  int64_t count = numAccumulators(emitter, reduction), perStep = reduction.combiners.size();
  Value length = emitter.bound(reduction.loop), nought = emitter.index(0);
  int64_t blockSize = kLanes * count;
  Value whole = emitter.mul(emitter.floorDiv(length, blockSize), emitter.index(blockSize));
  LogicalResult status = success();
  // A step of one accumulator; keeps the values where the region has no form, the caller fails anyway.
  auto step = [&](Value i, const Lanes &lanes, ArrayRef<Value> current) {
    auto next = buildStep(emitter, reduction, i, lanes, current);
    if (succeeded(next))
      return *next;
    status = failure();
    return SmallVector<Value>(current);
  };
  SmallVector<Value> sums = emitter.forLoop(nought, whole, blockSize, accumulators, [&](Value i, ValueRange current) {
    SmallVector<Value> values(current), next;
    for (int64_t a = 0; a < count; ++a)
      llvm::append_range(next, step(emitter.add(i, emitter.index(a * kLanes)), Lanes{kLanes, reduction.loop, nullptr},
                                    ArrayRef(values).slice(a * perStep, perStep)));
    return next;
  });
  if (emitter.plan.nest.bounds[reduction.loop].isMultipleOf(blockSize))
    return failed(status) ? FailureOr<SmallVector<Value>>(failure()) : sums;

  // The last block: each accumulator takes its own vector of it, if there is one.
  for (int64_t a = 0; a < count; ++a) {
    Value i = emitter.add(whole, emitter.index(a * kLanes));
    SmallVector<Value> current(ArrayRef(sums).slice(a * perStep, perStep));
    auto branch = b.create<scf::IfOp>(emitter.loc, ValueRange(current).getTypes(), emitter.less(i, length), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Lanes lanes{kLanes, reduction.loop, nullptr};
    if (!emitter.plan.nest.bounds[reduction.loop].isMultipleOf(kLanes))
      lanes.mask = emitter.maskBelow(emitter.min(emitter.sub(length, i), emitter.index(kLanes)));
    b.create<scf::YieldOp>(emitter.loc, step(i, lanes, current));
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(emitter.loc, current);
    for (auto [slot, value] : llvm::zip(llvm::seq<int64_t>(a * perStep, (a + 1) * perStep), branch.getResults()))
      sums[slot] = value;
  }
  return failed(status) ? FailureOr<SmallVector<Value>>(failure()) : sums;
}

SmallVector<Value> buildRowResults(KernelEmitter &emitter, const RowReduction &reduction, ValueRange accumulators) {
  int64_t count = numAccumulators(emitter, reduction), perStep = reduction.combiners.size();
  SmallVector<Value> result;
  for (auto [c, combiner] : llvm::enumerate(reduction.combiners)) {
    SmallVector<Value> merged;
    for (int64_t a = 0; a < count; ++a)
      merged.push_back(accumulators[a * perStep + c]);
    for (int64_t half = count / 2; half >= 1; half /= 2)
      for (int64_t a = 0; a < half; ++a)
        merged[a] = buildCombined(emitter, combiner, merged[2 * a], merged[2 * a + 1]);
    result.push_back(buildLaneReduction(emitter, combiner, merged.front()));
  }
  return result;
}

} // namespace heddle::cpu
