// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs with an initialiser: since IR version 4 a default that callers may override. Not all can stay inputs.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_DEFAULTINPUTS_H
#define HEDDLE_COMPILER_IMPORT_ONNX_DEFAULTINPUTS_H

#include "compiler/import/onnx/FlattenModel.h"

namespace heddle::importer {

/// A default above this is a weight: it is packed and mapped, so no caller can set it any more.
constexpr int64_t kMaxDefaultBytes = 64 * 1024;

/// Decides which of |model|'s inputs with an initialiser stay inputs, and moves the others from `inputs` to
/// `constantInputs`. Constants stay
///
///   - weights, and all others with them where every initialiser of the model is an input: so wrote exporters that
///     never meant anything to be overridden;
///   - what decides shapes, axes or which branch is there: a program is compiled for one choice;
///   - what the file declares without a rank.
void chooseDefaultInputs(Model &model);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_DEFAULTINPUTS_H
