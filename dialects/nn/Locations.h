// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What imported ops keep of the model file: their node's name, op type, domain and opset as a location, so that every
// later error can print them, and the names of their results.

#ifndef HEDDLE_DIALECTS_NN_LOCATIONS_H
#define HEDDLE_DIALECTS_NN_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace heddle::nn {

/// A node of a model file, as a location remembers it. The strings live as long as the context.
struct OnnxNode {
  llvm::StringRef name;
  llvm::StringRef type;
  /// Empty for the default domain.
  llvm::StringRef domain;
  int64_t opset;
  /// Of the exported program's modules, "encoder/layer.0/linear_3". Empty where the file doesn't tell.
  llvm::StringRef path = "";
};

/// `fused<#nn.onnx_op<type, domain, opset, path>>[name]`. The dialect nn must be loaded in |context|.
mlir::Location getNodeLocation(mlir::MLIRContext *context, const OnnxNode &node);

/// The first node found in |location|, within fused locations and call sites as well.
std::optional<OnnxNode> findOnnxNode(mlir::Location location);

/// All nodes in |location|, in its order: several where one op stands for several nodes.
llvm::SmallVector<OnnxNode> findOnnxNodes(mlir::Location location);

/// The name in the model file of |value|, by its op's `nn.outputs`. Empty for one without, and for arguments.
llvm::StringRef getOutputName(mlir::Value value);

} // namespace heddle::nn

#endif // HEDDLE_DIALECTS_NN_LOCATIONS_H
