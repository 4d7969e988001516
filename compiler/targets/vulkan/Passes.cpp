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

class PrintShadersPass : public impl::PrintShadersPassBase<PrintShadersPass> {
public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      FailureOr<std::vector<ShaderText>> texts = printShaders(func);
      if (failed(texts))
        return signalPassFailure();
      for (const ShaderText &text : *texts) {
        llvm::outs() << "// @" << func.getSymName() << ", form " << text.form << "\n" << text.glsl;
        ++numShaders;
      }
    }
  }
};

} // namespace

} // namespace heddle::vulkan
