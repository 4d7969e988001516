// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the kernel dialect, and its attributes.

#include "dialects/kernel/KernelDialect.h"

#include "dialects/kernel/KernelOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::kernel;

#include "dialects/kernel/KernelDialect.cpp.inc"
#include "dialects/kernel/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttributes.cpp.inc"

#include "dialects/kernel/KernelInterfaces.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/kernel/KernelOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/kernel/KernelAttributes.cpp.inc"
      >();
}

int64_t LoweringConfigAttr::getInteger(llvm::StringRef key, int64_t missing) const {
  auto value = llvm::dyn_cast_or_null<IntegerAttr>(getEntries().get(key));
  return value ? value.getInt() : missing;
}

llvm::StringRef LoweringConfigAttr::getString(llvm::StringRef key) const {
  auto value = llvm::dyn_cast_or_null<StringAttr>(getEntries().get(key));
  return value ? value.getValue() : llvm::StringRef();
}
