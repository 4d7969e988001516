// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by the invocations of a workgroup. Term j of a sum goes to lane j mod LANES, one after the other, and the
// lanes are merged by halves: lane l with lane l + LANES / 2, and so on. The order is the same whether shared memory or
// subgroups carry it, so results don't depend on the device, and neutral terms at a row's end change no bit.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_SHADERREDUCTION_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_SHADERREDUCTION_H

#include "compiler/targets/vulkan/ShaderEmitter.h"

namespace heddle::vulkan {

/// Invocations of a workgroup that reduces; LANES of them to each row.
inline constexpr int64_t kReductionInvocations = 64;

/// A term of a reduction in registers.
struct Reduced {
  kernel::Combiner combiner;
  mlir::Type type;
};

/// The value that merges with any other without changing it.
std::string neutralLiteral(const Reduced &reduced);
/// |left| and |right| merged.
std::string combineTerms(const Reduced &reduced, const std::string &left, const std::string &right);

/// A value in registers as a word of shared memory, and back.
std::string toWord(mlir::Type type, const std::string &value);
std::string fromWord(mlir::Type type, const std::string &word);

/// Who carries a reduction from lane to lane.
enum class LaneForm {
  Single,  ///< nobody: each invocation has a row of its own
  Shared,  ///< shared memory
  Subgroup ///< subgroups, as far as they reach
};

/// The form that a variant's word names.
LaneForm parseLaneForm(llvm::StringRef word);
/// Shared memory of one workgroup that merges |count| reductions at a time.
int64_t getReductionSharedBytes(LaneForm form, int64_t count);

/// Of the passes over a row of |op| the greatest number of reductions that one merges.
unsigned countPassReductions(kernel::RowwiseOp op);

/// What decides the form of a kernel.reduce, which is the same whatever the number of its results.
struct ReductionShape {
  bool alongLanes = false; ///< no neighbouring results read neighbouring elements
  int64_t length = 0;      ///< of the reduction; 0: any
};
ReductionShape getReductionShape(kernel::FuncOp func);

/// Which row and which lane of it an invocation is.
class LaneMerger {
public:
  /// Declares what the form needs; rows lie along the workgroup's y, lanes along its x.
  LaneMerger(ShaderEmitter &emitter, LaneForm form);

  LaneForm form() const { return laneForm; }
  /// Names: number of this lane in its row, lanes of a row.
  const std::string &lane() const { return laneName; }
  const std::string &lanes() const { return lanesName; }
  /// Names in |loops| the indices of this invocation's row, which the plan's axes count; gives the name of whether it
  /// exists. Lanes behind the last row go along the last one, for barriers are for all.
  std::string nameRow(llvm::MutableArrayRef<std::string> loops);
  /// Merges |values|, one variable for each of |reduced|, over the lanes of each row; all lanes get the results. All
  /// invocations of the workgroup must come here. |most|: of all calls the greatest number of values.
  llvm::SmallVector<std::string> merge(llvm::ArrayRef<Reduced> reduced, llvm::ArrayRef<std::string> values,
                                       unsigned most);

private:
  void storePartials(llvm::ArrayRef<Reduced> reduced, llvm::ArrayRef<std::string> values, const std::string &place);
  /// A function that merges |count| partial results of one reduction, |step| apart.
  std::string declareTree(const Reduced &reduced);
  void mergeShared(llvm::ArrayRef<Reduced> reduced, llvm::ArrayRef<std::string> results);
  void mergeSubgroups(llvm::ArrayRef<Reduced> reduced, llvm::ArrayRef<std::string> results);

  ShaderEmitter &emitter;
  LaneForm laneForm;
  std::string laneName, lanesName;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_SHADERREDUCTION_H
