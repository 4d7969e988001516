// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes kernels run in forms that this machine's device would not choose.

#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace heddle::conformance {

/// With HEDDLE_TEST_FORMS in the environment, words joined by commas, kernels of |module| that have variants of such
/// forms keep those alone, without what only says that they are fast.
void keep_wanted_forms(mlir::ModuleOp module);

} // namespace heddle::conformance
