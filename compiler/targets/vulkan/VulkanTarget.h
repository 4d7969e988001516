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
  void addSelectionPass(mlir::OpPassManager &pm, const TunedConfigs *tuned) const override;
  std::string checkConfig(kernel::FuncOp func, mlir::DictionaryAttr config) const override;
  mlir::FailureOr<WorkShape> getWorkShape(kernel::FuncOp func) const override;
  std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes,
                                                const DeviceLimits &limits) const override;
  std::string getKernelName(kernel::FuncOp func) const override;
  mlir::FailureOr<KernelImage> compileKernels(mlir::ModuleOp kernels, unsigned threads,
                                              const CompileProgress &progress) const override;
};

/// Makes "vulkan" known to the registry.
void registerVulkanTarget();

/// What code generation hands to glslang for one form of a kernel's variants.
struct ShaderText {
  std::string form, glsl;
};

/// The texts of all forms of |func|, which needs kernel.config. Emits an error and fails where the kernel has something
/// in it that Vulkan can't do.
mlir::FailureOr<std::vector<ShaderText>> printShaders(kernel::FuncOp func);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_VULKANTARGET_H
