// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of artifact.fbs that a target of shaders has, from what the target made. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_SHADERTABLES_H
#define HEDDLE_COMPILER_ARTIFACT_SHADERTABLES_H

#include "compiler/artifact/ArtifactWriter.h"

namespace heddle {
namespace fb {
struct ProgramT;
struct TargetT;
} // namespace fb

/// Fills modules and shaders of |target| from |image|, which has one shader for each kernel of |program|. What doesn't
/// fit the kernels is a diagnostic at |module|.
mlir::LogicalResult addShaders(mlir::ModuleOp module, const TargetImage &image, const fb::ProgramT &program,
                               fb::TargetT &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_SHADERTABLES_H
