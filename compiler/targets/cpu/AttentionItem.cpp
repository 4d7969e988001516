// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows, state and keys of one work item.

#include "compiler/targets/cpu/AttentionItem.h"

#include <limits>

#include "compiler/targets/cpu/AttentionState.h"
#include "compiler/targets/cpu/RegionEmitter.h"
#include "compiler/targets/cpu/RowTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

using Loops = kernel::AttentionOp;

AttentionItem::AttentionItem(KernelEmitter &emitter, ArrayRef<Value> digits)
    : emitter(emitter), b(emitter.b), loc(emitter.loc), plan(emitter.plan), shape(plan.attention),
      op(cast<kernel::AttentionOp>(plan.root)), vectorType(VectorType::get({kLanes}, b.getF32Type())),
      loops(Loops::NumLoops), hasMask(!sparsity::isAlwaysTrue(op.getMask())), padding(plan),
      packer(emitter, loops, /*input=*/1, Loops::Key, Loops::HeadSize) {
  loops[Loops::Batch] = digits[0];
  loops[Loops::KeyHead] = digits[1];
  loops[Loops::QueryHead] = shape.headsAreDigit ? digits[2] : emitter.index(0);
  Value share = emitEvenShare(emitter, emitter.bound(Loops::Row), shape.blockQ, shape.getUnit());
  rowBegin = emitter.mul(digits[shape.headsAreDigit ? 3 : 2], share);
  rowCount = emitter.min(emitter.sub(emitter.bound(Loops::Row), rowBegin), share);
  rows = emitter.mul(rowCount, emitter.index(shape.heads));
  length = buildLength();
  scale = buildScale();
  if (!op.getProbability().empty())
    probability = ProbabilityRegion::analyze(op);
  // What is the same for the whole item is read once, here, where every later use sees it.
  if (hasMask)
    for (unsigned number = 0; number < op.getCaptures().size(); ++number) {
      const Access &access = plan.getInput(op.getFirstCapture() + number);
      if (access.uses(Loops::QueryHead) || access.uses(Loops::Row) || access.uses(Loops::Key) ||
          op.getMask().getArgument(number).use_empty())
        continue;
      uniformCaptures[number] = emitter.load(plan.bindings[op.getFirstCapture() + number], access, loops, Lanes());
    }
}

Value AttentionItem::real(double value) {
  return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value AttentionItem::buildLength() {
  Value bound = emitter.bound(Loops::Key);
  std::optional<unsigned> input = op.getKvLenInput();
  if (!input)
    return bound;
  Value stored = emitter.load(plan.bindings[*input], plan.getInput(*input), loops, Lanes());
  Value number = b.create<arith::IndexCastOp>(loc, b.getIndexType(), stored);
  Value above = b.create<arith::MaxSIOp>(loc, number, emitter.index(0));
  return b.create<arith::MinSIOp>(loc, above, bound);
}

Value AttentionItem::buildScale() {
  if (std::optional<unsigned> input = op.getScaleInput())
    return emitter.load(plan.bindings[*input], plan.getInput(*input), loops, Lanes());
  double constant = op.getScale()->convertToFloat();
  return constant == 1.0 ? Value() : real(constant);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

AttentionRow AttentionItem::getRow(Value slot) {
  if (shape.heads == 1)
    return {slot, loops[Loops::QueryHead], emitter.add(rowBegin, slot)};
  Value head = b.create<arith::DivUIOp>(loc, slot, rowCount);
  return {slot, head, emitter.add(rowBegin, emitter.sub(slot, emitter.mul(head, rowCount)))};
}

void AttentionItem::select(const AttentionRow &row) {
  loops[Loops::QueryHead] = row.head;
  loops[Loops::Row] = row.row;
}

Value AttentionItem::queryMemory() { return shape.copyQuery ? emitter.scratch : emitter.getBinding(plan.bindings[0]); }

Value AttentionItem::queryAddress(const AttentionRow &row) {
  if (shape.copyQuery)
    return place(shape.queries, emitter.mul(row.slot, emitter.size(shape.rowDepth)));
  select(row);
  loops[Loops::HeadSize] = Value();
  return emitter.address(plan.getInput(0), loops);
}

Value AttentionItem::queryStep() {
  return shape.copyQuery ? emitter.index(1) : emitter.size(plan.getInput(0).strides[Loops::HeadSize]);
}

void AttentionItem::copyQueries() {
  emitter.forLoop(emitter.index(0), rows, 1, [&](Value slot) {
    AttentionRow row = getRow(slot);
    Value target = queryAddress(row);
    select(row);
    emitter.forVectors(
        Loops::HeadSize, emitter.index(0), emitter.bound(Loops::HeadSize), [&](Value d, const Lanes &lanes) {
          loops[Loops::HeadSize] = d;
          Value values = emitter.load(plan.bindings[0], plan.getInput(0), loops, lanes);
          // Rows are padded to whole vectors, so no mask is needed here.
          b.create<vector::StoreOp>(loc, emitter.broadcast(values, kLanes), emitter.scratch, emitter.add(target, d));
        });
    loops[Loops::HeadSize] = Value();
  });
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

Value AttentionItem::loadFloat(AffineExpr start, Value i) {
  return b.create<memref::LoadOp>(loc, emitter.scratch, place(start, i));
}

void AttentionItem::storeFloat(Value value, AffineExpr start, Value i) {
  b.create<memref::StoreOp>(loc, value, emitter.scratch, place(start, i));
}

void AttentionItem::resetOutput(Value slot) {
  Value zeros = emitter.zero(vectorType), output = outputAddress(slot);
  emitter.forLoop(emitter.index(0), emitter.size(shape.valueWidth), kLanes, [&](Value column) {
    b.create<vector::StoreOp>(loc, zeros, emitter.scratch, emitter.add(output, column));
  });
}

void AttentionItem::resetRow(Value slot) {
  resetOutput(slot);
  // A finite start: the difference to any score is then a number or the score's own infinity.
  storeFloat(real(std::numeric_limits<float>::lowest()), shape.maxima, slot);
  storeFloat(real(0), shape.sums, slot);
}

Value AttentionItem::hasNoKeys(Value slot) {
  FloatMath scalar(b, loc, b.getF32Type());
  Value verdict = loadFloat(shape.verdicts, slot);
  Value has = scalar.equal(verdict, scalar.real(double(Verdict::NoKeys)));
  if (!probability)
    return has;
  return b.create<arith::OrIOp>(loc, has, scalar.equal(verdict, scalar.real(double(Verdict::NoKeysExact))));
}

void AttentionItem::storePart(Value slot, Value part) {
  select(getRow(slot));
  loops[Loops::Key] = part;
  Value output = outputAddress(slot), width = emitter.bound(Loops::ValueSize);
  const Access &access = plan.getResult(0);
  emitter.forVectors(Loops::ValueSize, emitter.index(0), width, [&](Value column, const Lanes &lanes) {
    loops[Loops::ValueSize] = column;
    Value sums = b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, emitter.add(output, column));
    emitter.store(sums, plan.getResultBinding(0), access, loops, lanes);
  });
  AffineExpr numbers[] = {shape.maxima, shape.sums};
  for (auto [i, start] : llvm::enumerate(numbers)) {
    loops[Loops::ValueSize] = emitter.add(width, emitter.index(i));
    emitter.store(loadFloat(start, slot), plan.getResultBinding(0), access, loops, Lanes());
  }
  loops[Loops::Key] = loops[Loops::ValueSize] = Value();
}

void AttentionItem::mergePart(Value slot, Value part) {
  // The same arithmetic as between the blocks of one pass: AttentionTile.cpp.
  unsigned input = *op.getPartsInput();
  select(getRow(slot));
  loops[Loops::Key] = part;
  Value width = emitter.bound(Loops::ValueSize);
  auto load = [&](Value column, const Lanes &lanes) {
    loops[Loops::ValueSize] = column;
    return emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes);
  };
  FloatMath scalar(b, loc, b.getF32Type()), m(b, loc, vectorType);
  Value maximum = load(width, Lanes()), sum = load(emitter.add(width, emitter.index(1)), Lanes());
  Value before = loadFloat(shape.maxima, slot), merged = buildGreater(scalar, before, maximum);
  StateFactors factors = buildStateFactors(scalar, before, maximum, merged);
  storeFloat(merged, shape.maxima, slot);
  storeFloat(factors.merge(scalar, loadFloat(shape.sums, slot), sum), shape.sums, slot);
  StateFactors spread{emitter.broadcast(factors.before, kLanes), emitter.broadcast(factors.added, kLanes)};
  Value output = outputAddress(slot);
  emitter.forVectors(Loops::ValueSize, emitter.index(0), width, [&](Value column, const Lanes &lanes) {
    Value added = emitter.broadcast(load(column, lanes), kLanes), place = emitter.add(output, column);
    Value sums = b.create<vector::LoadOp>(loc, vectorType, emitter.scratch, place);
    b.create<vector::StoreOp>(loc, spread.merge(m, sums, added), emitter.scratch, place);
  });
  loops[Loops::Key] = loops[Loops::ValueSize] = Value();
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void AttentionItem::forBlocks(Value end, llvm::function_ref<void(Value)> body) {
  emitter.forLoop(emitter.index(0), end, shape.blockKv, body);
}

KeyBlock AttentionItem::getBlock(Value begin) {
  // Blocks behind the last key (of a pass over all weights) are empty.
  Value clipped = emitter.min(begin, length);
  return {begin, emitter.min(emitter.sub(length, clipped), emitter.index(shape.blockKv))};
}

Value AttentionItem::isAtLeast(Value group, GroupClass expected) {
  Value found = loadFloat(shape.groups, group);
  return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, found, real(double(expected)));
}

Value AttentionItem::packBlock(const KeyBlock &block, bool all, Value packsKeys) {
  Value groups = b.create<arith::CeilDivUIOp>(loc, block.length, emitter.index(kKeyGroup));
  Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
  if (shape.codesValues)
    emitter.forLoop(emitter.index(0), emitter.size(shape.valueWidth), kLanes, [&](Value column) {
      b.create<vector::StoreOp>(loc, emitter.zero(vectorType), emitter.scratch, place(shape.valueBits, column));
    });
  SmallVector<Value> any =
      emitter.forLoop(emitter.index(0), groups, 1, ValueRange{none}, [&](Value group, ValueRange found) {
        Value start = emitter.mul(group, emitter.index(kKeyGroup));
        Value count = emitter.min(emitter.sub(block.length, start), emitter.index(kKeyGroup));
        Value low = emitter.add(block.begin, start), high = emitter.sub(emitter.add(low, count), emitter.index(1));
        Value seen = b.create<arith::ConstantIntOp>(loc, 1, 1);
        if (all || !hasMask)
          storeFloat(real(double(GroupClass::Seen)), shape.groups, group);
        else
          seen = classifyGroup(group, low, high);
        emitter.ifThen(seen, [&] { packGroup(block, start, count, packsKeys); });
        return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), seen)};
      });
  return any.front();
}

void AttentionItem::packGroup(const KeyBlock &block, Value start, Value count, Value packsKeys) {
  Value end = emitter.add(block.begin, block.length);
  auto packKeys = [&] {
    emitter.forLoop(start, emitter.add(start, count), kLanes, [&](Value key) {
      Value panel = shape.quantizes ? emitter.size(shape.staged) : panelAddress(key);
      packer.pack(panel, emitter.add(block.begin, key), end, /*columnsAreWhole=*/false);
      if (shape.quantizes)
        quantizeKeys(key, panel);
    });
  };
  if (packsKeys)
    emitter.ifThen(packsKeys, packKeys);
  else
    packKeys();
  loops[Loops::Key] = loops[Loops::HeadSize] = Value();
  if (shape.codesValues)
    packValueCodes(block, start, count);
  if (!shape.copyValue)
    return;
  emitter.forLoop(start, emitter.add(start, count), 1, [&](Value key) {
    Value target = place(shape.values, emitter.mul(key, valueStep()));
    emitter.forVectors(
        Loops::ValueSize, emitter.index(0), emitter.bound(Loops::ValueSize), [&](Value e, const Lanes &lanes) {
          loops[Loops::Key] = emitter.add(block.begin, key);
          loops[Loops::ValueSize] = e;
          Value values = emitter.load(plan.bindings[2], plan.getInput(2), loops, lanes);
          b.create<vector::StoreOp>(loc, emitter.broadcast(values, kLanes), emitter.scratch, emitter.add(target, e));
        });
  });
  loops[Loops::Key] = loops[Loops::ValueSize] = Value();
}

Value AttentionItem::keyAddress(Value key) {
  loops[Loops::Key] = key;
  loops[Loops::HeadSize] = Value();
  Value address = emitter.address(plan.getInput(1), loops);
  loops[Loops::Key] = Value();
  return address;
}

Value AttentionItem::valueMemory() { return shape.copyValue ? emitter.scratch : emitter.getBinding(plan.bindings[2]); }

Value AttentionItem::valueAddress(const KeyBlock &block) {
  if (shape.copyValue)
    return emitter.size(shape.values);
  loops[Loops::Key] = block.begin;
  loops[Loops::ValueSize] = Value();
  return emitter.address(plan.getInput(2), loops);
}

Value AttentionItem::valueStep() {
  return shape.copyValue ? emitter.size(shape.valueWidth) : emitter.size(plan.getInput(2).strides[Loops::Key]);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionItem::loadCaptures(ArrayRef<Region *> regions, const Lanes &lanes) {
  SmallVector<Value> captures;
  for (unsigned number = 0; number < op.getCaptures().size(); ++number) {
    // The score comes first among a score region's arguments.
    bool isUsed = llvm::any_of(regions, [&](Region *region) {
      unsigned leading = region->getNumArguments() - op.getCaptures().size();
      return !region->getArgument(leading + number).use_empty();
    });
    unsigned input = op.getFirstCapture() + number;
    captures.push_back(isUsed ? emitter.load(plan.bindings[input], plan.getInput(input), loops, lanes) : Value());
  }
  return captures;
}

Value AttentionItem::emitMask(ArrayRef<Value> captures, const Lanes &lanes) {
  auto kept = RegionEmitter(emitter, loops, lanes).emit(op.getMask(), captures);
  if (succeeded(kept))
    return kept->front();
  status = failure();
  return b.create<arith::ConstantIntOp>(loc, 1, 1);
}

Value AttentionItem::emitProbability(Value probabilities, const Lanes &lanes) {
  SmallVector<Value> arguments = loadCaptures({&op.getProbability()}, lanes);
  arguments.insert(arguments.begin(), probabilities);
  auto weights = RegionEmitter(emitter, loops, lanes).emit(op.getProbability(), arguments);
  if (succeeded(weights))
    return emitter.broadcast(weights->front(), kLanes);
  status = failure();
  return probabilities;
}

sparsity::TileTruth AttentionItem::testTile(const AttentionRow &first, const AttentionRow &last, Value keyLow,
                                            Value keyHigh, Value group) {
  sparsity::TileScope scope;
  for (Value index : {loops[Loops::Batch], loops[Loops::KeyHead]})
    scope.loops.push_back({index, index});
  scope.loops.push_back({first.head, last.head});
  sparsity::LoopRange rowRange{first.row, last.row};
  if (shape.heads > 1) {
    // Rows of several heads: any query of the item.
    Value isOneHead = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, first.head, last.head);
    Value end = emitter.sub(emitter.add(rowBegin, rowCount), emitter.index(1));
    rowRange = {b.create<arith::SelectOp>(loc, isOneHead, first.row, rowBegin),
                b.create<arith::SelectOp>(loc, isOneHead, last.row, end)};
  }
  scope.loops.push_back(rowRange);
  scope.loops.push_back({keyLow, keyHigh});
  scope.getArgument = [&](unsigned number) { return uniformCaptures.lookup(number); };
  scope.getSize = [&](Value size) -> Value {
    auto argument = cast<BlockArgument>(size);
    unsigned inputs = kernel::FuncOp(plan.func).getNumInputs();
    return argument.getArgNumber() < inputs ? Value() : emitter.getSize(argument.getArgNumber() - inputs);
  };
  sparsity::TileTruth ofKeys;
  if (group && !padding.empty())
    ofKeys = {isAtLeast(group, GroupClass::Seen), isAtLeast(group, GroupClass::Plain)};
  scope.getTruth = [&](Value condition) {
    return ofKeys.may && padding.isCondition(condition) ? std::optional(ofKeys) : std::nullopt;
  };
  return sparsity::buildTileTest(b, loc, op.getMask(), scope);
}

Value AttentionItem::keepsAny(const AttentionRow &row) {
  select(row);
  Value none = b.create<arith::ConstantIntOp>(loc, 0, 1);
  return emitter
      .forLoop(emitter.index(0), length, kLanes, ValueRange{none},
               [&](Value key, ValueRange found) {
                 Value count = emitter.min(emitter.sub(length, key), emitter.index(kLanes));
                 Lanes lanes{kLanes, Loops::Key, emitter.maskBelow(count)};
                 loops[Loops::Key] = key;
                 Value kept = emitter.broadcast(emitMask(loadCaptures({&op.getMask()}, lanes), lanes), kLanes);
                 kept = b.create<arith::AndIOp>(loc, kept, lanes.mask);
                 Value any = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, kept);
                 return SmallVector<Value>{b.create<arith::OrIOp>(loc, found.front(), any)};
               })
      .front();
}

//===----------------------------------------------------------------------===//
// Groups that no row sees
//===----------------------------------------------------------------------===//

Value AttentionItem::classifyGroup(Value group, Value keyLow, Value keyHigh) {
  AttentionRow first = getRow(emitter.index(0)), last = getRow(emitter.sub(rows, emitter.index(1)));
  Value may = testTile(first, last, keyLow, keyHigh, /*group=*/nullptr).may;
  Value unseen = real(double(GroupClass::Unseen)), seen = real(double(GroupClass::Seen));
  if (padding.empty()) {
    storeFloat(b.create<arith::SelectOp>(loc, may, seen, unseen), shape.groups, group);
    return may;
  }
  // Looking at 64 elements is cheap beside packing as many keys.
  storeFloat(unseen, shape.groups, group);
  emitter.ifThen(may, [&] {
    select(first);
    storeFloat(scanGroup(keyLow, keyHigh), shape.groups, group);
  });
  return isAtLeast(group, GroupClass::Seen);
}

Value AttentionItem::scanGroup(Value keyLow, Value keyHigh) {
  Value yes = b.create<arith::ConstantIntOp>(loc, 1, 1), no = b.create<arith::ConstantIntOp>(loc, 0, 1);
  Value end = emitter.add(keyHigh, emitter.index(1)), start[] = {no, yes};
  SmallVector<Value> found = emitter.forLoop(keyLow, end, kLanes, ValueRange(start), [&](Value key, ValueRange so) {
    loops[Loops::Key] = key;
    Value count = emitter.min(emitter.sub(end, key), emitter.index(kLanes));
    Lanes lanes{kLanes, Loops::Key, emitter.maskBelow(count)};
    Region *regions[] = {&padding.getConditions(), &padding.getNeutral()};
    SmallVector<Value> captures = loadCaptures(regions, lanes), arguments = captures;
    arguments.insert(arguments.begin(), real(0));
    auto kept = RegionEmitter(emitter, loops, lanes).emit(*regions[0], captures);
    auto neutral = RegionEmitter(emitter, loops, lanes).emit(*regions[1], arguments);
    if (failed(kept) || failed(neutral)) {
      status = failure();
      return SmallVector<Value>(so);
    }
    Value keeps = lanes.mask;
    for (Value condition : *kept)
      keeps = b.create<arith::AndIOp>(loc, keeps, emitter.broadcast(condition, kLanes));
    Value plain = keeps;
    for (Value value : *neutral) {
      value = emitter.broadcast(value, kLanes);
      if (!getElementTypeOrSelf(value).isInteger(1)) {
        FloatMath m(b, loc, value.getType());
        value = m.equal(value, m.real(0));
      }
      plain = b.create<arith::AndIOp>(loc, plain, value);
    }
    Value some = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, keeps);
    Value same = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, plain, lanes.mask);
    Value all = b.create<vector::ReductionOp>(loc, vector::CombiningKind::AND, same);
    return SmallVector<Value>{b.create<arith::OrIOp>(loc, so[0], some), b.create<arith::AndIOp>(loc, so[1], all)};
  });
  loops[Loops::Key] = Value();
  Value seen =
      b.create<arith::SelectOp>(loc, found[1], real(double(GroupClass::Plain)), real(double(GroupClass::Seen)));
  return b.create<arith::SelectOp>(loc, found[0], seen, real(double(GroupClass::Unseen)));
}

} // namespace heddle::cpu
