// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any device with Vulkan 1.1. What a device has beyond that is used by variants of shaders, so there is one target.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_VULKANTARGET_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_VULKANTARGET_H

#include "compiler/targets/TargetRegistry.h"

namespace heddle::vulkan {

class VulkanTarget : public Target {
public:
  /// |variant| must be empty.
  static llvm::Expected<std::unique_ptr<Target>> parse(llvm::StringRef variant);

  llvm::StringRef getName() const override { return "vulkan"; }
  llvm::ArrayRef<std::string> getFeatures() const override { return {}; }
  std::string getSummary() const override { return "Vulkan 1.1"; }
  bool seesConstants() const override { return true; }
  void addSelectionPass(mlir::OpPassManager &pm) const override;
  mlir::FailureOr<WorkShape> getWorkShape(kernel::FuncOp func) const override;
  std::string getKernelName(kernel::FuncOp func) const override;
  mlir::FailureOr<KernelImage> compileKernels(mlir::ModuleOp kernels, unsigned threads,
                                              const CompileProgress &progress) const override;
};

/// Makes "vulkan" known to the registry.
void registerVulkanTarget();

/// The GLSL of |func| in |form|, one of its variants'. Needs kernel.config.
mlir::FailureOr<std::string> printShader(kernel::FuncOp func, llvm::StringRef form);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_VULKANTARGET_H
