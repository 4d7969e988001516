// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers and formats what the report says of quantisation.

#include "compiler/driver/QuantizationReport.h"

#include "dialects/nn/NnDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace heddle;

/// As many of the noisiest places as a report names by themselves.
static constexpr size_t kWorstPlaces = 5;

/// What became of a place that is quantised.
static std::string describeForm(const PlaceReport &place, const QuantizationReport &quantization) {
  return place.kind == "attention"          ? "scores of 8 bits"
         : place.kind == "attention values" ? "weights and values of 8 bits"
                                            : quantization.scheme;
}

static bool isAttention(const PlaceReport &place) { return StringRef(place.kind).starts_with("attention"); }

/// The figures of |place|, where there are some.
static const PlaceLoss *findLoss(const PlaceReport &place, const QuantizationReport &quantization) {
  if (!quantization.loss)
    return nullptr;
  auto isSame = [&](const PlaceLoss &loss) { return loss.kind == place.kind && loss.nodes == place.nodes; };
  auto found = llvm::find_if(quantization.loss->places, isSame);
  return found == quantization.loss->places.end() ? nullptr : &*found;
}

std::string heddle::describeQuantized(ArrayRef<std::string> nodes, const QuantizationReport &quantization) {
  if (quantization.scheme.empty() && quantization.places.empty())
    return "no: compiled without --quantize";
  llvm::StringSet<> names;
  for (const std::string &node : nodes)
    names.insert(node);
  // Of attention the forms of both products, or why its scores have none.
  std::string forms, reason;
  for (const PlaceReport &place : quantization.places) {
    if (llvm::none_of(place.nodes, [&](const std::string &node) { return names.contains(node); }))
      continue;
    if (place.reason.empty())
      forms += (forms.empty() ? "" : ", ") + describeForm(place, quantization);
    else if (reason.empty())
      reason = place.reason;
    if (!isAttention(place))
      break;
  }
  return !forms.empty() ? "yes: " + forms : "no: " + (reason.empty() ? "it has no matrix of weights" : reason);
}

std::string heddle::formatMegabytes(uint64_t bytes) { return llvm::formatv("{0:f1} MB", bytes / 1e6).str(); }

static std::string percent(double share) { return llvm::formatv("{0:f2} %", 100 * share).str(); }

/// "12 of 12 products, 2 of 3 tables".
static std::string countPlaces(ArrayRef<PlaceReport> places) {
  std::string text;
  for (auto [kind, one, many] : {std::tuple("product", "product", "products"),
                                 {"table", "table", "tables"},
                                 {"convolution", "convolution", "convolutions"},
                                 {"attention", "attention", "attentions"},
                                 {"attention values", "attention's values", "attentions' values"}}) {
    size_t all = 0, quantized = 0;
    for (const PlaceReport &place : places)
      if (place.kind == kind) {
        ++all;
        quantized += place.reason.empty();
      }
    // Attention is mentioned where there is news of it; the report gives reasons.
    if (all != 0 && (!StringRef(kind).starts_with("attention") || quantized != 0))
      text += (text.empty() ? "" : ", ") + std::to_string(quantized) + " of " + std::to_string(all) + " " +
              (all == 1 ? one : many);
  }
  return text;
}

static std::string describeOutlier(const PlaceLoss &place) {
  if (place.outlier < 0)
    return "";
  return llvm::formatv("input channel {0} reaches {1:f1} times the median's", place.outlier, place.outlierRatio).str();
}

/// Values for a shell: '--exclude' once a node.
static std::string formatExcludes(ArrayRef<std::string> nodes) {
  std::string text;
  for (const std::string &node : nodes)
    text += (text.empty() ? "--exclude '" : " --exclude '") + node + "'";
  return text;
}

/// The farthest of |outputs|.
static std::string describeOutputs(ArrayRef<OutputLoss> outputs) {
  if (outputs.empty())
    return "not known: no output is of f32";
  double cosine = 1, least = 1, error = 0, relative = 0;
  for (const OutputLoss &output : outputs) {
    cosine = std::min(cosine, output.cosine);
    least = std::min(least, output.leastCosine);
    error = std::max(error, output.largestError);
    relative = std::max(relative, output.relativeError);
  }
  return llvm::formatv("cosine {0:f5} (least {1:f5}), largest error {2:e2}, {3} of the largest value", cosine, least,
                       error, percent(relative))
      .str();
}

void heddle::summarizeQuantization(const CompileReport &report, llvm::raw_ostream &os) {
  const QuantizationReport &quantization = report.quantization;
  if (quantization.scheme.empty() && quantization.places.empty())
    return;
  os << "quantized " << (quantization.scheme.empty() ? "no weights" : quantization.scheme) << ", "
     << countPlaces(quantization.places);
  if (!quantization.loss) {
    os << "; loss not measured: " << quantization.notMeasured << "\n";
    return;
  }
  const QuantizationLoss &loss = *quantization.loss;
  if (!quantization.scheme.empty())
    os << "; weights were " << formatMegabytes(loss.floatWeightBytes);
  os << "\n";
  os << "loss     " << describeOutputs(loss.outputs) << "\n";
  os << "         on " << loss.inputs << (loss.channelRanges.empty() ? "" : ", activations smoothed by them") << "\n";
  if (!loss.plainScales.empty())
    os << "pairs    safe for AVX2; without: " << describeOutputs(loss.plainScales) << "\n";
  for (const PlaceLoss *place : loss.getWorst(1))
    os << llvm::formatv("worst    {0:f1} dB in {1}{2}\n", place->sqnr, place->nodes.empty() ? "" : place->nodes.front(),
                        place->outlier < 0 ? "" : ": " + describeOutlier(*place));
  if (!loss.exclude.empty())
    os << "float    " << formatExcludes(loss.exclude) << "\n";
}

static void writeNodes(llvm::json::OStream &json, ArrayRef<std::string> nodes) {
  json.attributeArray("nodes", [&] {
    for (const std::string &node : nodes)
      json.value(node);
  });
}

static void writePlaceLoss(llvm::json::OStream &json, const PlaceLoss &place) {
  json.object([&] {
    json.attribute("kind", place.kind);
    writeNodes(json, place.nodes);
    json.attribute("quantized", place.isQuantized);
    json.attribute("sqnr_db", place.sqnr);
    if (place.outlier >= 0) {
      json.attribute("outlier_channel", place.outlier);
      json.attribute("outlier_ratio", place.outlierRatio);
    }
  });
}

static void writeOutputs(llvm::json::OStream &json, StringRef key, ArrayRef<OutputLoss> outputs) {
  json.attributeArray(key, [&] {
    for (const OutputLoss &output : outputs)
      json.object([&] {
        json.attribute("name", output.name);
        json.attribute("cosine", output.cosine);
        json.attribute("least_cosine", output.leastCosine);
        json.attribute("largest_error", output.largestError);
        json.attribute("relative_error", output.relativeError);
      });
  });
}

static void writeLoss(llvm::json::OStream &json, const QuantizationLoss &loss) {
  json.attribute("inputs", loss.inputs);
  json.attribute("smoothed", !loss.channelRanges.empty());
  json.attribute("float_weight_bytes", loss.floatWeightBytes);
  json.attribute("relative_error", loss.getRelativeError());
  writeOutputs(json, "outputs", loss.outputs);
  if (!loss.plainScales.empty())
    writeOutputs(json, "outputs_without_pair_safe", loss.plainScales);
  json.attributeArray("worst", [&] {
    for (const PlaceLoss *place : loss.getWorst(kWorstPlaces))
      writePlaceLoss(json, *place);
  });
  json.attributeArray("places", [&] {
    for (const PlaceLoss &place : loss.places)
      writePlaceLoss(json, place);
  });
  json.attributeArray("exclude", [&] {
    for (const std::string &node : loss.exclude)
      json.value(node);
  });
}

void heddle::writeQuantization(llvm::json::OStream &json, const CompileReport &report) {
  const QuantizationReport &quantization = report.quantization;
  if (quantization.scheme.empty() && quantization.places.empty())
    return;
  json.attributeObject("quantization", [&] {
    json.attribute("scheme", quantization.scheme);
    json.attributeArray("places", [&] {
      for (const PlaceReport &place : quantization.places)
        json.object([&] {
          json.attribute("kind", place.kind);
          writeNodes(json, place.nodes);
          json.attribute("quantized", place.reason.empty());
          if (!place.reason.empty())
            json.attribute("reason", place.reason);
          if (const PlaceLoss *loss = findLoss(place, quantization); loss && isAttention(place))
            json.attribute("cosine", loss->cosine);
        });
    });
    if (quantization.loss)
      json.attributeObject("loss", [&] { writeLoss(json, *quantization.loss); });
    else
      json.attribute("not_measured", quantization.notMeasured);
  });
}

std::string heddle::escapeHtml(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text, os);
  return os.str();
}

void heddle::writeQuantizationHtml(llvm::raw_ostream &os, const CompileReport &report) {
  const QuantizationReport &quantization = report.quantization;
  if (quantization.scheme.empty() && quantization.places.empty())
    return;
  if (quantization.loss) {
    os << "<table>\n<tr><th>output<th>cosine<th>least cosine<th>largest error<th>relative error</tr>\n";
    for (const OutputLoss &output : quantization.loss->outputs)
      os << llvm::formatv("<tr><td>{0}<td>{1:f5}<td>{2:f5}<td>{3:e2}<td>{4}</tr>\n", escapeHtml(output.name),
                          output.cosine, output.leastCosine, output.largestError, percent(output.relativeError));
    os << "</table>\n<table>\n<tr><th>worst kernels<th>SQNR, dB<th>outlier</tr>\n";
    for (const PlaceLoss *place : quantization.loss->getWorst(kWorstPlaces))
      os << llvm::formatv("<tr><td>{0}<td>{1:f1}<td>{2}</tr>\n", escapeHtml(llvm::join(place->nodes, ", ")),
                          place->sqnr, describeOutlier(*place));
    os << "</table>\n";
  }
  os << "<table>\n<tr><th>place<th>nodes<th>quantised<th>cosine</tr>\n";
  for (const PlaceReport &place : quantization.places) {
    const PlaceLoss *loss = findLoss(place, quantization);
    os << "<tr><td>" << place.kind << "<td>" << escapeHtml(llvm::join(place.nodes, ", ")) << "<td>"
       << (place.reason.empty() ? describeForm(place, quantization) : "no: " + escapeHtml(place.reason)) << "<td>"
       << (loss ? llvm::formatv("{0:f5}", loss->cosine).str() : "") << "</tr>\n";
  }
  os << "</table>\n";
}
