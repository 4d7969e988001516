// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ContractConfig.h"

#include "compiler/targets/vulkan/ContractFactors.h"

using namespace mlir;

namespace heddle::vulkan {

/// A tile of |rows| by 4 * |columns4| for each of |invocations|, which lie side by side along the columns.
static Variant makeTile(StringRef form, int64_t invocations, int64_t rows, int64_t columns4) {
  Variant tile;
  tile.form = form.str();
  tile.workgroup = {invocations, 1, 1};
  tile.constants = {rows, columns4};
  tile.tile = {invocations * columns4 * 4 / kPanelColumns, rows, 1};
  tile.most = {0, 0, 0};
  return tile;
}

std::vector<Variant> chooseContract(kernel::ContractOp op) {
  return {makeTile("tile", 8, 16, 2)};
}

} // namespace heddle::vulkan
