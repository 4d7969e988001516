// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of the domain com.microsoft: the builders that are too large for one file, and what they share.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTATTENTIONOPS_H
#define HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTATTENTIONOPS_H

#include "compiler/import/onnx/AttentionForm.h"

namespace heddle::importer {

/// Which lengths a mask of one dimension may hold besides one a batch.
enum class LengthForm { Ends, EndsAndStarts };

/// Adds input |index|, if it is there, to |form|'s masks: a tensor of integers whose rank says what they mean. Query
/// and key are known already. |lengthForm| tells whether (2 * batch) are ends and starts.
mlir::LogicalResult addIntegerMask(NodeContext &node, AttentionForm &form, unsigned index, LengthForm lengthForm);
/// Adds input |index|, if it is there, to |form|'s biases: (batch or 1, heads or 1, sequence, keys).
mlir::LogicalResult addAttentionBias(NodeContext &node, AttentionForm &form, unsigned index);
/// Attributes scale, whose 0 stands for 1 / sqrt(head size), unidirectional and mask_filter_value.
mlir::LogicalResult readFillsAndScale(NodeContext &node, AttentionForm &form);
/// Fails, naming |what|, if input |index| is there.
mlir::LogicalResult refuseInput(NodeContext &node, unsigned index, llvm::StringRef what, llvm::StringRef reason);

mlir::LogicalResult buildGroupQueryAttention(NodeContext &node);
mlir::LogicalResult buildRelativePositionBias(NodeContext &node);
mlir::LogicalResult buildGatedRelativePositionBias(NodeContext &node);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTATTENTIONOPS_H
