// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/Generators.h"

using namespace mlir;

namespace heddle::vulkan {

const Generator *findGenerator(Operation *root) {
  static constexpr Generator kMap = {planMap, emitMap};
  if (isa<kernel::MapOp>(root))
    return &kMap;
  return nullptr;
}

} // namespace heddle::vulkan
