// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The FlatBuffer of an artifact from a module of rt ops.

#ifndef HEDDLE_COMPILER_ARTIFACT_PROGRAMBUILDER_H
#define HEDDLE_COMPILER_ARTIFACT_PROGRAMBUILDER_H

#include "compiler/artifact/ArtifactWriter.h"
#include "dialects/rt/RtDialect.h"
#include "runtime/include/heddle/artifact_generated.h"

namespace heddle {

/// Where a section lies in the file.
struct SectionPlace {
  fb::SectionKind kind;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t checksum = 0;
};

/// Where a constant lies within the weights section.
struct ConstantPlace {
  rt::ConstantOp op;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// Sections: one of code per target, in order, then the weights.
struct FileLayout {
  std::vector<SectionPlace> sections;
  std::vector<ConstantPlace> constants;
};

/// The element type of artifact.fbs for an MLIR type of a tensor that artifacts hold.
fb::ElementType toElementType(mlir::Type type);

/// Builds the finished FlatBuffer. Its size doesn't depend on the numbers in |layout|.
flatbuffers::DetachedBuffer buildProgram(mlir::ModuleOp module, llvm::ArrayRef<TargetImage> targets,
                                         const ArtifactOptions &options, const FileLayout &layout);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_PROGRAMBUILDER_H
