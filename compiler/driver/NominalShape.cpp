// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one typical input. Where it doesn't fit the model's checks, estimates go on.

#include "compiler/driver/NominalShape.h"

#include "compiler/pipelines/EvaluateSizes.h"

using namespace mlir;
using namespace heddle;

static constexpr int64_t kNominalBatch = 1, kNominalLength = 128;

llvm::StringRef heddle::describeNominalShape() { return "first dynamic dimension 1, others 128"; }

static int64_t nominalDim(rt::FuncOp entry, int64_t input, int64_t dim) {
  auto dims = cast<DictionaryAttr>(entry.getInputs()[input]).getAs<ArrayAttr>("dims");
  if (auto fixed = dyn_cast<IntegerAttr>(dims[dim]))
    return fixed.getInt();
  bool isFirst = llvm::none_of(dims.getValue().take_front(dim), [](Attribute attr) { return isa<StringAttr>(attr); });
  return isFirst ? kNominalBatch : kNominalLength;
}

llvm::DenseMap<Value, int64_t> heddle::evaluateNominalSizes(rt::FuncOp entry) {
  llvm::DenseMap<Value, int64_t> values;
  auto getDim = [&](rt::InputDimOp op) { return nominalDim(entry, op.getInput(), op.getDim()); };
  for (auto function : entry.getBody().getOps<rt::ShapeFuncOp>())
    evaluateSizes(function, {getDim, /*value=*/0}, SizeErrors::CountAsZero, values);
  return values;
}
