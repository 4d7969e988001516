// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of kernels as plain loops: every root and every op of a region, element by element, floats in double
// precision, integers exact. What a device's kernels are compared with.

#ifndef HEDDLE_COMPILER_REFERENCE_KERNELINTERPRETER_H
#define HEDDLE_COMPILER_REFERENCE_KERNELINTERPRETER_H

#include "compiler/reference/HostTensor.h"
#include "compiler/reference/ScalarRegion.h"
#include "dialects/kernel/KernelOps.h"

namespace heddle::reference {

/// What ends a kernel with an error record on a device.
enum class KernelFault { IndexOutOfRange, DivisionByZero };

/// The tensors of a kernel that runs. Positions count elements in row-major order; types are the function's. An element
/// of type bf16 need not be rounded when it is written.
class KernelMemory {
public:
  virtual ~KernelMemory() = default;
  virtual Scalar read(unsigned input, int64_t position) = 0;
  virtual void write(unsigned output, int64_t position, Scalar value) = 0;
  /// What was last written, as kernel.scatter asks.
  virtual Scalar readBack(unsigned output, int64_t position) = 0;
  /// |value| and |limit| are 0 for a division. The kernel goes on as if 0 had been read.
  virtual void report(KernelFault fault, int64_t value, int64_t limit) = 0;
  /// ScalarHost::round.
  virtual double round(double exact, bool isCorrect) { return exact; }
};

/// Which parts of a kernel's work are done. A task is one iteration of the loops that a root doesn't reduce along: an
/// element of a map, a row of a rowwise kernel or of an attention.
class KernelTasks {
public:
  virtual ~KernelTasks() = default;
  /// Called first: the extents of the tasks' loops, and about how many elements one task reads.
  virtual void begin(llvm::ArrayRef<int64_t> bounds, int64_t cost) = 0;
  /// Sets |indices| to the next task's; false if there is none.
  virtual bool next(llvm::MutableArrayRef<int64_t> indices) = 0;
  /// Whether the task is done that writes, of each output in order, the elements from |positions| on.
  virtual bool accepts(llvm::ArrayRef<int64_t> positions) = 0;
};

/// The shape of input or result |i| of |func| under |sizes|.
Dims getInputDims(kernel::FuncOp func, unsigned i, llvm::ArrayRef<int64_t> sizes);
Dims getResultDims(kernel::FuncOp func, unsigned i, llvm::ArrayRef<int64_t> sizes);

/// Runs |func| with |sizes| for its size arguments, all of it or |tasks| (null: all). A kernel.scatter can't be done in
/// part; of an attention that takes parts these aren't looked at. Fails where a region has an op that it doesn't know.
llvm::Error interpretKernel(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes, KernelMemory &memory,
                            KernelTasks *tasks = nullptr);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_KERNELINTERPRETER_H
