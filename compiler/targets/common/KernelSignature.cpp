// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/KernelSignature.h"

#include "compiler/targets/common/KernelName.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle {

std::string getKernelSignature(kernel::FuncOp func) {
  OwningOpRef<kernel::FuncOp> copy(cast<kernel::FuncOp>(func->clone()));
  (*copy)->removeAttr(kernel::kConfigAttrName);
  for (unsigned i = 0; i < copy->getNumArguments(); ++i)
    copy->removeArgAttr(i, kernel::kConstantAttrName);
  auto root = cast<kernel::RootOpInterface>(func.getRoot());
  std::string bounds;
  for (AffineExpr bound : root.getRootBounds().getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(bound);
    bounds += (bounds.empty() ? "" : "x") + (constant ? std::to_string(constant.getValue()) : "?");
  }
  return llvm::formatv("{0}_{1}_{2}_{3}", getTypeWord(func), func.getRoot()->getName().stripDialect(), bounds,
                       llvm::format_hex_no_prefix(hashKernel(*copy, ""), 8));
}

void mergeContractRows(KernelAccess &access) {
  LoopNest &nest = access.nest;
  unsigned rows = nest.getNumLoops() - 3;
  SmallVector<bool> canMerge(nest.getNumLoops(), false);
  for (unsigned loop = 0; loop < rows; ++loop)
    canMerge[loop] = true;
  // The last batch loop that the right side walks must not become part of the rows, not even of a single one.
  for (unsigned loop = rows; loop-- > 0;) {
    if (!nest.accesses[1].uses(loop) || nest.bounds[loop] == Polynomial(1))
      continue;
    canMerge[loop] = false;
    break;
  }
  mergeLoops(nest, canMerge, access.findUsedIndices());
}

FailureOr<AffineMap> getKernelRows(kernel::FuncOp func) {
  KernelAccess access(func);
  bool isContract = isa_and_nonnull<kernel::ContractOp>(access.root);
  if (!isContract && !isa_and_nonnull<kernel::AttentionOp>(access.root))
    return AffineMap();
  if (failed(access.readOperands()))
    return failure();
  if (isContract)
    mergeContractRows(access);
  unsigned row = isContract ? access.nest.getNumLoops() - 3 : static_cast<unsigned>(kernel::AttentionOp::Row);
  return AffineMap::get(0, func.getNumSizes(), access.toExpr(access.nest.bounds[row]));
}

} // namespace heddle
