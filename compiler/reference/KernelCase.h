// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small case of a kernel with what must come out of it, for devices to test their code with.

#ifndef HEDDLE_COMPILER_REFERENCE_KERNELCASE_H
#define HEDDLE_COMPILER_REFERENCE_KERNELCASE_H

#include <optional>

#include "compiler/support/Shader.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle::reference {

/// What a case is made for.
struct KernelCaseRequest {
  kernel::FuncOp func;
  llvm::ArrayRef<int64_t> sizes;
  /// As a dispatch has them, with no more units than shall run: whole tiles, or all there are. With strides of 0 the
  /// kernel runs as a whole.
  llvm::ArrayRef<uint32_t> axes;
  /// By how much a float may differ, by the largest of its output.
  float tolerance;
  /// Elements that are read for the results to compare, about; they take 50 to 200 ns each, three times.
  int64_t mostReads = 16384;
};

/// Bytes that |element| takes in a device's buffers: integers of 64 bits have 32 there.
int64_t getDeviceBytes(mlir::Type element);

/// What the inputs of |func| may hold with |sizes|, by heddle/self_test.h: seeds, integers below |limit|, how weights
/// are packed. How long they are isn't said.
std::vector<SelfTestInput> makeInputRecipes(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes, uint32_t limit);

/// Makes a case, or nothing where there is none: the kernel would need more memory than cases have, reads outside its
/// tensors with any input, or merges the states of parts of keys, which only another kernel makes (where a dispatch has
/// no parts such a kernel does all the work, and has a case). What a small error changes much, the rounding of a tie,
/// say, isn't among the results that are compared. Takes some milliseconds, however large the kernel's tensors are. The
/// same request gives the same case on any machine.
std::optional<SelfTest> makeKernelCase(const KernelCaseRequest &request);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_KERNELCASE_H
