// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the places; each reason to leave one alone is a guard of its own.

#include "compiler/transforms/quantization/WeightSites.h"

#include "compiler/transforms/outlining/ConstantRecipe.h"
#include "dialects/nn/Locations.h"
#include "dialects/nn/NnOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

/// Below this many terms a sum costs less than quantising its row does.
static constexpr int64_t kMinTerms = 32;
/// Packed weights come in panels of 16 columns; a product that fills none is a classifier's, and small.
static constexpr int64_t kMinColumns = 16;
/// Tables below 2 MB, as those of positions and token types, save little, and each row goes into many tokens:
/// MiniLM-L3's positions as i8 are the noisiest of all its weights.
static constexpr int64_t kMinTableElements = 1 << 19;

StringRef nn::stringifyWeightSiteKind(WeightSiteKind kind) {
  return kind == WeightSiteKind::Product ? "product" : kind == WeightSiteKind::Table ? "table" : "convolution";
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Why the product of |lhs| and |weight| can only stay float.
static StringRef whyFloat(Value lhs, Value weight, bool isTransposed) {
  if (weight.getDefiningOp<DequantizeLinearOp>())
    return "its weight is quantised in the model";
  RankedTensorType type = typeOf(weight);
  if (type.getRank() != 2 || !findConstantRecipe(weight))
    return "its right side isn't a constant matrix";
  if (!type.getElementType().isF32())
    return "its elements aren't f32";
  if (typeOf(lhs).getRank() < 2)
    return "its left side is a vector";
  if (type.getDimSize(isTransposed ? 1 : 0) < kMinTerms)
    return "its sums have fewer than 32 terms";
  if (type.getDimSize(isTransposed ? 0 : 1) < kMinColumns)
    return "it has fewer than 16 columns";
  return "";
}

/// What |op| is, if it reads weights.
static std::optional<WeightSite> matchSite(Operation *op) {
  if (auto matmul = dyn_cast<MatMulOp>(op))
    return WeightSite{WeightSiteKind::Product, op, {}, whyFloat(matmul.getLhs(), matmul.getRhs(), false)};
  if (auto gemm = dyn_cast<GemmOp>(op))
    return WeightSite{WeightSiteKind::Product, op, {}, whyFloat(gemm.getLhs(), gemm.getRhs(), gemm.getTransB())};
  if (isa<ConvOp, ConvTransposeOp>(op))
    return WeightSite{WeightSiteKind::Convolution, op, {}, "convolutions stay float"};
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || gather.getAxis() != 0)
    return std::nullopt;
  RankedTensorType table = typeOf(gather.getData());
  if (table.getRank() != 2 || !table.getElementType().isF32() || !findConstantRecipe(gather.getData()))
    return std::nullopt;
  return WeightSite{
      WeightSiteKind::Table, op, {}, table.getNumElements() < kMinTableElements ? "it has less than 2 MB" : ""};
}

SmallVector<WeightSite> nn::findWeightSites(func::FuncOp func) {
  SmallVector<WeightSite> sites;
  for (Operation &op : func.getBody().front())
    if (std::optional<WeightSite> site = matchSite(&op)) {
      for (const OnnxNode &node : findOnnxNodes(op.getLoc()))
        site->nodes.push_back(node.name);
      sites.push_back(std::move(*site));
    }
  return sites;
}
