// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights and values as codes of 8 bits (pv_int8_block): values by the scale of their column as they are packed,
// weights in place of their scores, both four keys to a word. A block's sums of products are exact, so that they
// neither depend on the instructions nor on the order. What isn't finite has no code: the packed block notes it, and
// rows that it concerns go through the keys again with floats for codes, which hold the same sums.

#include "compiler/targets/cpu/AttentionTile.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

/// Keys whose codes share a word.
static constexpr int64_t kBytes = 4;
static constexpr double kMostSteps = 127;

/// The bits of |x| without its sign: those of what isn't finite are the greatest.
static Value buildMagnitude(const FloatMath &m, Value x) {
  return m.andBits(m.toBits(x), m.integer(std::numeric_limits<int32_t>::max()));
}

static Value isFinite(const FloatMath &m, Value magnitude) {
  Value infinity = m.toBits(m.real(std::numeric_limits<float>::infinity()));
  return m.b.create<arith::CmpIOp>(m.loc, arith::CmpIPredicate::ult, magnitude, infinity);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void AttentionItem::loadValueScales() {
  FloatMath m(b, loc, vectorType);
  unsigned input = *op.getValueScaleInput();
  Value width = emitter.bound(Loops::ValueSize);
  emitter.forVectors(Loops::ValueSize, emitter.index(0), width, [&](Value column, const Lanes &lanes) {
    loops[Loops::ValueSize] = column;
    Value scales = emitter.broadcast(emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes), kLanes);
    b.create<vector::StoreOp>(loc, scales, emitter.scratch, place(shape.valueScales, column));
    b.create<vector::StoreOp>(loc, m.div(m.real(1), scales), emitter.scratch, place(shape.valueInverses, column));
  });
  loops[Loops::ValueSize] = Value();
}

Value AttentionItem::loadColumnScales(Value column, bool showsNaN) {
  FloatMath m(b, loc, vectorType);
  auto load = [&](AffineExpr start) -> Value {
    return b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, place(start, column));
  };
  Value scales = load(shape.valueScales);
  if (!showsNaN)
    return scales;
  return m.select(isFinite(m, m.toBits(load(shape.valueBits))), scales,
                  m.real(std::numeric_limits<double>::quiet_NaN()));
}

Value AttentionItem::clampSteps(Value values, Value column) {
  FloatMath m(b, loc, vectorType);
  Value inverses = b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, place(shape.valueInverses, column));
  Value steps = m.mul(values, inverses), most = m.real(kMostSteps), least = m.real(-kMostSteps);
  steps = m.select(m.greater(steps, most), most, steps);
  return m.select(m.less(steps, least), least, steps);
}

Value AttentionItem::loadValueCodes(Value key, Value column, const Lanes &lanes) {
  FloatMath m(b, loc, vectorType);
  loops[Loops::Key] = key;
  loops[Loops::ValueSize] = column;
  Value values = emitter.broadcast(emitter.load(plan.bindings[2], plan.getInput(2), loops, lanes), kLanes);
  loops[Loops::Key] = loops[Loops::ValueSize] = Value();
  return m.select(isFinite(m, buildMagnitude(m, values)), m.roundEven(clampSteps(values, column)),
                  m.real(std::numeric_limits<double>::quiet_NaN()));
}

void AttentionItem::packValueCodes(const KeyBlock &block, Value start, Value count) {
  emitter.forLoop(start, emitter.add(start, count), kBytes, [&](Value key) {
    emitter.forVectors(Loops::ValueSize, emitter.index(0), emitter.bound(Loops::ValueSize),
                       [&](Value column, const Lanes &lanes) { packValueWords(block, key, column, lanes); });
  });
  loops[Loops::Key] = loops[Loops::ValueSize] = Value();
}

void AttentionItem::packValueWords(const KeyBlock &block, Value key, Value column, const Lanes &lanes) {
  FloatMath m(b, loc, vectorType);
  Value bits = place(shape.valueBits, column), last = emitter.sub(block.length, emitter.index(1));
  Value greatest = m.toBits(b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, bits));
  Value word = m.integer(0);
  loops[Loops::ValueSize] = column;
  for (int64_t i = 0; i < kBytes; ++i) {
    // The last key stands for those behind it, whose weights are 0.
    loops[Loops::Key] = emitter.add(block.begin, emitter.min(emitter.add(key, emitter.index(i)), last));
    Value values = emitter.broadcast(emitter.load(plan.bindings[2], plan.getInput(2), loops, lanes), kLanes);
    greatest = b.create<arith::MaxUIOp>(loc, greatest, buildMagnitude(m, values));
    Value code = m.andBits(m.round(clampSteps(values, column)).bits, m.integer(0xFF));
    word = b.create<arith::OrIOp>(loc, word, m.shiftLeft(code, 8 * i));
  }
  Value row = emitter.mul(emitter.floorDiv(key, kBytes), emitter.size(shape.valueWidth));
  b.create<vector::StoreOp>(loc, m.fromBits(word), emitter.scratch, emitter.add(place(shape.values, row), column));
  b.create<vector::StoreOp>(loc, m.fromBits(greatest), emitter.scratch, bits);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Value AttentionTile::storeWeightCodes(Value row, Value key, Value weights) {
  FloatMath m(b, loc, item.vectorType);
  // Adding 1.5 * 2^23 rounds to units, which are then the low bits. A NaN passes into the sum, whatever its byte is.
  Value magic = m.real(std::ldexp(1.5, 23)), shifted = m.fma(weights, m.real(kMostSteps), magic);
  Value codes = m.sub(shifted, magic);
  if (!multipliesCodes()) {
    b.create<vector::StoreOp>(loc, codes, emitter.scratch, emitter.add(scoreAddress(row), key));
    return codes;
  }
  // Words end up before the scores that are still to be read.
  auto bytesType = VectorType::get({kLanes}, b.getI8Type());
  Value bytes = b.create<arith::TruncIOp>(loc, bytesType, m.toBits(shifted));
  Value words = b.create<vector::BitCastOp>(loc, VectorType::get({kLanes / kBytes}, b.getF32Type()), bytes);
  b.create<vector::StoreOp>(loc, words, emitter.scratch, emitter.add(scoreAddress(row), emitter.floorDiv(key, kBytes)));
  return codes;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value AttentionItem::multiplyWeights(Value sum, Value left, Value right) {
  if (shape.hasValueDots)
    return multiplyBytes(sum, left, right);
  bool isWide = shape.vectorBits == 512;
  auto vectorOf = [&](unsigned bits) { return VectorType::get({shape.vectorBits / bits}, b.getIntegerType(bits)); };
  auto call = [&](StringRef name, Type type, ValueRange operands) {
    return b.create<LLVM::CallIntrinsicOp>(loc, type, b.getStringAttr(name), operands).getResult(0);
  };
  Value bytes[] = {b.create<vector::BitCastOp>(loc, vectorOf(8), left),
                   b.create<vector::BitCastOp>(loc, vectorOf(8), right)};
  Value pairs = call(isWide ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw", vectorOf(16), bytes);
  Value ones = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vectorOf(16), b.getI16IntegerAttr(1)));
  Value fours = call(isWide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd", vectorOf(32), {pairs, ones});
  return b.create<arith::AddIOp>(loc, sum, fours);
}

void AttentionTile::emitCodedColumns(Value low, Value high, Value column, int64_t vectors) {
  // Parts of 16 columns that a register holds.
  int64_t lanes = shape.vectorBits / 32, parts = kLanes / lanes, each = vectors * parts;
  auto words = VectorType::get({lanes}, b.getI32Type()), floats = VectorType::get({lanes}, b.getF32Type());
  SmallVector<Value> sums(count * each, emitter.zero(words));
  Value first = emitter.floorDiv(low, kBytes);
  Value end = emitter.floorDiv(emitter.add(high, emitter.index(kBytes - 1)), kBytes);
  Value values = item.place(shape.values, column), width = emitter.size(shape.valueWidth);
  sums = emitter.forLoop(first, end, 1, sums, [&](Value group, ValueRange current) {
    SmallVector<Value> right, next;
    Value row = emitter.add(values, emitter.mul(group, width));
    for (int64_t i = 0; i < each; ++i)
      right.push_back(b.create<vector::BitCastOp>(
          loc, words,
          b.create<vector::LoadOp>(loc, floats, emitter.scratch, emitter.add(row, emitter.index(i * lanes)))));
    for (int64_t r = 0; r < count; ++r) {
      Value word = b.create<memref::LoadOp>(loc, emitter.scratch, emitter.add(scoreAddress(r), group));
      Value left = b.create<vector::BroadcastOp>(loc, words, b.create<arith::BitcastOp>(loc, b.getI32Type(), word));
      for (int64_t i = 0; i < each; ++i)
        next.push_back(item.multiplyWeights(current[r * each + i], left, right[i]));
    }
    return next;
  });
  SmallVector<Value> joined = joinParts(sums, parts);
  for (Value &sum : joined)
    sum = b.create<arith::SIToFPOp>(loc, item.vectorType, sum);
  joinColumns(column, vectors, joined);
}

} // namespace heddle::cpu
