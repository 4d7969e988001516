// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels on a Vulkan device through the runtime: each run is an artifact of one dispatch, so that what is tested
// is what users have, from push constants to barriers. Packed weights are constants, as are inputs marked
// kernel.constant; all others are the caller's.

#pragma once

#include <memory>

#include "compiler/pipelines/CompileModel.h"
#include "tests/conformance/kernel_interpreter.h"

namespace heddle::conformance {

class shader_runner {
public:
  /// Compiles all kernels of |module|, which gets configs, those of |tuned| first, and marks of constants. Fails the
  /// test and returns null on error.
  static std::unique_ptr<shader_runner> compile(mlir::ModuleOp module, const TunedConfigs *tuned);

  /// Runs kernel |func|, one of the compiled ones; |is_sliced|: as if a dispatch could have few workgroups only.
  kernel_result run(kernel::FuncOp func, const std::vector<host_tensor> &inputs, const std::vector<int64_t> &sizes,
                    bool is_sliced);

  const KernelImage &image() const { return targets_.front().image; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> make_program(kernel::FuncOp func, const std::vector<host_tensor> &inputs,
                                                 const std::vector<int64_t> &sizes);
  std::vector<CompiledTarget> targets_; ///< the one
};

} // namespace heddle::conformance
