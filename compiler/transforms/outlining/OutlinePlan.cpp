// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The outlining decisions: groups around roots, and what is stored.

#include "compiler/transforms/outlining/OutlinePlan.h"

#include "compiler/transforms/outlining/ConstantRecipe.h"
#include "compiler/transforms/outlining/ProductWeights.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;

/// An element this cheap is computed again by each reader rather than stored: about what a load costs.
static constexpr int64_t kCheap = 2;
/// The most that one kernel computes per element for values that aren't stored; beyond, code size grows for nothing.
static constexpr int64_t kMaxInlineCost = 200;
/// A row-wise root computes its input once per stage.
static constexpr int64_t kMaxRowwiseInputCost = 12;
/// What exp, erf and their kind cost beside an addition.
static constexpr int64_t kFunctionCost = 10;
/// How far below a root its group is looked for.
static constexpr unsigned kMaxGroupScan = 256;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static bool isElementwise(Operation *op) { return op->hasTrait<nn::Broadcasting>(); }

OutlineRole heddle::getOutlineRole(Operation *op) {
  // arith.constant: a scalar that regions of attention use, cloned into them.
  if (isa<nn::ShapeOp, nn::SizeOp, nn::ConstantOp, nn::QuantizeWeightOp, arith::ConstantOp>(op) || makesConstant(op))
    return OutlineRole::Shape;
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SqueezeOp, nn::UnsqueezeOp, nn::FlattenOp, nn::ExpandOp, nn::TileOp,
          nn::SliceOp, nn::SplitOp>(op))
    return OutlineRole::View;
  if (isElementwise(op) ||
      isa<nn::GatherOp, nn::GatherElementsOp, nn::GatherNdOp, nn::RangeOp, nn::ConstantOfShapeOp, nn::TriluOp,
          nn::ConcatOp, nn::PadOp, nn::ResizeOp, nn::OneHotOp, nn::QuantizeLinearOp, nn::DequantizeLinearOp>(op))
    return OutlineRole::Inline;
  if (isa<nn::MatMulOp, nn::GemmOp, nn::SoftmaxOp, nn::LogSoftmaxOp, nn::LayerNormOp, nn::RmsNormOp, nn::ReduceOp,
          nn::CumSumOp, nn::ArgReduceOp, nn::ConvOp, nn::MatMulIntegerOp, nn::EinsumOp, nn::DynamicQuantizeLinearOp,
          nn::QuantizeRowsOp, nn::ScatterElementsOp, nn::ScatterNdOp, nn::TopKOp, nn::PoolOp, nn::ConvTransposeOp,
          attn::SdpaOp>(op))
    return OutlineRole::Root;
  return OutlineRole::Unsupported;
}

bool heddle::isDequantizedTable(Value value) {
  constexpr unsigned kMaxOps = 4;
  SmallVector<Value> values{value};
  unsigned count = 0;
  // Each constant and each op that stands between them and the result.
  while (!values.empty()) {
    Value next = values.pop_back_val();
    if (findConstantRecipe(next))
      continue;
    Operation *op = next.getDefiningOp();
    bool isComputed = isa_and_nonnull<nn::BinaryOp, nn::CastOp, nn::DequantizeLinearOp, nn::TransposeOp>(op);
    if (auto dequantize = dyn_cast_or_null<nn::DequantizeLinearOp>(op))
      isComputed = dequantize.getBlockSize() == 0;
    if (!isComputed || ++count > kMaxOps)
      return false;
    llvm::append_range(values, op->getOperands());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

OutlinePlan::OutlinePlan(func::FuncOp func, const ShapeAnalysis &analysis) : analysis(analysis) {
  for (Operation &op : func.getBody().front())
    if (getOutlineRole(&op) == OutlineRole::Root)
      findGroup(&op);
  // In order: what an op's operands cost depends on which of them are stored.
  for (Operation &op : func.getBody().front()) {
    bool isAlone = getOutlineRole(&op) == OutlineRole::Inline && !absorbed.contains(&op) && !rootOfEnd.contains(&op);
    if (isAlone && !isShapeValue(op.getResult(0)) && needsMemory(&op))
      materialized.insert(op.getResult(0));
  }
}

bool OutlinePlan::isShapeUse(OpOperand &use) const {
  Operation *reader = use.getOwner();
  if (isa<nn::ShapeOp, nn::SizeOp>(reader))
    return true;
  if (auto shaped = dyn_cast<nn::ShapeOperandsInterface>(reader);
      shaped && llvm::is_contained(shaped.getShapeOperands(), use.get()) && !isa<nn::RangeOp>(reader))
    return true;
  return reader->getNumResults() == 1 && isShapeValue(reader->getResult(0));
}

/// True if |op| changes more than where extents of 1 stand.
static bool isRealReshape(Operation *op, const ShapeAnalysis &analysis) {
  if (!isa<nn::ReshapeOp, nn::FlattenOp>(op))
    return false;
  auto wide = [&](Value value) {
    return llvm::to_vector(
        llvm::make_filter_range(analysis.getDims(value), [](ShapeExpr dim) { return !dim.isConstant(1); }));
  };
  return wide(op->getOperand(0)) != wide(op->getResult(0));
}

void OutlinePlan::collectReaders(Value value, bool reshaped,
                                 SmallVectorImpl<std::pair<OpOperand *, bool>> &readers) const {
  for (OpOperand &use : value.getUses()) {
    if (isShapeUse(use))
      continue;
    Operation *reader = use.getOwner();
    if (getOutlineRole(reader) != OutlineRole::View) {
      readers.push_back({&use, reshaped});
      continue;
    }
    for (Value result : reader->getResults())
      collectReaders(result, reshaped || isRealReshape(reader, analysis), readers);
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// True if |op| only parts or joins rows: exporters flatten a product's rows and part its result again.
static bool reshapesRows(Operation *op, const ShapeAnalysis &analysis) {
  if (!isa<nn::ReshapeOp, nn::FlattenOp>(op))
    return false;
  ArrayRef<ShapeExpr> from = analysis.getDims(op->getOperand(0)), to = analysis.getDims(op->getResult(0));
  return !from.empty() && !to.empty() && from.back() == to.back();
}

/// Ops that compute each element from their first operand's, and others that broadcast.
static bool continuesGroup(Operation *op) {
  return isElementwise(op) || isa<nn::QuantizeLinearOp, nn::DequantizeLinearOp>(op);
}

/// Element-wise ops join the kernel that makes their operand as long as nothing but the last of them is read elsewhere:
/// bias, activation, scale, mask, residual. |end| is the last such op. A product's group goes on behind a reshape of
/// its rows.
void OutlinePlan::findGroup(Operation *root) {
  bool isProduct = isa<nn::MatMulOp, nn::GemmOp, nn::MatMulIntegerOp>(root);
  llvm::SetVector<Operation *> members;
  members.insert(root);
  size_t validCount = 1;
  // Their kernels have no place for an epilogue.
  if (isa<attn::SdpaOp, nn::DynamicQuantizeLinearOp, nn::QuantizeRowsOp, nn::ScatterElementsOp, nn::ScatterNdOp,
          nn::TopKOp>(root)) {
    rootOfEnd[root] = root;
    return;
  }
  auto isMember = [&](Value value) { return members.contains(value.getDefiningOp()); };
  auto joins = [&](Operation *op) {
    bool isTaken = absorbed.contains(op) || rootOfEnd.contains(op); // by an earlier root's group
    if (isTaken || !llvm::any_of(op->getOperands(), isMember))
      return false;
    if (isProduct && reshapesRows(op, analysis))
      return isMember(op->getOperand(0));
    if (!continuesGroup(op) || isShapeValue(op->getResult(0)))
      return false;
    if (!isElementwise(op) && llvm::any_of(op->getOperands().drop_front(), isMember))
      return false;
    // The codes are what is stored.
    if (feedsCodes(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !isMember(operand) || analysis.getDims(operand) == analysis.getDims(op->getResult(0));
    });
  };
  // Valid so far if no member but the last is read by anything outside.
  auto isClosed = [&] {
    return llvm::all_of(members.getArrayRef().drop_back(), [&](Operation *member) {
      return llvm::all_of(member->getResult(0).getUses(),
                          [&](OpOperand &use) { return members.contains(use.getOwner()) || isShapeUse(use); });
    });
  };
  Operation *op = root->getNextNode();
  for (unsigned i = 0; op && i < kMaxGroupScan; ++i, op = op->getNextNode())
    if (joins(op)) {
      members.insert(op);
      // A reshape at the end is a view of what is stored.
      if (isClosed() && continuesGroup(op))
        validCount = members.size();
    }
  ArrayRef<Operation *> group = members.getArrayRef().take_front(validCount);
  rootOfEnd[group.back()] = root;
  for (Operation *member : group.drop_back())
    absorbed.insert(member);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool isCheapUnary(nn::UnaryKind kind) {
  using Kind = nn::UnaryKind;
  return llvm::is_contained({Kind::Abs, Kind::Neg, Kind::Relu, Kind::Not, Kind::IsNan, Kind::BitwiseNot}, kind);
}

int64_t OutlinePlan::getCost(Value value, int64_t budget, unsigned depth) const {
  Operation *op = value.getDefiningOp();
  if (!op || isShapeValue(value) || materialized.contains(value) || absorbed.contains(op) || rootOfEnd.contains(op))
    return 0;
  OutlineRole role = getOutlineRole(op);
  if (role == OutlineRole::Shape || role == OutlineRole::Root)
    return 0;
  // An interpolation reads and weighs up to 16 elements or more: never twice.
  if (budget <= 0 || depth > kMaxInlineCost || isa<nn::ResizeOp>(op))
    return kMaxInlineCost;
  int64_t cost = role == OutlineRole::View || isa<nn::CastOp, nn::ConstantOfShapeOp>(op) ? 0 : 1;
  if (auto unary = dyn_cast<nn::UnaryOp>(op); unary && !isCheapUnary(unary.getKind()))
    cost = kFunctionCost;
  if (isa<nn::QuantizeLinearOp>(op)) // a division, rounding and saturation
    cost = kFunctionCost;
  for (Value operand : op->getOperands())
    cost += getCost(operand, budget - cost, depth + 1);
  return std::min(cost, kMaxInlineCost);
}

/// Ops that read an operand's memory at places of their own choosing, many times, or as the model's output.
static bool readsMemory(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (isa<nn::GatherOp>(reader) && use.getOperandNumber() == 0)
    return !isDequantizedTable(use.get());
  if (isa<nn::GatherOp, nn::GatherElementsOp, nn::GatherNdOp, nn::PadOp, nn::ResizeOp, nn::PoolOp, nn::ConvTransposeOp,
          nn::ScatterElementsOp, nn::ScatterNdOp>(reader))
    return use.getOperandNumber() == 0;
  if (auto norm = dyn_cast<nn::LayerNormOp>(reader))
    return static_cast<int64_t>(norm.getAxis()) + 1 != cast<RankedTensorType>(norm.getInput().getType()).getRank();
  if (auto norm = dyn_cast<nn::RmsNormOp>(reader))
    return static_cast<int64_t>(norm.getAxis()) + 1 != cast<RankedTensorType>(norm.getInput().getType()).getRank();
  if (auto sdpa = dyn_cast<attn::SdpaOp>(reader))
    return !llvm::is_contained(sdpa.getScoreCaptures(), use.get()) &&
           !llvm::is_contained(sdpa.getMaskCaptures(), use.get()) &&
           !llvm::is_contained(sdpa.getProbabilityCaptures(), use.get()) && use.get() != sdpa.getQOffset();
  if (readsCodes(use))
    return false;
  if (isa<nn::DequantizeLinearOp, nn::CastOp>(reader) && use.getOperandNumber() == 0)
    return feedsCodes(reader);
  return isa<func::ReturnOp, nn::MatMulOp, nn::GemmOp, nn::ConvOp, nn::EinsumOp, nn::MatMulIntegerOp>(reader);
}

/// A table read that attention would repeat for each score, though there are fewer elements.
static bool repeatsRead(Operation *op, OpOperand &use) {
  auto sdpa = dyn_cast<attn::SdpaOp>(use.getOwner());
  if (!sdpa || !isa<nn::GatherOp, nn::GatherElementsOp, nn::GatherNdOp>(op))
    return false;
  auto isFewer = [&](auto captures, ArrayRef<AffineMap> maps) {
    return llvm::any_of(llvm::zip(captures, maps), [&](auto pair) {
      auto [capture, map] = pair;
      return capture == use.get() && !(map.isFunctionOfDim(attn::kQuery) && map.isFunctionOfDim(attn::kKey));
    });
  };
  return isFewer(sdpa.getScoreCaptures(), sdpa.getScoreCaptureMapList()) ||
         isFewer(sdpa.getMaskCaptures(), sdpa.getMaskCaptureMapList()) ||
         isFewer(sdpa.getProbabilityCaptures(), sdpa.getProbabilityCaptureMapList());
}

bool OutlinePlan::needsMemory(Operation *op) {
  Value value = op->getResult(0);
  SmallVector<std::pair<OpOperand *, bool>> readers;
  collectReaders(value, /*reshaped=*/false, readers);
  if (!readers.empty() && llvm::all_of(readers, [](auto &reader) { return readsCodes(*reader.first); }))
    return false;
  int64_t cost = getCost(value, kMaxInlineCost, /*depth=*/0);
  // Pairs that were put beside each other and flattened: channels of an interleaved rotation.
  bool isInterleaving = isa<nn::ConcatOp>(op) && cost <= kCheap && analysis.getDims(value).back().getConstant();
  if (llvm::any_of(readers, [&](auto &reader) {
        return (reader.second && !isInterleaving) || readsMemory(*reader.first) || repeatsRead(op, *reader.first);
      }))
    return true;
  // Parts are read at computed places, where only a few element-wise ops are worth doing again: half of a rotation.
  bool isPart = llvm::any_of(readers, [](auto &reader) { return isa<nn::ConcatOp>(reader.first->getOwner()); });
  if (isPart && (cost > kCheap || !isElementwise(op)))
    return true;
  if (cost <= kCheap)
    return false;
  if (readers.size() > 1 || cost >= kMaxInlineCost)
    return true;
  if (readers.empty())
    return false;
  Operation *reader = readers.front().first->getOwner();
  if (isa<attn::SdpaOp>(reader))
    return true; // a capture, which every head and row would compute again
  if (getOutlineRole(reader) == OutlineRole::Root)
    return cost > kMaxRowwiseInputCost;
  // A reader with more elements would compute each of ours many times.
  ShapeContext &shapes = const_cast<ShapeAnalysis &>(analysis).getContext();
  return shapes.product(analysis.getDims(value)) != shapes.product(analysis.getDims(reader->getResult(0)));
}

/// The order of |value|'s dimensions before the transpose behind which it is computed element by element.
static SmallVector<int64_t> findSourceOrder(Value value) {
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (auto transpose = dyn_cast<nn::TransposeOp>(op))
      return llvm::to_vector_of<int64_t>(invertPermutationVector(transpose.getPerm()));
    // The operand in front is the one of all elements, as exporters write scales behind.
    if (!continuesGroup(op) || op->getNumOperands() == 0 ||
        cast<RankedTensorType>(op->getOperand(0).getType()).getRank() !=
            cast<RankedTensorType>(value.getType()).getRank())
      return {};
  }
  return {};
}

SmallVector<int64_t> OutlinePlan::getStoredOrder(Value value) const {
  // Attention walks its operands in any order: they stay in the one of what they are computed from.
  auto readsAnyOrder = [&](OpOperand &use) {
    auto sdpa = dyn_cast<attn::SdpaOp>(use.getOwner());
    return isShapeUse(use) || (sdpa && llvm::is_contained({sdpa.getQuery(), sdpa.getKey(), sdpa.getValue()}, value));
  };
  if (llvm::all_of(value.getUses(), readsAnyOrder))
    return findSourceOrder(value);
  SmallVector<int64_t> order;
  for (OpOperand &use : value.getUses()) {
    if (isShapeUse(use))
      continue;
    auto transpose = dyn_cast<nn::TransposeOp>(use.getOwner());
    if (!transpose || (!order.empty() && ArrayRef(order) != transpose.getPerm()))
      return {};
    order.assign(transpose.getPerm().begin(), transpose.getPerm().end());
  }
  return order;
}
