// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer: scan, parse, flatten, refuse what isn't supported, then node after node through the table of operators.

#include "compiler/import/onnx/ImportOnnx.h"

#include "compiler/import/onnx/CheckSupport.h"
#include "compiler/import/onnx/EntryTypes.h"
#include "compiler/import/onnx/FlattenModel.h"
#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"
#include "compiler/import/onnx/WireScan.h"
#include "dialects/attn/AttnDialect.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace heddle {

namespace importer {

namespace {

/// More errors than these help nobody.
constexpr size_t kMaxErrors = 20;

/// Builds the function, node by node. A node that fails doesn't end the import: the errors of all nodes are wanted.
class Importer {
public:
  Importer(MLIRContext *context, const ModelFile &file, const Model &model, TensorReader &reader, ErrorList &errors)
      : builder(context), file(file), model(model), reader(reader), errors(errors),
        dimensionNames(model.inputs, model.outputs) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult addDefault(const ::onnx::ValueInfoProto &input, RankedTensorType type, DictionaryAttr &attributes);
  LogicalResult addInputs(func::FuncOp function);
  LogicalResult addOutputs(func::FuncOp function);
  LogicalResult importNodes();
  LogicalResult importNode(const Node &node);
  FailureOr<llvm::SmallVector<Value>> collectInputs(const Node &node);
  FailureOr<Value> findValue(const std::string &name);
  LogicalResult reportMissing(const std::string &name, const llvm::Twine &reader, const llvm::Twine &description);

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
  if (!model.constantInputs.empty()) {
    llvm::SmallVector<llvm::StringRef> names(model.constantInputs.begin(), model.constantInputs.end());
    function->setAttr(nn::NnDialect::getConstantInputsAttrName(), builder.getStrArrayAttr(names));
  }
  // createChecked has verified each op; what is left is the function and the order of definitions and uses.
  current = currentDescription = "";
  if (failed(verify(*module)))
    return {};
  return module;
}

/// Adds the initialiser of |input|, if it has one, as the default of an argument with |attributes|.
LogicalResult Importer::addDefault(const ::onnx::ValueInfoProto &input, RankedTensorType type,
                                   DictionaryAttr &attributes) {
  const ::onnx::TensorProto *tensor = model.initializers.lookup(input.name());
  if (!tensor)
    return success();
  FailureOr<Constant> constant = reader.read(*tensor, "tensor '" + input.name() + "'");
  if (failed(constant))
    return failure();
  if (constant->type.getElementType() != type.getElementType() || failed(verifyCompatibleShape(constant->type, type))) {
    std::string declared, given;
    llvm::raw_string_ostream(declared) << type;
    llvm::raw_string_ostream(given) << constant->type;
    return errors.add(
        {ErrorCode::H0515,
         "the default of input '" + input.name() + "' is " + given + ", but the input is declared as " + declared,
         ("in " + file.getName()).str(), ""});
  }
  NamedAttrList extended(attributes);
  extended.set(nn::NnDialect::getDefaultAttrName(),
               builder.getDictionaryAttr({builder.getNamedAttr("type", TypeAttr::get(constant->type)),
                                          builder.getNamedAttr("value", constant->value)}));
  attributes = extended.getDictionary(builder.getContext());
  return success();
}

/// Makes an argument of each input.
LogicalResult Importer::addInputs(func::FuncOp function) {
  for (const ::onnx::ValueInfoProto *input : model.inputs) {
    FailureOr<EntryType> type = readEntryType(*input, builder.getContext(), file.getName(), errors);
    if (failed(type))
      continue;
    DictionaryAttr attributes = dimensionNames.makeAttributes(input->name(), *type, builder);
    if (failed(addDefault(*input, type->type, attributes)))
      continue;
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

/// Imports all nodes; failure if any had an error.
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

/// Reports why |reader| can't have the tensor |name|, unless that has been said already.
LogicalResult Importer::reportMissing(const std::string &name, const llvm::Twine &reader,
                                      const llvm::Twine &description) {
  std::string reason = missing.lookup(name);
  return reason.empty() ? failure()
                        : errors.add({ErrorCode::H0202, (reader + reason).str(),
                                      ("in " + file.getName() + description).str(), ""});
}

/// The values that |node| reads, null for absent ones.
FailureOr<llvm::SmallVector<Value>> Importer::collectInputs(const Node &node) {
  llvm::SmallVector<Value> inputs;
  for (const std::string &name : node.inputs) {
    FailureOr<Value> value = name.empty() ? Value() : findValue(name);
    if (failed(value))
      return reportMissing(name, "node '" + llvm::Twine(node.name) + "': it reads '" + name + "', ",
                           ", op " + describeOp(node));
    inputs.push_back(*value);
  }
  // Inputs left out at the end are as good as never mentioned.
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();
  return inputs;
}

/// Whether |node| has as many inputs as its operator wants.
static LogicalResult checkInputs(const OpRow &row, NodeContext &node) {
  bool isComplete = llvm::all_of(llvm::seq(row.minInputs), [&](unsigned i) { return node.getInput(i) != Value(); });
  if (isComplete && node.getNumInputs() <= row.maxInputs)
    return success();
  std::string wanted = std::to_string(row.minInputs);
  if (row.maxInputs != row.minInputs)
    wanted += row.maxInputs == kVariadic ? " or more" : " to " + std::to_string(row.maxInputs);
  bool isOneAbsent = !isComplete && node.getNumInputs() >= row.minInputs;
  return node.malformed("the operator has " + wanted + " inputs, the node " + llvm::Twine(node.getNumInputs()) +
                        (isOneAbsent ? ", one of them left out" : ""));
}

/// Imports |node| by its row in the table and remembers its outputs.
LogicalResult Importer::importNode(const Node &node) {
  FailureOr<llvm::SmallVector<Value>> inputs = collectInputs(node);
  if (failed(inputs))
    return failure();
  current = node.name;
  currentDescription = describeNode(node, *inputs);
  // checkSupport has seen to it that there is a row.
  const OpRow &row = *findOp(node.domain, node.type);
  NodeContext context(node, *inputs, model.declaredTypes, builder, reader, file.getName(), errors);
  if (failed(checkInputs(row, context)) || failed(row.build(context)) || failed(context.finish()))
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

/// Returns the outputs, which settles the function's type.
LogicalResult Importer::addOutputs(func::FuncOp function) {
  llvm::SmallVector<Value> results;
  llvm::SmallVector<Attribute> attributes;
  for (const ::onnx::ValueInfoProto *output : model.outputs) {
    current = currentDescription = "";
    FailureOr<Value> value = findValue(output->name());
    if (failed(value))
      return reportMissing(output->name(), "output '" + llvm::Twine(output->name()) + "' is ", "");
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
  context->loadDialect<nn::NnDialect, attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
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
