// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass cpu-select-lowering-config: writes what CpuConfig.cpp decides.

#include "compiler/targets/cpu/CpuConfig.h"
#include "compiler/targets/cpu/Passes.h"

using namespace mlir;

namespace heddle::cpu {

#define GEN_PASS_DEF_SELECTLOWERINGCONFIGPASS
#include "compiler/targets/cpu/Passes.h.inc"

namespace {

class SelectLoweringConfigPass : public impl::SelectLoweringConfigPassBase<SelectLoweringConfigPass> {
public:
  using SelectLoweringConfigPassBase::SelectLoweringConfigPassBase;

  void runOnOperation() override {
    llvm::Expected<std::unique_ptr<Target>> parsed = CpuTarget::parse(StringRef(target).split(':').second);
    if (!parsed) {
      getOperation().emitError(llvm::toString(parsed.takeError()));
      return signalPassFailure();
    }
    const auto &cpuTarget = static_cast<const CpuTarget &>(**parsed);
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      // An instruction that the CPU lacks would end LLVM, and so the process.
      Operation *root = func.getRoot();
      auto contract = dyn_cast<kernel::ContractOp>(root);
      if (contract && getElementTypeOrSelf(contract.getRhs().getType()).isBF16() &&
          !cpuTarget.hasFeature("avx512bf16")) {
        contract.emitOpError() << "expects a target with avx512bf16 for weights of bf16, got " << cpuTarget.getName();
        return signalPassFailure();
      }
      func->setAttr(kernel::kConfigAttrName, selectConfig(func, cpuTarget));
      ++numConfigs;
    }
  }
};

} // namespace

} // namespace heddle::cpu
