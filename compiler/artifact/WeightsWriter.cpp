// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recipe steps: transpose and pack of matrices.

#include "compiler/artifact/WeightsWriter.h"

#include "dialects/rt/ConstantSource.h"

#include <cstring>

using namespace mlir;
using namespace heddle;

static uint64_t bytesOf(RankedTensorType type) {
  // A bool takes a byte, as in memory.
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

uint64_t heddle::getStoredBytes(rt::ConstantOp op) { return bytesOf(cast<RankedTensorType>(op.getType())); }

namespace {
/// A matrix as its recipe sees it: element (row, column) at a computed place of the source.
struct MatrixView {
  const uint8_t *data;
  int64_t width; // bytes of an element
  int64_t rows, columns;
  int64_t rowStride, columnStride; // elements

  const uint8_t *at(int64_t row, int64_t column) const {
    return data + (row * rowStride + column * columnStride) * width;
  }
};
} // namespace

/// Columns [first, first + panel) of all rows, zero beyond the last column: rows x panel.
static void packPanel(const MatrixView &matrix, int64_t first, int64_t panel, MutableArrayRef<uint8_t> out) {
  int64_t count = std::min(panel, matrix.columns - first);
  std::fill(out.begin(), out.end(), 0);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    uint8_t *target = out.data() + row * panel * matrix.width;
    if (matrix.columnStride == 1) {
      std::memcpy(target, matrix.at(row, first), count * matrix.width);
      continue;
    }
    for (int64_t column = 0; column < count; ++column)
      std::memcpy(target + column * matrix.width, matrix.at(row, first + column), matrix.width);
  }
}

LogicalResult heddle::streamConstant(rt::ConstantOp op, llvm::function_ref<void(ArrayRef<uint8_t>)> sink) {
  auto sourceType = cast<RankedTensorType>(op.getSourceType());
  FailureOr<nn::ConstantData> data = rt::readSource(op);
  if (failed(data))
    return failure();
  if (op.getRecipe().empty()) {
    sink(data->getBytes());
    return success();
  }
  if (sourceType.getRank() != 2)
    return op.emitError() << "expects a matrix as source of a recipe, got " << sourceType;
  int64_t rows = sourceType.getDimSize(0), columns = sourceType.getDimSize(1);
  MatrixView matrix{data->getBytes().data(),
                    static_cast<int64_t>(sourceType.getElementTypeBitWidth() / 8),
                    rows,
                    columns,
                    columns,
                    1};
  for (auto step : op.getRecipe().getAsRange<DictionaryAttr>()) {
    if (step.getAs<StringAttr>("kind").getValue() == "transpose") {
      std::swap(matrix.rows, matrix.columns);
      std::swap(matrix.rowStride, matrix.columnStride);
      continue;
    }
    int64_t panel = step.getAs<IntegerAttr>("panel").getInt();
    std::vector<uint8_t> packed(matrix.rows * panel * matrix.width);
    for (int64_t first = 0; first < matrix.columns; first += panel) {
      packPanel(matrix, first, panel, packed);
      sink(packed);
    }
  }
  return success();
}
