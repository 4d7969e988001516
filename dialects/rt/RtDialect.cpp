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
  if (getGrids().size() != getGrains().size() || getGrids().size() != getScratch().size())
    return emitOpError() << "expects as many grids as grains and scratch sizes, got " << getGrids().size() << ", "
                         << getGrains().size() << " and " << getScratch().size();
  return success();
}
