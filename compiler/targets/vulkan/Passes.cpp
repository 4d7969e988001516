// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes vulkan-select-lowering-config and vulkan-print-shaders: shells around the config and the printer.

#include "compiler/targets/vulkan/Passes.h"

#include "compiler/targets/vulkan/VulkanConfig.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::vulkan {

#define GEN_PASS_DEF_SELECTLOWERINGCONFIGPASS
#define GEN_PASS_DEF_PRINTSHADERSPASS
#include "compiler/targets/vulkan/Passes.h.inc"

namespace {

class SelectLoweringConfigPass : public impl::SelectLoweringConfigPassBase<SelectLoweringConfigPass> {
public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      func->setAttr(kernel::kConfigAttrName, selectConfig(func));
      ++numConfigs;
    }
  }
};

class PrintShadersPass : public impl::PrintShadersPassBase<PrintShadersPass> {
public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      FailureOr<ShaderPlan> plan = ShaderPlan::create(func);
      if (failed(plan))
        return signalPassFailure();
      std::vector<std::string> forms;
      for (const Variant &variant : plan->variants) {
        if (llvm::is_contained(forms, variant.form))
          continue;
        forms.push_back(variant.form);
        FailureOr<std::string> text = printShader(func, variant.form);
        if (failed(text))
          return signalPassFailure();
        llvm::outs() << "// @" << func.getSymName() << ", form " << variant.form << "\n" << *text;
        ++numShaders;
      }
    }
  }
};

} // namespace

} // namespace heddle::vulkan
