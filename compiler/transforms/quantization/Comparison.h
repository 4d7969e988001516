// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both forms of a product side by side in one function: an input that selects, results that compare.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_COMPARISON_H
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_COMPARISON_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace heddle::nn {

/// Adds an input and results to one function. finish() must follow the last select().
class Comparison {
public:
  /// The function gets its selecting input, of |count| entries; where it has one, that grows by as many.
  Comparison(mlir::func::FuncOp func, int64_t count);

  /// Hands out what |plain| and |quantized|, of place |index|, differ by, and the channels' ranges of |activation|: max
  /// |x| over all dimensions but |channels|.
  void measure(mlir::OpBuilder &builder, int64_t index, mlir::Value plain, mlir::Value quantized,
               mlir::Value activation, llvm::ArrayRef<int64_t> channels);
  /// Hands out what |keys|, of place |index|, are on average for each index of |channels|, and max |x| of them all.
  void measureKeys(mlir::OpBuilder &builder, int64_t index, mlir::Value keys, llvm::ArrayRef<int64_t> channels);
  /// |quantized| where the input says that place |index| counts, else |plain|.
  mlir::Value choose(mlir::OpBuilder &builder, int64_t index, mlir::Value plain, mlir::Value quantized);

  /// What stands for the result of place |index| of this comparison: |quantized| where the input says so, else |plain|.
  /// |activation|, whose last dimension counts channels, is what both multiply; null for a table.
  mlir::Value select(mlir::OpBuilder &builder, int64_t index, mlir::Value plain, mlir::Value quantized,
                     mlir::Value activation);

  /// Hands the comparisons out as results of the function, behind its own.
  void finish();

private:
  mlir::Value reduceAll(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
  void addResult(llvm::StringRef kind, int64_t index, mlir::Value value);

  mlir::func::FuncOp func;
  mlir::Value selection;
  int64_t first = 0; ///< entry of this comparison's place 0
  llvm::SmallVector<std::pair<std::string, mlir::Value>> results;
};

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_COMPARISON_H
