// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass vulkan-select-lowering-config: writes what VulkanConfig.cpp decides, and tuning files.

#include "compiler/targets/vulkan/Passes.h"

#include "compiler/targets/vulkan/TunedVariants.h"
#include "compiler/targets/vulkan/VulkanConfig.h"
#include "compiler/targets/vulkan/VulkanTarget.h"

using namespace mlir;

namespace heddle::vulkan {

#define GEN_PASS_DEF_SELECTLOWERINGCONFIGPASS
#include "compiler/targets/vulkan/Passes.h.inc"

namespace {

class SelectLoweringConfigPass : public impl::SelectLoweringConfigPassBase<SelectLoweringConfigPass> {
public:
  using SelectLoweringConfigPassBase::SelectLoweringConfigPassBase;
  explicit SelectLoweringConfigPass(const TunedConfigs *tuned) : tuned(tuned) {}

  void runOnOperation() override {
    // Every kernel is tried, so that all that can't be done is said at once and before anything is compiled.
    bool anyFailed = false;
    TunedChooser chooser(tuned);
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      std::vector<Variant> table = chooseVariants(func);
      auto chosen = chooser.choose(func, [&](DictionaryAttr config) { return checkVariant(func, config, table); });
      if (succeeded(chosen) && !chosen->empty())
        table = insertVariants(func, std::move(table), *chosen);
      func->setAttr(kernel::kConfigAttrName, makeConfig(table, &getContext()));
      anyFailed |= failed(chosen) || failed(printShaders(func));
      ++numConfigs;
    }
    chooser.finish(getOperation());
    if (anyFailed)
      signalPassFailure();
  }

private:
  const TunedConfigs *tuned = nullptr;
};

} // namespace

std::unique_ptr<Pass> createSelectLoweringConfigPass(const TunedConfigs *tuned) {
  return std::make_unique<SelectLoweringConfigPass>(tuned);
}

} // namespace heddle::vulkan
