// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests' tensors, and what kernels make of them by compiler/reference. What a device's kernels are compared with.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dialects/kernel/KernelOps.h"

namespace heddle::conformance {

/// A row-major tensor in memory, elements as kernels store them (i1 in one byte).
struct host_tensor {
  mlir::Type type;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  host_tensor() = default;
  host_tensor(mlir::Type type, std::vector<int64_t> dims);
  int64_t size() const;
  size_t element_bytes() const;
  double get_float(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set_float(int64_t i, double value);
  void set_int(int64_t i, int64_t value);
};

struct kernel_error {
  int32_t code;
  int64_t value;
  int64_t limit;
};

struct kernel_result {
  std::vector<host_tensor> outputs;
  std::optional<kernel_error> error;
};

/// Runs |func| on |inputs| with |sizes| for its size arguments.
kernel_result interpret(kernel::FuncOp func, const std::vector<host_tensor> &inputs, const std::vector<int64_t> &sizes);

/// Shape of result |i| of |func| under |sizes|.
std::vector<int64_t> result_dims(kernel::FuncOp func, unsigned i, const std::vector<int64_t> &sizes);
std::vector<int64_t> input_dims(kernel::FuncOp func, unsigned i, const std::vector<int64_t> &sizes);

} // namespace heddle::conformance
