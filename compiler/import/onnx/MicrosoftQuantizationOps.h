// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisation of the domain com.microsoft: the builder that has a file of its own, and what it takes from others.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTQUANTIZATIONOPS_H
#define HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTQUANTIZATIONOPS_H

#include "compiler/import/onnx/NodeContext.h"

namespace heddle::importer {

/// The average pool of the node's attributes over |input|, which has the shape of input 0. Null once the node failed.
mlir::Value createAveragePool(NodeContext &node, mlir::Value input);
/// The softmax of |x|, which has the shape of input 0, along attribute axis as |opset| has it.
mlir::Value createSoftmax(NodeContext &node, mlir::Value x, int64_t opset);
/// Fails if attribute channels_last is set.
mlir::LogicalResult refuseChannelsLast(NodeContext &node);

/// Query, key and value of a node of QAttention side by side, in floats. Null once the node failed.
mlir::Value createQuantizedProjection(NodeContext &node);

mlir::LogicalResult buildMatMulNBits(NodeContext &node);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_MICROSOFTQUANTIZATIONOPS_H
