// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass vulkan-print-shaders.

#include "compiler/targets/vulkan/Passes.h"

#include "compiler/targets/vulkan/VulkanTarget.h"
#include "dialects/kernel/KernelOps.h"

using namespace mlir;

namespace heddle::vulkan {

#define GEN_PASS_DEF_PRINTSHADERSPASS
#include "compiler/targets/vulkan/Passes.h.inc"

namespace {

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
