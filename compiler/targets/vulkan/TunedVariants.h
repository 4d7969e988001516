// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variants that tuning files have for a kernel: whether they may be used, and where they come among those of the table.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_TUNEDVARIANTS_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_TUNEDVARIANTS_H

#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/vulkan/ShaderPlan.h"

namespace heddle::vulkan {

/// What is wrong with |config| as a variant of |func|, whose table is |table|; empty if nothing. Its form is one of the
/// table's, its numbers are ones that the form's text is right for and that add in the table's order, and what follows
/// from them (workgroup, tile, shared memory) does. `most` doesn't count: the bucket decides it.
std::string checkVariant(kernel::FuncOp func, mlir::DictionaryAttr config, llvm::ArrayRef<Variant> table);

/// |table| with |chosen|, ascending, before what serves all other rows. Devices that lack what a chosen one needs take
/// the table's, as do rows of other buckets.
std::vector<Variant> insertVariants(kernel::FuncOp func, std::vector<Variant> table,
                                    llvm::ArrayRef<ChosenConfig> chosen);

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_TUNEDVARIANTS_H
