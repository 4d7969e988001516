// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cpu-decompose-intrinsics: AVX-512's instructions as arithmetic for CPUs that lack them.

#include "compiler/targets/cpu/FloatMath.h"
#include "compiler/targets/cpu/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace heddle::cpu {
#define GEN_PASS_DEF_DECOMPOSEINTRINSICSPASS
#include "compiler/targets/cpu/Passes.h.inc"
} // namespace heddle::cpu

using namespace mlir;
using namespace heddle;

/// What FloatMath::scaleWhere asks of the instruction: operands x, n, 0, the bits of a mask, the rounding mode.
static Value decomposeScale(OpBuilder &b, LLVM::CallIntrinsicOp call) {
  Location loc = call.getLoc();
  Value x = call.getArgs()[0], n = call.getArgs()[1], bits = call.getArgs()[3], kept;
  APInt constant;
  if (!matchPattern(bits, m_ConstantInt(&constant)) || !constant.isAllOnes()) {
    Value single = b.create<vector::BroadcastOp>(loc, VectorType::get({1}, bits.getType()), bits);
    auto mask = VectorType::get(cast<VectorType>(x.getType()).getShape(), b.getI1Type());
    kept = b.create<vector::BitCastOp>(loc, mask, single);
  }
  return cpu::FloatMath(b, loc, x.getType()).scalePortably(kept, x, n);
}

namespace {
struct DecomposeIntrinsicsPass : public cpu::impl::DecomposeIntrinsicsPassBase<DecomposeIntrinsicsPass> {
  void runOnOperation() override {
    getOperation().walk([&](LLVM::CallIntrinsicOp call) {
      if (call.getIntrin() != cpu::FloatMath::kScaleIntrinsic)
        return;
      OpBuilder b(call);
      call.replaceAllUsesWith(ValueRange(decomposeScale(b, call)));
      call.erase();
      ++numDecomposed;
    });
  }
};
} // namespace
