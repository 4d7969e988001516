// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions. Where each group has enough output channels to fill vectors, patches are stored once and multiplied by
// kernel.contract, a group being one of its batches; where it hasn't (depthwise), or for types that it doesn't
// multiply, the sum of products is a kernel.reduce over the input itself.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/Reduction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

/// With fewer output channels a group, more than half of a vector's lanes would idle in a contraction.
static constexpr int64_t kMinContractedChannels = 8;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

namespace {
/// A convolution by its parts; spatial positions and offsets count from 0 in the order of the dimensions.
struct ConvShape {
  ConvShape(Outliner &outliner, nn::ConvOp op)
      : input(outliner.getDims(op.getInput())), weight(outliner.getDims(op.getWeight())),
        result(outliner.getDims(op.getOutput())), spatial(input.size() - 2), groups(op.getGroup()),
        groupChannels(weight[1]),
        groupFeatures(outliner.getShapes().floorDiv(weight[0], outliner.getShapes().constant(groups))) {}
  ShapeDims input, weight, result;
  size_t spatial;
  int64_t groups;
  /// Channels of the input and of the result, a group.
  ShapeExpr groupChannels, groupFeatures;
};
} // namespace

/// The input's element for |channel|, output |position| and kernel |offset|, zero in the padding.
static Value emitInput(ScalarEmitter &emitter, nn::ConvOp op, AffineExpr image, AffineExpr channel,
                       ArrayRef<AffineExpr> position, ArrayRef<AffineExpr> offset) {
  AffineIndex index{image, channel};
  for (size_t i = 0; i < position.size(); ++i)
    index.push_back(position[i] * op.getStrides()[i] + offset[i] * op.getDilations()[i]);
  if (llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }))
    return emitter.emit(op.getInput(), index);
  OpBuilder &builder = emitter.getBuilder();
  Location loc = UnknownLoc::get(op.getContext());
  SmallVector<Value> places;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    Value place = emitter.emitIndex(expr);
    if (int64_t pad = dim >= 2 ? op.getPads()[dim - 2] : 0)
      place = builder.create<arith::SubIOp>(loc, place, builder.create<arith::ConstantIndexOp>(loc, pad));
    places.push_back(place);
  }
  return emitter.emitPadded(op.getInput(), places, emitNumber(builder, elementTypeOf(op.getInput()), 0));
}

/// The root's value: the sum of products, in |type|, and the bias of |feature|.
static Value emitBiased(ScalarEmitter &emitter, nn::ConvOp op, Value sum, Type type, AffineExpr feature) {
  OpBuilder &builder = emitter.getBuilder();
  Type resultType = elementTypeOf(op.getOutput());
  if (op.getBias()) {
    Value bias = emitCast(builder, emitter.emit(op.getBias(), feature), resultType, type);
    sum = emitBinary(builder, nn::BinaryKind::Add, sum, bias, type, type);
  }
  return emitCast(builder, sum, type, resultType);
}

//===----------------------------------------------------------------------===//
// By patches
//===----------------------------------------------------------------------===//

/// Patches (batch, output position..., channel, kernel offset...) of all groups, in f32.
static TensorView storePatches(Outliner &outliner, nn::ConvOp op, const ConvShape &shape) {
  ShapeDims dims{shape.result[0]};
  dims.append(shape.result.begin() + 2, shape.result.end());
  dims.push_back(shape.input[1]);
  dims.append(shape.weight.begin() + 2, shape.weight.end());
  AffineIndex loops = identityIndex(dims.size(), outliner.getContext());
  ArrayRef<AffineExpr> all(loops);
  Type f32 = Float32Type::get(outliner.getContext());
  return outliner.storeTemporary(op, f32, dims, [&](ScalarEmitter &emitter) {
    Value element = emitInput(emitter, op, all[0], all[1 + shape.spatial], all.slice(1, shape.spatial),
                              all.take_back(shape.spatial));
    return emitCast(emitter.getBuilder(), element, elementTypeOf(op.getInput()), f32);
  });
}

/// The weight in f32, where it is a smaller float.
static std::optional<TensorView> storeWeight(Outliner &outliner, nn::ConvOp op, const ConvShape &shape) {
  if (elementTypeOf(op.getWeight()).isF32())
    return std::nullopt;
  AffineIndex loops = identityIndex(shape.weight.size(), outliner.getContext());
  return outliner.storeTemporary(op, Float32Type::get(outliner.getContext()), shape.weight,
                                 [&](ScalarEmitter &emitter) { return emitter.emitAsF32(op.getWeight(), loops); });
}

/// Patches are rows, (channel, kernel offset...) the depth: the input's elements in the order that the weight has them.
static void contractPatches(Outliner &outliner, nn::ConvOp root, Operation *end, const ConvShape &shape) {
  MLIRContext *context = outliner.getContext();
  ShapeContext &shapes = outliner.getShapes();
  ShapeSymbols &symbols = outliner.getSymbols();
  Contraction c;
  c.rhs = root.getWeight();
  c.storedRhs = storeWeight(outliner, root, shape);
  c.transposeRhs = true;
  bool isGrouped = shape.groups != 1;
  c.mayPackRhs = !isGrouped;

  ShapeDims positions{shape.result[0]};
  positions.append(shape.result.begin() + 2, shape.result.end());
  ShapeDims offsets(ArrayRef(shape.weight).drop_front());
  if (isGrouped)
    c.bounds.push_back(shapes.constant(shape.groups));
  c.bounds.append({shapes.product(positions), shape.groupFeatures, shapes.product(offsets)});
  unsigned m = c.bounds.size() - 3;
  AffineExpr depth = getAffineDimExpr(m + 2, context), feature = getAffineDimExpr(m + 1, context);
  AffineIndex position = reshapeIndex(positions, {c.bounds[m]}, {getAffineDimExpr(m, context)}, symbols, shapes);
  c.rhsIndex = reshapeIndex(offsets, {c.bounds[m + 2]}, {depth}, symbols, shapes);
  if (isGrouped) {
    // A group's part of a patch is contiguous, as its rows of the weight are.
    AffineExpr group = getAffineDimExpr(0, context);
    feature = group * symbols.get(shape.groupFeatures) + feature;
    depth = group * symbols.get(c.bounds[m + 2]) + depth;
  }
  ShapeDims patch(offsets);
  patch[0] = shape.input[1];
  TensorView patches = storePatches(outliner, root, shape);
  c.lhs = TensorView::contiguous(patches.buffer, patches.elementType, {c.bounds[m], shapes.product(patch)});
  c.lhsIndex = {getAffineDimExpr(m, context), depth};
  c.rhsIndex.insert(c.rhsIndex.begin(), feature);
  c.resultIndex = {position[0], feature};
  c.resultIndex.append(position.begin() + 1, position.end());
  Type f32 = Float32Type::get(context);
  buildContraction(
      outliner, c, root, end,
      [&](ScalarEmitter &emitter, Value sum) { return emitBiased(emitter, root, sum, f32, feature); },
      WhenUnstrided::Compute);
}

//===----------------------------------------------------------------------===//
// Directly
//===----------------------------------------------------------------------===//

/// Loops (image, group, feature of the group, output position...), summing over (channel of the group, offset...).
static void sumProducts(Outliner &outliner, nn::ConvOp root, Operation *end, const ConvShape &shape) {
  ShapeDims bounds{shape.result[0], outliner.getShapes().constant(shape.groups), shape.groupFeatures};
  bounds.append(shape.result.begin() + 2, shape.result.end());
  unsigned numParallel = bounds.size();
  bounds.append(shape.weight.begin() + 1, shape.weight.end());
  AffineIndex loops = identityIndex(bounds.size(), outliner.getContext());
  ArrayRef<AffineExpr> all(loops), position = all.slice(3, shape.spatial), offset = all.take_back(shape.spatial);
  ShapeSymbols &symbols = outliner.getSymbols();
  AffineExpr feature = all[1] * symbols.get(shape.groupFeatures) + all[2];
  AffineExpr channel = all[1] * symbols.get(shape.groupChannels) + all[numParallel];
  AffineIndex weightIndex{feature};
  weightIndex.append(all.begin() + numParallel, all.end());
  AffineIndex resultIndex{all[0], feature};
  resultIndex.append(position.begin(), position.end());

  auto reduced = llvm::to_vector(llvm::seq<int64_t>(numParallel, bounds.size()));
  Type type = elementTypeOf(root.getInput()), sumType = getSumType(type);
  buildReduction(
      outliner, {bounds, reduced, resultIndex, {kernel::Combiner::Sum}, {kernelElementType(sumType)}}, root, end,
      [&](ScalarEmitter &emitter) -> SmallVector<Value> {
        OpBuilder &builder = emitter.getBuilder();
        Value x = emitCast(builder, emitInput(emitter, root, all[0], channel, position, offset), type, sumType);
        Value w = emitCast(builder, emitter.emit(root.getWeight(), weightIndex), type, sumType);
        return {emitBinary(builder, nn::BinaryKind::Mul, x, w, sumType, sumType)};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) {
        return emitBiased(emitter, root, sums[0], sumType, feature);
      });
}

void heddle::outlineConv(Outliner &outliner, nn::ConvOp root, Operation *end) {
  ConvShape shape(outliner, root);
  bool isContracted = getSumType(elementTypeOf(root.getInput())).isF32();
  if (shape.groups != 1)
    isContracted &= shape.groupFeatures.getConstant().value_or(0) >= kMinContractedChannels;
  if (isContracted)
    contractPatches(outliner, root, end, shape);
  else
    sumProducts(outliner, root, end, shape);
}
