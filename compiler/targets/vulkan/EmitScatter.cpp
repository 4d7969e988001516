// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scatter: an invocation has elements of its own, which it copies and then changes by the updates that fall into
// them, in order; what others do it never sees. Where no loop is parallel the lanes of a workgroup share out the
// places: all of them look at every update.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace heddle::vulkan {

LogicalResult planScatter(ShaderPlan &plan) {
  auto op = cast<kernel::ScatterOp>(plan.root);
  // Updates keep their order, and each parallel loop stays the dimension of the result that it is.
  unsigned numLoops = plan.nest.getNumLoops();
  mergeLoops(plan.nest, SmallVector<bool>(numLoops, false), SmallVector<bool>(numLoops, true));
  plan.ensureLoop();
  plan.setNeighbourAxes(llvm::to_vector(llvm::seq<unsigned>(0, op.getNumParallel())));
  plan.skipEmptyResults();
  // A unit must hold whole what it touches: only loops outside of all scattered dimensions cut data and result.
  unsigned data = plan.bindings[0], result = plan.getResultBinding(0);
  int64_t outermost = INT64_MAX;
  for (int64_t dim : op.getScatteredDims())
    outermost = std::min(outermost, dim);
  AffineMap map = cast<kernel::RootOpInterface>(plan.root).getResultMap(0);
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    auto isInside = [&](unsigned loop) {
      for (int64_t dim = outermost; dim < map.getNumResults(); ++dim)
        if (map.getResult(dim).isFunctionOfDim(loop))
          return true;
      return false;
    };
    if (llvm::any_of(plan.axisLoops[axis], isInside))
      plan.setStride(result, static_cast<Axis>(axis), plan.constantExpr(0));
  }
  // The data is read where the result is written, and nowhere else if nothing else reads it.
  bool isReadElsewhere = llvm::count(plan.bindings, data) > 1;
  op->walk([&](kernel::GatherOp gather) {
    isReadElsewhere |= cast<BlockArgument>(gather.getTable()).getArgNumber() == data;
  });
  for (Axis axis : {kX, kY, kZ})
    plan.setStride(data, axis, isReadElsewhere ? plan.constantExpr(0) : plan.strides[result][axis]);
  return success();
}

namespace {

class ScatterGenerator {
public:
  ScatterGenerator(ShaderEmitter &emitter, LaneForm form)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::ScatterOp>(plan.root)), loops(plan.nest.getNumLoops()),
        result(plan.getResultBinding(0)), merger(emitter, form) {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    kernel::FuncOp func = plan.func;
    ArrayRef<int64_t> dims = func.getResultDims(result - func.getNumInputs());
    Polynomial stride(1);
    extents.resize(type.getRank());
    strides.resize(type.getRank());
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      extents[i] =
          type.isDynamicDim(i) ? Polynomial::atom(dims[type.getDynamicDimIndex(i)]) : Polynomial(type.getDimSize(i));
      strides[i] = stride;
      stride = stride * extents[i];
    }
  }

  LogicalResult emit() {
    emitter.open("if (" + merger.nameRow(loops) + ")");
    origin = emitter.let("int", emitter.address(plan.getResult(0), loops), "origin");
    nameOwnPlaces();
    emitCopy();
    unsigned level = emitter.level();
    for (unsigned loop = op.getNumParallel(); loop < loops.size(); ++loop)
      loops[loop] = loop + 1 == loops.size()
                        ? emitter.openLongLoop("0", emitter.bound(loop), "1", plan.nest.bounds[loop], "u")
                        : emitter.openLoop("0", emitter.bound(loop), "1", "u");
    if (failed(emitUpdate()))
      return failure();
    emitter.closeTo(level);
    emitter.close();
    return success();
  }

private:
  /// Places count through the scattered dimensions, the last one fastest; a lane's own ones are neighbours.
  void nameOwnPlaces() {
    for (int64_t dim : op.getScatteredDims())
      count = count * extents[dim];
    std::string all = emitter.size(count), lanes = merger.lanes();
    if (merger.form() == LaneForm::Single) {
      begin = "0";
      end = all;
      return;
    }
    std::string share = emitter.let("int", "(" + all + " + " + lanes + " - 1) / " + lanes, "share");
    begin = emitter.let("int", merger.lane() + " * " + share, "begin");
    end = emitter.let("int", "min(" + all + ", " + begin + " + " + share + ")", "end");
  }

  void emitCopy() {
    unsigned level = emitter.level();
    std::string place = emitter.openLongLoop(begin, end, "1", count, "place"), rest = place, address = origin;
    ArrayRef<int64_t> dims = op.getScatteredDims();
    for (unsigned i = dims.size(); i-- > 0;) {
      std::string index = rest;
      if (i > 0) {
        std::string extent = emitter.size(extents[dims[i]]);
        rest = emitter.let("int", index + " / " + extent, "q");
        index = emitter.let("int", index + " - " + rest + " * " + extent, "d");
      }
      address += " + " + index + " * " + emitter.size(strides[dims[i]]);
    }
    std::string at = emitter.let("int", address, "at");
    emitter.store(result, at, emitter.load(plan.bindings[0], at));
    emitter.closeTo(level);
  }

  LogicalResult emitUpdate() {
    SmallVector<std::string> elements;
    // The data itself is read as what an update changes.
    for (unsigned input = 1; input < plan.getNumInputs(); ++input)
      elements.push_back(emitter.letInput(input, loops));
    auto values = RegionPrinter(emitter, loops).print(op.getBody(), elements);
    if (failed(values))
      return failure();
    // 1. Where the update goes, and whether there is one: an index out of range fails and changes nothing.
    std::string isOwn = values->front(), address = origin, place = "0";
    auto places = op.getBody().front().getTerminator()->getOperands().drop_front().drop_back();
    for (auto [i, dim] : llvm::enumerate(op.getScatteredDims())) {
      std::string extent = emitter.size(extents[dim]), index = (*values)[1 + i];
      if (!places[i].getType().isIndex())
        index = emitter.checkIndex(index, extent, op.getSite().value_or(0), isOwn);
      address += " + " + index + " * " + emitter.size(strides[dim]);
      place = "(" + place + ") * " + extent + " + " + index;
    }
    if (merger.form() != LaneForm::Single) {
      std::string number = emitter.let("int", place, "number");
      isOwn += " && " + begin + " <= " + number + " && " + number + " < " + end;
    }
    // 2. The element there, changed.
    emitter.open("if (" + isOwn + ")");
    std::string at = emitter.let("int", address, "at");
    std::string old = emitter.let(ShaderEmitter::glslType(plan.getOperandType(result).getElementType()),
                                  emitter.load(result, at), "old");
    auto changed = RegionPrinter(emitter, loops).print(op.getCombine(), {old, values->back()});
    if (failed(changed))
      return failure();
    emitter.store(result, at, changed->front());
    emitter.close();
    return success();
  }

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  kernel::ScatterOp op;
  SmallVector<std::string> loops;
  unsigned result; // its operand
  LaneMerger merger;
  SmallVector<Polynomial> extents, strides;
  Polynomial count = 1;           // of places
  std::string origin, begin, end; // of this invocation's own places
};

} // namespace

LogicalResult emitScatter(ShaderEmitter &emitter, StringRef form) {
  return ScatterGenerator(emitter, parseLaneForm(form)).emit();
}

} // namespace heddle::vulkan
