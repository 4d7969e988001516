// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy's .npy files as HostTensors: what the comparisons with other engines exchange.

#ifndef HEDDLE_TESTS_COMPILER_REFERENCE_NPY_H
#define HEDDLE_TESTS_COMPILER_REFERENCE_NPY_H

#include "compiler/reference/HostTensor.h"

namespace heddle::reference {

/// Reads a little-endian, C-ordered .npy file of bools, integers or floats.
llvm::Expected<HostTensor> readNpy(const std::string &path, mlir::MLIRContext *context);

/// Writes floats as float64 without rounding them, integers as int64, ui64 as uint64.
llvm::Error writeNpy(const std::string &path, const HostTensor &tensor);

} // namespace heddle::reference

#endif // HEDDLE_TESTS_COMPILER_REFERENCE_NPY_H
