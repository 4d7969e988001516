// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ONNX operators Heddle imports. A row names an operator, the oldest opset whose meaning its builder knows, how
// many inputs it has, and the builder. A builder asks the node for its opset where meanings differ between versions.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_OPTABLE_H
#define HEDDLE_COMPILER_IMPORT_ONNX_OPTABLE_H

#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace heddle::importer {

class NodeContext;

/// The newest version of the default domain that all builders have been read against (onnx 1.22).
constexpr int64_t kNewestOpset = 27;

/// For operators that take any number of inputs.
constexpr unsigned kVariadic = ~0u;

struct OpRow {
  llvm::StringLiteral domain;
  llvm::StringLiteral type;
  int64_t since;
  unsigned minInputs; ///< the first so many inputs are always there when the builder is called
  unsigned maxInputs;
  mlir::LogicalResult (*build)(NodeContext &node);
};

/// The row of an operator; null where Heddle doesn't know it.
const OpRow *findOp(llvm::StringRef domain, llvm::StringRef type);

/// All rows, in no particular order.
llvm::SmallVector<OpRow, 0> getAllOps();

/// The rows of each family, defined beside their builders.
llvm::ArrayRef<OpRow> getActivationOps();
llvm::ArrayRef<OpRow> getAttentionOps();
llvm::ArrayRef<OpRow> getConstantOps();
llvm::ArrayRef<OpRow> getContractionOps();
llvm::ArrayRef<OpRow> getControlOps();
llvm::ArrayRef<OpRow> getElementwiseOps();
llvm::ArrayRef<OpRow> getFusedOps();
llvm::ArrayRef<OpRow> getIndexingOps();
llvm::ArrayRef<OpRow> getMicrosoftAttentionOps();
llvm::ArrayRef<OpRow> getMicrosoftQuantizationOps();
llvm::ArrayRef<OpRow> getNormalizationOps();
llvm::ArrayRef<OpRow> getQuantizationOps();
llvm::ArrayRef<OpRow> getReductionOps();
llvm::ArrayRef<OpRow> getRotaryOps();
llvm::ArrayRef<OpRow> getShapeOps();
llvm::ArrayRef<OpRow> getSpectralOps();
llvm::ArrayRef<OpRow> getConvolutionOps();
llvm::ArrayRef<OpRow> getResamplingOps();

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_OPTABLE_H
