// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect nn with its enums, attributes and interfaces; NnOps.h has the ops.

#ifndef HEDDLE_DIALECTS_NN_NNDIALECT_H
#define HEDDLE_DIALECTS_NN_NNDIALECT_H

#include "dialects/nn/MappedFiles.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/nn/NnDialect.h.inc"
#include "dialects/nn/NnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NnAttributes.h.inc"

#include "dialects/nn/NnInterfaces.h.inc"

#endif // HEDDLE_DIALECTS_NN_NNDIALECT_H
