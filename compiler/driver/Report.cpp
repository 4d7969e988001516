// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers the report from the compiled module, and formats it.

#include "compiler/driver/Report.h"

#include "compiler/driver/NominalShape.h"
#include "compiler/driver/QuantizationReport.h"
#include "compiler/driver/Tuning.h"
#include "compiler/pipelines/CompileOptions.h"
#include "compiler/support/Version.h"
#include "compiler/targets/common/KernelSignature.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

/// "u8", "bool", "f32": as the command names element types everywhere.
static std::string describeElement(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (type.isInteger(1))
    os << "bool";
  else if (auto integer = dyn_cast<IntegerType>(type))
    os << (integer.isUnsigned() ? "u" : "i") << integer.getWidth();
  else
    os << type;
  return text;
}

static std::vector<std::pair<std::string, std::string>> describeTensors(ArrayAttr tensors) {
  std::vector<std::pair<std::string, std::string>> result;
  for (auto tensor : tensors.getAsRange<DictionaryAttr>()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << describeElement(tensor.getAs<TypeAttr>("type").getValue()) << "[";
    llvm::interleaveComma(tensor.getAs<ArrayAttr>("dims"), os, [&](Attribute dim) {
      if (auto symbol = dyn_cast<StringAttr>(dim))
        os << symbol.getValue();
      else
        os << cast<IntegerAttr>(dim).getInt();
    });
    os << "]";
    if (tensor.contains("default"))
      os << " (optional)";
    result.emplace_back(tensor.getAs<StringAttr>("name").getValue().str(), os.str());
  }
  return result;
}

static int64_t bytesOf(rt::ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// A config's value for people: numbers of a tile as 16x8, what is empty or 0 left out of a list of alternatives.
static void printValue(llvm::raw_ostream &os, Attribute value) {
  auto isNothing = [](Attribute value) {
    auto list = dyn_cast<ArrayAttr>(value);
    auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
    auto number = dyn_cast<IntegerAttr>(value);
    return (list && list.empty()) || (number && number.getValue().isZero()) ||
           (numbers && llvm::all_of(numbers.asArrayRef(), [](int64_t n) { return n == 0; }));
  };
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    os << number.getInt();
  } else if (auto word = dyn_cast<StringAttr>(value)) {
    os << word.getValue();
  } else if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value)) {
    llvm::interleave(numbers.asArrayRef(), os, "x");
  } else if (auto list = dyn_cast<ArrayAttr>(value)) {
    llvm::interleave(list, os, [&](Attribute element) { printValue(os, element); }, "; ");
  } else if (auto fields = dyn_cast<DictionaryAttr>(value)) {
    auto told = llvm::make_filter_range(fields, [&](NamedAttribute field) { return !isNothing(field.getValue()); });
    llvm::interleaveComma(told, os, [&](NamedAttribute field) {
      os << field.getName().getValue() << " ";
      printValue(os, field.getValue());
    });
  } else {
    os << value;
  }
}

static std::string describeTiles(const CompiledTarget &compiled, StringRef name) {
  auto func = compiled.kernels.get().lookupSymbol<kernel::FuncOp>(name);
  auto config = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (config)
    llvm::interleaveComma(config.getEntries(), os, [&](NamedAttribute entry) {
      os << entry.getName().getValue() << " ";
      printValue(os, entry.getValue());
    });
  return os.str() + " (from " + describeSource(compiled, func) + ")";
}

static std::string describeFusion(const KernelReport &report) {
  if (report.nodes.size() > 1)
    return std::to_string(report.nodes.size()) + " nodes in one " + report.root;
  return "alone: no element-wise node follows that nothing else reads";
}

static KernelReport describeDispatch(rt::DispatchOp op, const CompiledModel &compiled,
                                     const llvm::DenseMap<Value, int64_t> &sizes) {
  KernelReport report;
  report.name = op.getKernel().str();
  ModuleOp module = *const_cast<OwningOpRef<ModuleOp> &>(compiled.module);
  if (auto func = module.lookupSymbol<kernel::FuncOp>(op.getKernel())) {
    report.root = func.getRoot()->getName().stripDialect().str();
    report.signature = getKernelSignature(func);
  }
  for (auto node : op.getNodes().getAsRange<StringAttr>())
    report.nodes.push_back(node.str());
  for (const CompiledTarget &target : compiled.targets)
    if (target.kernels)
      report.tiles.emplace_back(target.target->getName().str(), describeTiles(target, report.name));
  for (Value input : op.getInputs())
    if (auto buffer = input.getDefiningOp<rt::ConstantBufferOp>())
      report.weightBytes += bytesOf(module.lookupSymbol<rt::ConstantOp>(buffer.getConstant()));
  report.operations = sizes.lookup(op.getFlops());
  report.bytes = sizes.lookup(op.getBytes());
  report.fused = describeFusion(report);
  return report;
}

/// What attn-raise-sdpa found, as it left it on the module.
static std::vector<AttentionReport> describeAttentions(ModuleOp module) {
  std::vector<AttentionReport> attentions;
  auto entries = module->getAttrOfType<ArrayAttr>("attn.report");
  for (Attribute entry : entries ? entries.getValue() : ArrayRef<Attribute>()) {
    auto facts = cast<DictionaryAttr>(entry);
    AttentionReport report{!facts.contains("reason"), {}};
    for (NamedAttribute fact : facts) {
      std::string text;
      llvm::raw_string_ostream os(text);
      if (auto words = dyn_cast<StringAttr>(fact.getValue()))
        os << words.getValue();
      else if (auto number = dyn_cast<IntegerAttr>(fact.getValue()))
        os << number.getInt();
      else
        os << fact.getValue();
      report.facts.emplace_back(fact.getName().str(), os.str());
    }
    attentions.push_back(std::move(report));
  }
  return attentions;
}

/// What the other passes that raise counted.
static std::vector<std::pair<std::string, int64_t>> countRaised(ModuleOp module) {
  std::vector<std::pair<std::string, int64_t>> counts;
  if (auto entries = module->getAttrOfType<DictionaryAttr>(nn::NnDialect::getRaisedAttrName()))
    for (NamedAttribute entry : entries)
      counts.emplace_back(entry.getName().str(), cast<IntegerAttr>(entry.getValue()).getInt());
  return counts;
}

static void describeInterface(rt::FuncOp entry, CompileReport &report) {
  report.inputs = describeTensors(entry.getInputs());
  report.outputs = describeTensors(entry.getOutputs());
  if (auto names = entry->getAttrOfType<ArrayAttr>(nn::NnDialect::getConstantInputsAttrName()))
    for (StringRef name : names.getAsValueRange<StringAttr>())
      report.constantInputs.push_back(name.str());
}

CompileReport heddle::makeReport(const CompiledModel &compiled, StringRef modelName, QuantizationReport quantization) {
  CompileReport report;
  report.quantization = std::move(quantization);
  report.model = modelName.str();
  report.producer = "heddle " HEDDLE_VERSION_STRING " (LLVM " LLVM_VERSION_STRING ")";
  report.nominalShape = describeNominalShape().str();
  report.nodeCount = compiled.nodeCount;
  report.artifactBytes = compiled.artifactBytes;
  ModuleOp module = *const_cast<OwningOpRef<ModuleOp> &>(compiled.module);
  report.attentions = describeAttentions(module);
  report.raised = countRaised(module);
  report.quantization.places = describePlaces(module);
  if (!compiled.buckets.sizes.empty())
    report.buckets = compiled.buckets.str();
  for (auto entry : module.getOps<rt::FuncOp>()) {
    if (!entry.getSpecializes())
      describeInterface(entry, report);
    llvm::DenseMap<Value, int64_t> sizes = evaluateNominalSizes(entry);
    for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>()) {
      report.kernels.push_back(describeDispatch(dispatch, compiled, sizes));
      report.kernels.back().entry = entry.getSymName().str();
    }
  }
  for (auto constant : module.getOps<rt::ConstantOp>()) {
    report.weightBytes += bytesOf(constant);
    ArrayAttr recipe = constant.getRecipe();
    report.bf16Weights += !recipe.empty() && cast<DictionaryAttr>(recipe.getValue().back()).contains("pairs_of");
  }
  report.tuning = describeTuning(compiled.targets);
  report.rejectedTuning = describeRejected(compiled.targets);
  for (const CompiledTarget &target : compiled.targets)
    report.codeBytes.emplace_back(target.target->getName().str(), target.image.bytes.size());
  return report;
}

//===----------------------------------------------------------------------===//
// Formatting
//===----------------------------------------------------------------------===//

static std::string joinTensors(ArrayRef<std::pair<std::string, std::string>> tensors) {
  return llvm::join(llvm::map_range(tensors, [](const auto &tensor) { return tensor.first + " " + tensor.second; }),
                    ", ");
}

/// "w, b and 30 more: inputs with defaults that can't be set any more".
static std::string describeConstantInputs(ArrayRef<std::string> names) {
  constexpr size_t kShown = 3;
  std::string text = llvm::join(names.take_front(kShown), ", ");
  if (names.size() > kShown)
    text += " and " + std::to_string(names.size() - kShown) + " more";
  return text + (names.size() == 1 ? ": an input whose default" : ": inputs whose defaults") + " became constant";
}

std::string heddle::formatSummary(const CompileReport &report) {
  llvm::MapVector<StringRef, size_t> roots;
  llvm::StringSet<> nodes, kernels;
  int64_t operations = 0;
  // The other entry points do the same, for other sizes.
  auto inGeneral = [&](const KernelReport &kernel) { return kernel.entry == report.kernels.front().entry; };
  auto general = llvm::make_filter_range(report.kernels, inGeneral);
  size_t dispatchCount = llvm::range_size(general);
  for (const KernelReport &kernel : general) {
    ++roots[kernel.root];
    kernels.insert(kernel.name);
    for (const std::string &node : kernel.nodes)
      nodes.insert(node);
    operations += kernel.operations;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "model    " << report.model << ", " << report.nodeCount << " nodes\n";
  os << "inputs   " << joinTensors(report.inputs) << "\n";
  if (!report.constantInputs.empty())
    os << "constant " << describeConstantInputs(report.constantInputs) << "\n";
  os << "outputs  " << joinTensors(report.outputs) << "\n";
  if (!report.buckets.empty())
    os << "buckets  " << report.buckets << ", each with an entry point of its own\n";
  os << "program  " << dispatchCount << " dispatches of " << kernels.size() << " kernels (";
  llvm::interleaveComma(roots, os, [&](const auto &root) { os << root.second << " " << root.first; });
  os << ")\n";
  os << "fusion   " << nodes.size() << " nodes in " << dispatchCount << " dispatches";
  for (const auto &[name, count] : report.raised)
    os << ", " << count << " " << name;
  os << (report.raised.empty() ? "\n" : " raised\n");
  if (!report.attentions.empty())
    os << "attention "
       << llvm::count_if(report.attentions, [](const AttentionReport &attention) { return attention.isRaised; })
       << " of " << report.attentions.size() << " raised\n";
  os << "weights  " << formatMegabytes(report.weightBytes);
  if (report.bf16Weights)
    os << ", " << report.bf16Weights << " matrices in bf16";
  os << "\n";
  summarizeQuantization(report, os);
  if (!report.tuning.empty())
    os << "tuning   " << report.tuning << "\n";
  for (const auto &[target, bytes] : report.codeBytes)
    os << "code     " << target << ", " << llvm::formatv("{0:f1} KB", bytes / 1e3) << "\n";
  os << "work     " << llvm::formatv("{0:f2} GFLOP", operations / 1e9) << " (" << report.nominalShape << ")\n";
  if (report.artifactBytes)
    os << "artifact " << formatMegabytes(report.artifactBytes) << "\n";
  return os.str();
}

static void writePairs(llvm::json::OStream &json, StringRef key, ArrayRef<std::pair<std::string, std::string>> items) {
  json.attributeObject(key, [&] {
    for (const auto &[name, value] : items)
      json.attribute(name, value);
  });
}

static void writeKernel(llvm::json::OStream &json, const KernelReport &kernel, const QuantizationReport &quantization) {
  json.object([&] {
    json.attribute("entry", kernel.entry);
    json.attribute("name", kernel.name);
    json.attribute("root", kernel.root);
    json.attribute("signature", kernel.signature);
    json.attributeArray("nodes", [&] {
      for (const std::string &node : kernel.nodes)
        json.value(node);
    });
    json.attribute("fused", kernel.fused);
    writePairs(json, "tiles", kernel.tiles);
    json.attribute("weight_bytes", kernel.weightBytes);
    json.attribute("estimated_operations", kernel.operations);
    json.attribute("estimated_bytes", kernel.bytes);
    json.attribute("quantized", describeQuantized(kernel.nodes, quantization));
  });
}

std::string heddle::formatJson(const CompileReport &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("schema", "heddle-compile-report-1");
    json.attribute("producer", report.producer);
    json.attribute("model", report.model);
    writePairs(json, "inputs", report.inputs);
    writePairs(json, "outputs", report.outputs);
    json.attributeArray("constant_inputs", [&] {
      for (const std::string &name : report.constantInputs)
        json.value(name);
    });
    json.attribute("buckets", report.buckets);
    json.attribute("tuning", report.tuning);
    json.attributeArray("tuning_rejected", [&] {
      for (const std::string &line : report.rejectedTuning)
        json.value(line);
    });
    json.attribute("nodes", report.nodeCount);
    json.attribute("nominal_shape", report.nominalShape);
    json.attribute("weight_bytes", report.weightBytes);
    json.attribute("bf16_weights", report.bf16Weights);
    json.attribute("artifact_bytes", report.artifactBytes);
    json.attributeObject("code_bytes", [&] {
      for (const auto &[target, bytes] : report.codeBytes)
        json.attribute(target, bytes);
    });
    json.attributeArray("attention", [&] {
      for (const AttentionReport &attention : report.attentions)
        json.object([&] {
          json.attribute("raised", attention.isRaised);
          for (const auto &[key, value] : attention.facts)
            json.attribute(key, value);
        });
    });
    json.attributeObject("raised", [&] {
      for (const auto &[name, count] : report.raised)
        json.attribute(name, count);
    });
    writeQuantization(json, report);
    json.attributeArray("kernels", [&] {
      for (const KernelReport &kernel : report.kernels)
        writeKernel(json, kernel, report.quantization);
    });
  });
  return stream.str() + "\n";
}

std::string heddle::formatHtml(const CompileReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" << escapeHtml(report.model) << "</title>\n"
     << "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
     << "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}</style>\n"
     << "<h1>" << escapeHtml(report.model) << "</h1>\n<pre>" << escapeHtml(formatSummary(report)) << "</pre>\n"
     << "<ul>\n";
  for (const AttentionReport &attention : report.attentions) {
    os << "<li>" << (attention.isRaised ? "attention raised: " : "not raised: ");
    for (const auto &[key, value] : attention.facts)
      os << escapeHtml(key) << " " << escapeHtml(value) << "; ";
    os << "</li>\n";
  }
  os << "</ul>\n";
  writeQuantizationHtml(os, report);
  os << "<table>\n<tr><th>entry<th>kernel<th>nodes<th>fusion<th>tiles<th>weights, "
        "bytes<th>operations<th>bytes</tr>\n";
  for (const KernelReport &kernel : report.kernels) {
    os << "<tr><td>" << kernel.entry << "<td>" << escapeHtml(kernel.name) << "<td>"
       << escapeHtml(llvm::join(kernel.nodes, ", ")) << "<td>" << escapeHtml(kernel.fused) << "<td>";
    for (const auto &[target, tiles] : kernel.tiles)
      os << escapeHtml(target) << ": " << escapeHtml(tiles) << "<br>";
    os << "<td>" << kernel.weightBytes << "<td>" << kernel.operations << "<td>" << kernel.bytes << "</tr>\n";
  }
  os << "</table>\n";
  return os.str();
}
