// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of queries and keys as codes of 8 bits (qk_int8): a scale from the row's greatest magnitude, found among bit
// patterns, where what isn't finite is the greatest. Roundings are those that attn.sdpa defines in f32, so that codes
// are the same on every target; they lie in scratch as bytes or, for CPUs that multiply these no faster, as floats.

#include "compiler/targets/cpu/AttentionItem.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

/// Bytes that each lane multiplies at once.
static constexpr int64_t kBytes = 4;

namespace {
struct RowScale {
  Value scale, inverse;
};
} // namespace

/// The greater of |largest|, bits of a magnitude, and those of |x|. A NaN's are greater than infinity's.
static Value buildGreatest(const FloatMath &m, Value largest, Value x) {
  Value magnitude = m.andBits(m.toBits(x), m.integer(std::numeric_limits<int32_t>::max()));
  return m.b.create<arith::MaxUIOp>(m.loc, largest, magnitude);
}

/// The scale of rows whose greatest magnitude has the bits |largest|; codes of rows with a scale of NaN don't matter.
static RowScale buildRowScale(const FloatMath &m, Value largest) {
  Value magnitude = m.fromBits(largest), scale = m.div(magnitude, m.real(127));
  scale = m.select(m.less(scale, m.real(std::numeric_limits<float>::min())), m.real(1), scale);
  Value inverse = m.div(m.real(1), scale), isFinite = m.less(magnitude, m.real(std::numeric_limits<float>::infinity()));
  return {m.select(isFinite, scale, m.real(std::numeric_limits<double>::quiet_NaN())), inverse};
}

Value AttentionItem::getSteps() {
  Value depth = emitter.bound(Loops::HeadSize);
  if (!shape.multipliesBytes)
    return depth;
  return emitter.floorDiv(emitter.add(depth, emitter.index(kBytes - 1)), kBytes);
}

Value AttentionItem::multiplyBytes(Value sum, Value left, Value right) {
  return b
      .create<LLVM::CallIntrinsicOp>(loc, sum.getType(), b.getStringAttr("llvm.x86.avx512.vpdpbusd.512"),
                                     ValueRange{sum, left, right})
      .getResult(0);
}

Value AttentionItem::loadOffsets(Value key) {
  Value bits = b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, place(shape.keyOffsets, key));
  return FloatMath(b, loc, vectorType).toBits(bits);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void AttentionItem::quantizeQueries() {
  emitter.forLoop(emitter.index(0), rows, 1, [&](Value slot) {
    AttentionRow row = getRow(slot);
    Value target = queryAddress(row);
    select(row);
    quantizeQuery(slot, target);
    loops[Loops::HeadSize] = Value();
  });
}

void AttentionItem::quantizeQuery(Value slot, Value target) {
  FloatMath m(b, loc, vectorType), scalar(b, loc, b.getF32Type());
  int64_t depth = *plan.nest.bounds[Loops::HeadSize].getConstant(), whole = depth / kLanes * kLanes;
  auto load = [&](Value d, const Lanes &lanes) {
    loops[Loops::HeadSize] = d;
    return emitter.broadcast(emitter.load(plan.bindings[0], plan.getInput(0), loops, lanes), kLanes);
  };
  // 1. The greatest magnitude.
  Lanes lanes{kLanes, Loops::HeadSize, nullptr};
  Value zero = m.integer(0);
  Value largest = emitter
                      .forLoop(emitter.index(0), emitter.index(whole), kLanes, ValueRange{zero},
                               [&](Value d, ValueRange found) {
                                 return SmallVector<Value>{buildGreatest(m, found.front(), load(d, lanes))};
                               })
                      .front();
  if (whole != depth) {
    lanes.mask = emitter.maskBelow(emitter.index(depth - whole));
    largest = buildGreatest(m, largest, load(emitter.index(whole), lanes));
  }
  Value bits = b.create<vector::ReductionOp>(loc, vector::CombiningKind::MAXUI, largest);
  RowScale rowScale = buildRowScale(scalar, bits);
  storeFloat(scale ? scalar.mul(rowScale.scale, scale) : rowScale.scale, shape.queryScales, slot);
  // 2. Codes. Rows are padded to whole vectors; keys have codes of 0 there.
  Value inverse = emitter.broadcast(rowScale.inverse, kLanes);
  emitter.forVectors(
      Loops::HeadSize, emitter.index(0), emitter.bound(Loops::HeadSize), [&](Value d, const Lanes &lanes) {
        Value steps = m.mul(load(d, lanes), inverse);
        if (!shape.multipliesBytes) {
          b.create<vector::StoreOp>(loc, m.roundEven(steps), emitter.scratch, emitter.add(target, d));
          return;
        }
        auto bytes = VectorType::get({kLanes}, b.getI8Type());
        Value codes = b.create<arith::TruncIOp>(loc, bytes, m.round(steps).bits);
        // One factor has to be unsigned: code + 128.
        Value top = b.create<arith::ConstantOp>(
            loc, DenseElementsAttr::get(bytes, b.getI8IntegerAttr(std::numeric_limits<int8_t>::min())));
        codes = b.create<arith::XOrIOp>(loc, codes, top);
        Value words = b.create<vector::BitCastOp>(loc, VectorType::get({kLanes / kBytes}, b.getF32Type()), codes);
        b.create<vector::StoreOp>(loc, words, emitter.scratch, emitter.add(target, emitter.floorDiv(d, kBytes)));
      });
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void AttentionItem::quantizeKeys(Value key, Value panel) {
  FloatMath m(b, loc, vectorType);
  Value nought = emitter.index(0), depth = emitter.bound(Loops::HeadSize), zero = m.integer(0);
  auto addressOf = [&](Value start, Value row) { return emitter.add(start, emitter.mul(row, emitter.index(kLanes))); };
  auto load = [&](Value d) -> Value {
    return b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, addressOf(panel, d));
  };
  auto store = [&](Value vector, Value address) { b.create<vector::StoreOp>(loc, vector, emitter.scratch, address); };
  Value largest = emitter
                      .forLoop(nought, depth, 1, ValueRange{zero},
                               [&](Value d, ValueRange found) {
                                 return SmallVector<Value>{buildGreatest(m, found.front(), load(d))};
                               })
                      .front();
  RowScale scales = buildRowScale(m, largest);
  store(scales.scale, place(shape.keyScales, key));
  auto stepsAt = [&](Value d) { return m.mul(load(d), scales.inverse); };
  if (!shape.multipliesBytes) {
    emitter.forLoop(nought, depth, 1, [&](Value d) { store(m.roundEven(stepsAt(d)), addressOf(panel, d)); });
    return;
  }
  // Of each key four neighbours in a word, and 128 times their sum.
  Value target = panelAddress(key), offset = m.integer(int32_t(0x80808080));
  auto packWord = [&](Value group, int64_t count, Value sum) {
    Value word = zero;
    for (int64_t i = 0; i < count; ++i) {
      Value d = emitter.add(emitter.mul(group, emitter.index(kBytes)), emitter.index(i));
      Value code = m.andBits(m.round(stepsAt(d)).bits, m.integer(0xFF));
      word = b.create<arith::OrIOp>(loc, word, m.shiftLeft(code, 8 * i));
    }
    store(m.fromBits(word), addressOf(target, group));
    return multiplyBytes(sum, offset, word);
  };
  int64_t size = *plan.nest.bounds[Loops::HeadSize].getConstant(), whole = size / kBytes;
  Value sum = emitter
                  .forLoop(nought, emitter.index(whole), 1, ValueRange{zero},
                           [&](Value group, ValueRange sums) {
                             return SmallVector<Value>{packWord(group, kBytes, sums.front())};
                           })
                  .front();
  if (size % kBytes != 0)
    sum = packWord(emitter.index(whole), size % kBytes, sum);
  store(m.fromBits(m.subBits(zero, sum)), place(shape.keyOffsets, key));
}

} // namespace heddle::cpu
