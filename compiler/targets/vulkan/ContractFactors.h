// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factors of a contraction as shaders read and multiply them. A tile's loop over k goes in steps: of each row a
// step reads |depth| neighbours of k at once, of four neighbouring columns one item after the other, each of which
// holds some k. Tiles, loops and results are the same for all forms (EmitContract, SharedContract).

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTFACTORS_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTFACTORS_H

#include <memory>

#include "compiler/targets/vulkan/ShaderEmitter.h"

namespace heddle::vulkan {

/// Loops of a planned contraction: batches are all before m.
struct ContractLoops {
  unsigned m, n, k;
  explicit ContractLoops(const ShaderPlan &plan)
      : m(plan.nest.getNumLoops() - 3), n(plan.nest.getNumLoops() - 2), k(plan.nest.getNumLoops() - 1) {}
};

/// Columns of a panel of packed weights, which are the units of the grid's x.
inline constexpr int64_t kPanelColumns = 16;

class ContractFactors {
public:
  /// |loops|: names of the batch loops. |usesDots|: bytes multiply by the instruction for dot products.
  static std::unique_ptr<ContractFactors> create(ShaderEmitter &emitter, llvm::ArrayRef<std::string> loops,
                                                 bool usesDots);
  virtual ~ContractFactors() = default;

  /// k of one step, and of one item of a column; a step is a whole number of items.
  const unsigned depth, itemDepth;
  /// GLSL types: of the sums of four columns, and of one row's factors in a step and four columns' in an item as they
  /// are read and as they multiply.
  const llvm::StringRef sumType, readRowType, rowType, readItemType, itemType;

  bool isPacked() { return op.getPackedRhs().has_value(); }
  /// Steps of the loop over k: the last one may end behind it, where factors are 0.
  std::string numSteps();
  /// Groups of four columns, the last of which may end behind n.
  std::string numColumns4();
  /// Where row |row| and column group |column4| begin, both of which exist: ints.
  std::string rowBase(const std::string &row);
  std::string columnBase(const std::string &column4);
  /// Step |step| of the row at |base|: a |readRowType|.
  virtual std::string readRow(const std::string &base, const std::string &row, const std::string &step) = 0;
  /// Item |item| of the column group at |base|: a |readItemType|.
  virtual std::string readItem(const std::string &base, const std::string &column4, const std::string &item) = 0;
  /// |read|, a name, as it multiplies.
  virtual std::string expandRow(const std::string &read) { return read; }
  virtual std::string expandItem(const std::string &read) { return read; }
  /// Adds to |sum|, a |sumType|, the products of item |number| of the step's: of |row|, a |rowType|, and |item|.
  virtual void multiply(const std::string &sum, const std::string &row, const std::string &item, unsigned number) = 0;
  /// Where products want the sum of each column's factors for a correction at the end: what |item| adds to it, and the
  /// correction of a sum; else empty.
  virtual std::string sumItem(const std::string &item) { return ""; }
  virtual std::string correct(const std::string &columnSum) { return ""; }
  bool hasColumnSums() { return !sumItem("").empty(); }

  /// Steps of one block, if blocks have scales, and the scales of four columns: a vec4.
  std::optional<int64_t> stepsPerBlock();
  std::string loadScales(const std::string &column4, const std::string &block);

protected:
  ContractFactors(ShaderEmitter &emitter, llvm::ArrayRef<std::string> loops, unsigned depth, unsigned itemDepth,
                  llvm::StringRef sumType, llvm::StringRef readRowType, llvm::StringRef rowType,
                  llvm::StringRef readItemType, llvm::StringRef itemType);

  /// Element |k| of the row |row| that begins at |base|, in registers.
  std::string rowElement(const std::string &base, const std::string &row, const std::string &k);
  /// |k|, or where steps may end behind the last k and |k| is there, the last one.
  std::string existingK(const std::string &k);
  /// Place of item |item| of packed weights, in items of four columns.
  std::string packedItem(const std::string &base, const std::string &item);
  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  kernel::ContractOp op;
  const ContractLoops axes;
  llvm::SmallVector<std::string> loops;
  /// A step of a row is one vector in memory, and so are four columns of a right side that isn't packed.
  const bool rowsAreVectors, columnsAreVectors;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTFACTORS_H
