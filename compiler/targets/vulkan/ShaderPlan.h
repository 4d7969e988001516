// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code generation does with one kernel.func on Vulkan, decided before any text exists: which descriptor binding
// holds each operand, the axes of the grid, and how far each operand is walked along them. A pure function of the
// kernel and its #kernel.lowering_config, so that the program that dispatches the kernel and its shader read the same
// numbers.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_SHADERPLAN_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_SHADERPLAN_H

#include <array>
#include <string>

#include "compiler/support/Shader.h"
#include "compiler/targets/common/KernelAccess.h"

namespace heddle::vulkan {

/// Axes of the grid, as vkCmdDispatch counts them.
enum Axis : unsigned { kX, kY, kZ, kNumAxes };

/// A module with values for its specialisation constants, as kernel.config lists it. Of a kernel's variants the runtime
/// takes the first that the device can run and whose `most` allows the dispatch.
struct Variant {
  std::string form;                  ///< which text: a word of the root's generator
  std::vector<std::string> features; ///< what the device must have beyond Vulkan 1.1
  std::array<int64_t, 3> workgroup;  ///< specialisation constants 0, 1, 2
  std::vector<int64_t> constants;    ///< specialisation constants 3, 4, ...
  std::array<int64_t, 3> tile;       ///< units of each axis that one workgroup computes
  std::array<int64_t, 3> most;       ///< greatest extents for which it is taken; 0: any
  int64_t sharedBytes = 0;           ///< shared memory of one workgroup

  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  static Variant fromAttr(mlir::DictionaryAttr attr);
};

/// Key of kernel.config under which the list of variants stands.
inline constexpr llvm::StringLiteral kVariantsKey = "variants";

/// A constant whose rows a dispatch may have a few of, for it may be larger than a device binds. Push constants say
/// which.
struct SlicedTable {
  unsigned operand;
  int64_t rowBytes; ///< on the device
  /// The one index of data that names its row in every read.
  mlir::Value index;
};

struct ShaderPlan : KernelAccess {
  llvm::SmallVector<Variant> variants;
  /// Per operand of the function, inputs then results: which descriptor of set 0 holds it. Four storage buffers are all
  /// that a device must have.
  llvm::SmallVector<ShaderBinding> operandBindings;
  /// Size of the grid in units, over the kernel's sizes.
  std::array<mlir::AffineExpr, kNumAxes> extents;
  /// Per operand: bytes from one unit to the next along each axis, on the device; all 0: it is needed whole.
  llvm::SmallVector<std::array<mlir::AffineExpr, kNumAxes>> strides;
  /// Loops of the nest that the axes stand for, the last of each list fastest; roots that cut their axes otherwise
  /// leave them empty.
  std::array<llvm::SmallVector<unsigned>, kNumAxes> axisLoops;
  /// Of a root whose generator skips what belongs to other rows.
  std::optional<SlicedTable> slicedTable;
  /// An invocation may go through so many rounds of its loops that some drivers end them; the kernel notices, and
  /// |canFail|.
  bool hasLongLoops = false;

  /// Emits an error at |func| and fails where the kernel breaks what this target needs.
  static mlir::FailureOr<ShaderPlan> create(kernel::FuncOp func);

  unsigned getNumOperands() const { return operandBindings.size(); }
  /// Tensor type of operand |i| of the function.
  mlir::RankedTensorType getOperandType(unsigned i) const;
  /// Makes loops of the nest the grid's axes and derives extents and strides from them.
  void setAxes(llvm::ArrayRef<unsigned> x, llvm::ArrayRef<unsigned> y, llvm::ArrayRef<unsigned> z);
  /// Makes |loops| the grid's axes, x being the one whose neighbours lie side by side in the first result (the last one
  /// where there is none): for roots whose invocations have an element each.
  void setNeighbourAxes(llvm::ArrayRef<unsigned> loops);
  /// Makes the grid empty where all results are, for roots whose axes don't count all loops of their results.
  void skipEmptyResults();
  /// Finds the largest constant that can be a sliced table: one that is only read by kernel.gather, always in the row
  /// of one checked index, which inputs decide. The index is the same along |row|, a loop that is never cut.
  void findSlicedTable(std::optional<unsigned> row);
  /// Sets an axis by numbers of the root's own: |unit| units of |extent|; strides are set by setStride.
  void setExtent(Axis axis, mlir::AffineExpr extent) { extents[axis] = extent; }
  void setStride(unsigned operand, Axis axis, mlir::AffineExpr bytes) { strides[operand][axis] = bytes; }
  mlir::AffineExpr constantExpr(int64_t value) const;

private:
  explicit ShaderPlan(kernel::FuncOp func) : KernelAccess(func) {}
  unsigned countPushConstants() const;
  mlir::LogicalResult checkTypes();
  bool mayLoopLong() const;
  mlir::LogicalResult checkPushConstants();
  void assignBindings();
};

/// Bytes of an element of |type| in a device's buffers: those of the host, but 4 for 64-bit integers.
int64_t getDeviceBytes(mlir::Type type);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_SHADERPLAN_H
