// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.sdpa as kernel.attention: index maps become accesses of the kernel's loops, regions are cloned with what they
// capture pulled in. Where there may be few query rows for many keys, as in every step of a decoder, two kernels: the
// first computes states of parts of the keys, which threads share, the second merges them. How many parts there are is
// a matter of the run's sizes, and none is a possible number; no bit of the result depends on it.

#include "compiler/transforms/outlining/Outliner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

namespace {
using Loop = kernel::AttentionOp::Loop;

/// Dimensions of attn.sdpa's maps.
enum SdpaDim : unsigned { kBatch, kHead, kQuery, kKey, kSize };

/// The kernel's loops for one attn.sdpa.
struct AttentionLoops {
  MLIRContext *context;
  int64_t groupSize; // query heads per key head
  ShapeDims bounds;

  AffineExpr loop(unsigned number) const { return getAffineDimExpr(number, context); }
  AffineExpr queryHead() const { return loop(Loop::KeyHead) * groupSize + loop(Loop::QueryHead); }

  /// Index of a tensor that |map| (over b, n, q, kv[, d]) describes. Heads are those of queries or of keys; the last
  /// dimension is |size|.
  AffineIndex index(AffineMap map, bool ofKeys, unsigned size) const {
    AffineIndex result;
    for (AffineExpr expr : map.getResults())
      result.push_back(expr.replaceDims({loop(Loop::Batch), ofKeys ? loop(Loop::KeyHead) : queryHead(), loop(Loop::Row),
                                         loop(Loop::Key), loop(size)}));
    return result;
  }
};
} // namespace

/// The extent that |map| gives to dimension |dim| of a tensor with |dims|; null if the tensor doesn't have it.
static ShapeExpr extentOf(AffineMap map, ArrayRef<ShapeExpr> dims, unsigned dim) {
  for (auto [expr, extent] : llvm::zip(map.getResults(), dims))
    if (auto place = dyn_cast<AffineDimExpr>(expr); place && place.getPosition() == dim)
      return extent;
  return ShapeExpr();
}

static AttentionLoops describeLoops(Outliner &outliner, attn::SdpaOp op) {
  ShapeContext &shapes = outliner.getShapes();
  ShapeDims query = outliner.getDims(op.getQuery()), key = outliner.getDims(op.getKey());
  ShapeDims value = outliner.getDims(op.getValue()), output = outliner.getDims(op.getOutput());
  int64_t keyHeads = op.getKvNumHeads(), groupSize = op.getQNumHeads() / keyHeads;
  ShapeExpr batch = extentOf(op.getOutputMapOrDefault(), output, kBatch);
  AttentionLoops loops{outliner.getContext(), groupSize, {}};
  loops.bounds = {batch ? batch : shapes.constant(1),
                  shapes.constant(keyHeads),
                  shapes.constant(groupSize),
                  extentOf(op.getQueryMapOrDefault(), query, kQuery),
                  extentOf(op.getKeyMapOrDefault(), key, kKey),
                  extentOf(op.getQueryMapOrDefault(), query, kSize),
                  extentOf(op.getValueMapOrDefault(), value, kSize)};
  return loops;
}

namespace {
/// Clones one region of attn.sdpa into a region of the kernel.
class RegionCloner {
public:
  RegionCloner(Outliner &outliner, KernelScope &scope, const AttentionLoops &loops, attn::SdpaOp op, unsigned region)
      : loops(loops), op(op), emitter(outliner, scope, region), builder(emitter.getBuilder()),
        loc(UnknownLoc::get(builder.getContext())) {}

  /// The value that |source| yields; |leading| stands for the arguments before the indices.
  Value clone(Region &source, ValueRange leading, OperandRange captures, ArrayRef<AffineMap> maps) {
    IRMapping mapping;
    unsigned next = 0;
    auto bind = [&](Value value) { mapping.map(source.getArgument(next++), value); };
    llvm::for_each(leading, bind);
    bind(index(Loop::Batch));
    bind(emitter.emitIndex(loops.queryHead()));
    bind(queryPosition());
    bind(index(Loop::Key));
    for (auto [capture, map] : llvm::zip(captures, maps))
      bind(emitter.emit(capture, loops.index(map, /*ofKeys=*/false, Loop::HeadSize)));
    for (Operation &inner : source.front()) {
      // Scalar constants may stand outside the region: canonicalisation moves them there.
      for (Value operand : inner.getOperands())
        if (auto constant = operand.getDefiningOp<arith::ConstantOp>(); constant && !mapping.contains(operand))
          mapping.map(operand, builder.clone(*constant)->getResult(0));
      if (!inner.hasTrait<OpTrait::IsTerminator>())
        builder.clone(inner, mapping);
    }
    return mapping.lookup(source.front().getTerminator()->getOperand(0));
  }

private:
  Value index(unsigned loop) { return emitter.emitIndex(loops.loop(loop)); }

  /// row + q_offset[b]
  Value queryPosition() {
    Value row = index(Loop::Row);
    Value offset = op.getQOffset();
    if (!offset)
      return row;
    bool isScalar = cast<RankedTensorType>(offset.getType()).getRank() == 0;
    AffineIndex place = isScalar ? AffineIndex() : AffineIndex{loops.loop(Loop::Batch)};
    Value number = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), emitter.emit(offset, place));
    return builder.create<arith::AddIOp>(loc, row, number);
  }

  const AttentionLoops &loops;
  attn::SdpaOp op;
  ScalarEmitter emitter;
  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Where |scale|, of |op|'s values, has the scale of each column: it has one of its extents of 1 for all of a
/// dimension.
static AffineIndex indexValueScale(const AttentionLoops &loops, attn::SdpaOp op) {
  AffineIndex index = loops.index(op.getValueMapOrDefault(), true, Loop::ValueSize);
  ArrayRef<int64_t> extents = cast<RankedTensorType>(op.getValueScale().getType()).getShape();
  index.resize(extents.size());
  for (auto [expr, extent] : llvm::zip(index, extents))
    if (extent == 1)
      expr = getAffineConstantExpr(0, loops.context);
  return index;
}

/// Query, key, value, lengths and scales as the root's own inputs.
static void addOperands(Outliner &outliner, KernelBuilder &builder, const AttentionLoops &loops, attn::SdpaOp op) {
  builder.addOwnInput(*outliner.findView(op.getQuery()), loops.index(op.getQueryMapOrDefault(), false, Loop::HeadSize));
  builder.addOwnInput(*outliner.findView(op.getKey()), loops.index(op.getKeyMapOrDefault(), true, Loop::HeadSize));
  builder.addOwnInput(*outliner.findView(op.getValue()), loops.index(op.getValueMapOrDefault(), true, Loop::ValueSize));
  if (op.getKvLen())
    builder.addOwnInput(*outliner.findView(op.getKvLen()), {loops.loop(Loop::Batch)});
  if (op.getScaleOperand())
    builder.addOwnInput(*outliner.findView(op.getScaleOperand()), {});
  if (op.getPvInt8Block())
    builder.addOwnInput(*outliner.findView(op.getValueScale()), indexValueScale(loops, op));
}

namespace {
/// Makes the kernels of one attn.sdpa.
class AttentionOutliner {
public:
  AttentionOutliner(Outliner &outliner, attn::SdpaOp op)
      : outliner(outliner), shapes(outliner.getShapes()), op(op), loops(describeLoops(outliner, op)) {}

  void run();

private:
  enum class Parts { None, Give, Take };
  ShapeExpr countParts();
  /// The kernel's operands, |states| among them where there are some, and regions.
  void fill(KernelScope &scope, const TensorView *states);
  TensorView storeParts(ShapeExpr parts, ShapeExpr flops);
  void storeResults(const TensorView *states, ShapeExpr flops);
  Operation *create(OpBuilder &b, Location loc, TypeRange types, ValueRange inputs, ValueRange sizes, AffineMap bounds,
                    ArrayAttr maps, Parts parts);
  /// Where column e of the state of part n lies.
  AffineIndex stateIndex() {
    return {loops.loop(Loop::Key), loops.loop(Loop::Batch), loops.queryHead(), loops.loop(Loop::Row),
            loops.loop(Loop::ValueSize)};
  }

  Outliner &outliner;
  ShapeContext &shapes;
  attn::SdpaOp op;
  AttentionLoops loops;
};
} // namespace

// Keys of a part: enough work (a few microseconds for a head) to be worth handing to a thread.
static constexpr int64_t kPartSize = 256;
// With more rows there is other work to share out, and states would be as large as keys and values.
static constexpr int64_t kFewRows = 16;

/// Number of parts that the keys are shared out in, 0 for none; null if that holds for all sizes.
ShapeExpr AttentionOutliner::countParts() {
  // Weights that depend on a row's sum can't be added up before all parts have it.
  if (!op.getProbability().empty())
    return ShapeExpr();
  // A part is one of the blocks whose weights have codes relative to one score.
  if (op.getPvInt8Block().value_or(kPartSize) != kPartSize)
    return ShapeExpr();
  ShapeExpr rows = loops.bounds[Loop::Row], keys = loops.bounds[Loop::Key];
  // Where a sequence attends to itself alone, few rows have few keys.
  if (rows == keys)
    return ShapeExpr();
  ShapeExpr isSplit = shapes.logicalAnd(shapes.lessEqual(rows, shapes.constant(kFewRows)),
                                        shapes.less(shapes.constant(kPartSize), keys));
  ShapeExpr parts = shapes.select(isSplit, shapes.ceilDiv(keys, shapes.constant(kPartSize)), shapes.constant(0));
  return parts && parts.isConstant(0) ? ShapeExpr() : parts;
}

void AttentionOutliner::fill(KernelScope &scope, const TensorView *states) {
  KernelBuilder &builder = scope.builder;
  addOperands(outliner, builder, loops, op);
  if (states)
    builder.addOwnInput(*states, stateIndex());
  unsigned firstCapture = builder.getNumInputs();
  unsigned score = builder.addRegion(Float32Type::get(outliner.getContext()), firstCapture, {});
  unsigned mask = builder.addRegion({}, firstCapture, {});
  Value scaled = builder.getLeading(score, 0);
  if (!op.getScore().empty())
    scaled = RegionCloner(outliner, scope, loops, op, score)
                 .clone(op.getScore(), scaled, op.getScoreCaptures(), op.getScoreCaptureMapList());
  builder.yield(score, scaled);
  OpBuilder atMask = builder.at(mask);
  Value keep;
  if (op.getMask().empty())
    keep = atMask.create<arith::ConstantIntOp>(UnknownLoc::get(op.getContext()), 1, 1);
  else
    keep = RegionCloner(outliner, scope, loops, op, mask)
               .clone(op.getMask(), {}, op.getMaskCaptures(), op.getMaskCaptureMapList());
  builder.yield(mask, keep);
  if (op.getProbability().empty())
    return;
  unsigned probability = builder.addRegion(Float32Type::get(outliner.getContext()), firstCapture, {});
  Value weight = RegionCloner(outliner, scope, loops, op, probability)
                     .clone(op.getProbability(), builder.getLeading(probability, 0), op.getProbabilityCaptures(),
                            op.getProbabilityCaptureMapList());
  builder.yield(probability, weight);
}

Operation *AttentionOutliner::create(OpBuilder &b, Location loc, TypeRange types, ValueRange inputs, ValueRange sizes,
                                     AffineMap bounds, ArrayAttr maps, Parts parts) {
  bool gives = parts == Parts::Give;
  IntegerAttr partSize = parts == Parts::None ? IntegerAttr() : b.getI64IntegerAttr(kPartSize);
  return b.create<kernel::AttentionOp>(
      loc, types, inputs, sizes, bounds, maps, op.getScaleAttr(), attn::stringifyFullyMasked(op.getFullyMasked()),
      op.getKvLen() != nullptr, op.getScaleOperand() != nullptr, op.getLse() && !gives, op.getProbabilities() && !gives,
      partSize, gives, parts == Parts::Take, op.getQkInt8(), op.getPvInt8BlockAttr());
}

TensorView AttentionOutliner::storeParts(ShapeExpr parts, ShapeExpr flops) {
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  fill(scope, /*states=*/nullptr);
  ShapeExpr heads = shapes.constant(op.getQNumHeads());
  ShapeExpr columns = shapes.add(loops.bounds[Loop::ValueSize], shapes.constant(2));
  KernelResult result{Float32Type::get(outliner.getContext()),
                      {parts, loops.bounds[Loop::Batch], heads, loops.bounds[Loop::Row], columns},
                      stateIndex()};
  return outliner.storeTemporary(
      scope, op, result, loops.bounds, flops,
      [&](OpBuilder &b, Location loc, TypeRange types, ValueRange inputs, ValueRange sizes, AffineMap bounds,
          ArrayAttr maps) { return create(b, loc, types, inputs, sizes, bounds, maps, Parts::Give); });
}

void AttentionOutliner::storeResults(const TensorView *states, ShapeExpr flops) {
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  fill(scope, states);
  SmallVector<Outliner::ComputedValue> results{
      {op.getOutput(), loops.index(op.getOutputMapOrDefault(), false, Loop::ValueSize)}};
  AffineIndex row{loops.loop(Loop::Batch), loops.queryHead(), loops.loop(Loop::Row)};
  if (op.getLse())
    results.push_back({op.getLse(), row});
  row.push_back(loops.loop(Loop::Key));
  if (op.getProbabilities())
    results.push_back({op.getProbabilities(), row});
  outliner.finishKernel(scope, results, loops.bounds, flops,
                        [&](OpBuilder &b, Location loc, TypeRange types, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) {
                          return create(b, loc, types, inputs, sizes, bounds, maps, states ? Parts::Take : Parts::None);
                        });
}

void AttentionOutliner::run() {
  // Two products of query rows and keys.
  ShapeExpr pairs = shapes.product(ArrayRef(loops.bounds).take_front(5));
  ShapeExpr flops = shapes.mul(pairs, shapes.mul(shapes.constant(2), shapes.add(loops.bounds[5], loops.bounds[6])));
  ShapeExpr parts = countParts();
  if (!parts)
    return storeResults(/*states=*/nullptr, flops);
  // Whichever kernel does the work of a run.
  ShapeExpr isSplit = shapes.less(shapes.constant(0), parts), none = shapes.constant(0);
  TensorView states = storeParts(parts, shapes.select(isSplit, flops, none));
  storeResults(&states, shapes.select(isSplit, none, flops));
}

void heddle::outlineAttention(Outliner &outliner, attn::SdpaOp op) { AttentionOutliner(outliner, op).run(); }
