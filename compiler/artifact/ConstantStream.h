// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the recipe of an rt.constant. Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_CONSTANTSTREAM_H
#define HEDDLE_COMPILER_ARTIFACT_CONSTANTSTREAM_H

#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

using ByteSink = llvm::function_ref<void(llvm::ArrayRef<uint8_t>)>;

/// Gives the bytes of |constant| to |sink|, in order and in pieces. A recipe that doesn't fit its source is a
/// diagnostic at the op, before the first byte.
mlir::LogicalResult streamConstant(rt::ConstantOp constant, ByteSink sink);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_CONSTANTSTREAM_H
