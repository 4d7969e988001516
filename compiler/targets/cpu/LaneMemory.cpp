// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of one value per lane. Along the vectorised loop an operand stands still (one scalar), has unit
// stride (a vector access) or anything else (a gather or scatter with one address per lane).

#include "compiler/targets/cpu/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

/// |type|, or a vector of it, after the shape of |like|.
Type withShapeOf(Type type, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), type) : type;
}

constexpr int64_t kBf16Bits = 16;

Value constantLike(KernelEmitter &emitter, Type type, int64_t value) {
  TypedAttr attr = emitter.b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return emitter.b.create<arith::ConstantOp>(emitter.loc, attr);
}

/// A value read from memory as the region wants it: any byte but 0 is true.
Value fromStorage(KernelEmitter &emitter, Value value, Type elementType) {
  OpBuilder &b = emitter.b;
  if (elementType.isBF16()) {
    Type words = withShapeOf(b.getI32Type(), value.getType());
    Value wide = b.create<arith::ExtUIOp>(emitter.loc, words, value);
    wide = b.create<arith::ShLIOp>(emitter.loc, wide, constantLike(emitter, words, kBf16Bits));
    return b.create<arith::BitcastOp>(emitter.loc, withShapeOf(b.getF32Type(), words), wide);
  }
  if (!elementType.isInteger(1))
    return value;
  return emitter.b.create<arith::CmpIOp>(emitter.loc, arith::CmpIPredicate::ne, value, emitter.zero(value.getType()));
}

/// What fromStorage undoes; of an f32 that is a bf16 the low half is dropped, which loses nothing, NaN's bits included.
Value toStorage(KernelEmitter &emitter, Value value, Type elementType) {
  OpBuilder &b = emitter.b;
  if (elementType.isBF16()) {
    Type words = withShapeOf(b.getI32Type(), value.getType());
    Value bits = b.create<arith::BitcastOp>(emitter.loc, words, value);
    bits = b.create<arith::ShRUIOp>(emitter.loc, bits, constantLike(emitter, words, kBf16Bits));
    return b.create<arith::TruncIOp>(emitter.loc, withShapeOf(b.getI16Type(), words), bits);
  }
  if (!elementType.isInteger(1))
    return value;
  return emitter.b.create<arith::ExtUIOp>(emitter.loc, withShapeOf(emitter.b.getI8Type(), value.getType()), value);
}

} // namespace

Type KernelEmitter::getElementType(unsigned number) const {
  kernel::FuncOp func = plan.func;
  unsigned numInputs = func.getNumInputs();
  Type type = number < numInputs ? func.getArgumentTypes()[number] : func.getResultTypes()[number - numInputs];
  return cast<RankedTensorType>(type).getElementType();
}

Value KernelEmitter::zero(Type type) { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)); }

Value KernelEmitter::broadcast(Value value, int64_t width) {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  return b.create<vector::BroadcastOp>(loc, VectorType::get({width}, value.getType()), value);
}

Value KernelEmitter::iota(Value base) {
  auto type = VectorType::get({kLanes}, b.getIndexType());
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(0, kLanes));
  Value lanes = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, [&] {
                                              SmallVector<Attribute> values;
                                              for (int64_t step : steps)
                                                values.push_back(b.getIndexAttr(step));
                                              return values;
                                            }()));
  return b.create<arith::AddIOp>(loc, broadcast(base, kLanes), lanes);
}

Value KernelEmitter::laneAddresses(const Access &access, ArrayRef<Value> loops, const Lanes &lanes) {
  SmallVector<Value> vectorized(loops);
  vectorized[lanes.loop] = iota(loops[lanes.loop]);
  Value sum = size(access.offset);
  auto addTerm = [&](Value factor, const Polynomial &stride) {
    Value step = size(stride);
    if (isa<VectorType>(factor.getType()))
      step = broadcast(step, kLanes);
    Value term = mul(factor, step);
    if (isa<VectorType>(term.getType()) != isa<VectorType>(sum.getType())) {
      term = broadcast(term, kLanes);
      sum = broadcast(sum, kLanes);
    }
    sum = add(sum, term);
  };
  for (auto [loop, stride] : llvm::enumerate(access.strides))
    if (!stride.isZero() && vectorized[loop])
      addTerm(vectorized[loop], stride);
  for (const Access::Irregular &part : access.irregular)
    addTerm(evaluate(part.expr, vectorized), part.stride);
  return broadcast(sum, kLanes);
}

Value KernelEmitter::loadScalar(Value memory, Type elementType, Value address) {
  return fromStorage(*this, b.create<memref::LoadOp>(loc, memory, address), elementType);
}

Value KernelEmitter::loadUnit(Value memory, Type elementType, Value address, const Lanes &lanes) {
  auto type = VectorType::get({kLanes}, getStorageType(elementType));
  Value value;
  if (lanes.mask)
    value = b.create<vector::MaskedLoadOp>(loc, type, memory, address, lanes.mask, zero(type));
  else
    value = b.create<vector::LoadOp>(loc, type, memory, address);
  return fromStorage(*this, value, elementType);
}

Value KernelEmitter::loadLanes(Value memory, Type elementType, Value addresses, const Lanes &lanes) {
  auto type = VectorType::get({kLanes}, getStorageType(elementType));
  Value mask = lanes.mask;
  if (!mask)
    mask = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get({kLanes}, b.getI1Type()), true));
  Value value = b.create<vector::GatherOp>(loc, type, memory, ValueRange{index(0)}, addresses, mask, zero(type));
  return fromStorage(*this, value, elementType);
}

Value KernelEmitter::load(unsigned number, const Access &access, ArrayRef<Value> loops, const Lanes &lanes) {
  Type elementType = getElementType(number);
  LaneStride stride = lanes.width == 1 ? LaneStride::Uniform : getLaneStride(access, lanes.loop, kLanes);
  switch (stride) {
  case LaneStride::Uniform:
    return loadScalar(bindings[number], elementType, address(access, loops));
  case LaneStride::Unit:
    return loadUnit(bindings[number], elementType, address(access, loops), lanes);
  case LaneStride::Other:
    return loadLanes(bindings[number], elementType, laneAddresses(access, loops, lanes), lanes);
  }
  return nullptr;
}

void KernelEmitter::storeScalar(Value value, Value memory, Type elementType, Value address) {
  b.create<memref::StoreOp>(loc, toStorage(*this, value, elementType), memory, address);
}

void KernelEmitter::storeUnit(Value value, Value memory, Type elementType, Value address, const Lanes &lanes) {
  value = broadcast(toStorage(*this, value, elementType), kLanes);
  if (lanes.mask)
    b.create<vector::MaskedStoreOp>(loc, memory, address, lanes.mask, value);
  else
    b.create<vector::StoreOp>(loc, value, memory, address);
}

void KernelEmitter::storeLanes(Value value, Value memory, Type elementType, Value addresses, const Lanes &lanes) {
  value = broadcast(toStorage(*this, value, elementType), kLanes);
  Value mask = lanes.mask;
  if (!mask)
    mask = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get({kLanes}, b.getI1Type()), true));
  b.create<vector::ScatterOp>(loc, memory, ValueRange{index(0)}, addresses, mask, value);
}

void KernelEmitter::store(Value value, unsigned number, const Access &access, ArrayRef<Value> loops,
                          const Lanes &lanes) {
  Type elementType = getElementType(number);
  LaneStride stride = lanes.width == 1 ? LaneStride::Uniform : getLaneStride(access, lanes.loop, kLanes);
  switch (stride) {
  case LaneStride::Uniform:
    // A result stands still along a loop of one iteration alone, whose element is lane 0.
    if (isa<VectorType>(value.getType()))
      value = b.create<vector::ExtractOp>(loc, value, 0);
    return storeScalar(value, bindings[number], elementType, address(access, loops));
  case LaneStride::Unit:
    return storeUnit(value, bindings[number], elementType, address(access, loops), lanes);
  case LaneStride::Other:
    return storeLanes(value, bindings[number], elementType, laneAddresses(access, loops, lanes), lanes);
  }
}

SmallVector<Value> interleave(KernelEmitter &emitter, ArrayRef<Value> rows) {
  SmallVector<int64_t> low, high;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    low.push_back(lane / 2 + lane % 2 * kLanes);
    high.push_back(low.back() + kLanes / 2);
  }
  // As a sequence of cards, halves are shuffled into each other until neighbours are rows.
  SmallVector<Value> cards(rows);
  size_t half = rows.size() / 2;
  for (size_t distance = half; distance >= 1; distance /= 2) {
    SmallVector<Value> next;
    for (size_t i = 0; i < half; ++i)
      for (ArrayRef<int64_t> order : {ArrayRef(low), ArrayRef(high)})
        next.push_back(emitter.b.create<vector::ShuffleOp>(emitter.loc, cards[i], cards[i + half], order));
    cards = std::move(next);
  }
  return cards;
}

void KernelEmitter::storeColumns(ArrayRef<Value> rows, unsigned number, const Access &access, ArrayRef<Value> loops,
                                 const Lanes &lanes) {
  Type elementType = getElementType(number);
  SmallVector<Value> vectors;
  for (Value row : rows)
    vectors.push_back(broadcast(toStorage(*this, row, elementType), kLanes));
  Value first = address(access, loops), step = size(access.strides[lanes.loop]);
  for (size_t begin = 0; begin < vectors.size();) {
    size_t count = llvm::bit_floor(vectors.size() - begin);
    SmallVector<Value> columns = interleave(*this, ArrayRef(vectors).slice(begin, count));
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t place = lane * static_cast<int64_t>(count);
      Value column = b.create<vector::ExtractStridedSliceOp>(loc, columns[place / kLanes], place % kLanes,
                                                             static_cast<int64_t>(count), 1);
      Value to = add(add(first, index(static_cast<int64_t>(begin))), mul(step, index(lane)));
      b.create<vector::StoreOp>(loc, column, bindings[number], to);
    }
    begin += count;
  }
}

} // namespace heddle::cpu
