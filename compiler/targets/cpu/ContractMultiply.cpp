// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The multipliers. LLVM finds products of pairs and fours of narrow numbers in no generic form, so these are
// intrinsics; which of them a CPU has is decided in CpuConfig.cpp.

#include "compiler/targets/cpu/ContractMultiply.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

ContractMultiply::ContractMultiply(KernelEmitter &emitter, Type element, int64_t numParts)
    : sumType(VectorType::get({kLanes / numParts}, element)), numParts(numParts), emitter(emitter), b(emitter.b),
      loc(emitter.loc) {}

Value ContractMultiply::join(ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq<int64_t>(0, kLanes));
  return b.create<vector::ShuffleOp>(loc, parts[0], parts[1], lanes);
}

SmallVector<Value> ContractMultiply::multiplyAll(const TileStep &step, ValueRange sums,
                                                 llvm::function_ref<Value(int64_t)> left,
                                                 llvm::function_ref<Value(int64_t)> right,
                                                 llvm::function_ref<Value(Value, Value, Value)> product) {
  int64_t rows = step.rows.size(), columns = step.panels.size() * numParts;
  bool keepsRows = rows < columns;
  SmallVector<Value> kept, next(sums.size());
  for (int64_t i = 0; i < (keepsRows ? rows : columns); ++i)
    kept.push_back(keepsRows ? left(i) : right(i));
  for (int64_t i = 0; i < (keepsRows ? columns : rows); ++i) {
    Value passing = keepsRows ? right(i) : left(i);
    for (auto [j, other] : llvm::enumerate(kept)) {
      int64_t sum = keepsRows ? j * columns + i : i * columns + j;
      next[sum] = product(keepsRows ? other : passing, keepsRows ? passing : other, sums[sum]);
    }
  }
  return next;
}

Value ContractMultiply::callIntrinsic(StringRef name, Type result, ValueRange operands) {
  return b.create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name), operands).getResult(0);
}

namespace {

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

class FloatMultiply : public ContractMultiply {
public:
  explicit FloatMultiply(KernelEmitter &emitter) : ContractMultiply(emitter, emitter.b.getF32Type(), 1) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    return multiplyFloats(step, sums, [&](int64_t j) -> Value {
      return b.create<vector::LoadOp>(loc, sumType, step.rhs, step.panels[j]);
    });
  }

protected:
  Value loadRow(const TileStep &step, int64_t r) {
    Value element = b.create<memref::LoadOp>(loc, step.lhs, step.rows[r]);
    return b.create<vector::BroadcastOp>(loc, sumType, element);
  }

  /// |right|: the f32 of a panel at this step.
  SmallVector<Value> multiplyFloats(const TileStep &step, ValueRange sums, llvm::function_ref<Value(int64_t)> right) {
    return multiplyAll(
        step, sums, [&](int64_t r) { return loadRow(step, r); }, right,
        // vector.fma would leave it to LLVM whether to round once; math.fma always does.
        [&](Value left, Value right, Value sum) -> Value { return b.create<math::FmaOp>(loc, left, right, sum); });
  }
};

class PairsOfBf16Multiply : public ContractMultiply {
public:
  explicit PairsOfBf16Multiply(KernelEmitter &emitter) : ContractMultiply(emitter, emitter.b.getF32Type(), 1) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    auto pairs = VectorType::get({2 * kLanes}, b.getBF16Type());
    return multiplyAll(
        step, sums,
        [&](int64_t r) -> Value {
          Value element = b.create<memref::LoadOp>(loc, step.lhs, step.rows[r]);
          return b.create<vector::BitCastOp>(loc, pairs, b.create<vector::BroadcastOp>(loc, sumType, element));
        },
        [&](int64_t j) -> Value {
          auto words = VectorType::get({2 * kLanes}, b.getI16Type());
          return b.create<vector::BitCastOp>(loc, pairs,
                                             b.create<vector::LoadOp>(loc, words, step.rhs, step.panels[j]));
        },
        [&](Value left, Value right, Value sum) {
          return callIntrinsic("llvm.x86.avx512bf16.dpbf16ps.512", sumType, {sum, left, right});
        });
  }
};

//===----------------------------------------------------------------------===//
// Floats with weights that are widened as they are read
//===----------------------------------------------------------------------===//

class ByteWeightMultiply : public FloatMultiply {
public:
  explicit ByteWeightMultiply(KernelEmitter &emitter) : FloatMultiply(emitter) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    auto bytes = VectorType::get({kLanes}, b.getI8Type()), words = VectorType::get({kLanes}, b.getI32Type());
    return multiplyFloats(step, sums, [&](int64_t j) -> Value {
      Value codes = b.create<vector::LoadOp>(loc, bytes, step.rhs, step.panels[j]);
      return b.create<arith::SIToFPOp>(loc, sumType, b.create<arith::ExtSIOp>(loc, words, codes));
    });
  }
};

/// A byte holds an even k and the odd one behind it. Sums are of one block, whose scale comes to them at its end.
class HalfByteWeightMultiply : public FloatMultiply {
public:
  explicit HalfByteWeightMultiply(KernelEmitter &emitter)
      : FloatMultiply(emitter), isWide(emitter.plan.contract.vectorBits == 512) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    TileStep odd = step;
    for (Value &row : odd.rows)
      row = emitter.add(row, step.depthStride);
    if (step.rows.size() <= step.panels.size())
      return multiplyByPanels(step, odd, sums);
    SmallVector<Value> pairs;
    for (Value panel : step.panels)
      pairs.push_back(loadPairs(step.rhs, panel));
    SmallVector<Value> even = multiplyFloats(step, sums, [&](int64_t j) { return widen(pairs[j], /*isOdd=*/false); });
    return multiplyFloats(odd, even, [&](int64_t j) { return widen(pairs[j], /*isOdd=*/true); });
  }

private:
  /// Rows are in registers, and of the panels no more than one.
  SmallVector<Value> multiplyByPanels(const TileStep &step, const TileStep &odd, ValueRange sums) {
    SmallVector<Value> next(sums), evenRows, oddRows;
    for (size_t r = 0; r < step.rows.size(); ++r) {
      evenRows.push_back(loadRow(step, r));
      oddRows.push_back(loadRow(odd, r));
    }
    for (auto [j, panel] : llvm::enumerate(step.panels)) {
      Value pairs = loadPairs(step.rhs, panel), even = widen(pairs, /*isOdd=*/false),
            odd = widen(pairs, /*isOdd=*/true);
      for (size_t r = 0; r < step.rows.size(); ++r) {
        Value &sum = next[r * step.panels.size() + j];
        sum = b.create<math::FmaOp>(loc, evenRows[r], even, sum);
        sum = b.create<math::FmaOp>(loc, oddRows[r], odd, sum);
      }
    }
    return next;
  }

  VectorType getWords() { return VectorType::get({kLanes}, b.getI32Type()); }
  Value fill(int32_t value) {
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(getWords(), b.getI32IntegerAttr(value)));
  }

  Value loadPairs(Value rhs, Value place) {
    auto type = VectorType::get({kLanes}, b.getI8Type());
    Value bytes = b.create<vector::LoadOp>(loc, type, rhs, place);
    if (isWide)
      return b.create<arith::ExtUIOp>(loc, getWords(), bytes);
    // Less 8, both as four bits with a sign: the shifts that part them need no constants in registers.
    Value eights = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, APInt(8, 0x88)));
    return b.create<arith::ExtSIOp>(loc, getWords(), b.create<arith::XOrIOp>(loc, bytes, eights));
  }

  /// The code of the even or the odd k of each word of |pairs|, less 8, as f32.
  Value widen(Value pairs, bool isOdd) {
    if (!isWide) {
      Value high = isOdd ? pairs : b.create<arith::ShLIOp>(loc, pairs, fill(28)).getResult();
      return b.create<arith::SIToFPOp>(loc, sumType, b.create<arith::ShRSIOp>(loc, high, fill(isOdd ? 4 : 28)));
    }
    Value codes = isOdd ? b.create<arith::ShRUIOp>(loc, pairs, fill(4)).getResult() : pairs;
    // A look-up in 16 numbers, which takes no more than these four bits.
    SmallVector<float> numbers;
    for (int64_t code = 0; code < 16; ++code)
      numbers.push_back(static_cast<float>(code - 8));
    Value table = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(sumType, ArrayRef(numbers)));
    return callIntrinsic("llvm.x86.avx512.permvar.sf.512", sumType, {table, codes});
  }

  const bool isWide;
};

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// What the multipliers of bytes share. A step is four neighbours of k: 32 bits of a row, 64 bytes of a panel.
class ByteMultiply : public ContractMultiply {
protected:
  explicit ByteMultiply(KernelEmitter &emitter)
      : ContractMultiply(emitter, emitter.b.getI32Type(), 512 / emitter.plan.contract.vectorBits),
        flips(cast<kernel::ContractOp>(emitter.plan.root).getSignedLhs()) {}

  VectorType getType(unsigned bits) {
    return VectorType::get({emitter.plan.contract.vectorBits / bits}, b.getIntegerType(bits));
  }

  Value constant(int64_t value, unsigned bits) {
    VectorType type = getType(bits);
    return b.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value).getValue()));
  }

  /// The word at element |place| of |memory|, which holds bytes, or words as f32, in all lanes.
  Value loadWord(Value memory, Value place) {
    Value word;
    if (cast<MemRefType>(memory.getType()).getElementType().isF32()) {
      Value element = b.create<memref::LoadOp>(loc, memory, place);
      word = b.create<arith::BitcastOp>(loc, b.getI32Type(), element);
    } else {
      Value bytes = b.create<vector::LoadOp>(loc, VectorType::get({4}, b.getI8Type()), memory, place);
      Value words = b.create<vector::BitCastOp>(loc, VectorType::get({1}, b.getI32Type()), bytes);
      word = b.create<vector::ExtractOp>(loc, words, 0);
    }
    return b.create<vector::BroadcastOp>(loc, getType(32), word);
  }

  /// Four bytes of row |r|, unsigned.
  Value loadRow(const TileStep &step, int64_t r) {
    Value word = loadWord(step.lhs, step.rows[r]);
    return flips ? b.create<arith::XOrIOp>(loc, word, constant(int32_t(0x80808080), 32)).getResult() : word;
  }

  /// Column vector |column| of the tile as bytes.
  Value loadColumns(const TileStep &step, int64_t column) {
    Value place = emitter.add(step.panels[column / numParts],
                              emitter.index(column % numParts * (emitter.plan.contract.vectorBits / 8)));
    return b.create<vector::LoadOp>(loc, getType(8), step.rhs, place);
  }

  const bool flips;
};

/// One instruction multiplies and adds four bytes: AVX512-VNNI.
class ByteDotMultiply : public ByteMultiply {
public:
  explicit ByteDotMultiply(KernelEmitter &emitter) : ByteMultiply(emitter) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    return multiplyAll(
        step, sums, [&](int64_t r) { return loadRow(step, r); },
        [&](int64_t j) -> Value { return b.create<vector::BitCastOp>(loc, sumType, loadColumns(step, j)); },
        [&](Value left, Value right, Value sum) {
          return callIntrinsic("llvm.x86.avx512.vpdpbusd.512", sumType, {sum, left, right});
        });
  }
};

/// Sums of two products of bytes saturate at 16 bits, which safe pairs never reach.
class SafePairMultiply : public ByteMultiply {
public:
  explicit SafePairMultiply(KernelEmitter &emitter) : ByteMultiply(emitter) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    bool isWide = numParts == 1;
    StringRef bytes = isWide ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw";
    StringRef words = isWide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
    Value ones = constant(1, 16);
    return multiplyAll(
        step, sums, [&](int64_t r) -> Value { return b.create<vector::BitCastOp>(loc, getType(8), loadRow(step, r)); },
        [&](int64_t j) { return loadColumns(step, j); },
        [&](Value left, Value right, Value sum) -> Value {
          Value pairs = callIntrinsic(bytes, getType(16), {left, right});
          return b.create<arith::AddIOp>(loc, sum, callIntrinsic(words, sumType, {pairs, ones}));
        });
  }
};

/// Any bytes, as words. Of each four k of a column the even ones make a pair of words, and the odd ones: two shifts
/// and one widen them where they lie. Rows lie in scratch as words in that order, the pairs of odd k behind all others.
class WordMultiply : public ByteMultiply {
public:
  explicit WordMultiply(KernelEmitter &emitter) : ByteMultiply(emitter) {}

  SmallVector<Value> multiply(const TileStep &step, ValueRange sums) override {
    SmallVector<Value> even = multiplyHalf(step, sums, /*isOdd=*/false);
    // The panel's bytes are read again rather than kept: with them 16 registers are one too few for a tile. LLVM
    // mustn't know that it is the same place.
    TileStep again = step;
    for (Value &panel : again.panels)
      panel = hide(panel);
    for (Value &row : again.rows)
      row = emitter.add(row, emitter.size(emitter.plan.contract.oddWords));
    return multiplyHalf(again, even, /*isOdd=*/true);
  }

private:
  SmallVector<Value> multiplyHalf(const TileStep &step, ValueRange sums, bool isOdd) {
    StringRef words = numParts == 1 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
    Value eight = constant(8, 16);
    return multiplyAll(
        step, sums,
        [&](int64_t r) -> Value {
          return b.create<vector::BitCastOp>(loc, getType(16), loadWord(step.lhs, step.rows[r]));
        },
        [&](int64_t j) -> Value {
          Value bytes = b.create<vector::BitCastOp>(loc, getType(16), loadColumns(step, j));
          Value high = isOdd ? bytes : b.create<arith::ShLIOp>(loc, bytes, eight).getResult();
          return b.create<arith::ShRSIOp>(loc, high, eight);
        },
        [&](Value left, Value right, Value sum) -> Value {
          return b.create<arith::AddIOp>(loc, sum, callIntrinsic(words, sumType, {left, right}));
        });
  }

  Value hide(Value place) {
    Value number = b.create<arith::IndexCastOp>(loc, b.getI64Type(), place);
    auto hidden = b.create<LLVM::InlineAsmOp>(loc, TypeRange(b.getI64Type()), ValueRange(number), "", "=r,0",
                                              /*has_side_effects=*/false, /*is_align_stack=*/false,
                                              LLVM::AsmDialectAttr(), ArrayAttr());
    return b.create<arith::IndexCastOp>(loc, b.getIndexType(), hidden.getResult(0));
  }
};

} // namespace

std::unique_ptr<ContractMultiply> ContractMultiply::create(KernelEmitter &emitter) {
  switch (emitter.plan.contract.multiplier) {
  case Multiplier::Floats:
    return std::make_unique<FloatMultiply>(emitter);
  case Multiplier::PairsOfBf16:
    return std::make_unique<PairsOfBf16Multiply>(emitter);
  case Multiplier::BytesOfWeights:
    return std::make_unique<ByteWeightMultiply>(emitter);
  case Multiplier::HalfBytesOfWeights:
    return std::make_unique<HalfByteWeightMultiply>(emitter);
  case Multiplier::ByteDots:
    return std::make_unique<ByteDotMultiply>(emitter);
  case Multiplier::SafePairs:
    return std::make_unique<SafePairMultiply>(emitter);
  case Multiplier::Words:
    return std::make_unique<WordMultiply>(emitter);
  }
  return nullptr;
}

} // namespace heddle::cpu
