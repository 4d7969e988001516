// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model as one flat list of nodes: functions of the model are expanded, an If whose condition is constant is
// replaced by its branch, one whose condition isn't by both and a node that selects, every name is looked up, and nodes
// are in order. What comes after need not know that there was more.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_FLATTENMODEL_H
#define HEDDLE_COMPILER_IMPORT_ONNX_FLATTENMODEL_H

#include "compiler/import/onnx/TensorData.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <utility>
#include <vector>

namespace heddle::importer {

/// One operator. Tensors go by names that are unique in the whole model; the empty name is an absent one.
struct Node {
  std::string name; ///< as the file gives it; that of the first output where the node has none
  std::string type;
  std::string domain; ///< empty for ai.onnx
  std::string path;   ///< of its modules (ModulePath.h); that of the call where a function's node has none
  int64_t opset = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// Attributes by name; a reference to a function's attribute is resolved already.
  std::vector<std::pair<std::string, const ::onnx::AttributeProto *>> attributes;

  const ::onnx::AttributeProto *findAttribute(llvm::StringRef attribute) const;
};

/// A flat model. Points into the ModelProto that it was made from.
struct Model {
  /// Without those whose initialiser is no default but a constant. One with an initialiser is optional.
  std::vector<const ::onnx::ValueInfoProto *> inputs;
  std::vector<const ::onnx::ValueInfoProto *> outputs;
  llvm::StringMap<const ::onnx::TensorProto *> initializers;
  /// Types that the file declares for tensors, by name. Often wrong: for messages, and where what they say is checked.
  llvm::StringMap<const ::onnx::TypeProto *> declaredTypes;
  std::vector<std::string> mainInitializers; ///< names of those of the main graph, not of a branch
  llvm::StringSet<> conditions;              ///< initialisers that an If was decided by
  std::vector<std::string> constantInputs;   ///< inputs with a default that were made constants
  std::vector<Node> nodes;                   ///< each after the nodes whose outputs it reads
};

/// "MatMul (opset 17)", "Attention (com.microsoft opset 1)".
std::string describeOp(const Node &node);

/// Flattens |proto|, the skeleton of a model in a file named |file| whose tensors |reader| reads. H0514 for a graph
/// that contradicts itself, H0517 for a domain without a version.
mlir::FailureOr<Model> flattenModel(const ::onnx::ModelProto &proto, TensorReader &reader, llvm::StringRef file,
                                    ErrorList &errors);

/// Brings |model|'s nodes into an order in which each follows those it depends on, keeping the file's order where it
/// can. H0514 with the nodes' names for a tensor that nothing or more than one node produces, and for a cycle.
mlir::LogicalResult sortNodes(Model &model, llvm::StringRef file, ErrorList &errors);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_FLATTENMODEL_H
