// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x86-64 CPUs as compilation targets: by LLVM's CPU names, or this host.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_CPUTARGET_H
#define HEDDLE_COMPILER_TARGETS_CPU_CPUTARGET_H

#include "compiler/targets/TargetRegistry.h"

namespace heddle::cpu {

class CpuTarget : public Target {
public:
  /// |variant|: a CPU name of LLVM's such as "x86-64-v3" or "znver4"; "" for this host. CPUs without AVX2 and FMA are
  /// refused: vectors of 16 lanes have no form there that is worth having.
  static llvm::Expected<std::unique_ptr<Target>> parse(llvm::StringRef variant);

  llvm::StringRef getName() const override { return name; }
  llvm::ArrayRef<std::string> getFeatures() const override { return features; }
  bool isHost() const override { return isThisMachine; }
  bool isCodeForFeatures(llvm::ArrayRef<llvm::StringRef> given) const override;
  std::string getSummary() const override;
  void addSelectionPass(mlir::OpPassManager &pm, const TunedConfigs *tuned) const override;
  std::string checkConfig(kernel::FuncOp func, mlir::DictionaryAttr config) const override;
  mlir::FailureOr<WorkShape> getWorkShape(kernel::FuncOp func) const override;
  std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes,
                                                const DeviceLimits &limits) const override;
  std::string getKernelName(kernel::FuncOp func) const override;
  mlir::FailureOr<KernelImage> compileKernels(mlir::ModuleOp kernels, unsigned threads,
                                              const CompileProgress &progress) const override;

  bool hasFeature(llvm::StringRef feature) const;
  /// CPU that LLVM schedules for.
  llvm::StringRef getTuneCpu() const { return tuneCpu; }
  /// As LLVM's target machine takes them: "+avx2,+fma". Kernels use nothing else.
  std::string getFeatureString() const;
  /// Word of kernel names: avx2 or avx512.
  llvm::StringRef getIsaWord() const { return hasFeature("avx512f") ? "avx512" : "avx2"; }

private:
  CpuTarget() = default;
  std::string name, tuneCpu;
  bool isThisMachine = false;
  std::vector<std::string> features;
};

/// Makes "cpu" and "cpu:<name>" known to the registry.
void registerCpuTarget();

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_CPUTARGET_H
