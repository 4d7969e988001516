// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Vulkan target, in the order in which they run.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_TD
#define HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectLoweringConfigPass : Pass<"vulkan-select-lowering-config", "::mlir::ModuleOp"> {
  let summary = "Choose each kernel's shader variants and tiles";
  let description = [{
    Writes `kernel.config` on every `kernel.func`. The table with the reason behind each number is in VulkanConfig.cpp.
    What tuning files have for a kernel comes among its variants, where TunedVariants.cpp lets it pass; the module's
    `kernel.tuned` then says what became of each. Fails where a kernel holds something that Vulkan can't do, with an
    error for each.

        kernel.func @scale(...) { ... kernel.map ... }
      ==>
        kernel.func @scale(...) attributes {kernel.config = #kernel.lowering_config<{
            variants = [{constants = array<i64: 4>, form = "plain", ..., workgroup = array<i64: 64, 1, 1>} ]}>} { ... }

    Input invariant: each kernel.func holds one structured root.
    Output IR: each kernel.func has a config.
  }];
  let statistics = [Statistic<"numConfigs", "num-configs", "Kernels that got a config">];
  let dependentDialects = ["::heddle::kernel::KernelDialect"];
}

def PrintShadersPass : Pass<"vulkan-print-shaders", "::mlir::ModuleOp"> {
  let summary = "Write the GLSL of each kernel's variants to standard output";
  let description = [{
    For people and tests: what code generation hands to glslang, one text for each form that a kernel's variants name.
    The module stays as it is.

        kernel.func @scale(...) attributes {kernel.config = ...} { ... kernel.map ... }
      ==>
        // @scale, form plain
        #version 450
        ...

    Input invariant: kernel.config on each kernel.func.
    Output IR: the same.
  }];
  let statistics = [Statistic<"numShaders", "num-shaders", "Shaders written">];
}

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_TD
