// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of selections (slice, gather, top-k) and of tensors made from numbers (range, constant_of_shape).

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "llvm/ADT/STLExtras.h"

using namespace heddle;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// Clamps |bound| of a slice, counted from the end where negative, into [low, high].
static ShapeExpr clampBound(ShapeAnalyzer &analyzer, ShapeExpr bound, ShapeExpr extent, ShapeExpr low, ShapeExpr high) {
  ShapeContext &context = analyzer.context;
  // The least i64 says "from the very start"; adding an extent to it only hides that.
  if (bound.isConstant(INT64_MIN))
    return low;
  // Nor may an extent be added to the greatest one, "to the end", for the sum to be thrown away: it doesn't fit.
  if (bound.getConstant().value_or(-1) >= 0)
    return context.min(context.max(bound, low), high);
  ShapeExpr position = analyzer.countFromStart(bound, extent);
  return context.min(context.max(position, low), high);
}

static SliceRange resolveRange(ShapeAnalyzer &analyzer, ShapeExpr start, ShapeExpr end, int64_t step,
                               ShapeExpr extent) {
  ShapeContext &context = analyzer.context;
  ShapeExpr zero = context.constant(0), one = context.constant(1);
  ShapeExpr last = context.sub(extent, one);
  ShapeExpr distance;
  if (step > 0) {
    start = clampBound(analyzer, start, extent, zero, extent);
    end = clampBound(analyzer, end, extent, zero, extent);
    distance = context.sub(end, start);
  } else {
    start = clampBound(analyzer, start, extent, zero, last);
    end = clampBound(analyzer, end, extent, context.constant(-1), last);
    distance = context.sub(start, end);
  }
  // The least step has no absolute value, and no tensor has a second element for it.
  ShapeExpr stride = context.constant(step == INT64_MIN ? INT64_MAX : std::abs(step));
  return {start, step, context.max(context.ceilDiv(distance, stride), zero)};
}

/// Exporters also write INT32_MAX for "to the end". Taken as such where the extent is checked to be no greater.
static LogicalResult widenEnd(ShapeAnalyzer &analyzer, nn::SliceOp op, ShapeExpr extent, ShapeExpr &end) {
  if (!end.isConstant(INT32_MAX) || extent.getConstant())
    return success();
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, extent, end, "expects a size of at most {b}, got {a}")))
    return failure();
  end = analyzer.context.constant(INT64_MAX);
  return success();
}

namespace {
/// The operands of a slice as expressions; axes and steps are constants.
struct SliceOperands {
  ShapeExprs starts, ends;
  SmallVector<int64_t> axes, steps;
};
} // namespace

static FailureOr<SmallVector<int64_t>> readConstants(ShapeAnalyzer &analyzer, nn::SliceOp op, Value value,
                                                     StringRef what) {
  FailureOr<ArrayRef<ShapeExpr>> elements = analyzer.readElements(op, value, what);
  if (failed(elements))
    return failure();
  SmallVector<int64_t> constants;
  for (ShapeExpr element : *elements) {
    if (!element.getConstant())
      return op.emitOpError() << "expects constant " << what << ", got " << element.str();
    constants.push_back(*element.getConstant());
  }
  return constants;
}

static FailureOr<SliceOperands> readSlice(ShapeAnalyzer &analyzer, nn::SliceOp op) {
  SliceOperands result;
  FailureOr<ArrayRef<ShapeExpr>> starts = analyzer.readElements(op, op.getStarts(), "starts");
  if (failed(starts))
    return failure();
  FailureOr<ArrayRef<ShapeExpr>> ends = analyzer.readElements(op, op.getEnds(), "ends");
  if (failed(ends))
    return failure();
  result.starts.assign(starts->begin(), starts->end());
  result.ends.assign(ends->begin(), ends->end());
  result.axes = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  result.steps.assign(starts->size(), 1);
  for (auto [value, constants, what] :
       {std::tuple(op.getAxes(), &result.axes, "axes"), {op.getSteps(), &result.steps, "steps"}}) {
    if (!value)
      continue;
    FailureOr<SmallVector<int64_t>> read = readConstants(analyzer, op, value, what);
    if (failed(read))
      return failure();
    *constants = *read;
  }
  size_t count = result.starts.size();
  if (result.ends.size() != count || result.axes.size() != count || result.steps.size() != count)
    return op.emitOpError() << "expects starts, ends, axes and steps of one length";
  return result;
}

FailureOr<SmallVector<SliceRange>> heddle::resolveSlice(ShapeAnalyzer &analyzer, nn::SliceOp op) {
  FailureOr<SliceOperands> operands = readSlice(analyzer, op);
  if (failed(operands))
    return failure();
  SmallVector<SliceRange> ranges;
  for (ShapeExpr extent : analyzer.getDims(op.getData()))
    ranges.push_back({analyzer.context.constant(0), 1, extent});
  int64_t rank = ranges.size();
  for (auto [start, end, axis, step] : llvm::zip(operands->starts, operands->ends, operands->axes, operands->steps)) {
    if (axis < -rank || axis >= rank)
      return op.emitOpError() << "expects axes within [" << -rank << ", " << rank << "), got " << axis;
    if (step == 0)
      return op.emitOpError() << "expects a step other than 0";
    SliceRange &range = ranges[axis < 0 ? axis + rank : axis];
    if (failed(widenEnd(analyzer, op, range.length, end)))
      return failure();
    range = resolveRange(analyzer, start, end, step, range.length);
  }
  return ranges;
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::SliceOp op) {
  FailureOr<SmallVector<SliceRange>> ranges = resolveSlice(analyzer, op);
  if (failed(ranges))
    return failure();
  return analyzer.setDims(op.getOutput(), llvm::map_to_vector(*ranges, [](const SliceRange &r) { return r.length; }));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::GatherOp op) {
  ArrayRef<ShapeExpr> data = analyzer.getDims(op.getData());
  ShapeExprs dims(data.take_front(op.getAxis()));
  llvm::append_range(dims, analyzer.getDims(op.getIndices()));
  llvm::append_range(dims, data.drop_front(op.getAxis() + 1));
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::GatherElementsOp op) {
  ArrayRef<ShapeExpr> data = analyzer.getDims(op.getData()), indices = analyzer.getDims(op.getIndices());
  for (auto [i, extents] : llvm::enumerate(llvm::zip(indices, data)))
    if (i != op.getAxis() &&
        failed(analyzer.require(op, rt::CheckKind::LessEqual, std::get<0>(extents), std::get<1>(extents),
                                "expects indices of at most {b} entries at dimension " + Twine(i) + ", got {a}")))
      return failure();
  return analyzer.setDims(op.getOutput(), indices);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::GatherNdOp op) {
  ArrayRef<ShapeExpr> data = analyzer.getDims(op.getData()), indices = analyzer.getDims(op.getIndices());
  std::optional<int64_t> tuple = indices.back().getConstant();
  if (!tuple || *tuple < 1 || *tuple + static_cast<int64_t>(op.getBatchDims()) > static_cast<int64_t>(data.size()))
    return op.emitOpError() << "expects index tuples of a static length that data of rank " << data.size()
                            << " has dimensions for, got " << indices.back().str();
  for (size_t i = 0; i < op.getBatchDims(); ++i)
    if (failed(analyzer.requireEqual(op, data[i], indices[i], "expects equal batch dimensions, got {a} and {b}")))
      return failure();
  ShapeExprs dims(indices.drop_back());
  llvm::append_range(dims, data.drop_front(op.getBatchDims() + *tuple));
  return analyzer.setDims(op.getOutput(), dims);
}

//===----------------------------------------------------------------------===//
// Sizes given as values
//===----------------------------------------------------------------------===//

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::PadOp op) {
  ShapeExprs dims(analyzer.getDims(op.getData()));
  FailureOr<ArrayRef<ShapeExpr>> pads = analyzer.readElements(op, op.getPads(), "pads");
  if (failed(pads))
    return failure();
  ShapeExprs axes;
  for (size_t i = 0; !op.getAxes() && i < dims.size(); ++i)
    axes.push_back(analyzer.context.constant(i));
  if (op.getAxes()) {
    FailureOr<ArrayRef<ShapeExpr>> given = analyzer.readElements(op, op.getAxes(), "axes");
    if (failed(given))
      return failure();
    axes.assign(given->begin(), given->end());
  }
  if (pads->size() != 2 * axes.size())
    return op.emitOpError() << "expects " << 2 * axes.size() << " pads, got " << pads->size();
  int64_t rank = dims.size();
  for (auto [i, expr] : llvm::enumerate(axes)) {
    std::optional<int64_t> axis = expr.getConstant();
    if (!axis || *axis < -rank || *axis >= rank)
      return op.emitOpError() << "expects constant axes within [" << -rank << ", " << rank << "), got " << expr.str();
    ShapeExpr &dim = dims[*axis < 0 ? *axis + rank : *axis];
    dim = analyzer.context.add(dim, analyzer.context.add((*pads)[i], (*pads)[i + axes.size()]));
  }
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::OneHotOp op) {
  FailureOr<ArrayRef<ShapeExpr>> depth = analyzer.readElements(op, op.getDepth(), "the depth");
  if (failed(depth))
    return failure();
  ShapeExprs dims(analyzer.getDims(op.getIndices()));
  dims.insert(dims.begin() + op.getAxis(), depth->front());
  return analyzer.setDims(op.getOutput(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::TopKOp op) {
  FailureOr<ArrayRef<ShapeExpr>> k = analyzer.readElements(op, op.getK(), "k");
  if (failed(k))
    return failure();
  ShapeExprs dims(analyzer.getDims(op.getInput()));
  ShapeExpr &dim = dims[op.getAxis()];
  if (failed(analyzer.require(op, rt::CheckKind::LessEqual, k->front(), dim, "expects k of at most {b}, got {a}")))
    return failure();
  dim = k->front();
  return failed(analyzer.setDims(op.getValues(), dims)) ? failure() : analyzer.setDims(op.getIndices(), dims);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::RangeOp op) {
  ShapeContext &context = analyzer.context;
  // Its own inference knows the length for constants of any type; floats have no elements here.
  if (auto length = analyzer.getStaticTypeDims(op.getOutput()))
    return analyzer.setDims(op.getOutput(), *length);
  SmallVector<ShapeExpr, 3> bounds;
  for (auto [value, what] :
       {std::pair(op.getStart(), "the start"), {op.getLimit(), "the limit"}, {op.getDelta(), "the delta"}}) {
    FailureOr<ArrayRef<ShapeExpr>> element = analyzer.readElements(op, value, what);
    if (failed(element))
      return failure();
    bounds.push_back(element->front());
  }
  if (bounds[2].isConstant(0))
    return op.emitOpError() << "expects a delta other than 0";
  ShapeExpr length = context.ceilDiv(context.sub(bounds[1], bounds[0]), bounds[2]);
  return analyzer.setDims(op.getOutput(), context.max(length, context.constant(0)));
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ConstantOfShapeOp op) {
  FailureOr<ArrayRef<ShapeExpr>> shape = analyzer.readElements(op, op.getShape(), "the extents of the shape");
  if (failed(shape))
    return failure();
  return analyzer.setDims(op.getOutput(), *shape);
}
