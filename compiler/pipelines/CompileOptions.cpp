// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of options, before anything is read.

#include "compiler/pipelines/CompileOptions.h"

#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/common/ChooseTuned.h"
#include "dialects/nn/NnDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

/// Fails where |word|, the value of |option|, is none of |words|.
static LogicalResult checkWord(StringRef option, StringRef what, StringRef word, ArrayRef<StringRef> words,
                               ErrorList &errors) {
  if (llvm::is_contained(words, word))
    return success();
  return errors.add({ErrorCode::H0111, ("no " + what + " is named '" + word + "'").str() + didYouMean(word, words),
                     ("in " + option + " " + word).str(), "possible are " + llvm::join(words, ", ")});
}

static LogicalResult checkPrecision(const CompileOptions &options, ArrayRef<CompiledTarget> targets,
                                    ErrorList &errors) {
  if (failed(checkWord("--precision", "precision", options.precision, {"f32", "bf16"}, errors)))
    return failure();
  for (const CompiledTarget &compiled : targets)
    if (options.precision == "bf16" && !llvm::is_contained(compiled.target->getFeatures(), "avx512bf16"))
      return errors.add({ErrorCode::H0113,
                         compiled.target->getName().str() + " can't multiply bf16: it lacks avx512bf16",
                         "in --precision bf16",
                         "leave --precision out, or choose targets that have it: cpu:znver4, cpu:sapphirerapids"});
  return success();
}

static LogicalResult checkQuantization(const CompileOptions &options, ErrorList &errors) {
  const QuantizationOptions &quantization = options.quantization;
  if (failed(checkWord("--embedding", "form of an embedding table", quantization.embedding, {"int8", "f32"}, errors)) ||
      failed(checkWord("--attention-int8", "choice", quantization.attention, {"auto", "on", "off"}, errors)))
    return failure();
  if (!quantization.scheme.empty()) {
    if (failed(checkWord("--quantize", "scheme", quantization.scheme, {"w8a8", "w8a32", "w4a32"}, errors)))
      return failure();
    // The loss that is reported would be of one of them alone.
    if (options.precision != "f32")
      return errors.add({ErrorCode::H0111, "--quantize and --precision " + options.precision + " exclude each other",
                         "in --quantize " + quantization.scheme,
                         "integers are smaller than bf16: leave --precision out, or quantise nothing"});
    return success();
  }
  // Options that do nothing by themselves are mistakes.
  StringRef given = quantization.embedding != "int8" ? "--embedding"
                    : !quantization.exclude.empty()  ? "--exclude"
                    : !quantization.allowsPairSafe   ? "--no-pair-safe"
                                                     : "";
  if (given.empty())
    return success();
  return errors.add({ErrorCode::H0111, given.str() + " says how to quantise, but nothing is to be quantised", "",
                     "add --quantize w8a8, or leave " + given.str() + " out"});
}

LogicalResult heddle::checkOptions(const CompileOptions &options, ArrayRef<CompiledTarget> targets, ErrorList &errors) {
  // What no target could have comes before what these lack.
  return success(succeeded(checkQuantization(options, errors)) && succeeded(checkPrecision(options, targets, errors)));
}

bool heddle::needsPairSafeWeights(const QuantizationOptions &options, ArrayRef<CompiledTarget> targets) {
  auto addsInPairs = [](const CompiledTarget &compiled) {
    ArrayRef<std::string> features = compiled.target->getFeatures();
    return llvm::is_contained(features, "avx2") && !llvm::is_contained(features, "avx512vnni") &&
           !llvm::is_contained(features, "avxvnni");
  };
  if (options.pairSafe)
    return *options.pairSafe;
  return options.scheme == "w8a8" && options.allowsPairSafe && llvm::any_of(targets, addsInPairs);
}

/// Why all attention stays float, whatever the targets are.
static std::string whyFloat(const QuantizationOptions &options) {
  if (options.attention != "auto")
    return options.attention == "off" ? "switched off" : "";
  if (options.scheme != "w8a8")
    return "activations stay float";
  return options.compares || options.isAttentionMeasured ? "" : "what it would lose isn't measured";
}

/// Whether all |targets| have instructions for products of codes: everything with AVX2 does, if but for pairs of 16
/// bits.
static bool haveInstructions(ArrayRef<CompiledTarget> targets) {
  return llvm::all_of(targets, [](const CompiledTarget &compiled) {
    return llvm::is_contained(compiled.target->getFeatures(), "avx2");
  });
}

std::string heddle::whyFloatAttention(const QuantizationOptions &options, ArrayRef<CompiledTarget> targets) {
  if (options.floatAttention)
    return *options.floatAttention;
  std::string reason = whyFloat(options);
  if (reason.empty() && options.attention == "auto" && !haveInstructions(targets))
    return "a target multiplies codes no faster than floats";
  return reason;
}

std::string heddle::whyFloatValues(const QuantizationOptions &options, ArrayRef<CompiledTarget> targets) {
  if (options.floatValues)
    return *options.floatValues;
  std::string reason = whyFloat(options);
  if (reason.empty() && !haveInstructions(targets))
    return "a target multiplies values as floats";
  if (reason.empty() && !options.findsRanges && options.valueRanges.empty())
    return "what its values reach takes calibration data";
  return reason;
}

/// The upper 16 bits of an f32.
static constexpr int kKeptBits = 16;

float heddle::roundRange(float range) {
  uint32_t bits = llvm::bit_cast<uint32_t>(range), rest = bits & ((1U << kKeptBits) - 1);
  return std::isfinite(range) && rest != 0 ? llvm::bit_cast<float>(bits - rest + (1U << kKeptBits)) : range;
}

std::string heddle::formatRanges(const std::map<std::string, std::vector<float>> &ranges) {
  std::string text;
  for (const auto &[node, numbers] : ranges) {
    text += (text.empty() ? "" : " ") + node + "=";
    for (float number : numbers)
      text += llvm::utohexstr(llvm::bit_cast<uint32_t>(number) >> kKeptBits, /*LowerCase=*/true, /*Width=*/4);
  }
  return text;
}

std::map<std::string, std::vector<float>> heddle::parseRanges(StringRef text) {
  std::map<std::string, std::vector<float>> ranges;
  SmallVector<StringRef> parts;
  text.split(parts, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [node, digits] = part.rsplit('=');
    std::vector<float> numbers;
    uint32_t bits = 0;
    for (; digits.size() >= 4 && !digits.take_front(4).getAsInteger(16, bits); digits = digits.drop_front(4))
      numbers.push_back(llvm::bit_cast<float>(bits << kKeptBits));
    if (digits.empty() && !numbers.empty())
      ranges[node.str()] = std::move(numbers);
  }
  return ranges;
}

static void setRanges(ModuleOp module, StringRef name, const std::map<std::string, std::vector<float>> &found) {
  if (found.empty())
    return;
  Builder builder(module.getContext());
  NamedAttrList entries;
  for (const auto &[node, ranges] : found)
    entries.set(node, builder.getDenseF32ArrayAttr(ranges));
  module->setAttr(name, entries.getDictionary(module.getContext()));
}

void heddle::setRanges(const QuantizationOptions &options, ModuleOp module) {
  ::setRanges(module, nn::NnDialect::getChannelRangesAttrName(), options.channelRanges);
  ::setRanges(module, nn::NnDialect::getValueRangesAttrName(), options.valueRanges);
  ::setRanges(module, nn::NnDialect::getKeyOffsetsAttrName(), options.keyOffsets);
}

void heddle::addQuantizationOptions(const QuantizationOptions &options, ArrayRef<CompiledTarget> targets,
                                    std::vector<std::pair<std::string, std::string>> &normalized) {
  if (options.attention != "auto" || whyFloatAttention(options, targets).empty() ||
      whyFloatValues(options, targets).empty())
    normalized.push_back({"attention-int8", options.attention});
  if (!options.lossyAttention.empty())
    normalized.push_back({"attention-float", llvm::join(options.lossyAttention, " ")});
  if (!options.lossyValues.empty())
    normalized.push_back({"attention-float-values", llvm::join(options.lossyValues, " ")});
  if (whyFloatValues(options, targets).empty() && !options.valueRanges.empty())
    normalized.push_back({"attention-value-ranges", formatRanges(options.valueRanges)});
  if (whyFloatAttention(options, targets).empty() && !options.keyOffsets.empty())
    normalized.push_back({"attention-key-offsets", formatRanges(options.keyOffsets)});
  if (options.scheme.empty())
    return;
  normalized.push_back({"quantize", options.scheme});
  if (options.embedding != "int8")
    normalized.push_back({"embedding", options.embedding});
  if (!options.exclude.empty())
    normalized.push_back({"exclude", llvm::join(options.exclude, " ")});
  // What was found, not where: the data's own path is none of the artifact's business.
  if (!options.channelRanges.empty()) {
    normalized.push_back({"calibrate", std::to_string(options.sampleCount) + " samples"});
    normalized.push_back({"channel-ranges", formatRanges(options.channelRanges)});
  }
  if (!options.allowsPairSafe)
    normalized.push_back({"no-pair-safe", "true"});
}

std::string heddle::describeTuning(ArrayRef<CompiledTarget> targets) {
  std::map<std::string, size_t> counts;
  for (const CompiledTarget &compiled : targets)
    for (const TunedUse &use : getTunedUses(compiled.kernels.get()))
      counts[use.file] += use.problem.empty();
  std::string text;
  for (const auto &[file, count] : counts)
    if (count > 0)
      text += (text.empty() ? "" : " ") + file + " (" + std::to_string(count) + ")";
  return text;
}
