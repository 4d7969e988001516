// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass vulkan-select-lowering-config: writes what VulkanConfig.cpp decides.

#include "compiler/targets/vulkan/Passes.h"

#include "compiler/targets/vulkan/VulkanConfig.h"
#include "compiler/targets/vulkan/VulkanTarget.h"

using namespace mlir;

namespace heddle::vulkan {

#define GEN_PASS_DEF_SELECTLOWERINGCONFIGPASS
#include "compiler/targets/vulkan/Passes.h.inc"

namespace {

class SelectLoweringConfigPass : public impl::SelectLoweringConfigPassBase<SelectLoweringConfigPass> {
public:
  void runOnOperation() override {
    // Every kernel is tried, so that all that can't be done is said at once and before anything is compiled.
    bool anyFailed = false;
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      func->setAttr(kernel::kConfigAttrName, selectConfig(func));
      anyFailed |= failed(printShaders(func));
      ++numConfigs;
    }
    if (anyFailed)
      signalPassFailure();
  }
};

} // namespace

} // namespace heddle::vulkan
