// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an invocation does for its tile of a contraction: rows, columns, sums in registers, the epilogue.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H

#include "compiler/targets/vulkan/ContractFactors.h"
#include "compiler/targets/vulkan/RegionPrinter.h"

namespace heddle::vulkan {

class ContractTile {
public:
  ContractTile(ShaderEmitter &emitter, bool usesDots);
  mlir::LogicalResult emit();

private:
  /// for (...) over rows or column groups of the tile, unrolled: what it indexes is in registers. -> name of the index
  std::string openUnrolled(const std::string &count, llvm::StringRef stem);
  void emitPlaces();
  void emitZeros(const std::string &sums);
  /// Steps |begin| to |end| of the loop over k.
  void emitSteps(const std::string &begin, const std::string &end, const std::string &sums);
  void emitBlocks();
  mlir::LogicalResult emitEpilogue();

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  llvm::SmallVector<std::string> loops;
  const ContractLoops axes;
  std::string rows, columns4; ///< of the tile: specialisation constants
  std::unique_ptr<ContractFactors> factors;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTTILE_H
