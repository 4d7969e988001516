// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artifacts of models that were given to `heddle run` directly.

#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

/// Path of the artifact for |model| in $XDG_CACHE_HOME/heddle (~/.cache/heddle), compiled for |target| ("": this
/// machine's CPU) unless it is there already; says on standard error where it is. Throws what the compiler reports.
std::string cachedArtifact(const std::string &model, const std::string &target);

/// What tells the model at |model| from others and from what was there before, as text: path, size and time of change
/// of it and of its data files.
std::string modelIdentity(const std::string &model);

/// The same of a single file; the path alone for what can't be looked at.
std::string fileIdentity(const std::string &path);

/// Names of the files that |bytes|, an ONNX file, refers to for tensors' data, as they stand there. Names that aren't
/// meant may be among them: the model's bytes are searched, not parsed.
std::vector<std::string> externalFiles(const std::string &bytes);

} // namespace heddle::cli
