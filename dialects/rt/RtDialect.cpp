// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration and verifiers of the rt dialect.

#include "dialects/rt/RtDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::rt;

#include "dialects/rt/RtDialect.cpp.inc"
#include "dialects/rt/RtEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

void RtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RtOps.cpp.inc"
      >();
}

LogicalResult ConstantOp::verify() {
  static constexpr llvm::StringLiteral kinds[] = {"transpose", "slice", "concat", "multiply", "quantize",
                                                  "scales",    "sums",  "flip",   "widen",    "pack"};
  for (Attribute step : getRecipe()) {
    auto kind = cast<DictionaryAttr>(step).getAs<StringAttr>("kind");
    if (!kind || !llvm::is_contained(kinds, kind.getValue()))
      return emitOpError() << "expects recipe steps of kind " << llvm::join(ArrayRef(kinds), ", ") << ", got " << step;
  }
  if (!cast<RankedTensorType>(getSourceType()).hasStaticShape() || !cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError() << "expects static shapes, got " << getSourceType() << " and " << getType();
  return success();
}

LogicalResult ShapeFuncOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getNumOperands() != getNumResults())
    return emitOpError() << "expects to end in rt.yield of " << getNumResults() << " sizes";
  return success();
}

OpFoldResult ShapeConstantOp::fold(FoldAdaptor) { return IntegerAttr::get(IndexType::get(getContext()), getValue()); }

LogicalResult DispatchOp::verify() {
  if (getResultsInfo().size() != getOutputs().size())
    return emitOpError() << "expects one dictionary of results_info per output, got " << getResultsInfo().size()
                         << " for " << getOutputs().size();
  if (getPaths() && getPaths()->size() != getNodes().size())
    return emitOpError() << "expects a path for each of " << getNodes().size() << " nodes, got " << getPaths()->size();
  if (getGrids().size() != getGrains().size() || getGrids().size() != getScratch().size())
    return emitOpError() << "expects as many grids as grains and scratch sizes, got " << getGrids().size() << ", "
                         << getGrains().size() << " and " << getScratch().size();
  ArrayRef<int64_t> counts = getAxesCounts();
  if (!counts.empty() && counts.size() != getGrids().size())
    return emitOpError() << "expects axes_counts for each of " << getGrids().size() << " targets, got "
                         << counts.size();
  // Extents, and strides of each binding.
  int64_t most = 3 + 3 * static_cast<int64_t>(getInputs().size() + getOutputs().size());
  int64_t sum = 0;
  for (int64_t count : counts) {
    if (count != 0 && count != most)
      return emitOpError() << "expects axes_counts of 0 or " << most << ", got " << count;
    sum += count;
  }
  if (sum != static_cast<int64_t>(getAxes().size()))
    return emitOpError() << "expects " << sum << " axes as axes_counts say, got " << getAxes().size();
  return success();
}

OperandRange DispatchOp::getAxesOf(unsigned i) {
  ArrayRef<int64_t> counts = getAxesCounts();
  if (counts.empty())
    return getAxes().take_front(0);
  int64_t first = 0;
  for (int64_t count : counts.take_front(i))
    first += count;
  return getAxes().slice(first, counts[i]);
}
