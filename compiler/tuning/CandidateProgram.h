// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of an artifact for measurements: an entry point for each candidate, made-up constants, and what goes in.

#ifndef HEDDLE_COMPILER_TUNING_CANDIDATEPROGRAM_H
#define HEDDLE_COMPILER_TUNING_CANDIDATEPROGRAM_H

#include "compiler/support/Candidates.h"
#include "compiler/tuning/KernelUse.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {

class CandidateProgram {
public:
  /// For |target|, whose configs the uses have.
  CandidateProgram(const Target &target, mlir::MLIRContext &context);

  /// Adds a group of |use|'s candidates; false if its tensors are too large for one.
  bool add(const KernelUse &use);

  /// A kernel of the program, in the order of its modules: which candidate it was made for.
  struct KernelOrigin {
    size_t group, candidate;
  };
  llvm::ArrayRef<KernelOrigin> getOrigins() const { return origins; }
  std::vector<CandidateGroup> groups;
  mlir::OwningOpRef<mlir::ModuleOp> module;  ///< rt.constants, kernel.funcs, rt.funcs
  mlir::OwningOpRef<mlir::ModuleOp> kernels; ///< kernel.funcs with kernel.config

private:
  void addConstants(const KernelUse &use, llvm::ArrayRef<SelfTestInput> recipes, uint32_t copies);
  std::string addKernel(const KernelUse &use, mlir::DictionaryAttr config, KernelOrigin origin);
  void addEntry(const KernelUse &use, llvm::StringRef name, llvm::StringRef kernel, uint32_t copies);

  const Target &target;
  mlir::OpBuilder builder;
  llvm::StringSet<> kernelNames;
  std::vector<KernelOrigin> origins;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TUNING_CANDIDATEPROGRAM_H
