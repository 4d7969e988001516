// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an invocation does for its tile of a contraction: ROWS rows by COLUMNS4 groups of four columns, one sum in
// registers for each element over k in ascending order, the epilogue. So no result depends on tiles or rows.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H

#include "compiler/targets/vulkan/ContractConfig.h"
#include "compiler/targets/vulkan/ContractFactors.h"

namespace heddle::vulkan {

class ContractTile {
public:
  ContractTile(ShaderEmitter &emitter, const ContractForm &form);
  mlir::LogicalResult emit();

private:
  /// for (...) over |count| parts of the tile, unrolled: what it indexes is in registers. -> name of the index
  std::string openUnrolled(const std::string &count, llvm::StringRef stem);
  void emitPlaces();
  std::string columnAt(const std::string &j);
  std::string clampColumn(const std::string &j);
  void emitZeros(const std::string &sums);
  /// Adds steps |begin| to |end| of the loop over k to |sums|.
  void emitSteps(const std::string &begin, const std::string &end, const std::string &sums);
  void emitSharedSteps(const std::string &begin, const std::string &end, const std::string &sums);
  /// Copies a workgroup's rows and columns at |count| steps from |first| on to shared memory.
  void emitCopies(const std::string &first, const std::string &count);
  /// One step: |row| and |item| give what is read of row i, and of column group j at an item of the step.
  void emitStep(const std::string &sums, llvm::function_ref<std::string(const std::string &i)> row,
                llvm::function_ref<std::string(const std::string &j, unsigned number)> item);
  void emitBlocks();
  void emitCorrections();
  mlir::LogicalResult emitEpilogue();
  /// The epilogue of |sum| at the loops' current indices.
  mlir::LogicalResult emitResults(const std::string &sum);

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  const ContractForm form;
  llvm::SmallVector<std::string> loops;
  const ContractLoops axes;
  std::unique_ptr<ContractFactors> factors;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H
