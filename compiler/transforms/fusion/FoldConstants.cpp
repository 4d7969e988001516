// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn-fold-constants: evaluates ops of small constants and writes down what they give.

#include "compiler/reference/Evaluator.h"
#include "compiler/transforms/fusion/Passes.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "nn-fold-constants"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

using reference::HostTensor;

bool isNnOp(Operation *op) { return isa_and_nonnull<NnDialect>(op->getDialect()); }

// Bytes of a tensor of |type|; nothing where its shape isn't static.
std::optional<int64_t> getBytes(Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  return ranked ? getRawSize(ranked) : std::nullopt;
}

DenseElementsAttr toLiteral(const HostTensor &tensor) {
  if (!tensor.isFloat()) {
    unsigned width = tensor.getElementType().getIntOrFloatBitWidth();
    SmallVector<APInt> values;
    for (int64_t value : tensor.getInts())
      values.emplace_back(64, static_cast<uint64_t>(value));
    for (APInt &value : values)
      value = value.trunc(width);
    return DenseElementsAttr::get(tensor.getType(), values);
  }
  const llvm::fltSemantics &semantics = cast<FloatType>(tensor.getElementType()).getFloatSemantics();
  SmallVector<APFloat> values;
  for (double number : tensor.getFloats()) {
    bool losesInfo;
    values.emplace_back(number);
    values.back().convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return DenseElementsAttr::get(tensor.getType(), values);
}

struct FoldConstantsPass : impl::FoldConstantsPassBase<FoldConstantsPass> {
  using FoldConstantsPassBase::FoldConstantsPassBase;

  void runOnOperation() override {
    // In order, so that a chain folds in one pass: users come after what they use.
    for (Block &block : getOperation().getBody())
      for (Operation &op : llvm::make_early_inc_range(block))
        if (isFoldable(op) && failed(fold(op)))
          return signalPassFailure();
  }

private:
  bool isFoldable(Operation &op);
  bool hasSmallConstantOperands(Operation &op);
  LogicalResult fold(Operation &op);
};

bool FoldConstantsPass::hasSmallConstantOperands(Operation &op) {
  int64_t total = 0;
  for (Value operand : op.getOperands()) {
    auto constant = operand.getDefiningOp<ConstantOp>();
    if (!constant)
      return false;
    total += getBytes(constant.getType()).value_or(maxOperandBytes + 1);
  }
  return total <= maxOperandBytes;
}

/// True if |use| is the weight of a convolution whose input is codes as well, so that it multiplies codes.
static bool isConvolvedWithCodes(OpOperand &use) {
  auto conv = dyn_cast<ConvOp>(use.getOwner());
  if (!conv || use.getOperandNumber() != 1 || conv.getGroup() != 1)
    return false;
  Value input = conv.getInput();
  if (auto difference = input.getDefiningOp<BinaryOp>())
    input = difference.getLhs();
  return isa_and_nonnull<CastOp, DequantizeLinearOp>(input.getDefiningOp());
}

/// True if |op| widens or dequantises codes that convolutions multiply as they are.
static bool isWeightOfCodes(Operation &op) {
  if (!isa<CastOp, DequantizeLinearOp>(op) || !getElementTypeOrSelf(op.getOperand(0)).isInteger(8) || op.use_empty())
    return false;
  return llvm::all_of(op.getUses(), [](OpOperand &use) {
    auto difference = dyn_cast<BinaryOp>(use.getOwner());
    bool isCentred = difference && difference.getKind() == BinaryKind::Sub && use.getOperandNumber() == 0;
    return isCentred ? llvm::all_of(difference->getUses(), isConvolvedWithCodes) : isConvolvedWithCodes(use);
  });
}

bool FoldConstantsPass::isFoldable(Operation &op) {
  // 1. Most ops depend on an input.
  if (!isNnOp(&op) || isa<ConstantOp>(op) || op.getNumOperands() == 0 || !hasSmallConstantOperands(op) ||
      isWeightOfCodes(op))
    return false;

  // 2. With constant operands inference knows the shape even where the declared type doesn't.
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  SmallVector<Type> types;
  if (!inference || failed(inference.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(),
                                                      op.getDiscardableAttrDictionary(), op.getPropertiesStorage(),
                                                      op.getRegions(), types)))
    return false;
  for (auto [result, inferred] : llvm::zip_equal(op.getResults(), types)) {
    // 3. Large constants never become literals.
    std::optional<int64_t> bytes = getBytes(inferred), declared = getBytes(result.getType());
    if (std::min(bytes.value_or(INT64_MAX), declared.value_or(INT64_MAX)) > ConstantOp::kMaxLiteralBytes)
      return false;

    // 4. A function's signature, or an op of another dialect, may insist on the type that it sees.
    if (!declared && !llvm::all_of(result.getUsers(), isNnOp))
      return false;
  }
  return true;
}

LogicalResult FoldConstantsPass::fold(Operation &op) {
  SmallVector<HostTensor> operands;
  for (Value operand : op.getOperands()) {
    auto tensors = reference::evaluateOp(operand.getDefiningOp(), {});
    if (!tensors)
      return op.emitOpError() << llvm::toString(tensors.takeError());
    operands.push_back(tensors->front());
  }
  SmallVector<const HostTensor *> pointers;
  for (const HostTensor &operand : operands)
    pointers.push_back(&operand);
  auto results = reference::evaluateOp(&op, pointers);
  if (!results)
    return op.emitOpError() << llvm::toString(results.takeError());

  OpBuilder builder(&op);
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), *results))
    result.replaceAllUsesWith(builder.create<ConstantOp>(op.getLoc(), toLiteral(tensor)));
  SmallVector<Value> constants(op.getOperands());
  op.erase();
  // Nobody may be left to read them; one operand may occur twice.
  for (Value constant : llvm::SmallSetVector<Value, 4>(constants.begin(), constants.end()))
    if (constant.use_empty())
      constant.getDefiningOp()->erase();
  ++numFoldedOps;
  return success();
}

} // namespace
} // namespace heddle::nn
