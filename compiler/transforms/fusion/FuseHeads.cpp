// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fuse-heads: attentions that were written out head by head become one attention of all heads.

#include "compiler/transforms/fusion/AttentionReport.h"
#include "compiler/transforms/fusion/HeadJoin.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_FUSEHEADSPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

using namespace heddle::attn;

struct FuseHeadsPass : impl::FuseHeadsPassBase<FuseHeadsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func.isDeclaration())
        continue;
      for (ConcatOp concat : llvm::to_vector(func.getOps<ConcatOp>()))
        fuse(concat);
      sweep(func.getBody().front());
    }
  }

private:
  void fuse(ConcatOp concat);
};

void FuseHeadsPass::fuse(ConcatOp concat) {
  std::optional<HeadJoin> join = findHeads(concat);
  if (!join)
    return;
  SdpaOp fused = joinHeads(*join, concat);
  changeReport(getOperation(), fused.getLoc(), [&](NamedAttrList &entry) {
    entry.set("heads", fused.getQNumHeadsAttr());
    entry.set("kv_heads", fused.getKvNumHeadsAttr());
  });
  numFused += join->heads.size();
}

} // namespace
} // namespace heddle::nn
