// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of queries and keys as codes of 8 bits (qk_int8): a scale from the row's greatest magnitude, found among bit
// patterns, where what isn't finite is the greatest. Roundings are those that attn.sdpa defines in f32, so that codes
// are the same on every target; they lie in scratch as bytes or as 16 bits, as the CPU multiplies them.

#include "compiler/targets/cpu/AttentionItem.h"
#include "compiler/targets/cpu/FloatMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

/// Codes in a word of bytes.
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
  if (shape.perWord == 1)
    return depth;
  return emitter.floorDiv(emitter.add(depth, emitter.index(shape.perWord - 1)), shape.perWord);
}

Value AttentionItem::multiplyWords(Value sum, Value left, Value right) {
  if (shape.perWord == kBytes)
    return multiplyBytes(sum, left, right);
  auto pairs = VectorType::get({shape.vectorBits / 16}, b.getI16Type());
  Value operands[] = {b.create<vector::BitCastOp>(loc, pairs, left), b.create<vector::BitCastOp>(loc, pairs, right)};
  StringRef name = shape.vectorBits == 512 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  Value products =
      b.create<LLVM::CallIntrinsicOp>(loc, sum.getType(), b.getStringAttr(name), ValueRange(operands)).getResult(0);
  return b.create<arith::AddIOp>(loc, sum, products);
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
        auto type = VectorType::get({kLanes}, b.getIntegerType(32 / shape.perWord));
        Value codes = b.create<arith::TruncIOp>(loc, type, m.round(steps).bits);
        if (shape.perWord == kBytes) {
          // One factor has to be unsigned: code + 128.
          Value top = b.create<arith::ConstantOp>(
              loc, DenseElementsAttr::get(type, b.getI8IntegerAttr(std::numeric_limits<int8_t>::min())));
          codes = b.create<arith::XOrIOp>(loc, codes, top);
        }
        auto wordsType = VectorType::get({kLanes / shape.perWord}, b.getF32Type());
        b.create<vector::StoreOp>(loc, b.create<vector::BitCastOp>(loc, wordsType, codes), emitter.scratch,
                                  emitter.add(target, emitter.floorDiv(d, shape.perWord)));
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
  // Of each key neighbours in a word; of bytes also 128 times their sum.
  int64_t perWord = shape.perWord, bits = 32 / perWord, size = *plan.nest.bounds[Loops::HeadSize].getConstant();
  Value target = panelAddress(key), offset = m.integer(int32_t(0x80808080));
  auto packWord = [&](Value group, int64_t count, Value sum) {
    Value word = zero;
    for (int64_t i = 0; i < count; ++i) {
      Value d = emitter.add(emitter.mul(group, emitter.index(perWord)), emitter.index(i));
      Value code = m.andBits(m.round(stepsAt(d)).bits, m.integer((int64_t(1) << bits) - 1));
      word = b.create<arith::OrIOp>(loc, word, m.shiftLeft(code, bits * i));
    }
    store(m.fromBits(word), addressOf(target, group));
    return perWord == kBytes ? multiplyBytes(sum, offset, word) : sum;
  };
  int64_t whole = size / perWord;
  Value sum = emitter
                  .forLoop(nought, emitter.index(whole), 1, ValueRange{zero},
                           [&](Value group, ValueRange sums) {
                             return SmallVector<Value>{packWord(group, perWord, sums.front())};
                           })
                  .front();
  if (size % perWord != 0)
    sum = packWord(emitter.index(whole), size % perWord, sum);
  if (perWord == kBytes)
    store(m.fromBits(m.subBits(zero, sum)), place(shape.keyOffsets, key));
}

} // namespace heddle::cpu
