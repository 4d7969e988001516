// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-benchmarks of generated kernels as fractions of what this core can do. A case is a kernel with its sizes and
// what it computes or moves; kernel_bench.cpp compiles and times it beside the machine's own limit.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/kernel_interpreter.h"

namespace heddle::conformance {

struct bench_case {
  std::string name; // "contract/128x768x768"
  std::string text; // the kernel
  std::string function;
  std::vector<int64_t> sizes; // its size arguments
  /// What bounds it: arithmetic on floats or on bytes, a multiply-add counted as two operations, or reading.
  enum class limit { flops, byte_products, bytes } bound = limit::flops;
  double amount = 0; // operations or bytes of one run; 0 where the bytes of |read_inputs| are all that counts
  /// The inputs whose bytes count where reading is the bound: the limit is a plain read of them.
  std::vector<unsigned> read_inputs = {0};
  /// Copies of |read_inputs| that runs use in turn: one stays in the cache, many come from memory each time.
  size_t copies = 1;
  /// Those that it runs for; none: runnable_targets().
  std::vector<std::string> targets;
  /// Changes the random inputs before they are used; may be null.
  std::function<void(std::vector<host_tensor> &)> prepare = nullptr;
};

/// Products of rows and packed weights: M from 1 on, odd sizes, weights from memory.
std::vector<bench_case> contract_cases();
/// Products of bytes with packed bytes, for any weights and for pairs that are safe.
std::vector<bench_case> byte_contract_cases();
/// Attention of 12 heads of size 64, with masks, and decoding steps.
std::vector<bench_case> attention_cases();
/// Norms, softmax, activations, residuals: kernels that move data.
std::vector<bench_case> rowwise_cases();

} // namespace heddle::conformance
