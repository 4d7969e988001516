// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops whose result has the shape of their first operand. What they demand of the others' sizes is decided by types only
// where these are static; the rest is checked here, or kernels would read past a tensor's end.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"
#include "llvm/ADT/STLExtras.h"

using namespace heddle;
using namespace mlir;

/// Results have the shape of the first operand.
static LogicalResult setUnchangedDims(ShapeAnalyzer &analyzer, Operation *op) {
  return analyzer.setDims(op->getResult(0), analyzer.getDims(op->getOperand(0)));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// Demands that |value|, null where absent, broadcasts from the right onto |op|'s first operand.
static LogicalResult requireBroadcast(ShapeAnalyzer &analyzer, Operation *op, Value value, StringRef what) {
  if (!value)
    return success();
  ArrayRef<ShapeExpr> onto = analyzer.getDims(op->getOperand(0));
  for (auto [have, want] : llvm::zip(llvm::reverse(analyzer.getDims(value)), llvm::reverse(onto)))
    if (!have.isConstant(1) &&
        failed(analyzer.requireEqual(op, have, want,
                                     "expects " + what + " to broadcast onto the input, got sizes {a} and {b}")))
      return failure();
  return success();
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::LayerNormOp op) {
  if (failed(requireBroadcast(analyzer, op, op.getScale(), "scale")) ||
      failed(requireBroadcast(analyzer, op, op.getBias(), "bias")))
    return failure();
  return setUnchangedDims(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::RmsNormOp op) {
  if (failed(requireBroadcast(analyzer, op, op.getScale(), "scale")))
    return failure();
  return setUnchangedDims(analyzer, op);
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

/// Demands that |parameters| (scales or zero points) are as many as |input|'s |axis| has entries or blocks; a scalar
/// serves all.
static LogicalResult requireParameters(ShapeAnalyzer &analyzer, Operation *op, Value parameters, int64_t axis,
                                       int64_t blockSize) {
  if (!parameters || analyzer.getDims(parameters).empty())
    return success();
  ShapeExprs want(analyzer.getDims(op->getOperand(0)));
  if (blockSize == 0)
    want = {want[axis]};
  else
    want[axis] = analyzer.context.ceilDiv(want[axis], analyzer.context.constant(blockSize));
  for (auto [i, sizes] : llvm::enumerate(llvm::zip(analyzer.getDims(parameters), want)))
    if (failed(
            analyzer.requireEqual(op, std::get<0>(sizes), std::get<1>(sizes),
                                  "expects scales and zero points of size {b} at dimension " + Twine(i) + ", got {a}")))
      return failure();
  return success();
}

template <typename OpTy> static LogicalResult inferQuantized(ShapeAnalyzer &analyzer, OpTy op) {
  if (failed(requireParameters(analyzer, op, op.getScale(), op.getAxis(), op.getBlockSize())) ||
      failed(requireParameters(analyzer, op, op.getZeroPoint(), op.getAxis(), op.getBlockSize())))
    return failure();
  return setUnchangedDims(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::QuantizeLinearOp op) {
  return inferQuantized(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::DequantizeLinearOp op) {
  return inferQuantized(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::DynamicQuantizeLinearOp op) {
  if (failed(analyzer.setDims(op.getScale(), {})) || failed(analyzer.setDims(op.getZeroPoint(), {})))
    return failure();
  return setUnchangedDims(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::QuantizeRowsOp op) {
  ShapeExprs rows(analyzer.getDims(op.getInput()));
  rows.back() = analyzer.context.constant(1);
  if (failed(analyzer.setDims(op.getScale(), rows)) || failed(analyzer.setDims(op.getZeroPoint(), rows)))
    return failure();
  return setUnchangedDims(analyzer, op);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Demands that updates have exactly the sizes |want|.
static LogicalResult requireUpdates(ShapeAnalyzer &analyzer, Operation *op, Value updates, ArrayRef<ShapeExpr> want) {
  for (auto [i, sizes] : llvm::enumerate(llvm::zip(analyzer.getDims(updates), want)))
    if (failed(analyzer.requireEqual(op, std::get<0>(sizes), std::get<1>(sizes),
                                     "expects updates of size {b} at dimension " + Twine(i) + ", got {a}")))
      return failure();
  return success();
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ScatterElementsOp op) {
  ArrayRef<ShapeExpr> indices = analyzer.getDims(op.getIndices());
  if (failed(requireUpdates(analyzer, op, op.getUpdates(), indices)))
    return failure();
  for (auto [i, sizes] : llvm::enumerate(llvm::zip(indices, analyzer.getDims(op.getData()))))
    if (i != op.getAxis() &&
        failed(analyzer.require(op, rt::CheckKind::LessEqual, std::get<0>(sizes), std::get<1>(sizes),
                                "expects indices of at most {b} entries at dimension " + Twine(i) + ", got {a}")))
      return failure();
  return setUnchangedDims(analyzer, op);
}

LogicalResult heddle::inferDims(ShapeAnalyzer &analyzer, nn::ScatterNdOp op) {
  ArrayRef<ShapeExpr> data = analyzer.getDims(op.getData()), indices = analyzer.getDims(op.getIndices());
  std::optional<int64_t> tuple = indices.back().getConstant();
  if (!tuple || *tuple < 1 || *tuple > static_cast<int64_t>(data.size()))
    return op.emitOpError() << "expects index tuples of a static length within [1, " << data.size() << "], got "
                            << indices.back().str();
  ShapeExprs updates(indices.drop_back());
  llvm::append_range(updates, data.drop_front(*tuple));
  if (failed(requireUpdates(analyzer, op, op.getUpdates(), updates)))
    return failure();
  return setUnchangedDims(analyzer, op);
}
