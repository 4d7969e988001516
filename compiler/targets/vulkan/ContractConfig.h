// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions' part of the table of variants, and the words and numbers that the table and the generator share.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H

#include "compiler/targets/vulkan/ShaderPlan.h"

namespace heddle::vulkan {

/// Specialisation constants from number 3 on: of an invocation's tile the rows and groups of four columns; the
/// workgroup's size along columns and rows; the k that pass through shared memory at a time, a multiple of 4.
inline constexpr llvm::StringLiteral kContractConstants[] = {"ROWS", "COLUMNS4", "LANES", "ROW_LANES", "DEPTH"};

/// What a variant's word says: "tile" or "shared", with "_dots" where bytes multiply by the instruction for it.
struct ContractForm {
  bool isShared = false, usesDots = false;
  static ContractForm parse(llvm::StringRef form) { return {form.starts_with("shared"), form.ends_with("_dots")}; }
};

/// An invocation's tile, the workgroup's invocations along columns and rows, k in shared memory at a time.
struct TileShape {
  int64_t rows, columns4, lanes, rowLanes = 1, depth = 4;
};

/// A variant of |form| for any number of rows, which asks for no feature.
Variant makeContractVariant(kernel::ContractOp op, llvm::StringRef form, const TileShape &shape);

/// Best first; the last one fits every device.
std::vector<Variant> chooseContract(kernel::ContractOp op);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_CONTRACTCONFIG_H
