// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a builder sees of the node it imports: inputs as values, attributes with defaults, ways to create ops and to
// refuse. It remembers what was asked for, so that an attribute nobody looked at is an error and not silently dropped.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_NODECONTEXT_H
#define HEDDLE_COMPILER_IMPORT_ONNX_NODECONTEXT_H

#include "compiler/import/onnx/FlattenModel.h"
#include "compiler/import/onnx/TensorData.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/StringSet.h"

namespace heddle::importer {

/// After the first failure a NodeContext is failed: it reports no second one, creates no further op, and getters return
/// defaults. So builders needn't test each step; they return what emit() or setOutputs() gives.
class NodeContext {
public:
  /// |inputs| has a null value for each absent input. |declaredTypes| are Model's, |file| is the model's name for
  /// messages.
  NodeContext(const Node &node, llvm::ArrayRef<mlir::Value> inputs,
              const llvm::StringMap<const ::onnx::TypeProto *> &declaredTypes, mlir::OpBuilder &builder,
              TensorReader &reader, llvm::StringRef file, ErrorList &errors);

  const Node &getNode() const { return node; }
  int64_t getOpset() const { return node.opset; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  bool hasFailed() const { return isFailed; }

  //===--------------------------------------------------------------------------------------------------------------===//
  // Inputs.
  //===--------------------------------------------------------------------------------------------------------------===//

  unsigned getNumInputs() const { return static_cast<unsigned>(inputs.size()); }
  /// Input |index|; null where it is absent.
  mlir::Value getInput(unsigned index) const { return index < inputs.size() ? inputs[index] : mlir::Value(); }
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }
  /// Type of an input that is there.
  mlir::RankedTensorType getType(unsigned index) const;
  int64_t getRank(unsigned index) const { return getType(index).getRank(); }
  mlir::Type getElementType(unsigned index) const { return getType(index).getElementType(); }
  /// Input |index|, with extents of |axes| that inference doesn't know as the file declares them. Since it may be
  /// wrong, a reshape says so, which fails where the number of elements is another.
  mlir::Value getInputAsDeclared(unsigned index, llvm::ArrayRef<unsigned> axes);
  /// The name that the file gives dimension |axis| of input |index|; empty where it gives none. Equal names are no
  /// proof of equal extents.
  llvm::StringRef getDeclaredDim(unsigned index, unsigned axis) const;
  /// The integers in input |index|, which has to be a constant; fails naming it as |what| otherwise.
  llvm::SmallVector<int64_t> getConstantInts(unsigned index, llvm::StringRef what);

  /// The floats in input |index|, which has to be a constant vector of f32; fails naming it as |what| otherwise.
  std::optional<llvm::SmallVector<float>> getConstantFloats(unsigned index, llvm::StringRef what);

  //===--------------------------------------------------------------------------------------------------------------===//
  // Attributes. Without a default the attribute is required.
  //===--------------------------------------------------------------------------------------------------------------===//

  bool hasAttr(llvm::StringRef name) const { return node.findAttribute(name) != nullptr; }
  int64_t getInt(llvm::StringRef name, std::optional<int64_t> fallback = std::nullopt);
  bool getFlag(llvm::StringRef name, bool fallback) { return getInt(name, fallback) != 0; }
  double getFloat(llvm::StringRef name, std::optional<double> fallback = std::nullopt);
  std::string getString(llvm::StringRef name, std::optional<llvm::StringRef> fallback = std::nullopt);
  /// Nothing where the attribute is absent.
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name);
  std::optional<llvm::SmallVector<float>> getFloats(llvm::StringRef name);
  std::optional<Constant> getTensor(llvm::StringRef name);
  /// For attributes that change nothing here: |name| is known and has no effect.
  void ignoreAttr(llvm::StringRef name) { readAttributes.insert(name); }

  /// |axis| counted from the front of |rank| dimensions; fails where it is out of range.
  int64_t normalizeAxis(int64_t axis, int64_t rank);
  /// All of |axes| so, in ascending order; fails where two are the same.
  llvm::SmallVector<int64_t> normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  //===--------------------------------------------------------------------------------------------------------------===//
  // Results.
  //===--------------------------------------------------------------------------------------------------------------===//

  /// Creates an op with inferred types; |args| are its builder's after the result types. Null once failed.
  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    if (isFailed)
      return {};
    mlir::FailureOr<OpTy> op = nn::createChecked<OpTy>(builder, loc, std::forward<Args>(args)...);
    isFailed = failed(op);
    return isFailed ? OpTy() : *op;
  }
  /// The same for ops with one result, as that result.
  template <typename OpTy, typename... Args> mlir::Value createValue(Args &&...args) {
    OpTy op = create<OpTy>(std::forward<Args>(args)...);
    return op ? op->getResult(0) : mlir::Value();
  }
  /// Creates the op that is the node: its results are the node's outputs.
  template <typename OpTy, typename... Args> mlir::LogicalResult emit(Args &&...args) {
    OpTy op = create<OpTy>(std::forward<Args>(args)...);
    return op ? setOutputs(op->getResults()) : mlir::failure();
  }
  mlir::Value createConstant(mlir::RankedTensorType type, mlir::Attribute value);
  /// A constant of rank 0, rounded to |elementType|.
  mlir::Value createScalar(mlir::Type elementType, double value);
  /// A vector of i64.
  mlir::Value createVector(llvm::ArrayRef<int64_t> values);
  /// |value|, a scalar or a vector of one element, as a scalar: exporters write either.
  mlir::Value createAsScalar(mlir::Value value);

  /// The node's outputs, in order; those left out at the end are not supported.
  mlir::LogicalResult setOutputs(mlir::ValueRange values);
  llvm::ArrayRef<mlir::Value> getOutputs() const { return outputs; }

  //===--------------------------------------------------------------------------------------------------------------===//
  // Refusals. |message| goes on after "node 'x': ".
  //===--------------------------------------------------------------------------------------------------------------===//

  /// H0202: the operator is known, but not so.
  mlir::LogicalResult unsupported(const llvm::Twine &message, llvm::StringRef help = "") {
    return fail(ErrorCode::H0202, message, help);
  }
  /// H0203: the node breaks its operator's definition.
  mlir::LogicalResult malformed(const llvm::Twine &message, llvm::StringRef help = "") {
    return fail(ErrorCode::H0203, message, help);
  }
  mlir::LogicalResult fail(ErrorCode code, const llvm::Twine &message, llvm::StringRef help = "");

  /// Ends the import of the node: fails for attributes that nothing has read, names the outputs' ops.
  mlir::LogicalResult finish();

private:
  const ::onnx::AttributeProto *readAttribute(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type,
                                              llvm::StringRef typeName, bool isRequired);

  const Node &node;
  llvm::SmallVector<mlir::Value> inputs;
  const llvm::StringMap<const ::onnx::TypeProto *> &declaredTypes;
  mlir::OpBuilder &builder;
  TensorReader &reader;
  llvm::StringRef file;
  ErrorList &errors;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> outputs;
  llvm::StringSet<> readAttributes;
  bool isFailed = false;
};

/// "op MatMul (opset 17), inputs f32[?,12,?,64] and f32[?,12,32,?]", for the context line of errors. Null values are
/// absent inputs.
std::string describeNode(const Node &node, llvm::ArrayRef<mlir::Value> inputs);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_NODECONTEXT_H
