// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the roots' meanings share: the loop nest, elements through indexing maps, regions. Private to
// KernelInterpreter.h.

#ifndef HEDDLE_COMPILER_REFERENCE_KERNELLOOPS_H
#define HEDDLE_COMPILER_REFERENCE_KERNELLOOPS_H

#include <optional>

#include "compiler/reference/KernelInterpreter.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::reference {

/// A kernel that runs: the current index of each loop, and what can be done there.
class KernelLoops : private ScalarHost {
public:
  using Scalars = llvm::SmallVector<Scalar, 4>;

  KernelLoops(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes, KernelMemory &memory, KernelTasks *tasks);
  /// Translates the regions.
  llvm::Error prepare();

  kernel::RootOpInterface getRoot() { return root; }
  int64_t getBound(unsigned loop) const { return bounds[loop]; }
  /// The numbers of all loops.
  llvm::SmallVector<unsigned> getLoops() const;
  /// The current index of |loop|.
  int64_t &at(unsigned loop) { return dims[loop]; }

  /// Calls |action| with each index of |loops|, the last fastest; they stand behind the last one afterwards.
  void forEach(llvm::ArrayRef<unsigned> loops, llvm::function_ref<void()> action);
  /// The same for the tasks that were asked for. All other loops stand at 0 whenever |action| is called. |cost| is that
  /// of one task, 0 for as many elements as the other loops count.
  void forEachTask(llvm::ArrayRef<unsigned> loops, llvm::function_ref<void()> action, int64_t cost = 0);

  /// Elements of root inputs |begin| to |end| at the current indices.
  Scalars readInputs(unsigned begin, unsigned end);
  Scalar readInput(unsigned number) { return readInputs(number, number + 1)[0]; }
  /// Element |position| of the tensor that is root operand |number|.
  Scalar readTensor(unsigned number, int64_t position);
  const Dims &getDims(unsigned number) const { return inputDims[arguments[number]]; }
  /// Runs |region|, one of the root's, and returns what it yields.
  Scalars run(mlir::Region &region, llvm::ArrayRef<Scalar> given);

  /// Writes to root result |result| at the current indices.
  void write(unsigned result, Scalar value);
  void writeAll(llvm::ArrayRef<Scalar> values);
  /// Position |place| of root result |result|, which scatters choose.
  Scalar readBack(unsigned result, int64_t position) { return memory.readBack(outputs[result], position); }
  void writeAt(unsigned result, int64_t position, Scalar value) { memory.write(outputs[result], position, value); }
  const Dims &getResultDims(unsigned result) const { return outputDims[outputs[result]]; }
  /// Indices that the map of |result| gives.
  Dims getResultIndices(unsigned result);

  /// |index|, of |type|, counted from the front of |dim| entries; nothing, and a fault reported, where data says one
  /// outside.
  std::optional<int64_t> resolve(int64_t index, mlir::Type type, int64_t dim);

  /// |exact|, a sum, as it may come out; and what is no sum.
  double roundSum(double exact) { return memory.round(exact, /*isCorrect=*/true); }
  double roundRoughly(double exact) { return memory.round(exact, /*isCorrect=*/false); }

private:
  Scalar evaluate(mlir::Operation *op, llvm::ArrayRef<Scalar> operands) override;
  void divideByZero() override { memory.report(KernelFault::DivisionByZero, 0, 0); }
  double round(double exact, bool isCorrect) override { return memory.round(exact, isCorrect); }

  int64_t evaluate(mlir::AffineExpr expr) const;
  int64_t getPosition(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape) const;

  struct Body {
    ScalarRegion region;
    std::vector<Scalar> slots;
    unsigned argumentCount; ///< without the sizes
  };

  kernel::FuncOp func;
  kernel::RootOpInterface root;
  KernelMemory &memory;
  KernelTasks *tasks;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<Dims> inputDims, outputDims;
  llvm::SmallVector<unsigned> arguments; ///< of each root input: number of the function's
  llvm::SmallVector<unsigned> outputs;   ///< of each root result: number of the function's
  llvm::SmallVector<int64_t> sizes, symbols, bounds, dims;
  llvm::DenseMap<mlir::Region *, std::unique_ptr<Body>> bodies;
};

/// kernel.attention, but for the second of two passes over parts.
void interpretAttention(kernel::AttentionOp op, KernelLoops &loops);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_KERNELLOOPS_H
