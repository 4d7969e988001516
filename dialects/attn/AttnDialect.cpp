// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, its enums, attributes and interfaces.

#include "dialects/attn/AttnDialect.h"

#include "dialects/attn/AttnOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::attn;

#include "dialects/attn/AttnDialect.cpp.inc"
#include "dialects/attn/AttnEnums.cpp.inc"
#include "dialects/attn/AttnInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttributes.cpp.inc"

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/attn/AttnOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/attn/AttnAttributes.cpp.inc"
      >();
}
