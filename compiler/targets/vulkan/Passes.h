// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Vulkan target's passes.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_H

#include "compiler/targets/TunedConfigs.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle::vulkan {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/targets/vulkan/Passes.h.inc"

/// The selection with what |tuned| (null: nothing) has; it must outlive the pass.
std::unique_ptr<mlir::Pass> createSelectLoweringConfigPass(const TunedConfigs *tuned);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_PASSES_H
