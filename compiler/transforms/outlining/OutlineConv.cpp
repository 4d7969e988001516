// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions. Where each group has enough output channels to fill vectors, patches are stored once and multiplied by
// kernel.contract, a group being one of its batches; where it hasn't (depthwise), or for types that it doesn't
// multiply, the sum of products is a kernel.reduce over the input itself.

#include "compiler/transforms/outlining/IntegerProduct.h"
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

/// The element of |input|, which |op| convolves, at |index| into it as it is padded; |padding|, or zero, in the
/// padding.
static Value emitAt(ScalarEmitter &emitter, nn::ConvOp op, Value input, ArrayRef<AffineExpr> index,
                    Value padding = nullptr) {
  if (llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }))
    return emitter.emit(input, index);
  OpBuilder &builder = emitter.getBuilder();
  Location loc = UnknownLoc::get(op.getContext());
  SmallVector<Value> places;
  for (auto [dim, expr] : llvm::enumerate(index)) {
    Value place = emitter.emitIndex(expr);
    if (int64_t pad = dim >= 2 ? op.getPads()[dim - 2] : 0)
      place = builder.create<arith::SubIOp>(loc, place, builder.create<arith::ConstantIndexOp>(loc, pad));
    places.push_back(place);
  }
  return emitter.emitPadded(input, places, padding ? padding : emitNumber(builder, elementTypeOf(input), 0));
}

/// Where output |position| and kernel |offset| meet the padded input in spatial dimension |i|.
static AffineExpr inputPlace(nn::ConvOp op, size_t i, ArrayRef<AffineExpr> position, ArrayRef<AffineExpr> offset) {
  return position[i] * op.getStrides()[i] + offset[i] * op.getDilations()[i];
}

/// The index into the padded input.
static AffineIndex inputIndex(nn::ConvOp op, AffineExpr image, AffineExpr channel, ArrayRef<AffineExpr> position,
                              ArrayRef<AffineExpr> offset) {
  AffineIndex index{image, channel};
  for (size_t i = 0; i < position.size(); ++i)
    index.push_back(inputPlace(op, i, position, offset));
  return index;
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

/// Patches (batch, output position..., channel, kernel offset...) of all groups: elements of |input| as |type|.
static TensorView storePatches(Outliner &outliner, nn::ConvOp op, const ConvShape &shape, Value input, Type type,
                               llvm::function_ref<Value(ScalarEmitter &)> emitPadding = nullptr) {
  ShapeDims dims{shape.result[0]};
  dims.append(shape.result.begin() + 2, shape.result.end());
  dims.push_back(shape.input[1]);
  dims.append(shape.weight.begin() + 2, shape.weight.end());
  AffineIndex loops = identityIndex(dims.size(), outliner.getContext());
  ArrayRef<AffineExpr> all(loops);
  AffineIndex index =
      inputIndex(op, all[0], all[1 + shape.spatial], all.slice(1, shape.spatial), all.take_back(shape.spatial));
  return outliner.storeTemporary(op, type, dims, [&](ScalarEmitter &emitter) {
    Value element = emitAt(emitter, op, input, index, emitPadding ? emitPadding(emitter) : Value());
    return isa<FloatType>(type) ? emitCast(emitter.getBuilder(), element, elementTypeOf(input), type) : element;
  });
}

/// Patches (batch, output position..., kernel offset..., channel) of |input|, out of a copy of it that is padded and
/// has its channels last: they are then runs of memory.
static TensorView storePatchesOfChannels(Outliner &outliner, nn::ConvOp op, const ConvShape &shape, Value input,
                                         llvm::function_ref<Value(ScalarEmitter &)> emitPadding) {
  ShapeContext &shapes = outliner.getShapes();
  Type type = kernelElementType(elementTypeOf(input));
  ShapeDims padded{shape.input[0]}, dims{shape.result[0]};
  for (size_t i = 0; i < shape.spatial; ++i) {
    int64_t pads = op.getPads()[i] + op.getPads()[i + shape.spatial];
    padded.push_back(shapes.add(shape.input[2 + i], shapes.constant(pads)));
  }
  padded.push_back(shape.input[1]);
  AffineIndex source = identityIndex(padded.size(), outliner.getContext());
  std::rotate(source.begin() + 1, source.end() - 1, source.end());
  TensorView copy = outliner.storeTemporary(op, type, padded, [&](ScalarEmitter &emitter) {
    return emitAt(emitter, op, input, source, emitPadding(emitter));
  });

  dims.append(shape.result.begin() + 2, shape.result.end());
  dims.append(shape.weight.begin() + 2, shape.weight.end());
  dims.push_back(shape.input[1]);
  AffineIndex loops = identityIndex(dims.size(), outliner.getContext()), index{loops.front()};
  ArrayRef<AffineExpr> position = ArrayRef(loops).slice(1, shape.spatial),
                       offset = ArrayRef(loops).slice(1 + shape.spatial, shape.spatial);
  for (size_t i = 0; i < shape.spatial; ++i)
    index.push_back(inputPlace(op, i, position, offset));
  index.push_back(loops.back());
  return outliner.storeTemporary(op, type, dims,
                                 [&](ScalarEmitter &emitter) { return emitter.emitElement(copy, index); });
}

/// The patches of |codes|, rows of K as its weight has them.
static TensorView storeCodePatches(Outliner &outliner, nn::ConvOp op, const ConvShape &shape,
                                   const CodeConvolution &codes) {
  Type code = elementTypeOf(codes.codes);
  auto emitPadding = [&](ScalarEmitter &emitter) -> Value {
    OpBuilder &builder = emitter.getBuilder();
    if (!codes.zero)
      return emitNumber(builder, kernelElementType(code), 0);
    AffineIndex first(cast<RankedTensorType>(codes.zero.getType()).getRank(), builder.getAffineConstantExpr(0));
    return emitCast(builder, emitter.emitParameter(codes.zero, first), elementTypeOf(codes.zero), code);
  };
  if (codes.weight.numOffsets != 1)
    return storePatchesOfChannels(outliner, op, shape, codes.codes, emitPadding);
  return storePatches(outliner, op, shape, codes.codes, kernelElementType(code), emitPadding);
}

/// The weight in f32, where it is a smaller float.
static std::optional<TensorView> storeWeight(Outliner &outliner, nn::ConvOp op, const ConvShape &shape) {
  if (elementTypeOf(op.getWeight()).isF32())
    return std::nullopt;
  AffineIndex loops = identityIndex(shape.weight.size(), outliner.getContext());
  return outliner.storeTemporary(op, Float32Type::get(outliner.getContext()), shape.weight,
                                 [&](ScalarEmitter &emitter) { return emitter.emitAsF32(op.getWeight(), loops); });
}

/// The product of |patches| with the weight, over |loops|, in f32.
static void multiplyFloats(Outliner &outliner, nn::ConvOp root, Operation *end, const ProductLoops &loops,
                           const TensorView &patches, const ConvShape &shape, AffineExpr feature) {
  Contraction c;
  static_cast<ProductLoops &>(c) = loops;
  c.lhs = patches;
  c.rhs = root.getWeight();
  c.storedRhs = storeWeight(outliner, root, shape);
  c.transposeRhs = true;
  c.mayPackRhs = shape.groups == 1;
  Type f32 = Float32Type::get(outliner.getContext());
  buildContraction(
      outliner, c, root, end,
      [&](ScalarEmitter &emitter, Value sum) { return emitBiased(emitter, root, sum, f32, feature); },
      WhenUnstrided::Compute);
}

/// The same of codes, in i32 or, scaled, in f32.
static void multiplyCodes(Outliner &outliner, nn::ConvOp root, Operation *end, const ProductLoops &loops,
                          IntegerProduct &product, const CodeConvolution &codes, AffineExpr feature) {
  product.prepare();
  static_cast<ProductLoops &>(product.c) = loops;
  Type type = elementTypeOf(root.getOutput());
  buildContraction(
      outliner, product.c, root, end,
      [&](ScalarEmitter &emitter, Value sum) {
        Value value = codes.scale ? product.emitScaled(emitter, sum, codes.scale) : product.emit(emitter, sum);
        return emitBiased(emitter, root, value, type, feature);
      },
      WhenUnstrided::Compute);
}

/// Whether each patch is all channels of one position.
static bool readsPositions(nn::ConvOp op, const ConvShape &shape) {
  auto isOne = [](int64_t value) { return value == 1; };
  return shape.groups == 1 && llvm::all_of(op.getStrides(), isOne) &&
         llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; }) &&
         llvm::all_of(ArrayRef(shape.weight).drop_front(2), [](ShapeExpr dim) { return dim.isConstant(1); });
}

/// Loops (image, group, position, feature of the group, depth); without that of images or groups where there is but
/// one. Positions of different images aren't rows of one loop: within an image, rows of the result are neighbours in
/// memory.
static ProductLoops describePatches(Outliner &outliner, nn::ConvOp root, const ConvShape &shape) {
  MLIRContext *context = outliner.getContext();
  ShapeContext &shapes = outliner.getShapes();
  ShapeSymbols &symbols = outliner.getSymbols();
  ProductLoops c;
  ShapeDims positions(ArrayRef(shape.result).drop_front(2)), offsets(ArrayRef(shape.weight).drop_front());
  ShapeExpr height = shapes.product(positions);
  bool hasImages = !shape.result[0].isConstant(1), hasGroups = shape.groups != 1, hasPositions = !height.isConstant(1);
  if (hasImages && hasPositions)
    c.bounds.push_back(shape.result[0]);
  if (hasGroups)
    c.bounds.push_back(shapes.constant(shape.groups));
  c.bounds.append({hasPositions ? height : shape.result[0], shape.groupFeatures, shapes.product(offsets)});
  unsigned m = c.bounds.size() - 3;
  AffineExpr row = getAffineDimExpr(m, context), feature = getAffineDimExpr(m + 1, context),
             depth = getAffineDimExpr(m + 2, context), image = getAffineConstantExpr(0, context);
  AffineIndex position = reshapeIndex(positions, {height}, {hasPositions ? row : image}, symbols, shapes);
  if (hasImages)
    image = hasPositions ? getAffineDimExpr(0, context) : row;
  c.rhsIndex = reshapeIndex(offsets, {c.bounds[m + 2]}, {depth}, symbols, shapes);
  if (hasGroups) {
    // A group's part of a patch is contiguous, as its rows of the weight are.
    AffineExpr group = getAffineDimExpr(m - 1, context);
    feature = group * symbols.get(shape.groupFeatures) + feature;
    depth = group * symbols.get(c.bounds[m + 2]) + depth;
  }
  c.lhsIndex = {hasPositions ? image * symbols.get(height) + row : row, depth};
  c.rhsIndex.insert(c.rhsIndex.begin(), feature);
  c.resultIndex = {image, feature};
  c.resultIndex.append(position.begin(), position.end());
  return c;
}

/// Patches are rows, (channel, kernel offset...) the depth: the input's elements in the order that the weight has them.
static void contractPatches(Outliner &outliner, nn::ConvOp root, Operation *end, const ConvShape &shape,
                            const std::optional<CodeConvolution> &codes) {
  ShapeContext &shapes = outliner.getShapes();
  ProductLoops c = describePatches(outliner, root, shape);
  AffineExpr feature = c.resultIndex[1];
  ShapeDims positions{shape.result[0]};
  positions.append(shape.result.begin() + 2, shape.result.end());
  ShapeDims patch(ArrayRef(shape.weight).drop_front());
  patch[0] = shape.input[1];
  auto asRows = [&](const TensorView &patches) {
    return TensorView::contiguous(patches.buffer, patches.elementType,
                                  {shapes.product(positions), shapes.product(patch)});
  };
  if (!codes) {
    TensorView patches = storePatches(outliner, root, shape, root.getInput(), Float32Type::get(outliner.getContext()));
    return multiplyFloats(outliner, root, end, c, asRows(patches), shape, feature);
  }
  IntegerProduct product{outliner, root, codes->codes, codes->zero, codes->weight};
  if (readsPositions(root, shape) && !product.needsRowSums()) {
    // The input as it is, whose channels lie apart: an item copies its rows to scratch.
    c.lhsIndex = c.resultIndex;
    c.lhsIndex[1] = getAffineDimExpr(c.bounds.size() - 1, outliner.getContext());
  } else {
    product.patches = asRows(storeCodePatches(outliner, root, shape, *codes));
  }
  multiplyCodes(outliner, root, end, c, product, *codes, feature);
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
        Value x = emitCast(builder,
                           emitAt(emitter, root, root.getInput(), inputIndex(root, all[0], channel, position, offset)),
                           type, sumType);
        Value w = emitCast(builder, emitter.emit(root.getWeight(), weightIndex), type, sumType);
        return {emitBinary(builder, nn::BinaryKind::Mul, x, w, sumType, sumType)};
      },
      [&](ScalarEmitter &emitter, ArrayRef<Value> sums) {
        return emitBiased(emitter, root, sums[0], sumType, feature);
      });
}

void heddle::outlineConv(Outliner &outliner, nn::ConvOp root, Operation *end) {
  ConvShape shape(outliner, root);
  std::optional<CodeConvolution> codes = findCodeConvolution(root);
  if (codes)
    return contractPatches(outliner, root, end, shape, codes);
  bool isContracted = getSumType(elementTypeOf(root.getInput())).isF32();
  if (shape.groups != 1)
    isContracted &= shape.groupFeatures.getConstant().value_or(0) >= kMinContractedChannels;
  if (isContracted)
    contractPatches(outliner, root, end, shape, std::nullopt);
  else
    sumProducts(outliner, root, end, shape);
}
