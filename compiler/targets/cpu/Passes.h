// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU target's passes, and the pipeline from vector loops to the LLVM dialect.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_PASSES_H
#define HEDDLE_COMPILER_TARGETS_CPU_PASSES_H

#include "compiler/targets/TunedConfigs.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace heddle::cpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/targets/cpu/Passes.h.inc"

class CpuTarget;

/// The selection for |target| with what |tuned| (null: nothing) has for it, which must outlive the pass.
std::unique_ptr<mlir::Pass> createSelectLoweringConfigPass(const CpuTarget &target, const TunedConfigs *tuned);

/// From kernels with configs to functions of the LLVM dialect alone. Without |hasAvx512| no instruction of AVX-512 that
/// kernels ask for by name is left.
void buildCodegenPipeline(mlir::OpPassManager &pm, bool hasAvx512);

/// Registers buildCodegenPipeline as heddle-cpu-codegen-pipeline.
void registerCodegenPipeline();

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_PASSES_H
