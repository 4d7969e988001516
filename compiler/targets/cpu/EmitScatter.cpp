// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scatter: a work item copies its part of the data, then makes all updates that fall into it, in order. Lanes
// are neighbours along a parallel dimension of unit stride, so no two of them ever meet: where the places are the same
// for all lanes an update is one vector, else one element a lane.

#include "compiler/targets/cpu/Generators.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

class ScatterGenerator {
public:
  explicit ScatterGenerator(KernelEmitter &emitter)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::ScatterOp>(emitter.plan.root)),
        loops(plan.nest.getNumLoops()), hasLanes(plan.vectorLoop < plan.nest.getNumLoops()),
        memory(emitter.getBinding(plan.getResultBinding(0))), type(emitter.getElementType(plan.getResultBinding(0))) {
    auto result = cast<RankedTensorType>(op.getResult().getType());
    kernel::FuncOp func = plan.func;
    ArrayRef<int64_t> dims = func.getResultDims(plan.getResultBinding(0) - func.getNumInputs());
    Polynomial stride(1);
    extents.resize(result.getRank());
    strides.resize(result.getRank());
    for (int64_t i = result.getRank() - 1; i >= 0; --i) {
      extents[i] = result.isDynamicDim(i) ? Polynomial::atom(dims[result.getDynamicDimIndex(i)])
                                          : Polynomial(result.getDimSize(i));
      strides[i] = stride;
      stride = stride * extents[i];
    }
  }

  LogicalResult emitItem(ArrayRef<Value> digits) {
    for (unsigned loop = 0, digit = 0; loop < loops.size(); ++loop)
      if (!plan.isReduction[loop] && loop != plan.vectorLoop)
        loops[loop] = digits[digit++];
    if (hasLanes) {
      Value width = emitter.index(plan.config.getInteger(config::kVectorsPerItem) * kLanes);
      begin = loops[plan.vectorLoop] = emitter.mul(digits.back(), width);
      end = emitter.min(emitter.add(begin, width), emitter.bound(plan.vectorLoop));
    }
    emitCopy(0, emitter.address(plan.getResult(0), loops));
    emitUpdates(op.getNumParallel());
    return status;
  }

private:
  /// Copies the item's elements at all places of the scattered dimensions from number |depth| on, |address| being the
  /// first of them.
  void emitCopy(unsigned depth, Value address) {
    ArrayRef<int64_t> dims = op.getScatteredDims();
    if (depth == dims.size())
      return hasLanes ? emitCopyRow(address, emitter.sub(end, begin)) : emitCopyElement(address);
    Value extent = emitter.size(extents[dims[depth]]);
    if (depth + 1 == dims.size() && !hasLanes && strides[dims[depth]] == Polynomial(1))
      return emitCopyRow(address, extent);
    Value step = emitter.size(strides[dims[depth]]);
    emitter.forLoop(emitter.index(0), extent, 1,
                    [&](Value i) { emitCopy(depth + 1, emitter.add(address, emitter.mul(i, step))); });
  }

  void emitCopyElement(Value address) {
    Value data = emitter.getBinding(plan.bindings[0]);
    emitter.storeScalar(emitter.loadScalar(data, type, address), memory, type, address);
  }

  void emitCopyRow(Value address, Value length) {
    Value data = emitter.getBinding(plan.bindings[0]),
          whole = emitter.mul(emitter.floorDiv(length, kLanes), emitter.index(kLanes));
    auto copy = [&](Value i, const Lanes &lanes) {
      Value at = emitter.add(address, i);
      emitter.storeUnit(emitter.loadUnit(data, type, at, lanes), memory, type, at, lanes);
    };
    emitter.forLoop(emitter.index(0), whole, kLanes, [&](Value i) { copy(i, Lanes{kLanes, 0, nullptr}); });
    emitter.ifThen(emitter.less(whole, length),
                   [&] { copy(whole, Lanes{kLanes, 0, emitter.maskBelow(emitter.sub(length, whole))}); });
  }

  void emitUpdates(unsigned loop) {
    if (loop < loops.size()) {
      emitter.forLoop(emitter.index(0), emitter.bound(loop), 1, [&](Value i) {
        loops[loop] = i;
        emitUpdates(loop + 1);
      });
    } else if (hasLanes) {
      emitter.forVectors(plan.vectorLoop, begin, end, [&](Value i, const Lanes &lanes) {
        loops[plan.vectorLoop] = i;
        emitUpdate(lanes);
      });
    } else {
      emitUpdate(Lanes());
    }
  }

  static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

  /// |a| and |b|, of which one may be a vector or null.
  Value both(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    if (isVector(a) != isVector(b)) {
      a = emitter.broadcast(a, kLanes);
      b = emitter.broadcast(b, kLanes);
    }
    return emitter.b.create<arith::AndIOp>(emitter.loc, a, b);
  }

  void emitUpdate(const Lanes &lanes) {
    SmallVector<Value> elements;
    for (unsigned input = 1; input < plan.getNumInputs(); ++input)
      elements.push_back(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes));
    RegionEmitter region(emitter, loops, lanes);
    auto values = region.emit(op.getBody(), elements);
    if (failed(values)) {
      status = failure();
      return;
    }
    // 1. Where the update goes, and whether there is one: an index out of range fails and changes nothing.
    Value address = emitter.address(plan.getResult(0), loops), varying, valid;
    for (auto [dim, index] : llvm::zip(op.getScatteredDims(), ArrayRef(*values).drop_front().drop_back())) {
      Value place = index;
      if (!getElementTypeOrSelf(place.getType()).isIndex())
        place = region.checkIndex(place, emitter.size(extents[dim]), op.getSite().value_or(0), valid);
      Value step = emitter.size(strides[dim]);
      if (!isVector(place)) {
        address = emitter.add(address, emitter.mul(place, step));
        continue;
      }
      Value term = emitter.mul(place, emitter.broadcast(step, kLanes));
      varying = varying ? emitter.add(varying, term) : term;
    }
    // 2. The element there, changed. A condition that all lanes share is a branch, never a part of the mask: of a mask
    // that is partly constant LLVM 19 makes a load without one.
    Value exists = both(values->front(), valid), update = values->back();
    if (!isVector(exists))
      emitter.ifThen(exists, [&] { emitChange(address, varying, update, lanes); });
    else
      emitChange(address, varying ? varying : emitter.broadcast(emitter.index(0), kLanes), update,
                 {lanes.width, lanes.loop, both(exists, lanes.mask)});
  }

  /// Combines the elements from |address| on, each moved by |varying| where that is given, with |update|.
  void emitChange(Value address, Value varying, Value update, const Lanes &lanes) {
    if (lanes.width == 1) {
      Value old = emitter.loadScalar(memory, type, address);
      emitter.storeScalar(emitCombined(old, update, lanes), memory, type, address);
    } else if (!varying) {
      Value old = emitter.loadUnit(memory, type, address, lanes);
      emitter.storeUnit(emitCombined(old, update, lanes), memory, type, address, lanes);
    } else {
      Value addresses = emitter.add(varying, emitter.iota(address));
      Value old = emitter.loadLanes(memory, type, addresses, lanes);
      emitter.storeLanes(emitCombined(old, update, lanes), memory, type, addresses, lanes);
    }
  }

  Value emitCombined(Value old, Value update, const Lanes &lanes) {
    auto values = RegionEmitter(emitter, loops, lanes).emit(op.getCombine(), {old, update});
    if (succeeded(values))
      return values->front();
    status = failure();
    return old;
  }

  KernelEmitter &emitter;
  const KernelPlan &plan;
  kernel::ScatterOp op;
  SmallVector<Value> loops;
  bool hasLanes;
  Value memory; // of the result
  Type type;    // of its elements
  SmallVector<Polynomial> extents, strides;
  /// The item's part of the vectorised loop.
  Value begin, end;
  LogicalResult status = success();
};

} // namespace

LogicalResult emitScatter(KernelEmitter &emitter) {
  LogicalResult status = success();
  emitter.forEachItem([&](ArrayRef<Value> digits) { status = ScatterGenerator(emitter).emitItem(digits); });
  return status;
}

} // namespace heddle::cpu
