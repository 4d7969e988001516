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
      func->setAttr(kernel::kConfigAttrName, selectConfig(func, cpuTarget));
      ++numConfigs;
    }
  }
};

} // namespace

} // namespace heddle::cpu
