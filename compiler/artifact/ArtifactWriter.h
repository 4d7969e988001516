// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the artifact: the file of runtime/include/heddle/artifact.fbs, op for op from the rt dialect.

#ifndef HEDDLE_COMPILER_ARTIFACT_ARTIFACTWRITER_H
#define HEDDLE_COMPILER_ARTIFACT_ARTIFACTWRITER_H

#include "compiler/support/Candidates.h"
#include "compiler/support/Error.h"
#include "compiler/support/Shader.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// The code of all kernels for one target. |bytes| are an ELF image with |addresses|, or SPIR-V modules with |modules|
/// and |shaders|. The caller's.
struct TargetImage {
  std::string name;                  ///< "cpu:x86-64-v4"
  std::vector<std::string> features; ///< what the device must have, by the loader's names
  llvm::ArrayRef<char> bytes;
  /// Virtual address within the image of each kernel, by its symbol name; order and further kernels don't matter.
  std::vector<std::pair<std::string, uint64_t>> addresses;
  llvm::ArrayRef<ShaderModule> modules;
  llvm::ArrayRef<Shader> shaders; ///< one for each of the module's kernels, in their order
};

/// What the artifact records about its making. Nothing in it may depend on folders, times or the machine.
struct ArtifactOptions {
  std::string model;                                        ///< file name without its folder
  std::vector<std::pair<std::string, std::string>> options; ///< normalised, in the order to be shown
  std::vector<CandidateGroup> candidates = {};              ///< of an artifact for measurements
};

/// Refuses a program of rt.funcs that no runtime would take, whatever code it has: more buffers, steps or operands than
/// heddle/artifact_format.h allows. |model| is the file's name for the errors.
mlir::LogicalResult checkLimits(mlir::ModuleOp module, llvm::StringRef model, ErrorList &errors);

/// Writes |module| (rt.constants, kernel.funcs, rt.funcs) with |images|, in the order of the module's rt.targets, to
/// |path|.
///
/// The same arguments give the same bytes. Constants are streamed through their recipes from where they lie; nothing
/// larger than a write buffer is held. The file appears whole or not at all: it is written beside |path| and renamed.
/// Faults of the module are diagnostics at its ops, faults of the file are added to |errors|.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, llvm::ArrayRef<TargetImage> images,
                                  const ArtifactOptions &options, llvm::StringRef path, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_ARTIFACTWRITER_H
