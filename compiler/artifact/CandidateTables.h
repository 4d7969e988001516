// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of artifact.fbs for candidates. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_CANDIDATETABLES_H
#define HEDDLE_COMPILER_ARTIFACT_CANDIDATETABLES_H

#include "compiler/support/Candidates.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {
namespace fb {
struct ProgramT;
struct SelfTestOutputT;
} // namespace fb

std::unique_ptr<fb::SelfTestOutputT> makeSelfTestOutput(const SelfTestOutput &output);

/// Adds |groups| to |program|, which has the entry points. One that it hasn't is a diagnostic at |module|.
mlir::LogicalResult addCandidates(mlir::ModuleOp module, llvm::ArrayRef<CandidateGroup> groups, fb::ProgramT &program);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_CANDIDATETABLES_H
