// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants without a source: elements of heddle/self_test.h in the place of a model's weights. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_GENERATEDCONSTANT_H
#define HEDDLE_COMPILER_ARTIFACT_GENERATEDCONSTANT_H

#include "compiler/artifact/ConstantStream.h"

namespace heddle {

/// Gives the bytes of |constant|, whose elements |made| describes (rt.constant says how), to |sink|. What it doesn't
/// say or no artifact has is a diagnostic at the op.
mlir::LogicalResult streamGenerated(rt::ConstantOp constant, mlir::DictionaryAttr made, ByteSink sink);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_GENERATEDCONSTANT_H
