// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations of imported ops: the node's name, op type, domain and opset, so that every later error can print them.

#ifndef HEDDLE_DIALECTS_NN_LOCATIONS_H
#define HEDDLE_DIALECTS_NN_LOCATIONS_H

#include "mlir/IR/Location.h"

#include <optional>

namespace heddle::nn {

/// A node of a model file, as a location remembers it. The strings live as long as the context.
struct OnnxNode {
  llvm::StringRef name;
  llvm::StringRef type;
  /// Empty for the default domain.
  llvm::StringRef domain;
  int64_t opset;
};

/// `fused<#nn.onnx_op<type, domain, opset>>[name]`. The dialect nn must be loaded in |context|.
mlir::Location getNodeLocation(mlir::MLIRContext *context, const OnnxNode &node);

/// The first node found in |location|, within fused locations and call sites as well.
std::optional<OnnxNode> findOnnxNode(mlir::Location location);

/// All nodes in |location|, in its order: several where one op stands for several nodes.
llvm::SmallVector<OnnxNode> findOnnxNodes(mlir::Location location);

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_LOCATIONS_H
