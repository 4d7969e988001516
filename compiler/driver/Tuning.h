// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning files as a compilation has them: read, matched with its targets, and what became of their entries.

#ifndef HEDDLE_COMPILER_DRIVER_TUNING_H
#define HEDDLE_COMPILER_DRIVER_TUNING_H

#include "compiler/driver/heddle_compiler.h"
#include "compiler/pipelines/CompileModel.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle {

/// Fills in options.tuned from the files that |request| names, for |targets|. What is wrong with files that are used
/// all the same is added to |notes|, a line each. Fails where a file that was named can't be used.
mlir::LogicalResult loadTuning(const heddle_compile_options_t &request, llvm::ArrayRef<CompiledTarget> targets,
                               CompileOptions &options, std::vector<std::string> &notes, ErrorList &errors);

/// A line for each entry that fits a kernel of |targets| by its signature and isn't used.
std::vector<std::string> describeRejected(llvm::ArrayRef<CompiledTarget> targets);

/// Where the tiles of |func|, one of the kernels of |compiled|, are from: "table", "zen4.tuning.jsonl (this device)",
/// or by rows where buckets differ.
std::string describeSource(const CompiledTarget &compiled, kernel::FuncOp func);

} // namespace heddle

#endif // HEDDLE_COMPILER_DRIVER_TUNING_H
