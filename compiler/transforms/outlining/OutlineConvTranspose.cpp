// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposed convolutions. With enough channels to multiply, every input position is multiplied by the whole weight in
// one kernel.contract, and a kernel.reduce gathers the products that meet at each output position; otherwise, or for
// types that kernel.contract doesn't multiply, one kernel.reduce sums the products themselves.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

/// With fewer channels a group, storing products costs more than it saves: each is read once for every few sums.
static constexpr int64_t kMinContractedChannels = 8;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

namespace {
/// One operator. Input position j meets kernel offset k at output position y where j * stride + k * dilation = y + pad.
/// The kernels' loops are (image, group, feature of the group, output position..., [channel of the group], tap...).
class TransposedConv {
public:
  TransposedConv(Outliner &outliner, nn::ConvTransposeOp op)
      : outliner(outliner), shapes(outliner.getShapes()), op(op), input(outliner.getDims(op.getInput())),
        weight(outliner.getDims(op.getWeight())), result(outliner.getDims(op.getOutput())), spatial(result.size() - 2),
        groups(shapes.constant(op.getGroup())), channels(shapes.floorDiv(weight[0], groups)),
        type(elementTypeOf(op.getInput())), sumType(getSumType(type)) {}

  void outline(Operation *end) {
    bool hasChannels = op.getGroup() == 1 || channels.getConstant().value_or(0) >= kMinContractedChannels;
    if (sumType.isF32() && hasChannels)
      gatherProducts(storeProducts(), end);
    else
      sumProducts(end);
  }

private:
  /// Where the products of one tap come from; outside the input where there is none.
  struct Meeting {
    SmallVector<Value> places, offsets;
  };

  /// Taps an axis: the offsets that can meet one output position. Without dilation they are a stride apart.
  ShapeExpr getTaps(size_t axis) {
    ShapeExpr extent = weight[2 + axis];
    int64_t stride = op.getStrides()[axis];
    if (op.getDilations()[axis] != 1)
      return extent;
    return shapes.floorDiv(shapes.add(extent, shapes.constant(stride - 1)), shapes.constant(stride));
  }

  Meeting emitMeeting(ScalarEmitter &emitter, ArrayRef<AffineExpr> position, ArrayRef<AffineExpr> tap);
  TensorView storeProducts();
  void gatherProducts(const TensorView &products, Operation *end);
  void sumProducts(Operation *end);
  void reduce(ShapeDims bounds, Operation *end,
              llvm::function_ref<Value(ScalarEmitter &, ArrayRef<AffineExpr> loops, const Meeting &)> emitTerm);

  Outliner &outliner;
  ShapeContext &shapes;
  nn::ConvTransposeOp op;
  ShapeDims input, weight, result;
  size_t spatial;
  ShapeExpr groups, channels;
  Type type, sumType;
};
} // namespace

TransposedConv::Meeting TransposedConv::emitMeeting(ScalarEmitter &emitter, ArrayRef<AffineExpr> position,
                                                    ArrayRef<AffineExpr> tap) {
  OpBuilder &b = emitter.getBuilder();
  Location loc = UnknownLoc::get(b.getContext());
  auto constant = [&](int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); };
  Meeting meeting;
  for (size_t i = 0; i < spatial; ++i) {
    Value number = emitter.emitIndex(tap[i]), step = constant(op.getStrides()[i]);
    Value sum = b.create<arith::AddIOp>(loc, emitter.emitIndex(position[i]), constant(op.getPads()[i]));
    Value place, offset = number, meets;
    if (int64_t dilation = op.getDilations()[i]; dilation != 1) {
      sum = b.create<arith::SubIOp>(loc, sum, b.create<arith::MulIOp>(loc, number, constant(dilation)));
      place = b.create<arith::DivSIOp>(loc, sum, step);
      Value rest = b.create<arith::RemSIOp>(loc, sum, step);
      meets = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rest, constant(0));
    } else {
      place = b.create<arith::SubIOp>(loc, b.create<arith::DivUIOp>(loc, sum, step), number);
      offset = b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, number, step),
                                       b.create<arith::RemUIOp>(loc, sum, step));
      std::optional<int64_t> extent = weight[2 + i].getConstant();
      if (!extent || *extent % op.getStrides()[i] != 0)
        meets = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, offset,
                                        emitter.emitIndex(outliner.getSymbols().get(weight[2 + i])));
    }
    if (meets)
      place = b.create<arith::SelectOp>(loc, meets, place, constant(-1));
    meeting.places.push_back(place);
    meeting.offsets.push_back(offset);
  }
  return meeting;
}

void TransposedConv::reduce(
    ShapeDims bounds, Operation *end,
    llvm::function_ref<Value(ScalarEmitter &, ArrayRef<AffineExpr> loops, const Meeting &)> emitTerm) {
  size_t numParallel = 3 + spatial;
  for (size_t i = 0; i < spatial; ++i)
    bounds.push_back(getTaps(i));
  AffineIndex loops = identityIndex(bounds.size(), outliner.getContext());
  ArrayRef<AffineExpr> all(loops), position = all.slice(3, spatial), tap = all.take_back(spatial);
  AffineExpr feature = all[1] * outliner.getSymbols().get(weight[1]) + all[2];
  AffineIndex resultIndex{all[0], feature};
  resultIndex.append(position.begin(), position.end());
  auto reduced = llvm::to_vector(llvm::seq<int64_t>(numParallel, bounds.size()));
  buildReduction(
      outliner, {bounds, reduced, resultIndex, {kernel::Combiner::Sum}, {kernelElementType(sumType)}}, op, end,
      [&](ScalarEmitter &emitter) -> SmallVector<Value> {
        return {emitTerm(emitter, all, emitMeeting(emitter, position, tap))};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) {
        OpBuilder &b = emitter.getBuilder();
        Value sum = sums[0];
        if (op.getBias()) {
          Value bias = emitCast(b, emitter.emit(op.getBias(), feature), type, sumType);
          sum = emitBinary(b, nn::BinaryKind::Add, sum, bias, sumType, sumType);
        }
        return emitCast(b, sum, sumType, type);
      });
}

/// Products (image, feature, kernel offset..., input position...) summed over the channels. The weight is the left
/// side, so that neighbouring positions, which neighbouring outputs gather, are neighbours in memory.
TensorView TransposedConv::storeProducts() {
  MLIRContext *context = outliner.getContext();
  ShapeSymbols &symbols = outliner.getSymbols();
  Type f32 = Float32Type::get(context);
  auto storeAsF32 = [&](Value value, ArrayRef<ShapeExpr> dims) {
    AffineIndex index = identityIndex(dims.size(), context);
    return outliner.storeTemporary(op, f32, dims,
                                   [&](ScalarEmitter &emitter) { return emitter.emitAsF32(value, index); });
  };
  ShapeDims rows(ArrayRef(weight).drop_front()), positions(ArrayRef(input).drop_front(2));
  bool isGrouped = op.getGroup() != 1;
  Contraction c;
  c.bounds.push_back(input[0]);
  if (isGrouped)
    c.bounds.push_back(groups);
  unsigned m = c.bounds.size();
  c.bounds.append({shapes.product(rows), shapes.product(positions), channels});
  AffineExpr image = getAffineDimExpr(0, context), row = getAffineDimExpr(m, context);
  AffineExpr column = getAffineDimExpr(m + 1, context), channel = getAffineDimExpr(m + 2, context);

  c.rhs = op.getInput();
  c.storedRhs = type.isF32() ? outliner.storeWhole(c.rhs) : storeAsF32(c.rhs, input);
  AffineIndex rowIndex = reshapeIndex(rows, {c.bounds[m]}, {row}, symbols, shapes);
  if (isGrouped) {
    AffineExpr group = getAffineDimExpr(1, context);
    channel = group * symbols.get(channels) + channel;
    row = group * symbols.get(c.bounds[m]) + row;
  }
  c.rhsIndex = {image, channel};
  c.rhsIndex.append(reshapeIndex(positions, {c.bounds[m + 1]}, {column}, symbols, shapes));
  if (std::optional<TensorView> transposed = outliner.getTransposedConstant(op.getWeight())) {
    c.lhs = *transposed;
    c.lhsIndex = {getAffineDimExpr(m, context), channel};
  } else {
    c.lhs = type.isF32() ? outliner.storeWhole(op.getWeight()) : storeAsF32(op.getWeight(), weight);
    c.lhsIndex = {channel};
    c.lhsIndex.append(rowIndex);
  }
  c.resultIndex = {image, row, column};
  ShapeExpr allRows = shapes.mul(groups, c.bounds[m]);
  TensorView products = storeContraction(outliner, c, op, {input[0], allRows, c.bounds[m + 1]});

  ShapeDims dims{input[0], shapes.mul(groups, weight[1])};
  dims.append(weight.begin() + 2, weight.end());
  dims.append(positions);
  return TensorView::contiguous(products.buffer, f32, dims);
}

void TransposedConv::gatherProducts(const TensorView &products, Operation *end) {
  ShapeDims bounds{result[0], groups, weight[1]};
  bounds.append(result.begin() + 2, result.end());
  AffineExpr perGroup = outliner.getSymbols().get(weight[1]);
  reduce(bounds, end, [&](ScalarEmitter &emitter, ArrayRef<AffineExpr> loops, const Meeting &meeting) {
    SmallVector<Value> index{emitter.emitIndex(loops[0]), emitter.emitIndex(loops[1] * perGroup + loops[2])};
    llvm::append_range(index, meeting.offsets);
    llvm::append_range(index, meeting.places);
    return emitter.emitPadded(products, index, emitNumber(emitter.getBuilder(), sumType, 0));
  });
}

void TransposedConv::sumProducts(Operation *end) {
  ShapeDims bounds{result[0], groups, weight[1]};
  bounds.append(result.begin() + 2, result.end());
  bounds.push_back(channels);
  AffineExpr perGroup = outliner.getSymbols().get(channels);
  reduce(bounds, end, [&](ScalarEmitter &emitter, ArrayRef<AffineExpr> loops, const Meeting &meeting) {
    OpBuilder &b = emitter.getBuilder();
    Value channel = emitter.emitIndex(loops[1] * perGroup + loops[3 + spatial]), zero = emitNumber(b, type, 0);
    SmallVector<Value> place{emitter.emitIndex(loops[0]), channel}, offset{channel, emitter.emitIndex(loops[2])};
    llvm::append_range(place, meeting.places);
    llvm::append_range(offset, meeting.offsets);
    Value x = emitCast(b, emitter.emitPadded(op.getInput(), place, zero), type, sumType);
    // Where the offset is none of the kernel's the place is outside as well.
    Value w = emitCast(b, emitter.emitPadded(op.getWeight(), offset, zero), type, sumType);
    return emitBinary(b, nn::BinaryKind::Mul, x, w, sumType, sumType);
  });
}

void heddle::outlineConvTranspose(Outliner &outliner, nn::ConvTransposeOp root, Operation *end) {
  TransposedConv(outliner, root).outline(end);
}
