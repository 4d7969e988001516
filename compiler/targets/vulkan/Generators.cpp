// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/Generators.h"

using namespace mlir;

namespace heddle::vulkan {

const Generator *findGenerator(Operation *root) {
  static constexpr Generator kMap = {planMap, emitMap}, kContract = {planContract, emitContract},
                             kAttention = {planAttention, emitAttention};
  static constexpr Generator kRowwise = {planRowwise, emitRowwise};
  if (isa<kernel::MapOp>(root))
    return &kMap;
  if (isa<kernel::RowwiseOp>(root))
    return &kRowwise;
  if (isa<kernel::ContractOp>(root))
    return &kContract;
  if (isa<kernel::AttentionOp>(root))
    return &kAttention;
  return nullptr;
}

} // namespace heddle::vulkan
