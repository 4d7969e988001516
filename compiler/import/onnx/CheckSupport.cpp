// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The comparison of a model with the table of operators.

#include "compiler/import/onnx/CheckSupport.h"

#include "compiler/import/onnx/OpTable.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace heddle::importer {

/// What to do about an operator that isn't in the table.
static llvm::StringRef getRemedy(const Node &node) {
  if (node.domain == "com.microsoft")
    return "this operator comes from onnxruntime's optimiser: give the model that it was made from";
  if (node.type == "NonZero" || node.type == "Unique" || node.type == "Compress")
    return "the size of its result depends on values, which no compiled program can plan for: replace it by a mask";
  if (node.type == "Loop" || node.type == "Scan")
    return "export the model without control flow, for instance with torch.onnx.export(dynamo=True)";
  return "export the model with another opset or exporter, or write the operator in basic ones";
}

/// The first reason why the table can't import |node|; empty where it can.
static std::string findObstacle(const Node &node) {
  const OpRow *row = findOp(node.domain, node.type);
  if (!row)
    return "is not supported";
  if (node.opset < row->since)
    return "is not supported in opset " + std::to_string(node.opset) + ", only since " + std::to_string(row->since);
  if (node.domain.empty() && node.opset > kNewestOpset)
    return "is not supported in opset " + std::to_string(node.opset) + ", only up to " + std::to_string(kNewestOpset);
  return "";
}

/// "float[batch,12]"; empty where the file says nothing of the tensor.
static std::string describeDeclared(const Model &model, const std::string &name) {
  auto describe = [](int type, auto dims) { return getDataTypeName(type) + "[" + llvm::join(dims, ",") + "]"; };
  if (const ::onnx::TensorProto *tensor = model.initializers.lookup(name))
    return describe(tensor->data_type(),
                    llvm::map_range(tensor->dims(), [](int64_t extent) { return std::to_string(extent); }));
  const ::onnx::TypeProto *type = model.declaredTypes.lookup(name);
  if (!type || !type->tensor_type().has_shape())
    return "";
  return describe(
      type->tensor_type().elem_type(), llvm::map_range(type->tensor_type().shape().dim(), [](const auto &dim) {
        return dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param();
      }));
}

/// "in model.onnx, op NonZero (opset 17), inputs float[batch,12]".
static std::string describeFirst(const Model &model, const Node &node, llvm::StringRef file) {
  std::vector<std::string> inputs;
  bool isAnyKnown = false;
  for (const std::string &name : node.inputs) {
    std::string declared = describeDeclared(model, name);
    isAnyKnown |= !declared.empty();
    inputs.push_back(name.empty() ? "absent" : declared.empty() ? "of unknown shape" : declared);
  }
  return ("in " + file + ", op " + describeOp(node)).str() + (isAnyKnown ? ", inputs " + llvm::join(inputs, ", ") : "");
}

/// The error for |nodes|, which are of one operator.
static Error makeError(const Model &model, llvm::ArrayRef<const Node *> nodes, llvm::StringRef file) {
  constexpr size_t kShown = 3;
  std::string names;
  for (const Node *node : nodes.take_front(kShown))
    names.append(names.empty() ? "'" : ", '").append(node->name).append("'");
  if (nodes.size() > kShown)
    names += ", ...";
  const Node &first = *nodes.front();
  std::string domain = first.domain.empty() ? "" : " of domain '" + first.domain + "'";
  std::string count = std::to_string(nodes.size()) + (nodes.size() == 1 ? " node, " : " nodes, ");
  return {ErrorCode::H0201, "operator " + first.type + domain + " " + findObstacle(first) + ": " + count + names,
          describeFirst(model, first, file), getRemedy(first).str()};
}

LogicalResult checkSupport(const Model &model, llvm::StringRef file, ErrorList &errors) {
  std::map<std::string, llvm::SmallVector<const Node *>> groups;
  for (const Node &node : model.nodes)
    if (!findObstacle(node).empty())
      groups[describeOp(node)].push_back(&node);
  for (const auto &[op, nodes] : groups)
    (void)errors.add(makeError(model, nodes, file));
  return success(groups.empty());
}

} // namespace heddle::importer
