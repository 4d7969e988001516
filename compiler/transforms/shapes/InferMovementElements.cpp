// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of small integer tensors that are made, moved, picked or reduced in the shape program.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "compiler/transforms/shapes/TensorIndex.h"
#include "dialects/nn/ConstantData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace heddle;
using namespace mlir;

namespace {

/// The elements and sizes of an operand that is in the shape program.
struct SmallTensor {
  ArrayRef<ShapeExpr> elements;
  SmallVector<int64_t> dims;
};

/// Works out one op's elements; each visit leaves the result without any where it doesn't know them.
class MovementElements {
public:
  explicit MovementElements(ShapeAnalyzer &analyzer) : analyzer(analyzer), context(analyzer.context) {}

  LogicalResult visit(nn::ConstantOp op);
  LogicalResult visit(nn::ShapeOp op);
  LogicalResult visit(nn::SizeOp op);
  LogicalResult visit(nn::TransposeOp op);
  LogicalResult visit(nn::ExpandOp op);
  LogicalResult visit(nn::TileOp op);
  LogicalResult visit(nn::ConcatOp op);
  LogicalResult visit(nn::SplitOp op);
  LogicalResult visit(nn::SliceOp op);
  LogicalResult visit(nn::GatherOp op);
  LogicalResult visit(nn::GatherElementsOp op);
  LogicalResult visit(nn::ConstantOfShapeOp op);
  LogicalResult visit(nn::RangeOp op);
  LogicalResult visit(nn::ReduceOp op);
  LogicalResult visit(nn::CumSumOp op);
  LogicalResult visitSameElements(Operation *op);

private:
  std::optional<SmallTensor> read(Value value) const {
    std::optional<ArrayRef<ShapeExpr>> elements = analyzer.getElements(value);
    if (!elements)
      return std::nullopt;
    return SmallTensor{*elements, *analyzer.getStaticDims(value)};
  }

  /// Each element of |result| is that of |data| at the coordinates that |source| makes of its own.
  LogicalResult move(Value result, const SmallTensor &data, llvm::function_ref<Coordinates(Coordinates)> source);

  /// Element |index| of |choices|, by comparison where the index isn't constant.
  ShapeExpr pick(ArrayRef<ShapeExpr> choices, ShapeExpr index);

  ShapeAnalyzer &analyzer;
  ShapeContext &context;
};

} // namespace

LogicalResult MovementElements::move(Value result, const SmallTensor &data,
                                     llvm::function_ref<Coordinates(Coordinates)> source) {
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(result);
  if (!dims)
    return success();
  ShapeExprs elements;
  for (int64_t i = 0, e = getNumElements(*dims); i < e; ++i)
    elements.push_back(data.elements[getPosition(source(getCoordinates(i, *dims)), data.dims)]);
  return analyzer.setElements(result, elements);
}

//===----------------------------------------------------------------------===//
// Made
//===----------------------------------------------------------------------===//

LogicalResult MovementElements::visit(nn::ConstantOp op) {
  std::optional<SmallVector<int64_t>> values = nn::getConstantInts(op.getOutput());
  if (!values)
    return success();
  return analyzer.setElements(op.getOutput(),
                              llvm::map_to_vector(*values, [&](int64_t value) { return context.constant(value); }));
}

LogicalResult MovementElements::visit(nn::ShapeOp op) {
  ArrayRef<ShapeExpr> dims = analyzer.getDims(op.getInput());
  return analyzer.setElements(op.getOutput(), dims.slice(op.getStart(), op.getEnd() - op.getStart()));
}

LogicalResult MovementElements::visit(nn::SizeOp op) {
  return analyzer.setElements(op.getOutput(), context.product(analyzer.getDims(op.getInput())));
}

LogicalResult MovementElements::visit(nn::ConstantOfShapeOp op) {
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  auto value = dyn_cast<IntegerAttr>(op.getValue());
  if (!dims || !value)
    return success();
  bool isUnsigned = value.getType().isUnsignedInteger() || value.getType().isInteger(1);
  int64_t number = isUnsigned ? value.getValue().getZExtValue() : value.getValue().getSExtValue();
  return analyzer.setElements(op.getOutput(), ShapeExprs(getNumElements(*dims), context.constant(number)));
}

LogicalResult MovementElements::visit(nn::RangeOp op) {
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  std::optional<SmallTensor> start = read(op.getStart()), delta = read(op.getDelta());
  if (!dims || !start || !delta)
    return success();
  ShapeExprs elements;
  for (int64_t i = 0; i < dims->front(); ++i)
    elements.push_back(context.add(start->elements[0], context.mul(delta->elements[0], context.constant(i))));
  return analyzer.setElements(op.getOutput(), elements);
}

//===----------------------------------------------------------------------===//
// Moved
//===----------------------------------------------------------------------===//

LogicalResult MovementElements::visitSameElements(Operation *op) {
  std::optional<SmallTensor> data = read(op->getOperand(0));
  return data ? analyzer.setElements(op->getResult(0), data->elements) : success();
}

LogicalResult MovementElements::visit(nn::TransposeOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  if (!data)
    return success();
  return move(op.getOutput(), *data, [&](Coordinates at) {
    Coordinates source(at.size());
    for (auto [i, axis] : llvm::enumerate(op.getPerm()))
      source[axis] = at[i];
    return source;
  });
}

LogicalResult MovementElements::visit(nn::ExpandOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  return data ? move(op.getOutput(), *data, [](Coordinates at) { return at; }) : success();
}

LogicalResult MovementElements::visit(nn::TileOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  if (!data)
    return success();
  return move(op.getOutput(), *data, [&](Coordinates at) {
    for (auto [coordinate, dim] : llvm::zip(at, data->dims))
      coordinate %= dim;
    return at;
  });
}

LogicalResult MovementElements::visit(nn::ConcatOp op) {
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  if (!dims)
    return success();
  ShapeExprs elements(getNumElements(*dims));
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    std::optional<SmallTensor> part = read(input);
    if (!part)
      return success();
    for (auto [i, element] : llvm::enumerate(part->elements)) {
      Coordinates at = getCoordinates(i, part->dims);
      at[op.getAxis()] += offset;
      elements[getPosition(at, *dims)] = element;
    }
    offset += part->dims[op.getAxis()];
  }
  return analyzer.setElements(op.getOutput(), elements);
}

LogicalResult MovementElements::visit(nn::SplitOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  if (!data)
    return success();
  int64_t offset = 0;
  for (Value output : op.getOutputs()) {
    auto shift = [&](Coordinates at) {
      at[op.getAxis()] += offset;
      return at;
    };
    if (failed(move(output, *data, shift)))
      return failure();
    offset += (*analyzer.getStaticDims(output))[op.getAxis()];
  }
  return success();
}

LogicalResult MovementElements::visit(nn::SliceOp op) {
  std::optional<SmallTensor> data = read(op.getData());
  if (!data)
    return success();
  FailureOr<SmallVector<SliceRange>> ranges = resolveSlice(analyzer, op);
  if (failed(ranges))
    return failure();
  // With a start known only at run time it would be a choice for each element.
  if (!llvm::all_of(*ranges, [](const SliceRange &range) { return range.start.getConstant().has_value(); }))
    return success();
  return move(op.getOutput(), *data, [&](Coordinates at) {
    for (auto [coordinate, range] : llvm::zip(at, *ranges))
      coordinate = *range.start.getConstant() + coordinate * range.step;
    return at;
  });
}

//===----------------------------------------------------------------------===//
// Picked
//===----------------------------------------------------------------------===//

ShapeExpr MovementElements::pick(ArrayRef<ShapeExpr> choices, ShapeExpr index) {
  // Of nothing: then the check that the index is in range fails.
  if (choices.empty())
    return {};
  if (std::optional<int64_t> position = index.getConstant())
    return choices[*position];
  ShapeExpr result = choices.back();
  for (size_t i = choices.size() - 1; i-- > 0;)
    result = context.select(context.equal(index, context.constant(i)), choices[i], result);
  return result;
}

LogicalResult MovementElements::visit(nn::GatherOp op) {
  std::optional<SmallTensor> data = read(op.getData()), indices = read(op.getIndices());
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  if (!data || !indices || !dims)
    return success();
  int64_t axis = op.getAxis(), extent = data->dims[axis];
  ShapeExprs positions, elements;
  for (ShapeExpr index : indices->elements) {
    FailureOr<ShapeExpr> position = analyzer.normalizeIndex(op, index, context.constant(extent));
    if (failed(position))
      return failure();
    positions.push_back(*position);
  }
  size_t indexRank = indices->dims.size();
  for (int64_t i = 0, e = getNumElements(*dims); i < e; ++i) {
    Coordinates at = getCoordinates(i, *dims);
    ArrayRef<int64_t> indexAt = ArrayRef(at).slice(axis, indexRank);
    ShapeExpr position = positions[getPosition(indexAt, indices->dims)];
    Coordinates source(ArrayRef(at).take_front(axis));
    source.push_back(0);
    llvm::append_range(source, ArrayRef(at).drop_front(axis + indexRank));
    ShapeExprs choices;
    for (source[axis] = 0; source[axis] < extent; ++source[axis])
      choices.push_back(data->elements[getPosition(source, data->dims)]);
    elements.push_back(pick(choices, position));
  }
  return analyzer.setElements(op.getOutput(), elements);
}

LogicalResult MovementElements::visit(nn::GatherElementsOp op) {
  std::optional<SmallTensor> data = read(op.getData()), indices = read(op.getIndices());
  if (!data || !indices)
    return success();
  int64_t axis = op.getAxis(), extent = data->dims[axis];
  ShapeExprs elements;
  for (auto [i, index] : llvm::enumerate(indices->elements)) {
    FailureOr<ShapeExpr> position = analyzer.normalizeIndex(op, index, context.constant(extent));
    if (failed(position))
      return failure();
    Coordinates source = getCoordinates(i, indices->dims);
    ShapeExprs choices;
    for (source[axis] = 0; source[axis] < extent; ++source[axis])
      choices.push_back(data->elements[getPosition(source, data->dims)]);
    elements.push_back(pick(choices, *position));
  }
  return analyzer.setElements(op.getOutput(), elements);
}

//===----------------------------------------------------------------------===//
// Reduced
//===----------------------------------------------------------------------===//

LogicalResult MovementElements::visit(nn::ReduceOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  std::optional<SmallVector<int64_t>> dims = analyzer.getSmallDims(op.getOutput());
  using Kind = nn::ReduceKind;
  Kind kind = op.getKind();
  bool isKnown = kind == Kind::Sum || kind == Kind::Prod || kind == Kind::Min || kind == Kind::Max;
  if (!data || !dims || !isKnown)
    return success();
  // An empty sum is 0 and an empty product 1; the least of nothing depends on the type and isn't a size.
  ShapeExpr neutral = kind == Kind::Sum ? context.constant(0) : kind == Kind::Prod ? context.constant(1) : ShapeExpr();
  ShapeExprs results(getNumElements(*dims), neutral);
  for (auto [i, element] : llvm::enumerate(data->elements)) {
    Coordinates at = getCoordinates(i, data->dims), target;
    for (auto [axis, coordinate] : llvm::enumerate(at)) {
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis)))
        target.push_back(coordinate);
      else if (op.getKeepdims())
        target.push_back(0);
    }
    ShapeExpr &result = results[getPosition(target, *dims)];
    switch (kind) {
    case Kind::Sum:
      result = context.add(result, element);
      break;
    case Kind::Prod:
      result = context.mul(result, element);
      break;
    case Kind::Min:
      result = result ? context.min(result, element) : element;
      break;
    default:
      result = result ? context.max(result, element) : element;
      break;
    }
  }
  return analyzer.setElements(op.getOutput(), results);
}

LogicalResult MovementElements::visit(nn::CumSumOp op) {
  std::optional<SmallTensor> data = read(op.getInput());
  if (!data)
    return success();
  int64_t axis = op.getAxis(), extent = data->dims[axis];
  ShapeExprs results;
  for (int64_t i = 0, e = getNumElements(data->dims); i < e; ++i) {
    Coordinates at = getCoordinates(i, data->dims);
    int64_t own = at[axis];
    ShapeExpr sum = context.constant(0);
    for (int64_t k = 0; k < extent; ++k) {
      bool isIncluded = k == own ? !op.getExclusive() : (k > own) == op.getReverse();
      at[axis] = k;
      if (isIncluded)
        sum = context.add(sum, data->elements[getPosition(at, data->dims)]);
    }
    results.push_back(sum);
  }
  return analyzer.setElements(op.getOutput(), results);
}

LogicalResult heddle::inferMovementElements(ShapeAnalyzer &analyzer, Operation *op) {
  using namespace nn;
  MovementElements elements(analyzer);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ConstantOp, ShapeOp, SizeOp, TransposeOp, ExpandOp, TileOp, ConcatOp, SplitOp, SliceOp, GatherOp,
            GatherElementsOp, ConstantOfShapeOp, RangeOp, ReduceOp, CumSumOp>(
          [&](auto op) { return elements.visit(op); })
      .Case<ReshapeOp, SqueezeOp, UnsqueezeOp, FlattenOp>([&](Operation *op) { return elements.visitSameElements(op); })
      .Default(success());
}
