// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.sdpa as kernel.attention: index maps become accesses of the kernel's loops, regions are cloned with what they
// capture pulled in.

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

/// Query, key, value, lengths and scale as the root's own inputs.
static void addOperands(Outliner &outliner, KernelBuilder &builder, const AttentionLoops &loops, attn::SdpaOp op) {
  builder.addOwnInput(*outliner.findView(op.getQuery()), loops.index(op.getQueryMapOrDefault(), false, Loop::HeadSize));
  builder.addOwnInput(*outliner.findView(op.getKey()), loops.index(op.getKeyMapOrDefault(), true, Loop::HeadSize));
  builder.addOwnInput(*outliner.findView(op.getValue()), loops.index(op.getValueMapOrDefault(), true, Loop::ValueSize));
  if (op.getKvLen())
    builder.addOwnInput(*outliner.findView(op.getKvLen()), {loops.loop(Loop::Batch)});
  if (op.getScaleOperand())
    builder.addOwnInput(*outliner.findView(op.getScaleOperand()), {});
}

void heddle::outlineAttention(Outliner &outliner, attn::SdpaOp op) {
  ShapeContext &shapes = outliner.getShapes();
  AttentionLoops loops = describeLoops(outliner, op);
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  addOperands(outliner, builder, loops, op);

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

  SmallVector<Outliner::ComputedValue> results{
      {op.getOutput(), loops.index(op.getOutputMapOrDefault(), false, Loop::ValueSize)}};
  AffineIndex row{loops.loop(Loop::Batch), loops.queryHead(), loops.loop(Loop::Row)};
  if (op.getLse())
    results.push_back({op.getLse(), row});
  row.push_back(loops.loop(Loop::Key));
  if (op.getProbabilities())
    results.push_back({op.getProbabilities(), row});

  // Two products of query rows and keys.
  ShapeExpr pairs = shapes.product(ArrayRef(loops.bounds).take_front(5));
  ShapeExpr flops = shapes.mul(pairs, shapes.mul(shapes.constant(2), shapes.add(loops.bounds[5], loops.bounds[6])));
  FloatAttr scale = op.getScaleAttr();
  StringRef rule = attn::stringifyFullyMasked(op.getFullyMasked());
  outliner.finishKernel(scope, results, loops.bounds, flops,
                        [&](OpBuilder &b, Location loc, TypeRange types, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::AttentionOp>(loc, types, inputs, sizes, bounds, maps, scale, rule,
                                                               op.getKvLen() != nullptr,
                                                               op.getScaleOperand() != nullptr, op.getLse() != nullptr,
                                                               op.getProbabilities() != nullptr, nullptr, false, false);
                        });
}
