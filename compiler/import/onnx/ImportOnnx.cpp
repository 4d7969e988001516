// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer: scan, parse, flatten, refuse what isn't supported, then node after node through the table of operators.

#include "compiler/import/onnx/ImportOnnx.h"

#include "compiler/import/onnx/EntryTypes.h"
#include "compiler/import/onnx/FlattenModel.h"
#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"
#include "compiler/import/onnx/WireScan.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <map>

using namespace mlir;

namespace heddle {

namespace importer {

namespace {

/// More errors than these help nobody.
constexpr size_t kMaxErrors = 20;

class Importer {
public:
  Importer(MLIRContext *context, const ModelFile &file, const Model &model, TensorReader &reader, ErrorList &errors)
      : builder(context), file(file), model(model), reader(reader), errors(errors),
        dimensionNames(model.inputs, model.outputs) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult addInputs(func::FuncOp function);
  LogicalResult addOutputs(func::FuncOp function);
  LogicalResult importNodes();
  LogicalResult importNode(const Node &node);
  FailureOr<Value> findValue(const std::string &name);

  OpBuilder builder;
  const ModelFile &file;
  const Model &model;
  TensorReader &reader;
  ErrorList &errors;
  DimensionNames dimensionNames;
  llvm::StringMap<Value> values;
  /// Tensors that can't be had, and why; empty where an error has been reported.
  llvm::StringMap<std::string> missing;
  /// Where initialisers go: before all nodes, in the order of first use.
  OpBuilder::InsertPoint constants;
  /// The node being imported, for the context line of diagnostics.
  std::string current, currentDescription;
};

OwningOpRef<ModuleOp> Importer::run() {
  MLIRContext *context = builder.getContext();
  Location loc = FileLineColLoc::get(context, file.getName(), 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  DiagnosticCapture capture(context, errors, ErrorCode::H0204, file.getName(),
                            [this](Location) { return LocationText{current, currentDescription}; });
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(addInputs(function)) || failed(importNodes()) || failed(addOutputs(function)))
    return {};
  if (!model.overridable.empty()) {
    llvm::SmallVector<llvm::StringRef> names(model.overridable.begin(), model.overridable.end());
    function->setAttr(nn::NnDialect::getConstantInputsAttrName(), builder.getStrArrayAttr(names));
  }
  current = currentDescription = "";
  if (failed(verify(*module)))
    return {};
  return module;
}

LogicalResult Importer::addInputs(func::FuncOp function) {
  for (const ::onnx::ValueInfoProto *input : model.inputs) {
    FailureOr<EntryType> type = readEntryType(*input, builder.getContext(), file.getName(), errors);
    if (failed(type))
      continue;
    DictionaryAttr attributes = dimensionNames.makeAttributes(input->name(), *type, builder);
    unsigned index = function.getNumArguments();
    function.insertArgument(index, type->type, attributes, NameLoc::get(builder.getStringAttr(input->name())));
    values[input->name()] = function.getArgument(index);
  }
  return success(errors.empty());
}

/// The value of a tensor; an initialiser becomes a constant when it is first read.
FailureOr<Value> Importer::findValue(const std::string &name) {
  if (Value value = values.lookup(name))
    return value;
  const ::onnx::TensorProto *tensor = model.initializers.lookup(name);
  if (!tensor)
    return failure();
  FailureOr<Constant> constant = reader.read(*tensor, "tensor '" + name + "'");
  if (failed(constant)) {
    missing[name] = "";
    return failure();
  }
  OpBuilder::InsertionGuard guard(builder);
  if (constants.isSet())
    builder.restoreInsertionPoint(constants);
  else
    builder.setInsertionPointToStart(builder.getInsertionBlock());
  auto op = builder.create<nn::ConstantOp>(NameLoc::get(builder.getStringAttr(name)), constant->type, constant->value);
  op->setAttr(nn::NnDialect::getOutputsAttrName(), builder.getStrArrayAttr(llvm::StringRef(name)));
  builder.setInsertionPointAfter(op);
  constants = builder.saveInsertionPoint();
  values[name] = op;
  return op.getResult();
}

LogicalResult Importer::importNodes() {
  for (const Node &node : model.nodes) {
    if (errors.getErrors().size() >= kMaxErrors)
      break;
    if (succeeded(importNode(node)))
      continue;
    // What reads these isn't to blame, so it is passed over in silence.
    for (const std::string &output : node.outputs)
      missing.try_emplace(output, "");
  }
  return success(errors.empty());
}

LogicalResult Importer::importNode(const Node &node) {
  llvm::SmallVector<Value> inputs;
  for (const std::string &name : node.inputs) {
    inputs.push_back({});
    if (name.empty())
      continue;
    FailureOr<Value> value = findValue(name);
    if (succeeded(value)) {
      inputs.back() = *value;
      continue;
    }
    std::string reason = missing.lookup(name);
    if (reason.empty())
      return failure();
    return errors.add({ErrorCode::H0202, "node '" + node.name + "': it reads '" + name + "', " + reason,
                       ("in " + file.getName() + ", op " + describeOp(node)).str(), ""});
  }
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
  current = node.name;
  currentDescription = describeNode(node, inputs);

  const OpRow &row = *findOp(node.domain, node.type);
  NodeContext context(node, inputs, builder, reader, file.getName(), errors);
  bool isComplete = llvm::all_of(llvm::seq(row.minInputs), [&](unsigned i) { return context.getInput(i) != Value(); });
  if (!isComplete || inputs.size() > row.maxInputs)
    return context.malformed("the operator has " + llvm::Twine(row.minInputs) +
                             (row.maxInputs == kVariadic       ? " or more"
                              : row.maxInputs != row.minInputs ? " to " + std::to_string(row.maxInputs)
                                                               : "") +
                             " inputs, the node " + llvm::Twine(inputs.size()) +
                             (inputs.size() >= row.minInputs && !isComplete ? ", one of them left out" : ""));
  if (failed(row.build(context)) || failed(context.finish()))
    return failure();
  for (auto [index, name] : llvm::enumerate(node.outputs)) {
    if (name.empty())
      continue;
    if (index < context.getOutputs().size())
      values[name] = context.getOutputs()[index];
    else
      missing[name] = "output " + std::to_string(index) + " of " + describeOp(node) + ", which is not supported";
  }
  return success();
}

LogicalResult Importer::addOutputs(func::FuncOp function) {
  llvm::SmallVector<Value> results;
  llvm::SmallVector<Attribute> attributes;
  for (const ::onnx::ValueInfoProto *output : model.outputs) {
    current = currentDescription = "";
    FailureOr<Value> value = findValue(output->name());
    if (failed(value)) {
      std::string reason = missing.lookup(output->name());
      return reason.empty() ? failure()
                            : errors.add({ErrorCode::H0202, "output '" + output->name() + "' is " + reason,
                                          ("in " + file.getName()).str(), ""});
    }
    FailureOr<EntryType> type = readResultType(*output, *value, file.getName(), errors);
    if (failed(type))
      return failure();
    attributes.push_back(dimensionNames.makeAttributes(output->name(), *type, builder));
    results.push_back(*value);
  }
  builder.create<func::ReturnOp>(function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.getFunctionType().getInputs(), ValueRange(results).getTypes()));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  return success();
}

/// What to do about an operator that isn't in the table.
llvm::StringRef getRemedy(const Node &node) {
  if (node.domain == "com.microsoft")
    return "this operator comes from onnxruntime's optimiser: give the model that it was made from";
  if (node.type == "NonZero" || node.type == "Unique" || node.type == "Compress")
    return "the size of its result depends on values, which no compiled program can plan for: replace it by a mask";
  if (node.type == "If" || node.type == "Loop" || node.type == "Scan")
    return "export the model without control flow, for instance with torch.onnx.export(dynamo=True)";
  if (node.type == "Attention" || node.type == "RotaryEmbedding")
    return "export the model with opset 22 or lower: the operator is then written in basic ones";
  return "export the model with another opset or exporter, or write the operator in basic ones";
}

/// The first reason why the table can't import |node|; empty where it can.
std::string findObstacle(const Node &node) {
  const OpRow *row = findOp(node.domain, node.type);
  if (!row)
    return "is not supported";
  if (node.opset < row->since)
    return "is not supported in opset " + std::to_string(node.opset) + ", only since " + std::to_string(row->since);
  if (node.domain.empty() && node.opset > kNewestOpset)
    return "is not supported in opset " + std::to_string(node.opset) + ", only up to " + std::to_string(kNewestOpset);
  return "";
}

/// Lists the operators that the table lacks, one error for each with all nodes counted and the first of them named.
LogicalResult checkSupport(const Model &model, llvm::StringRef file, ErrorList &errors) {
  std::map<std::string, llvm::SmallVector<const Node *>> groups;
  for (const Node &node : model.nodes)
    if (!findObstacle(node).empty())
      groups[describeOp(node)].push_back(&node);
  for (const auto &[op, nodes] : groups) {
    constexpr size_t kShown = 3;
    std::string names;
    for (const Node *node : llvm::ArrayRef(nodes).take_front(kShown))
      names += (names.empty() ? "'" : ", '") + node->name + "'";
    const Node &first = *nodes.front();
    std::string domain = first.domain.empty() ? "" : " of domain '" + first.domain + "'";
    (void)errors.add({ErrorCode::H0201,
                      "operator " + first.type + domain + " " + findObstacle(first) + ": " +
                          std::to_string(nodes.size()) + (nodes.size() == 1 ? " node, " : " nodes, ") + names +
                          (nodes.size() > kShown ? ", ..." : ""),
                      ("in " + file + ", op " + op).str(), getRemedy(first).str()});
  }
  return success(groups.empty());
}

/// Parses the skeleton; what isn't a model is reported as what it is.
LogicalResult parseModel(const ModelFile &file, ErrorList &errors, WireScan &scan, ::onnx::ModelProto &proto) {
  ErrorList scanErrors;
  FailureOr<WireScan> scanned = scanModel(file.bytes(), file.getName(), scanErrors);
  bool isModel = succeeded(scanned) && proto.ParseFromString(scanned->skeleton) && proto.has_graph();
  if (isModel) {
    scan = std::move(*scanned);
    return success();
  }
  if (failed(reportOtherFormat(file, errors)))
    return failure();
  for (const Error &error : scanErrors.getErrors())
    (void)errors.add(error);
  if (!scanErrors.empty())
    return failure();
  return errors.add(
      {ErrorCode::H0512, ("'" + file.getPath() + "' is not an ONNX model: it has no graph").str(), "", ""});
}

} // namespace

} // namespace importer

OwningOpRef<ModuleOp> importOnnx(llvm::StringRef path, MLIRContext *context, ErrorList &errors) {
  using namespace importer;
  context->loadDialect<nn::NnDialect, func::FuncDialect>();
  FailureOr<ModelFile> file = ModelFile::open(path, errors);
  if (failed(file))
    return {};
  WireScan scan;
  ::onnx::ModelProto proto;
  if (failed(parseModel(*file, errors, scan, proto)))
    return {};
  TensorReader reader(context, *file, scan.payloads, errors);
  FailureOr<Model> model = flattenModel(proto, reader, file->getName(), errors);
  if (failed(model) || failed(checkSupport(*model, file->getName(), errors)))
    return {};
  return Importer(context, *file, *model, reader, errors).run();
}

} // namespace heddle
