// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a case, of any size: inputs are computed where they are read, of outputs those elements are kept that
// are written. Private to KernelCase.h.

#ifndef HEDDLE_COMPILER_REFERENCE_CASEMEMORY_H
#define HEDDLE_COMPILER_REFERENCE_CASEMEMORY_H

#include "compiler/reference/KernelInterpreter.h"
#include "compiler/support/Shader.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::reference {

class CaseMemory final : public KernelMemory {
public:
  /// Which way results are rounded that have to be.
  enum class Noise { None, Some, Opposite };

  CaseMemory(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<SelfTestInput> inputs, Noise noise);

  Scalar read(unsigned input, int64_t position) override;
  Scalar readBack(unsigned output, int64_t position) override { return outputs[output].lookup(position); }
  void write(unsigned output, int64_t position, Scalar value) override;
  void report(KernelFault, int64_t, int64_t) override { isSound = false; }
  double round(double exact, bool isCorrect) override;

  /// Whether nothing was out of range.
  bool isFine() const { return isSound; }
  /// How many elements of an input lie up to the last one that was read.
  int64_t getReach(unsigned input) const { return reaches[input]; }
  const llvm::DenseMap<int64_t, Scalar> &getOutput(unsigned output) const { return outputs[output]; }

private:
  struct Tensor {
    mlir::Type element;
    int64_t count;
  };

  llvm::ArrayRef<SelfTestInput> recipes;
  llvm::SmallVector<Tensor> inputTensors, outputTensors;
  llvm::SmallVector<int64_t> reaches;
  llvm::SmallVector<llvm::DenseMap<int64_t, Scalar>> outputs;
  Noise noise;
  uint64_t roundings = 0;
  bool isSound = true;
};

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_CASEMEMORY_H
