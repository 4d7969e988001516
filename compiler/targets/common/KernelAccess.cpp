// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/KernelAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle {

static bool isIntegerDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp>(op);
}

/// True if the kernel may have to return an error.
static bool hasChecks(kernel::RootOpInterface root) {
  auto scatter = dyn_cast<kernel::ScatterOp>(*root);
  if (scatter && scatter.getSite())
    return true;
  auto isChecked = [](Operation *op) {
    auto gather = dyn_cast<kernel::GatherOp>(op);
    auto isData = [](Value index) { return !index.getType().isIndex(); };
    bool isCheckedRead = gather && llvm::any_of(gather.getIndices(), isData);
    return isCheckedRead || isIntegerDivision(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return root->walk(isChecked).wasInterrupted();
}

KernelAccess::KernelAccess(kernel::FuncOp func)
    : func(func), root(func.getRoot()), space(func.getContext(), func.getNumSizes()) {
  canFail = root && hasChecks(func.getRoot());
}

SmallVector<bool> KernelAccess::findUsedIndices() {
  SmallVector<bool> used(func.getRoot().getNumLoops(), false);
  root->walk([&](kernel::IndexOp op) {
    if (static_cast<size_t>(op.getLoop()) < used.size())
      used[op.getLoop()] = true;
  });
  return used;
}

LogicalResult KernelAccess::readOperands() {
  kernel::RootOpInterface root = func.getRoot();
  // 1. The maps' symbols are the root's sizes; everything after this line speaks of the function's size arguments.
  unsigned numTensors = func.getNumInputs();
  numInputs = root.getRootInputs().size();
  SmallVector<AffineExpr> symbols;
  for (Value size : root.getRootSizes()) {
    auto argument = dyn_cast<BlockArgument>(size);
    if (!argument || argument.getArgNumber() < numTensors)
      return root->emitOpError("expects its sizes to be arguments of the kernel.func");
    symbols.push_back(getAffineSymbolExpr(argument.getArgNumber() - numTensors, func.getContext()));
  }
  unsigned numLoops = root.getNumLoops(), numSizes = func.getNumSizes();
  auto onArguments = [&](AffineMap map) { return map.replaceDimsAndSymbols({}, symbols, numLoops, numSizes); };
  for (AffineExpr bound : root.getRootBounds().getResults())
    nest.bounds.push_back(Polynomial::get(bound.replaceSymbols(symbols), space));

  // 2. Inputs are the function's tensor arguments, results its outputs.
  for (auto [i, input] : llvm::enumerate(root.getRootInputs())) {
    auto argument = dyn_cast<BlockArgument>(input);
    if (!argument || argument.getArgNumber() >= numTensors)
      return root->emitOpError() << "expects input " << i << " to be a tensor argument of the kernel.func";
    bindings.push_back(argument.getArgNumber());
    nest.accesses.push_back(getAccess(cast<RankedTensorType>(input.getType()),
                                      func.getInputDims(argument.getArgNumber()), onArguments(root.getInputMap(i)),
                                      space));
  }
  auto returned = func.getBody().front().getTerminator()->getOperands();
  for (auto [i, result] : llvm::enumerate(root->getResults())) {
    auto position = llvm::find(returned, result);
    if (position == returned.end() || llvm::count(returned, result) != 1)
      return root->emitOpError() << "expects result " << i << " to be returned exactly once";
    unsigned number = position - returned.begin();
    bindings.push_back(numTensors + number);
    nest.accesses.push_back(getAccess(cast<RankedTensorType>(result.getType()), func.getResultDims(number),
                                      onArguments(root.getResultMap(i)), space));
  }
  for (unsigned i = 0; i < numTensors; ++i)
    bindingElements.push_back(getNumElements(cast<RankedTensorType>(func.getArgumentTypes()[i]), func.getInputDims(i)));
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    bindingElements.push_back(getNumElements(cast<RankedTensorType>(type), func.getResultDims(i)));
  return success();
}

void KernelAccess::ensureLoop() {
  if (nest.getNumLoops() != 0)
    return;
  nest.bounds.push_back(Polynomial(1));
  for (Access &access : nest.accesses)
    access.strides.push_back(Polynomial());
}

} // namespace heddle
