// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas over a node's values, for operators that are compositions.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_NODEMATH_H
#define HEDDLE_COMPILER_IMPORT_ONNX_NODEMATH_H

#include "compiler/import/onnx/NodeContext.h"

namespace heddle::importer {

/// Creates ops of |node|. Null values come in and go out once the node has failed, as with NodeContext::create.
struct NodeMath {
  NodeContext &node;

  mlir::Value binary(nn::BinaryKind kind, mlir::Value a, mlir::Value b) {
    return node.createValue<nn::BinaryOp>(kind, a, b);
  }
  mlir::Value unary(nn::UnaryKind kind, mlir::Value x) { return node.createValue<nn::UnaryOp>(kind, x); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Add, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Sub, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Mul, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Div, a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Max, a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return binary(nn::BinaryKind::Min, a, b); }

  /// |value| + |addend|, or |value| alone where the input |addend| is absent.
  mlir::Value addOptional(mlir::Value value, mlir::Value addend) { return addend ? add(value, addend) : value; }

  /// |number| in the element type of |like|.
  mlir::Value number(double number, mlir::Value like);
  /// |onTrue| where |a| |kind| |b|, elsewhere |onFalse|.
  mlir::Value select(nn::CompareKind kind, mlir::Value a, mlir::Value b, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// 1 / sqrt(mean(x^2) + epsilon)
  mlir::Value inverseRoot(mlir::Value x, llvm::ArrayRef<int64_t> axes, double epsilon);
  mlir::Value cast(mlir::Value x, mlir::Type to);
  /// A float of 16 bits as f32, so that a formula isn't rounded at each step; all else as it is.
  mlir::Value widen(mlir::Value x);
  /// A scale or zero point as the nn dialect wants it: a vector of one element, which many files have where a scalar is
  /// meant, becomes a scalar. Null stays null.
  mlir::Value parameter(mlir::Value value);
  /// |x|, a vector of one value a channel, for tensors of |rank| that have channels at axis 1.
  mlir::Value alongChannels(mlir::Value x, int64_t rank);
};

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_NODEMATH_H
