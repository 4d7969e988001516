// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs for a model when the user gives none: ids that its tables hold, masks with a padded row, normal numbers.

#ifndef HEDDLE_COMPILER_MEASURE_GENERATEINPUTS_H
#define HEDDLE_COMPILER_MEASURE_GENERATEINPUTS_H

#include "compiler/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace heddle {

/// Extents of dynamic dimensions.
struct GeneratedSizes {
  int64_t batch = 2;   ///< of the first dynamic dimension of an input
  int64_t length = 16; ///< of its others
};

/// One tensor per argument of |function|: its default where it has one, else from a fixed seed. |description| says what
/// was made, for the user. A default that can't be read is a diagnostic at |function|.
mlir::FailureOr<std::vector<reference::HostTensor>> generateInputs(mlir::func::FuncOp function,
                                                                   std::string &description, GeneratedSizes sizes = {});

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_GENERATEINPUTS_H
