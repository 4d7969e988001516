// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect attn with its enums, attributes and interfaces; AttnOps.h has the ops.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNDIALECT_H
#define HEDDLE_DIALECTS_ATTN_ATTNDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/attn/AttnDialect.h.inc"
#include "dialects/attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttributes.h.inc"

#include "dialects/attn/AttnInterfaces.h.inc"

#endif // HEDDLE_DIALECTS_ATTN_ATTNDIALECT_H
