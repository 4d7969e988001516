// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families' rows in one index.

#include "compiler/import/onnx/OpTable.h"

#include "llvm/ADT/StringMap.h"

namespace heddle::importer {

llvm::SmallVector<OpRow, 0> getAllOps() {
  llvm::SmallVector<OpRow, 0> rows;
  for (llvm::ArrayRef<OpRow> family :
       {getActivationOps(), getAttentionOps(), getConstantOps(), getContractionOps(), getControlOps(),
        getElementwiseOps(), getFusedOps(), getIndexingOps(), getMicrosoftAttentionOps(), getMicrosoftQuantizationOps(),
        getNormalizationOps(), getQuantizationOps(), getReductionOps(), getRotaryOps(), getShapeOps(), getSpectralOps(),
        getConvolutionOps(), getResamplingOps()})
    llvm::append_range(rows, family);
  return rows;
}

const OpRow *findOp(llvm::StringRef domain, llvm::StringRef type) {
  static const llvm::StringMap<OpRow> index = [] {
    llvm::StringMap<OpRow> rows;
    for (const OpRow &row : getAllOps())
      rows.try_emplace((row.domain + "\n" + row.type).str(), row);
    return rows;
  }();
  auto found = index.find((domain + "\n" + type).str());
  return found == index.end() ? nullptr : &found->second;
}

} // namespace heddle::importer
