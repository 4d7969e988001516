// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One artifact serves all measurements: an input of it says for each place which form counts, so that the float model,
// the quantised one and all between them are runs of the same code.

#include "compiler/measure/MeasureLoss.h"

#include "compiler/measure/BindSample.h"
#include "compiler/measure/GenerateInputs.h"
#include "compiler/measure/LossStatistics.h"
#include "compiler/measure/RuntimeSession.h"
#include "compiler/pipelines/CompileOptions.h"
#include "compiler/pipelines/Registration.h"
#include "compiler/pipelines/SpecializeShapes.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle;

/// Enough rows that a channel's range is seen; few enough that a BERT-base is measured in seconds.
static constexpr GeneratedSizes kMeasuredSizes = {4, 32};
/// A search runs the model about log2(places) times and then at most this often; each time over so many samples.
static constexpr size_t kMaxRestoring = 24, kMaxSearchSamples = 32;

/// The place of an attention's weights and values; that of its queries and keys is named like it all.
static constexpr StringLiteral kValues = "attention values";

static bool isAttention(const PlaceLoss &place) { return place.kind == "attention" || place.kind == kValues; }
namespace {
class LossMeasurement {
public:
  LossMeasurement(const LossOptions &options, MLIRContext &context, QuantizationLoss &loss, ErrorList &errors)
      : options(options), context(context), loss(loss), errors(errors) {}

  LogicalResult run();

private:
  LogicalResult compile();
  LogicalResult smooth(LossStatistics &statistics);
  LogicalResult measurePlainScales();
  LogicalResult gatherInputs();
  FailureOr<bool> fetchSample(size_t index);
  LogicalResult measure(ArrayRef<char> selection, size_t maxSamples, LossStatistics &statistics);
  LogicalResult calibrateAttention(LossStatistics &statistics);
  SmallVector<size_t> findLossyAttention(const LossStatistics &statistics) const;
  LogicalResult chooseAttention(LossStatistics &statistics);
  LogicalResult search(const LossStatistics &all);
  bool exceedsBound(const LossStatistics &statistics) const {
    return options.maxLoss && statistics.getRelativeError() > *options.maxLoss;
  }
  LogicalResult keepsBound(ArrayRef<char> selection, bool &keeps);
  LogicalResult restore(ArrayRef<size_t> order, ArrayRef<char> allowed);
  std::optional<size_t> findOtherProduct(size_t place) const;
  void set(std::vector<char> &chosen, size_t place, char isQuantized, ArrayRef<char> allowed) const;
  FailureOr<std::vector<TensorPtr>> runSelected(ArrayRef<char> selection);
  void describe(const LossStatistics &statistics);

  const LossOptions &options;
  MLIRContext &context;
  QuantizationLoss &loss;
  ErrorList &errors;
  std::unique_ptr<RuntimeSession> session;
  std::optional<bool> isPairSafe; ///< of the program, as the targets need it
  std::vector<TensorPtr> generated;
  CalibrationSample sample;
  BoundSample bound;
  std::vector<const heddle_tensor_t *> inputs; ///< of the next run, without the selection
  std::vector<char> selection;                 ///< the result: 1 for a place that is quantised
};
} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// True if |constant| exists for quantised forms alone.
static bool isOfCodes(rt::ConstantOp constant) {
  return llvm::any_of(constant.getRecipe().getAsRange<DictionaryAttr>(), [](DictionaryAttr step) {
    StringRef kind = step.getAs<StringAttr>("kind").getValue();
    return kind == "quantize" || kind == "scales";
  });
}

static int64_t countFloatWeightBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto constant : module.getOps<rt::ConstantOp>()) {
    auto type = cast<RankedTensorType>(constant.getType());
    if (!isOfCodes(constant))
      bytes += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

std::vector<PlaceReport> heddle::describePlaces(ModuleOp module) {
  std::vector<PlaceReport> places;
  auto entries = module->getAttrOfType<ArrayAttr>(nn::NnDialect::getQuantizationAttrName());
  for (Attribute attribute : entries ? entries.getValue() : ArrayRef<Attribute>()) {
    auto entry = cast<DictionaryAttr>(attribute);
    PlaceReport place;
    place.kind = entry.getAs<StringAttr>("kind").str();
    for (StringRef node : entry.getAs<ArrayAttr>("nodes").getAsValueRange<StringAttr>())
      place.nodes.push_back(node.str());
    if (auto reason = entry.getAs<StringAttr>("reason"))
      place.reason = reason.str();
    places.push_back(std::move(place));
  }
  return places;
}

/// Those that are quantised, to be measured.
static std::vector<PlaceLoss> findPlaces(ModuleOp module) {
  std::vector<PlaceLoss> places;
  for (PlaceReport &place : describePlaces(module))
    if (place.reason.empty())
      places.push_back({std::move(place.kind), std::move(place.nodes)});
  return places;
}

LogicalResult LossMeasurement::compile() {
  SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle-loss", "heddle", path))
    return errors.add({ErrorCode::H0519, "can't write a temporary file: " + error.message(), "",
                       "the loss is measured with one; --no-measure does without"});
  llvm::FileRemover remover(path);
  CompileOptions both = options.compile;
  both.outputPath = path.str().str();
  both.targets = {"cpu"};
  both.bucket.clear();
  both.dumpFolder.clear();
  both.stopAfter.reset();
  both.progress = nullptr;
  both.quantization.compares = true;
  std::vector<CompiledTarget> targets;
  if (failed(parseTargets(options.compile.targets, targets, errors)))
    return failure();
  both.quantization.channelRanges = loss.channelRanges;
  both.quantization.valueRanges = loss.valueRanges;
  both.quantization.keyOffsets = loss.keyOffsets;
  both.quantization.findsRanges = options.samples && loss.valueRanges.empty() && loss.keyOffsets.empty();
  both.quantization.floatValues = whyFloatValues(both.quantization, targets);
  both.quantization.floatAttention = whyFloatAttention(both.quantization, targets);
  isPairSafe = isPairSafe.value_or(needsPairSafeWeights(options.compile.quantization, targets));
  both.quantization.pairSafe = isPairSafe;
  // In a context of its own, whose mapping of the model's file goes when it has been compiled.
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext own(registry,
                  options.compile.threads > 1 ? MLIRContext::Threading::ENABLED : MLIRContext::Threading::DISABLED);
  own.printOpOnDiagnostic(false);
  own.loadAllAvailableDialects();
  CompiledModel compiled;
  if (failed(compileModel(both, own, compiled, errors)))
    return failure();
  loss.places = findPlaces(*compiled.module);
  loss.floatWeightBytes = countFloatWeightBytes(*compiled.module);
  selection.assign(loss.places.size(), 1);
  // Mapped files outlive their names.
  session = std::make_unique<RuntimeSession>();
  return session->load(path, "cpu", options.compile.threads, errors);
}

LogicalResult LossMeasurement::gatherInputs() {
  if (options.samples)
    return success();
  OwningOpRef<ModuleOp> module = importModel(options.compile.modelPath, context, errors);
  if (!module || failed(specializeShapes(*module, options.compile.shapes, errors)))
    return failure();
  auto function = module->lookupSymbol<func::FuncOp>("main");
  FailureOr<std::vector<reference::HostTensor>> tensors = generateInputs(function, loss.inputs, kMeasuredSizes);
  if (failed(tensors))
    return failure();
  for (const reference::HostTensor &tensor : *tensors) {
    generated.push_back(makeTensor(tensor, errors));
    if (!generated.back())
      return failure();
    inputs.push_back(generated.back().get());
  }
  return success();
}

/// Makes |inputs| those of sample |index|; false where there is none.
FailureOr<bool> LossMeasurement::fetchSample(size_t index) {
  if (!options.samples)
    return index == 0;
  sample = {};
  FailureOr<bool> exists = options.samples(index, sample);
  if (failed(exists) || !*exists)
    return exists;
  // The selection is the last input.
  if (failed(bindSample(sample, *session, session->getEntry().input_count - 1, context, bound, errors)))
    return failure();
  inputs = bound.inputs;
  return true;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

FailureOr<std::vector<TensorPtr>> LossMeasurement::runSelected(ArrayRef<char> selection) {
  int64_t count = selection.size();
  heddle_tensor_t *tensor = nullptr;
  if (heddle_status_t status = heddle_tensor_create(HEDDLE_ELEMENT_BOOL, 1, &count, &tensor))
    return addStatus(errors, ErrorCode::H0902, status);
  TensorPtr owner(tensor);
  llvm::copy(selection, static_cast<char *>(heddle_tensor_data(tensor)));
  std::vector<const heddle_tensor_t *> all = inputs;
  all.push_back(tensor);
  ErrorList runErrors;
  FailureOr<std::vector<TensorPtr>> outputs = session->run(all, runErrors);
  for (Error error : runErrors.getErrors()) {
    if (!sample.name.empty())
      error.context = "in " + sample.name;
    (void)errors.add(std::move(error));
  }
  return outputs;
}

/// Compares what |selection| gives with the float model, over at most |maxSamples| samples.
LogicalResult LossMeasurement::measure(ArrayRef<char> selection, size_t maxSamples, LossStatistics &statistics) {
  std::vector<char> none(selection.size(), 0);
  for (size_t index = 0; index < maxSamples; ++index) {
    FailureOr<bool> exists = fetchSample(index);
    if (failed(exists))
      return failure();
    if (!*exists)
      break;
    FailureOr<std::vector<TensorPtr>> plain = runSelected(none);
    if (failed(plain))
      return failure();
    FailureOr<std::vector<TensorPtr>> chosen = runSelected(selection);
    if (failed(chosen))
      return failure();
    statistics.add(*plain, *chosen);
  }
  if (statistics.getSampleCount() != 0)
    return success();
  return errors.add({ErrorCode::H0111, "there is no sample to calibrate with", "", "give files that hold some"});
}

/// What the chosen places would cost without pair-safe weights.
LogicalResult LossMeasurement::measurePlainScales() {
  std::vector<PlaceLoss> places = std::move(loss.places);
  std::vector<char> chosen = selection;
  isPairSafe = false;
  session.reset();
  if (failed(compile()))
    return failure();
  loss.places = std::move(places);
  LossStatistics statistics(session->getEntry(), chosen.size());
  if (failed(measure(chosen, std::numeric_limits<size_t>::max(), statistics)))
    return failure();
  loss.plainScales = statistics.getOutputs();
  return success();
}

/// Smooths by the ranges that |statistics| have seen, where there are data and they make the outputs better by more
/// than chance would. Generated ids say nothing of channels, and ranges that are guessed from norms didn't help:
/// MiniLM's outputs are as far off with as without, while ranges from sentences take a fifth off.
LogicalResult LossMeasurement::smooth(LossStatistics &statistics) {
  constexpr double kLeastGain = 0.95;
  if (!options.samples || options.compile.quantization.scheme != "w8a8")
    return success();
  for (auto [i, place] : llvm::enumerate(loss.places))
    if (ArrayRef<float> channels = statistics.getChannels(i);
        place.kind != kValues && !channels.empty() && !place.nodes.empty())
      for (float range : channels)
        loss.channelRanges[place.nodes.front()].push_back(roundRange(range));
  if (loss.channelRanges.empty())
    return success();
  // One program at a time: it holds all weights.
  session.reset();
  if (failed(compile()))
    return failure();
  LossStatistics smoothed(session->getEntry(), selection.size());
  if (failed(measure(selection, std::numeric_limits<size_t>::max(), smoothed)))
    return failure();
  if (smoothed.getDistance() < kLeastGain * statistics.getDistance()) {
    loss.sampleCount = smoothed.getSampleCount();
    statistics = std::move(smoothed);
    return success();
  }
  loss.channelRanges.clear();
  session.reset();
  return exceedsBound(statistics) ? compile() : success();
}

/// Scales attention's values by what they reach, takes off keys what they are about, and measures anew.
LogicalResult LossMeasurement::calibrateAttention(LossStatistics &statistics) {
  for (auto [i, place] : llvm::enumerate(loss.places)) {
    if (place.nodes.empty() || !isAttention(place))
      continue;
    bool isValues = place.kind == kValues;
    std::vector<float> numbers = isValues ? statistics.getChannels(i).vec() : statistics.getKeyOffsets(i);
    llvm::transform(numbers, numbers.begin(), roundRange);
    if (!numbers.empty())
      (isValues ? loss.valueRanges : loss.keyOffsets)[place.nodes.front()] = std::move(numbers);
  }
  if (loss.valueRanges.empty() && loss.keyOffsets.empty())
    return success();
  session.reset();
  if (failed(compile()))
    return failure();
  statistics = LossStatistics(session->getEntry(), selection.size());
  return measure(selection, std::numeric_limits<size_t>::max(), statistics);
}

/// The place of the other product of |place|'s attention.
std::optional<size_t> LossMeasurement::findOtherProduct(size_t place) const {
  const PlaceLoss &own = loss.places[place];
  for (auto [i, other] : llvm::enumerate(loss.places))
    if (isAttention(own) && isAttention(other) && own.kind != other.kind && own.nodes == other.nodes)
      return i;
  return std::nullopt;
}

/// Places of attention whose noise, or that of both products together, leaves a layer's output too far off.
SmallVector<size_t> LossMeasurement::findLossyAttention(const LossStatistics &statistics) const {
  // SageAttention's bound of a layer that is good enough (2410.02367).
  constexpr double kLeastCosine = 0.998;
  auto isLossy = [](double noise) { return LossStatistics::getLeastCosine(noise) < kLeastCosine; };
  SmallVector<size_t> lossy;
  for (auto [i, place] : llvm::enumerate(loss.places)) {
    if (!isAttention(place) || place.nodes.empty())
      continue;
    double noise = statistics.getNoise(i), others = 0;
    // The quieter one of two stays; at equal noise the scores.
    if (std::optional<size_t> other = findOtherProduct(i))
      if (double found = statistics.getNoise(*other); found < noise || (found == noise && place.kind == kValues))
        others = isLossy(found) ? 0 : found;
    if (isLossy(noise + others))
      lossy.push_back(i);
  }
  return lossy;
}

/// Leaves float what attention loses too much, where that is to be decided here, and measures anew.
LogicalResult LossMeasurement::chooseAttention(LossStatistics &statistics) {
  if (options.compile.quantization.attention != "auto")
    return success();
  SmallVector<size_t> lossy = findLossyAttention(statistics);
  if (lossy.empty())
    return success();
  if (!session && failed(compile()))
    return failure();
  for (size_t i : lossy) {
    selection[i] = 0;
    const PlaceLoss &place = loss.places[i];
    (place.kind == kValues ? loss.lossyValues : loss.lossyAttention).push_back(place.nodes.front());
  }
  statistics = LossStatistics(session->getEntry(), selection.size());
  return measure(selection, std::numeric_limits<size_t>::max(), statistics);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

LogicalResult LossMeasurement::keepsBound(ArrayRef<char> selection, bool &keeps) {
  LossStatistics statistics(session->getEntry(), selection.size());
  if (failed(measure(selection, kMaxSearchSamples, statistics)))
    return failure();
  keeps = statistics.getRelativeError() <= *options.maxLoss;
  return success();
}

/// Quantises |place| in |chosen|, or leaves it float. A name excludes both products of an attention, so they go
/// together.
void LossMeasurement::set(std::vector<char> &chosen, size_t place, char isQuantized, ArrayRef<char> allowed) const {
  chosen[place] = isQuantized;
  if (std::optional<size_t> other = findOtherProduct(place); other && allowed[*other])
    chosen[*other] = isQuantized;
}

/// Finds a choice that keeps within the bound: by bisection how many of the noisiest places must stay float, then which
/// of these needn't.
LogicalResult LossMeasurement::search(const LossStatistics &all) {
  std::vector<size_t> order;
  const std::vector<char> allowed = selection;
  for (size_t i = 0; i < selection.size(); ++i)
    if (allowed[i] && !loss.places[i].nodes.empty()) // what has no name can't be excluded by one
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(all.getSqnr(a), a) < std::pair(all.getSqnr(b), b); });
  auto without = [&](size_t count) {
    std::vector<char> chosen = allowed;
    for (size_t place : ArrayRef(order).take_front(count))
      set(chosen, place, 0, allowed);
    return chosen;
  };
  // All places float have no loss; how many of them do is what is looked for.
  size_t low = 0, high = order.size();
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    bool keeps = false;
    if (failed(keepsBound(without(middle), keeps)))
      return failure();
    (keeps ? high : low) = middle;
  }
  selection = without(high);
  return restore(ArrayRef(order).take_front(high), allowed);
}

/// Quantises again those of |order|, the least noisy first, that the bound leaves room for.
LogicalResult LossMeasurement::restore(ArrayRef<size_t> order, ArrayRef<char> allowed) {
  // The noisiest of them broke the bound when it was the last that was quantised.
  for (size_t place : llvm::reverse(order.drop_back(order.empty() ? 0 : 1).take_back(kMaxRestoring))) {
    set(selection, place, 1, allowed);
    bool keeps = false;
    if (failed(keepsBound(selection, keeps)))
      return failure();
    if (!keeps)
      set(selection, place, 0, allowed);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

void LossMeasurement::describe(const LossStatistics &statistics) {
  loss.outputs = statistics.getOutputs();
  if (options.samples)
    loss.inputs = llvm::formatv("{0} sample{1} of calibration data", statistics.getSampleCount(),
                                statistics.getSampleCount() == 1 ? "" : "s")
                      .str();
  for (auto [i, place] : llvm::enumerate(loss.places)) {
    place.isQuantized = selection[i];
    place.sqnr = statistics.getSqnr(i);
    std::tie(place.outlier, place.outlierRatio) = statistics.getOutlier(i);
    place.cosine = LossStatistics::getLeastCosine(statistics.getNoise(i));
    if (place.isQuantized)
      continue;
    const std::string &name = place.nodes.front();
    const std::vector<std::string> &lossy = place.kind == kValues ? loss.lossyValues : loss.lossyAttention;
    if (!llvm::is_contained(lossy, name) && !llvm::is_contained(loss.exclude, name))
      loss.exclude.push_back(name);
  }
}

LogicalResult LossMeasurement::run() {
  if (failed(compile()) || failed(gatherInputs()))
    return failure();
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  LossStatistics statistics(session->getEntry(), selection.size());
  // A bound on nothing would be kept by everything.
  if (options.maxLoss && statistics.getOutputs().empty())
    return errors.add({ErrorCode::H0111, "the model has no output of f32 that could be bounded", "in --max-loss",
                       "leave it out; the report says how noisy each node is, --exclude keeps nodes float"});
  if (failed(measure(selection, kAll, statistics)) || failed(smooth(statistics)) ||
      failed(calibrateAttention(statistics)) || failed(chooseAttention(statistics)))
    return failure();
  if (exceedsBound(statistics)) {
    double all = statistics.getRelativeError();
    if (failed(search(statistics)))
      return failure();
    if (llvm::none_of(selection, [](char isQuantized) { return isQuantized; }))
      return errors.add({ErrorCode::H0601,
                         llvm::formatv("nothing can be quantised within a loss of {0:e1}; all of it costs {1:e1}",
                                       *options.maxLoss, all)
                             .str(),
                         "in --max-loss", "allow for more, or leave --quantize out"});
    statistics = LossStatistics(session->getEntry(), selection.size());
    if (failed(measure(selection, kAll, statistics)))
      return failure();
  }
  describe(statistics);
  return *isPairSafe ? measurePlainScales() : success();
}

LogicalResult heddle::measureLoss(const LossOptions &options, MLIRContext &context, QuantizationLoss &loss,
                                  ErrorList &errors) {
  return LossMeasurement(options, context, loss, errors).run();
}

double QuantizationLoss::getRelativeError() const {
  double largest = 0;
  for (const OutputLoss &output : outputs)
    largest = std::max(largest, output.relativeError);
  return largest;
}

std::vector<const PlaceLoss *> QuantizationLoss::getWorst(size_t count) const {
  std::vector<const PlaceLoss *> ranked;
  for (const PlaceLoss &place : places)
    if (place.isQuantized)
      ranked.push_back(&place);
  // Pointers into one vector: equal ones keep their order.
  llvm::sort(ranked,
             [](const PlaceLoss *a, const PlaceLoss *b) { return std::pair(a->sqnr, a) < std::pair(b->sqnr, b); });
  ranked.resize(std::min(ranked.size(), count));
  return ranked;
}
