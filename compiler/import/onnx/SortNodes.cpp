// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that a flat graph is one, and sorts it topologically. Linear but for the queue: models with 100,000 nodes
// exist.

#include "compiler/import/onnx/FlattenModel.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <queue>

using namespace mlir;

namespace heddle::importer {

namespace {

/// One pass for who produces what, one for who reads it, one to sort.
class Sorter {
public:
  Sorter(Model &model, llvm::StringRef file, ErrorList &errors) : model(model), file(file), errors(errors) {}

  LogicalResult run() { return success(succeeded(collectProducers()) && succeeded(checkReads()) && succeeded(sort())); }

private:
  LogicalResult checkBoundaryNames();
  LogicalResult collectProducers();
  LogicalResult checkReads();
  LogicalResult sort();
  LogicalResult reportCycle(llvm::ArrayRef<unsigned> missing);

  LogicalResult fail(const llvm::Twine &message) {
    return errors.add({ErrorCode::H0514, message.str(), ("in " + file).str(), ""});
  }
  LogicalResult failAt(const Node &node, const llvm::Twine &message) {
    return errors.add({ErrorCode::H0514, ("node '" + node.name + "': " + message).str(),
                       ("in " + file + ", op " + describeOp(node)).str(), ""});
  }

  Model &model;
  llvm::StringRef file;
  ErrorList &errors;
  /// Tensors that are there from the start.
  llvm::StringSet<> given;
  /// The index of the node that produces a tensor.
  llvm::StringMap<unsigned> producers;
};

/// Inputs and outputs go by their names, in the C API by strings that end with a zero byte.
LogicalResult Sorter::checkBoundaryNames() {
  for (auto [kind, infos] : {std::pair("input", &model.inputs), std::pair("output", &model.outputs)})
    for (auto [index, info] : llvm::enumerate(*infos)) {
      std::string which = std::string(kind) + " " + std::to_string(index);
      if (info->name().empty())
        return fail(which + " has no name");
      bool hasZero = llvm::StringRef(info->name()).contains('\0') ||
                     llvm::any_of(info->type().tensor_type().shape().dim(),
                                  [](const auto &dim) { return llvm::StringRef(dim.dim_param()).contains('\0'); });
      if (hasZero)
        return fail(which + " '" + info->name() + "' has a zero byte in its name or that of a dimension");
    }
  return success();
}

/// Finds where each tensor comes from; it must come from one place.
LogicalResult Sorter::collectProducers() {
  if (failed(checkBoundaryNames()))
    return failure();
  for (const auto *input : model.inputs)
    if (!given.insert(input->name()).second)
      return fail("two inputs are named '" + input->name() + "'");
  for (const auto &entry : model.initializers)
    given.insert(entry.getKey()); // that of an optional input is there already
  for (auto [index, node] : llvm::enumerate(model.nodes)) {
    for (const std::string &output : node.outputs) {
      if (output.empty())
        continue;
      if (given.contains(output))
        return failAt(node, "its output '" + output + "' is an input or a constant of the model already");
      auto [entry, isNew] = producers.try_emplace(output, static_cast<unsigned>(index));
      if (!isNew)
        return failAt(node,
                      "its output '" + output + "' comes from node '" + model.nodes[entry->second].name + "' already");
    }
  }
  return success();
}

/// Reports all tensors that are read and come from nowhere.
LogicalResult Sorter::checkReads() {
  bool isComplete = true;
  for (const Node &node : model.nodes)
    for (const std::string &input : node.inputs)
      if (!input.empty() && !given.contains(input) && !producers.contains(input)) {
        (void)failAt(node, "it reads '" + input + "', which nothing produces");
        isComplete = false;
      }
  if (model.outputs.empty())
    return fail("the model has no outputs");
  llvm::StringSet<> seen;
  for (const auto *output : model.outputs) {
    if (!seen.insert(output->name()).second)
      return fail("two outputs are named '" + output->name() + "'");
    if (!given.contains(output->name()) && !producers.contains(output->name()))
      return fail("output '" + output->name() + "' is produced by nothing");
  }
  return success(isComplete);
}

/// Kahn's algorithm. Of the nodes that are ready the first one in the file goes first, so that a sorted file stays as
/// it is.
LogicalResult Sorter::sort() {
  size_t count = model.nodes.size();
  // How many inputs of a node aren't there yet, and who waits for a node.
  std::vector<unsigned> missing(count, 0);
  std::vector<llvm::SmallVector<unsigned, 2>> readers(count);
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<unsigned>> ready;
  for (unsigned index = 0; index < count; ++index) {
    for (const std::string &input : model.nodes[index].inputs) {
      auto producer = producers.find(input);
      if (producer == producers.end())
        continue;
      readers[producer->second].push_back(index);
      ++missing[index];
    }
    if (missing[index] == 0)
      ready.push(index);
  }
  std::vector<Node> sorted;
  sorted.reserve(count);
  while (!ready.empty()) {
    unsigned index = ready.top();
    ready.pop();
    for (unsigned reader : readers[index])
      if (--missing[reader] == 0)
        ready.push(reader);
    sorted.push_back(std::move(model.nodes[index]));
  }
  if (sorted.size() != count)
    return reportCycle(missing);
  model.nodes = std::move(sorted);
  return success();
}

/// Walks backwards from any node that never became ready: all it waits for waits too, so a node must come up twice.
LogicalResult Sorter::reportCycle(llvm::ArrayRef<unsigned> missing) {
  unsigned at = 0;
  while (missing[at] == 0)
    ++at;
  std::vector<unsigned> path;
  llvm::DenseSet<unsigned> seen;
  while (seen.insert(at).second) {
    path.push_back(at);
    for (const std::string &input : model.nodes[at].inputs) {
      auto producer = producers.find(input);
      if (producer != producers.end() && missing[producer->second] != 0) {
        at = producer->second;
        break;
      }
    }
  }
  // |at| is where the cycle closes; the path runs against the flow of data, so it is told backwards.
  constexpr unsigned kShown = 8;
  std::string closing = "'" + model.nodes[at].name + "'", names = closing;
  unsigned shown = 0;
  for (auto it = path.end(); *--it != at;) {
    if (++shown == kShown) {
      names += " -> ...";
      break;
    }
    names += " -> '" + model.nodes[*it].name + "'";
  }
  return fail("the graph has a cycle: " + names + " -> " + closing);
}

} // namespace

LogicalResult sortNodes(Model &model, llvm::StringRef file, ErrorList &errors) {
  return Sorter(model, file, errors).run();
}

} // namespace heddle::importer
