// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of rows.

#include "compiler/targets/cpu/LhsCopier.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

void LhsCopier::copy(Value row, Value target) {
  loops[m] = row;
  LhsCopy kind = plan.contract.lhsCopy;
  if (kind == LhsCopy::Bytes || kind == LhsCopy::Words) {
    copyBytes(target);
    return;
  }
  emitter.forVectors(k, emitter.index(0), emitter.bound(k), [&](Value i, const Lanes &lanes) {
    if (kind == LhsCopy::Floats)
      storeFloats(target, i, lanes);
    else
      storePairsOfBf16(target, i, lanes);
  });
}

Value LhsCopier::load(Value at, const Lanes &lanes) {
  loops[k] = at;
  return emitter.broadcast(emitter.load(plan.bindings[0], plan.getInput(0), loops, lanes), kLanes);
}

Value LhsCopier::loadOrZero(Value at, const Lanes &lanes) {
  Value values = load(at, lanes);
  return lanes.mask ? b.create<arith::SelectOp>(loc, lanes.mask, values, emitter.zero(values.getType())).getResult()
                    : values;
}

/// |values| as words, which is what scratch holds.
void LhsCopier::store(Value values, Value place) {
  auto type = cast<VectorType>(values.getType());
  auto words = VectorType::get({type.getNumElements() * type.getElementTypeBitWidth() / 32}, b.getF32Type());
  if (type != words)
    values = b.create<vector::BitCastOp>(loc, words, values);
  b.create<vector::StoreOp>(loc, values, emitter.scratch, place);
}

void LhsCopier::storeFloats(Value target, Value at, const Lanes &lanes) {
  // Rows are padded to whole vectors, so no mask is needed here, with zeros.
  store(loadOrZero(at, lanes), emitter.add(target, at));
}

void LhsCopier::storePairsOfBf16(Value target, Value at, const Lanes &lanes) {
  // Behind the row's end are zeros, which multiply the zeros that pad the weights.
  Value values = loadOrZero(at, lanes);
  auto narrow = VectorType::get({kLanes}, b.getBF16Type());
  store(b.create<arith::TruncFOp>(loc, narrow, values), emitter.add(target, emitter.floorDiv(at, 2)));
}

//===--- Bytes --------------------------------------------------------------===//

void LhsCopier::storeForm(Value bytes, Value target, Value at) {
  if (plan.contract.lhsCopy == LhsCopy::Words)
    storeWords(bytes, target, at);
  else
    storeBytes(bytes, target, at);
}

void LhsCopier::copyBytes(Value target) {
  // Where bytes lie side by side, 64 at a time; what is left by lanes.
  Value begin = emitter.index(0), end = emitter.bound(k);
  const Access &access = plan.getInput(0);
  constexpr int64_t kChunk = 4 * kLanes;
  std::optional<int64_t> depth = plan.nest.bounds[k].getConstant();
  bool isFlat = !access.isIrregularIn(k) && access.strides[k] == Polynomial(1);
  if (isFlat && (!depth || *depth >= kChunk)) {
    Value whole = emitter.mul(emitter.floorDiv(end, kChunk), emitter.index(kChunk));
    emitter.forLoop(begin, whole, kChunk, [&](Value i) {
      loops[k] = i;
      auto type = VectorType::get({kChunk}, b.getI8Type());
      Value place = emitter.address(access, loops);
      storeForm(b.create<vector::LoadOp>(loc, type, emitter.getBinding(plan.bindings[0]), place), target, i);
    });
    begin = whole;
    if (plan.nest.bounds[k].isMultipleOf(kChunk))
      return;
  }
  copyLanes(target, begin);
}

void LhsCopier::copyLanes(Value target, Value begin) {
  emitter.forVectors(k, begin, emitter.bound(k),
                     [&](Value i, const Lanes &lanes) { storeForm(load(i, lanes), target, i); });
}

bool LhsCopier::copiesBlocks() const {
  const Access &access = plan.getInput(0);
  bool isBytes = plan.contract.lhsCopy == LhsCopy::Bytes || plan.contract.lhsCopy == LhsCopy::Words;
  return isBytes && !access.isIrregularIn(m) && access.strides[m] == Polynomial(1) && !access.isIrregularIn(k) &&
         !(access.strides[k] == Polynomial(1));
}

void LhsCopier::copyBlock(Value row, Value target, Value pitch) {
  auto type = VectorType::get({kLanes}, b.getI8Type());
  Value whole = emitter.mul(emitter.floorDiv(emitter.bound(k), kLanes), emitter.index(kLanes));
  SmallVector<Value> targets;
  for (int64_t i = 0; i < kLanes; ++i)
    targets.push_back(emitter.add(target, emitter.mul(pitch, emitter.index(i))));
  emitter.forLoop(emitter.index(0), whole, kLanes, [&](Value at) {
    SmallVector<Value> columns;
    loops[m] = row;
    for (int64_t i = 0; i < kLanes; ++i) {
      loops[k] = emitter.add(at, emitter.index(i));
      Value place = emitter.address(plan.getInput(0), loops);
      columns.push_back(b.create<vector::LoadOp>(loc, type, emitter.getBinding(plan.bindings[0]), place));
    }
    for (auto [to, bytes] : llvm::zip(targets, interleave(emitter, columns)))
      storeForm(bytes, to, at);
  });
  if (plan.nest.bounds[k].isMultipleOf(kLanes))
    return;
  for (auto [i, to] : llvm::enumerate(targets)) {
    loops[m] = emitter.add(row, emitter.index(i));
    copyLanes(to, whole);
  }
}

void LhsCopier::storeBytes(Value bytes, Value target, Value at) {
  store(bytes, emitter.add(target, emitter.floorDiv(at, 4)));
}

void LhsCopier::storeWords(Value bytes, Value target, Value at) {
  auto type = VectorType::get({cast<VectorType>(bytes.getType()).getNumElements() / 2}, b.getI16Type());
  auto constant = [&](int64_t value) {
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, APInt(16, value))).getResult();
  };
  Value words = b.create<vector::BitCastOp>(loc, type, bytes);
  // Two bytes in a word: the low one is of an even k.
  if (cast<kernel::ContractOp>(plan.root).getSignedLhs())
    words = b.create<arith::XOrIOp>(loc, words, constant(0x8080));
  Value place = emitter.add(target, emitter.floorDiv(at, 4));
  store(b.create<arith::AndIOp>(loc, words, constant(0xff)), place);
  store(b.create<arith::ShRUIOp>(loc, words, constant(8)), emitter.add(place, emitter.size(plan.contract.oddWords)));
}

} // namespace heddle::cpu
