// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansion of functions and Ifs. Both are copies of nodes under other names: a scope maps the names in a body to those
// of the flat model.

#include "compiler/import/onnx/FlattenModel.h"

#include "compiler/import/onnx/DefaultInputs.h"
#include "compiler/import/onnx/ModulePath.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::importer {

const ::onnx::AttributeProto *Node::findAttribute(llvm::StringRef attribute) const {
  for (const auto &[name, proto] : attributes)
    if (name == attribute)
      return proto;
  return nullptr;
}

std::string describeOp(const Node &node) {
  std::string domain = node.domain.empty() ? "" : node.domain + " ";
  return node.type + " (" + domain + "opset " + std::to_string(node.opset) + ")";
}

namespace {

/// The default domain has two spellings.
std::string normaliseDomain(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }

/// Exporters nest functions four or five deep; a function that calls itself would go on for ever.
constexpr unsigned kMaxCallDepth = 32;
/// The same as the scan's bound, here for what expansion makes of the file.
constexpr size_t kMaxNodes = 1'000'000;

/// The version of each domain, as a model or a function imports them.
using Opsets = llvm::StringMap<int64_t>;

/// What names mean within a body. A branch sees what is around it, a function doesn't.
struct Scope {
  const Scope *parent = nullptr;
  const Opsets *opsets = nullptr;
  /// The caller's attributes, for references to them; null outside of functions.
  const Node *caller = nullptr;
  const ::onnx::FunctionProto *function = nullptr;
  std::string prefix;
  llvm::StringMap<std::string> names;
  unsigned depth = 0;

  /// The flat model's name for |name|; the name itself where no body has defined it, as in the main graph.
  std::string resolve(const std::string &name) const {
    for (const Scope *scope = this; scope; scope = scope->parent) {
      auto found = scope->names.find(name);
      if (found != scope->names.end())
        return found->second;
    }
    return name;
  }
};

/// Walks the main graph and, through calls and branches, everything below it; nodes are added as they are met.
class Flattener {
public:
  Flattener(const ::onnx::ModelProto &proto, TensorReader &reader, llvm::StringRef file, ErrorList &errors)
      : proto(proto), reader(reader), file(file), errors(errors) {}

  FailureOr<Model> run();

private:
  FailureOr<Opsets> readOpsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports);
  void readBoundary();
  LogicalResult addNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope);
  LogicalResult addNode(const ::onnx::NodeProto &node, Scope &scope);
  LogicalResult resolveAttributes(const ::onnx::NodeProto &node, const Scope &scope, Node &flat);
  LogicalResult expandFunction(const ::onnx::FunctionProto &function, const Node &call, const Scope &scope);
  LogicalResult expandIf(const Node &node, const Scope &scope);
  LogicalResult expandBranch(const ::onnx::GraphProto &branch, const Node &node, const Scope &scope);
  void noteConstants(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, const Scope &scope);
  FailureOr<std::optional<bool>> findCondition(const std::string &name);
  void defineNames(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope);
  std::string makeUnique(const std::string &name);
  void addIdentity(const std::string &input, const std::string &output, const Node &origin);

  LogicalResult fail(ErrorCode code, const llvm::Twine &message, llvm::StringRef help = "") {
    return errors.add({code, message.str(), ("in " + file).str(), help.str()});
  }

  const ::onnx::ModelProto &proto;
  TensorReader &reader;
  llvm::StringRef file;
  ErrorList &errors;
  Model model;
  size_t visitedNodes = 0;
  /// A function has versions of its own; scopes point into this, so it doesn't grow once the walk has begun.
  std::vector<Opsets> functionOpsets;
  /// By domain, name and overload, each with its place in functionOpsets.
  llvm::StringMap<std::pair<const ::onnx::FunctionProto *, unsigned>> functions;
  /// All names of the flat model so far.
  llvm::StringSet<> usedNames;
  /// The last number that was tried behind a name.
  llvm::StringMap<unsigned> suffixes;
  /// Constant nodes seen so far, for the conditions of Ifs.
  llvm::StringMap<const ::onnx::TensorProto *> constants;
};

FailureOr<Opsets> Flattener::readOpsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports) {
  Opsets opsets;
  // Where a domain is listed twice, the last entry counts, as in onnxruntime.
  for (const ::onnx::OperatorSetIdProto &import : imports)
    opsets[normaliseDomain(import.domain())] = import.version();
  if (opsets.empty())
    return fail(ErrorCode::H0517, "the model has no opset_import",
                "export it again with a current exporter, or set the opset that its operators are of");
  return opsets;
}

/// Inputs, outputs and initialisers of the model.
void Flattener::readBoundary() {
  const ::onnx::GraphProto &graph = proto.graph();
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    model.initializers[tensor.name()] = &tensor;
    model.mainInitializers.push_back(tensor.name());
  }
  for (const ::onnx::ValueInfoProto &input : graph.input())
    // Before version 4 every initialiser had to be listed as an input; since then that makes it a default.
    if (proto.ir_version() >= 4 || !model.initializers.contains(input.name()))
      model.inputs.push_back(&input);
  for (const ::onnx::ValueInfoProto &output : graph.output())
    model.outputs.push_back(&output);
  for (const auto *list : {&graph.input(), &graph.value_info()})
    for (const ::onnx::ValueInfoProto &info : *list)
      model.declaredTypes[info.name()] = &info.type();
}

FailureOr<Model> Flattener::run() {
  FailureOr<Opsets> opsets = readOpsets(proto.opset_import());
  if (failed(opsets))
    return failure();
  if (int count = proto.graph().sparse_initializer_size())
    return fail(ErrorCode::H0202,
                "sparse initialisers are not supported: '" + proto.graph().sparse_initializer(0).values().name() + "'" +
                    (count > 1 ? " and " + llvm::Twine(count - 1) + " more" : llvm::Twine()),
                "store them as dense ones");
  readBoundary();
  functionOpsets.reserve(proto.functions_size());
  for (const ::onnx::FunctionProto &function : proto.functions()) {
    std::string key = normaliseDomain(function.domain()) + "\n" + function.name() + "\n" + function.overload();
    FailureOr<Opsets> own = function.opset_import().empty() ? opsets : readOpsets(function.opset_import());
    if (failed(own))
      return failure();
    functionOpsets.push_back(std::move(*own));
    functions[key] = {&function, static_cast<unsigned>(functionOpsets.size() - 1)};
  }
  Scope scope;
  scope.opsets = &*opsets;
  // Names of the main graph stay as they are; those of bodies must not meet them.
  for (const auto *input : model.inputs)
    usedNames.insert(input->name());
  for (const auto &entry : model.initializers)
    usedNames.insert(entry.getKey());
  for (const ::onnx::NodeProto &node : proto.graph().node())
    for (const std::string &output : node.output())
      usedNames.insert(output);
  if (failed(addNodes(proto.graph().node(), scope)) || failed(sortNodes(model, file, errors)))
    return failure();
  chooseDefaultInputs(model);
  return std::move(model);
}

/// Remembers the values of Constant nodes. Before the nodes that read them: a file needn't be in order.
void Flattener::noteConstants(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, const Scope &scope) {
  for (const ::onnx::NodeProto &node : nodes)
    if (node.op_type() == "Constant" && normaliseDomain(node.domain()).empty() && node.output_size() == 1)
      for (const ::onnx::AttributeProto &attribute : node.attribute())
        if (attribute.name() == "value" && attribute.has_t())
          constants[scope.resolve(node.output(0))] = &attribute.t();
}

LogicalResult Flattener::addNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope) {
  noteConstants(nodes, scope);
  for (const ::onnx::NodeProto &node : nodes)
    if (failed(addNode(node, scope)))
      return failure();
  return success();
}

/// Adds |node|, or what it stands for: the body of a function, the branch of an If.
LogicalResult Flattener::addNode(const ::onnx::NodeProto &node, Scope &scope) {
  // Counted when visited: functions that call each other can be many without a node between them.
  if (++visitedNodes > kMaxNodes)
    return fail(ErrorCode::H0518,
                "model exceeds a limit: more than " + llvm::Twine(kMaxNodes) + " nodes once functions are expanded");
  Node flat;
  for (const std::string &input : node.input())
    flat.inputs.push_back(input.empty() ? "" : scope.resolve(input));
  for (const std::string &output : node.output())
    flat.outputs.push_back(output.empty() ? "" : scope.resolve(output));
  flat.name = scope.prefix + node.name();
  // A node without a name goes by its first output: exporters give the two alike.
  if (node.name().empty())
    flat.name = flat.outputs.empty() ? scope.prefix + node.op_type() : flat.outputs.front();
  flat.type = node.op_type();
  flat.domain = normaliseDomain(node.domain());
  flat.path = getModulePath(node);
  if (flat.path.empty() && scope.caller)
    flat.path = scope.caller->path;
  if (failed(resolveAttributes(node, scope, flat)))
    return failure();
  // A function of the model takes precedence over an operator of its name.
  auto function = functions.find(flat.domain + "\n" + flat.type + "\n" + node.overload());
  if (function != functions.end())
    return expandFunction(*function->second.first, flat, scope);
  auto opset = scope.opsets->find(flat.domain);
  if (opset == scope.opsets->end())
    return fail(ErrorCode::H0517, "node '" + flat.name + "': op " + flat.type + " is of domain '" +
                                      (flat.domain.empty() ? "ai.onnx" : flat.domain) +
                                      "', for which the model's opset_import gives no version");
  flat.opset = opset->second;
  if (flat.domain.empty() && flat.type == "If")
    return expandIf(flat, scope);
  model.nodes.push_back(std::move(flat));
  return success();
}

/// Collects |node|'s attributes; within a function some are references to those of the call.
LogicalResult Flattener::resolveAttributes(const ::onnx::NodeProto &node, const Scope &scope, Node &flat) {
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    if (flat.findAttribute(attribute.name()))
      return fail(ErrorCode::H0203, "node '" + flat.name + "': attribute '" + attribute.name() + "' is given twice");
    const ::onnx::AttributeProto *resolved = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      resolved = scope.caller ? scope.caller->findAttribute(attribute.ref_attr_name()) : nullptr;
      if (!resolved && scope.function)
        for (const ::onnx::AttributeProto &given : scope.function->attribute_proto())
          if (given.name() == attribute.ref_attr_name())
            resolved = &given;
    }
    // A reference to what the caller left out means that the attribute is absent here as well.
    if (resolved)
      flat.attributes.emplace_back(attribute.name(), resolved);
  }
  return success();
}

/// |name|, with a number behind it where it is taken. Nodes may all have one name, so the count goes on where it was.
std::string Flattener::makeUnique(const std::string &name) {
  std::string unique = name;
  while (!usedNames.insert(unique).second)
    unique = name + "_" + std::to_string(++suffixes[name]);
  return unique;
}

/// Gives the tensors that |nodes| produce names of their own, but for those that have one already.
void Flattener::defineNames(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope) {
  for (const ::onnx::NodeProto &node : nodes)
    for (const std::string &output : node.output())
      if (!output.empty() && !scope.names.contains(output))
        scope.names[output] = makeUnique(scope.prefix + output);
}

/// Gives |input| a second name. |origin| is the call or If that does so.
void Flattener::addIdentity(const std::string &input, const std::string &output, const Node &origin) {
  Node identity;
  identity.name = origin.name;
  identity.path = origin.path;
  identity.type = "Identity";
  identity.opset = 1;
  identity.inputs = {input};
  identity.outputs = {output};
  model.nodes.push_back(std::move(identity));
}

/// Adds the body of |function|: its inputs are the call's inputs, its outputs get the call's names.
LogicalResult Flattener::expandFunction(const ::onnx::FunctionProto &function, const Node &call, const Scope &scope) {
  if (scope.depth == kMaxCallDepth)
    return fail(ErrorCode::H0518, "node '" + call.name + "': function " + call.type +
                                      " calls itself, or calls are nested more than " + llvm::Twine(kMaxCallDepth) +
                                      " deep");
  if (call.inputs.size() > static_cast<size_t>(function.input_size()) ||
      call.outputs.size() > static_cast<size_t>(function.output_size()))
    return fail(ErrorCode::H0203, "node '" + call.name + "': function " + call.type + " has " +
                                      llvm::Twine(function.input_size()) + " inputs and " +
                                      llvm::Twine(function.output_size()) + " outputs, the call " +
                                      llvm::Twine(call.inputs.size()) + " and " + llvm::Twine(call.outputs.size()));
  std::string key = normaliseDomain(function.domain()) + "\n" + function.name() + "\n" + function.overload();
  Scope inner;
  inner.opsets = &functionOpsets[functions.find(key)->second.second];
  inner.caller = &call;
  inner.function = &function;
  inner.prefix = call.name + "/";
  inner.depth = scope.depth + 1;
  // Inputs that the call leaves out are absent within the body too.
  for (int i = 0; i < function.input_size(); ++i)
    inner.names[function.input(i)] = static_cast<size_t>(i) < call.inputs.size() ? call.inputs[i] : "";
  llvm::SmallVector<int> passedThrough;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const std::string &name = function.output(static_cast<int>(i));
    if (call.outputs[i].empty())
      continue;
    // An output that is an input, or another output too, is a tensor of its own for the caller.
    if (!inner.names.try_emplace(name, call.outputs[i]).second)
      passedThrough.push_back(static_cast<int>(i));
  }
  defineNames(function.node(), inner);
  if (failed(addNodes(function.node(), inner)))
    return failure();
  for (int i : passedThrough)
    addIdentity(inner.resolve(function.output(i)), call.outputs[i], call);
  return success();
}

/// Adds the branch that a constant condition takes, or both and a node that selects between their outputs: an If whose
/// inputs are the condition and, for each output, what the branches give.
LogicalResult Flattener::expandIf(const Node &node, const Scope &scope) {
  const ::onnx::AttributeProto *branches[] = {node.findAttribute("then_branch"), node.findAttribute("else_branch")};
  if (node.inputs.size() != 1 || node.inputs[0].empty() ||
      llvm::any_of(branches, [](const ::onnx::AttributeProto *branch) { return !branch || !branch->has_g(); }))
    return fail(ErrorCode::H0203, "node '" + node.name + "': an If has one input, a then_branch and an else_branch",
                "check the model with onnx.checker.check_model");
  FailureOr<std::optional<bool>> condition = findCondition(node.inputs[0]);
  if (failed(condition))
    return failure();
  if (*condition)
    return expandBranch(branches[**condition ? 0 : 1]->g(), node, scope);
  Node select = node;
  select.attributes.clear();
  llvm::erase(select.outputs, "");
  std::vector<std::string> given[2];
  for (auto [i, branch] : llvm::enumerate(branches)) {
    std::vector<std::string> &outputs = given[i];
    Node body = node;
    body.name += i == 0 ? "/then" : "/else";
    for (std::string &output : body.outputs)
      if (!output.empty())
        outputs.push_back(output = makeUnique(body.name + "/" + output));
    if (failed(expandBranch(branch->g(), body, scope)))
      return failure();
  }
  for (auto [onThen, onElse] : llvm::zip_equal(given[0], given[1]))
    select.inputs.insert(select.inputs.end(), {onThen, onElse});
  model.nodes.push_back(std::move(select));
  return success();
}

/// Adds the nodes and initialisers of |branch| in place of the If |node|.
LogicalResult Flattener::expandBranch(const ::onnx::GraphProto &branch, const Node &node, const Scope &scope) {
  if (scope.depth == kMaxCallDepth)
    return fail(ErrorCode::H0518,
                "node '" + node.name + "': branches are nested more than " + llvm::Twine(kMaxCallDepth) + " deep");
  if (static_cast<size_t>(branch.output_size()) != node.outputs.size())
    return fail(ErrorCode::H0203, "node '" + node.name + "': it has " + llvm::Twine(node.outputs.size()) +
                                      " outputs, its branch " + llvm::Twine(branch.output_size()));
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.caller = scope.caller;
  inner.function = scope.function;
  inner.prefix = node.name + "/";
  inner.depth = scope.depth + 1;
  for (const ::onnx::TensorProto &tensor : branch.initializer()) {
    std::string name = makeUnique(inner.prefix + tensor.name());
    inner.names[tensor.name()] = name;
    model.initializers[name] = &tensor;
  }
  defineNames(branch.node(), inner);
  if (failed(addNodes(branch.node(), inner)))
    return failure();
  // An output of a branch may be anything in sight, a tensor from outside included; hence a second name for each.
  for (auto [output, name] : llvm::zip_equal(branch.output(), node.outputs))
    if (!name.empty())
      addIdentity(inner.resolve(output.name()), name, node);
  return success();
}

/// The value of the scalar |name| where it is a constant of the model, else nothing.
FailureOr<std::optional<bool>> Flattener::findCondition(const std::string &name) {
  const ::onnx::TensorProto *tensor = constants.lookup(name), *initializer = model.initializers.lookup(name);
  if (initializer) {
    tensor = initializer;
    // Which branch there is can't change from run to run.
    model.conditions.insert(name);
  }
  bool isScalar = tensor && tensor->data_type() == ::onnx::TensorProto::BOOL &&
                  llvm::all_of(tensor->dims(), [](int64_t extent) { return extent == 1; });
  if (!isScalar)
    return std::optional<bool>();
  FailureOr<Constant> constant = reader.read(*tensor, "tensor '" + name + "'");
  if (failed(constant))
    return failure();
  return std::optional<bool>(cast<DenseElementsAttr>(constant->value).getSplatValue<bool>());
}

} // namespace

FailureOr<Model> flattenModel(const ::onnx::ModelProto &proto, TensorReader &reader, llvm::StringRef file,
                              ErrorList &errors) {
  return Flattener(proto, reader, file, errors).run();
}

} // namespace heddle::importer
