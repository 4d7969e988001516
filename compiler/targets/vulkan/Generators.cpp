// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/Generators.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::vulkan {

const Generator *findGenerator(Operation *root) {
  static constexpr Generator kMap = {planMap, emitMap}, kContract = {planContract, emitContract},
                             kAttention = {planAttention, emitAttention}, kRowwise = {planRowwise, emitRowwise},
                             kReduce = {planReduce, emitReduce}, kScan = {planScan, emitScan},
                             kScatter = {planScatter, emitScatter}, kTopK = {planTopK, emitTopK};
  return llvm::TypeSwitch<Operation *, const Generator *>(root)
      .Case([](kernel::MapOp) { return &kMap; })
      .Case([](kernel::ContractOp) { return &kContract; })
      .Case([](kernel::AttentionOp) { return &kAttention; })
      .Case([](kernel::RowwiseOp) { return &kRowwise; })
      .Case([](kernel::ReduceOp) { return &kReduce; })
      .Case([](kernel::ScanOp) { return &kScan; })
      .Case([](kernel::ScatterOp) { return &kScatter; })
      .Case([](kernel::TopKOp) { return &kTopK; })
      .Default([](Operation *) { return nullptr; });
}

} // namespace heddle::vulkan
