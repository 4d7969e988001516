// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-outline-kernels: checks that every op has a kernel, decides the groups, and writes kernels and program.

#include "compiler/transforms/outlining/OutlinePlan.h"
#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/Passes.h"
#include "compiler/transforms/outlining/ProductWeights.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#define DEBUG_TYPE "nn-outline-kernels"

namespace heddle::nn {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "compiler/transforms/outlining/Passes.h.inc"
} // namespace heddle::nn

using namespace mlir;
using namespace heddle;

/// Whether the extents of |type| that are known say that no memory holds it.
static bool isTooLarge(Type type) {
  constexpr int64_t kMaxBytes = int64_t(1) << 47; // the address space of a process
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  int64_t bytes = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  // Strides are products as well, whether another extent is 0 or not.
  return llvm::any_of(tensor.getShape(), [&](int64_t extent) {
    return extent > 0 && (llvm::MulOverflow(bytes, extent, bytes) || bytes > kMaxBytes);
  });
}

static bool isHalfByte(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().getIntOrFloatBitWidth() == 4;
}

/// True if |value|, of 4-bit codes or what they stand for, is read by products as their packed right side alone.
static bool isReadAsHalfBytes(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (isa<nn::TransposeOp, nn::DequantizeLinearOp>(reader))
      return isReadAsHalfBytes(reader->getResult(0));
    if (isa<nn::CastOp>(reader))
      return findConstantRecipe(reader->getResult(0)).has_value();
    return readsCodes(use);
  });
}

/// |value| with a byte for each code: a constant as a whole, or what the artifact makes of a constant matrix.
static Value widenHalfBytes(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto narrow = cast<IntegerType>(type.getElementType());
  auto byte = IntegerType::get(builder.getContext(), 8, narrow.getSignedness());
  // A matrix of weights stays in its file.
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (type.getRank() == 2 || !constant)
    return builder.create<nn::CastOp>(loc, value, byte);
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(constant);
  if (failed(data))
    return value;
  SmallVector<char> codes;
  for (int64_t i = 0; i < data->getNumElements(); ++i)
    codes.push_back(static_cast<char>(data->getInt(i)));
  auto wide = type.clone(byte);
  if (static_cast<int64_t>(codes.size()) <= nn::ConstantOp::kMaxLiteralBytes)
    return builder.create<nn::ConstantOp>(loc, wide, DenseElementsAttr::getFromRawBuffer(wide, codes));
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(codes, alignof(char));
  return builder.create<nn::ConstantOp>(loc, wide, DenseResourceElementsAttr::get(wide, "widened", std::move(blob)));
}

/// Kernels read bytes, but for products with a packed right side. So other readers of 4-bit codes get them widened.
static void widenHalfBytes(func::FuncOp func) {
  for (auto op : llvm::make_early_inc_range(func.getOps<nn::DequantizeLinearOp>())) {
    if (!isHalfByte(op.getInput().getType()) || isReadAsHalfBytes(op.getOutput()))
      continue;
    OpBuilder builder(op);
    op.getInputMutable().assign(widenHalfBytes(builder, op.getLoc(), op.getInput()));
    if (Value zero = op.getZeroPoint())
      op.getZeroPointMutable().assign(widenHalfBytes(builder, op.getLoc(), zero));
  }
}

/// Concats of many parts become trees of concats of a few. A kernel looks at each of its parts for every element that
/// it writes, and code generators take the square of a kernel's length.
static void splitConcats(func::FuncOp func) {
  constexpr size_t kMostParts = 32;
  for (auto op : llvm::make_early_inc_range(func.getOps<nn::ConcatOp>())) {
    OpBuilder builder(op);
    SmallVector<Value> parts(op.getInputs());
    while (parts.size() > kMostParts) {
      SmallVector<Value> joined;
      for (ArrayRef<Value> rest = parts; !rest.empty(); rest = rest.drop_front(std::min(kMostParts, rest.size())))
        joined.push_back(builder.create<nn::ConcatOp>(op.getLoc(), rest.take_front(kMostParts), op.getAxis()));
      parts = std::move(joined);
    }
    op.getInputsMutable().assign(parts);
  }
}

/// Why |op| has no kernel; empty if it has one.
static StringRef findObstacle(Operation *op, const ShapeAnalysis &analysis) {
  if (op->getNumResults() == 1 && analysis.getElements(op->getResult(0)))
    return ""; // computed by the shape program
  if (llvm::any_of(op->getOperandTypes(), isTooLarge) || llvm::any_of(op->getResultTypes(), isTooLarge))
    return "expects tensors of at most 2^47 bytes";
  bool isWeight = isa<nn::ConstantOp, nn::QuantizeWeightOp, nn::TransposeOp, nn::DequantizeLinearOp>(op);
  if ((llvm::any_of(op->getOperandTypes(), isHalfByte) || llvm::any_of(op->getResultTypes(), isHalfByte)) &&
      !makesConstant(op) && !(isWeight && isReadAsHalfBytes(op->getResult(0))))
    return "expects elements of a byte or more, or constant matrices of 4 bits that are dequantised";
  if (isa<nn::QuantizeWeightOp>(op) && !findConstantRecipe(op->getResult(0)))
    return "expects a constant weight";
  if (getOutlineRole(op) == OutlineRole::Unsupported)
    return "expects an operator that has a kernel";
  auto isF32 = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isF32(); };
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op)) {
    if (!isF32(sdpa.getQuery()) || !isF32(sdpa.getKey()) || !isF32(sdpa.getValue()) || !isF32(sdpa.getOutput()))
      return "expects query, key and value of element type f32";
  }
  return "";
}

/// Constants that were looked at on the way to the form that is read.
static void eraseUnusedConstants(ModuleOp module) {
  llvm::DenseSet<StringAttr> used;
  for (auto entry : module.getOps<rt::FuncOp>()) {
    for (auto buffer : llvm::make_early_inc_range(entry.getBody().getOps<rt::ConstantBufferOp>())) {
      if (buffer.use_empty())
        buffer.erase();
      else
        used.insert(buffer.getConstantAttr().getAttr());
    }
    for (auto input : entry.getInputs().getAsRange<DictionaryAttr>())
      if (auto constant = input.getAs<FlatSymbolRefAttr>("default"))
        used.insert(constant.getAttr());
  }
  for (auto constant : llvm::make_early_inc_range(module.getOps<rt::ConstantOp>()))
    if (!used.contains(constant.getSymNameAttr()))
      constant.erase();
}

namespace {
struct OutlineKernelsPass : public nn::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using OutlineKernelsPassBase::OutlineKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    ProgramLibrary library(module);
    for (func::FuncOp func : functions)
      if (failed(outline(func, library)))
        return signalPassFailure();
    eraseUnusedConstants(module);
    numKernels += llvm::range_size(module.getOps<kernel::FuncOp>());
    for (auto entry : module.getOps<rt::FuncOp>())
      numDispatches += llvm::range_size(entry.getBody().getOps<rt::DispatchOp>());
  }

  LogicalResult outline(func::FuncOp func, ProgramLibrary &library) {
    widenHalfBytes(func);
    splitConcats(func);
    std::unique_ptr<ShapeAnalysis> analysis = ShapeAnalysis::create(func);
    if (!analysis)
      return failure();
    bool hasAll = true;
    for (Operation &op : func.getBody().front().without_terminator())
      if (StringRef obstacle = findObstacle(&op, *analysis); !obstacle.empty()) {
        op.emitError() << obstacle << "; the CPU target has no kernel for it";
        hasAll = false;
      }
    if (!hasAll)
      return failure();
    OutlinePlan plan(func, *analysis);
    Outliner(func, *analysis, plan, getOperation(), library, bf16Weights).run();
    func.erase();
    return success();
  }
};
} // namespace
