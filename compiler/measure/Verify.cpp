// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The comparison of an artifact with the reference evaluator.

#include "compiler/measure/Verify.h"

#include "compiler/measure/GenerateInputs.h"
#include "compiler/measure/NoiseBound.h"
#include "compiler/measure/RuntimeSession.h"
#include "compiler/measure/TensorDifference.h"
#include "compiler/pipelines/CompileModel.h"
#include "compiler/pipelines/CompileOptions.h"
#include "compiler/reference/Evaluator.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/Locations.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/nn/NnOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <heddle/heddle.h>
#include <memory>
#include <random>

using namespace mlir;
using namespace heddle;
using reference::HostTensor;

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

namespace {
/// One comparison in progress.
class Verifier {
public:
  Verifier(const VerifyOptions &options, MLIRContext &context, ErrorList &errors)
      : options(options), context(context), errors(errors), os(text) {}

  LogicalResult run();
  std::string takeSummary() { return os.str(); }

private:
  LogicalResult prepareModel();
  LogicalResult quantizeModel();
  void chooseManner();
  LogicalResult gatherInputs();
  LogicalResult evaluateReference();
  LogicalResult compareInStep();
  LogicalResult evaluateNoisy();
  LogicalResult runArtifact();
  LogicalResult evaluate(reference::Observer observer, SmallVector<HostTensor> *results);
  void observe(const heddle_dispatch_info_t &dispatch);
  TensorDifference compareWithReference(size_t i);
  LogicalResult compareOutput(size_t i);
  void line(bool agrees, TensorDifference difference, StringRef what, StringRef detail);

  const VerifyOptions &options;
  MLIRContext &context;
  ErrorList &errors;
  CompiledModel model;
  func::FuncOp function;
  /// Activations are codes somewhere: the reference then goes on from what the artifact stored.
  bool goesInStep = false;
  double tolerance = 0;
  RuntimeSession session;
  std::vector<HostTensor> inputs;
  /// A tensor of the model, and the least magnitude to measure its differences against.
  struct Expected {
    HostTensor tensor;
    double scale;
  };
  llvm::StringMap<Expected> reference;
  /// What the artifact stored, and the kernel.
  struct Stored {
    HostTensor tensor;
    std::string kernel;
  };
  llvm::StringMap<Stored> stored;
  SmallVector<HostTensor> referenceOutputs;
  /// For each output the cosines of the reference with noise; only where they are needed.
  std::vector<SmallVector<double>> noisyCosines;
  std::vector<TensorPtr> outputs;
  std::string text;
  llvm::raw_string_ostream os;
  size_t kernelCount = 0, comparedCount = 0;
  double worst = 0;
  std::string firstDifference;
};
} // namespace

/// The option |key| that the artifact was compiled with; empty where it has its default.
static StringRef findOption(const heddle_program_info_t &info, StringRef key) {
  for (size_t i = 0; i < info.option_count; ++i)
    if (key == info.options[i].key)
      return info.options[i].value;
  return "";
}

/// Whether rounding to codes happens between the model's inputs and outputs: what is a bit off may become a step off.
static bool quantizesActivations(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        auto attention = dyn_cast<attn::SdpaOp>(op);
        bool rounds = isa<nn::QuantizeLinearOp, nn::DynamicQuantizeLinearOp, nn::QuantizeRowsOp>(op) ||
                      (attention && (attention.getQkInt8() || attention.getPvInt8Block()));
        return rounds ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Verifier::prepareModel() {
  const heddle_program_info_t &info = session.getInfo();
  bool quantizes = !findOption(info, "quantize").empty() || findOption(info, "attention-int8") == "on";
  model.module = quantizes ? nullptr : importModel(options.modelPath, context, errors);
  if (quantizes ? failed(quantizeModel()) : !model.module)
    return failure();
  function = model.module->lookupSymbol<func::FuncOp>("main");
  chooseManner();
  return success();
}

/// The model as --quantize made it of the file, up to where kernels begin.
LogicalResult Verifier::quantizeModel() {
  const heddle_program_info_t &info = session.getInfo();
  CompileOptions compile;
  compile.modelPath = options.modelPath;
  compile.stopAfter = Phase::Quantization;
  compile.threads = options.threads;
  compile.targets.clear();
  for (size_t i = 0; i < info.target_count; ++i)
    compile.targets.push_back(info.targets[i].name);
  QuantizationOptions &quantization = compile.quantization;
  quantization.scheme = findOption(info, "quantize").str();
  if (StringRef embedding = findOption(info, "embedding"); !embedding.empty())
    quantization.embedding = embedding.str();
  quantization.allowsPairSafe = findOption(info, "no-pair-safe").empty();
  auto split = [&](StringRef key, std::vector<std::string> &words) {
    SmallVector<StringRef> parts;
    findOption(info, key).split(parts, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    words.assign(parts.begin(), parts.end());
  };
  split("exclude", quantization.exclude);
  // `auto` is written where it took some; what it measured needn't be measured again.
  if (StringRef attention = findOption(info, "attention-int8"); !attention.empty()) {
    quantization.attention = attention.str();
    quantization.isAttentionMeasured = true;
  }
  split("attention-float", quantization.lossyAttention);
  split("attention-float-values", quantization.lossyValues);
  quantization.channelRanges = parseRanges(findOption(info, "channel-ranges"));
  quantization.valueRanges = parseRanges(findOption(info, "attention-value-ranges"));
  quantization.keyOffsets = parseRanges(findOption(info, "attention-key-offsets"));
  return compileModel(compile, context, model, errors);
}

/// A product of two factors of bf16 is off by up to 2^-8, 4e-3, of itself; sums average that, and layers add it up. In
/// step each kernel is compared alone, for equal inputs; 1e-4 is what sums of codes and scales in f32 come to.
void Verifier::chooseManner() {
  goesInStep = quantizesActivations(*model.module);
  bool isBf16 = findOption(session.getInfo(), "precision") == "bf16";
  tolerance = options.tolerance >= 0 ? options.tolerance : isBf16 ? 1e-2 : goesInStep ? 1e-4 : 1e-5;
}

static StringRef inputName(func::FuncOp function, unsigned i) {
  auto name = function.getArgAttrOfType<StringAttr>(i, nn::NnDialect::getNameAttrName());
  return name ? name.getValue() : "";
}

LogicalResult Verifier::gatherInputs() {
  if (options.inputs.empty()) {
    std::string description;
    FailureOr<std::vector<HostTensor>> generated = generateInputs(function, description);
    if (failed(generated))
      return failure();
    inputs = std::move(*generated);
    os << "inputs   " << description << "\n";
    return success();
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringRef name = inputName(function, i);
    auto it = llvm::find_if(options.inputs, [&](const VerifyInput &input) { return input.name == name; });
    if (it == options.inputs.end())
      return errors.add({ErrorCode::H0111, "input '" + name.str() + "' is missing", "", ""});
    Type type = cast<RankedTensorType>(function.getArgumentTypes()[i]).getElementType();
    Type given = toType(&context, it->type);
    bool widens = type.isInteger(64) && given.isInteger(32);
    if (given != type && !widens)
      return errors.add({ErrorCode::H0111, "input '" + name.str() + "' has the wrong element type", "", ""});
    int64_t count = 1;
    for (int64_t dim : it->dims)
      count *= dim;
    auto tensor = HostTensor::fromBytes(
        given, it->dims, ArrayRef(static_cast<const char *>(it->data), HostTensor::getByteSize(given, count)));
    if (!tensor)
      return errors.add({ErrorCode::H0111, llvm::toString(tensor.takeError()), "", ""});
    inputs.push_back(widens ? HostTensor(type, it->dims, tensor->getInts().vec()) : std::move(*tensor));
  }
  return success();
}

/// The largest finite magnitude in |tensor|.
static double magnitude(const HostTensor &tensor) {
  double largest = 0;
  tensor.visit([&](auto elements) {
    for (auto element : elements)
      if (double value = std::abs(static_cast<double>(element)); std::isfinite(value))
        largest = std::max(largest, value);
  });
  return largest;
}

/// Ops whose result can be far smaller than what it is the sum of.
static bool cancels(Operation *op) {
  if (auto binary = dyn_cast<nn::BinaryOp>(op))
    return binary.getKind() == nn::BinaryKind::Add || binary.getKind() == nn::BinaryKind::Sub;
  return isa<nn::ReduceOp>(op);
}

/// Runs the reference, which gives |observer| each value and the least magnitude to measure its differences against.
LogicalResult Verifier::evaluate(reference::Observer observer, SmallVector<HostTensor> *results) {
  auto values = reference::Evaluator(function).run(inputs, std::move(observer));
  if (!values)
    return errors.add({ErrorCode::H0111,
                       "the reference evaluator refuses the inputs: " + llvm::toString(values.takeError()),
                       "in " + options.modelPath, ""});
  if (results)
    *results = std::move(*values);
  return success();
}

namespace {
/// The least magnitude that differences of each value are measured against: of a sum whose terms may cancel, its
/// terms'.
class Scales {
public:
  double add(OpResult value, const HostTensor &tensor) {
    magnitudes[value] = magnitude(tensor);
    double scale = 0;
    if (cancels(value.getOwner()) && isa<FloatType>(tensor.getElementType()))
      for (Value operand : value.getOwner()->getOperands())
        scale = std::max(scale, magnitudes.lookup(operand));
    return scale;
  }

private:
  llvm::DenseMap<Value, double> magnitudes;
};
} // namespace

LogicalResult Verifier::evaluateReference() {
  Scales scales;
  auto observer = [&](Value value, HostTensor &tensor) {
    auto result = cast<OpResult>(value);
    double scale = scales.add(result, tensor);
    if (StringRef name = nn::getOutputName(result); !name.empty() && !goesInStep)
      reference[name] = {tensor, scale};
  };
  return evaluate(observer, &referenceOutputs);
}

/// Compares each stored tensor with what the reference makes of the tensors that the artifact stored before it, so that
/// every kernel stands for itself. A code that rounds the other way is one step off; where it happened inside a kernel,
/// a few of its results show it.
LogicalResult Verifier::compareInStep() {
  constexpr double kMostStrays = 0.01;
  Scales scales;
  auto observer = [&](Value value, HostTensor &tensor) {
    auto result = cast<OpResult>(value);
    double scale = scales.add(result, tensor);
    auto it = stored.find(nn::getOutputName(result));
    if (it == stored.end() || it->second.tensor.getType() != tensor.getType())
      return;
    ++comparedCount;
    TensorDifference difference = compareTensors(it->second.tensor, tensor, scale, tolerance);
    bool agrees =
        isa<FloatType>(tensor.getElementType()) ? difference.strayShare <= kMostStrays : difference.largestStep <= 1;
    line(agrees, difference, it->first(), it->second.kernel);
    tensor = it->second.tensor;
  };
  return evaluate(observer, nullptr);
}

void Verifier::line(bool agrees, TensorDifference difference, StringRef what, StringRef detail) {
  worst = std::max(worst, difference.relative);
  os << llvm::formatv("{0}  {1,9:e1}  {2}  {3}\n", agrees ? "ok    " : "DIFFER", difference.relative, what, detail);
  if (!agrees && firstDifference.empty())
    firstDifference = (what + (detail.empty() ? "" : ", " + detail)).str();
}

void Verifier::observe(const heddle_dispatch_info_t &dispatch) {
  ++kernelCount;
  for (size_t i = 0; i < dispatch.result_count; ++i) {
    const heddle_result_info_t &info = dispatch.results[i];
    std::optional<HostTensor> actual;
    if (*info.name != 0)
      actual = readResult(info, &context);
    if (!actual)
      continue;
    if (goesInStep) {
      stored[info.name] = {std::move(*actual), dispatch.kernel};
      continue;
    }
    auto it = reference.find(info.name);
    if (it == reference.end() || it->second.tensor.getDims() != actual->getDims())
      continue;
    ++comparedCount;
    TensorDifference difference = compareTensors(*actual, it->second.tensor, it->second.scale, tolerance);
    line(difference.relative <= tolerance, difference, info.name, dispatch.kernel);
  }
}

/// |tensor| with each element off by up to kFloatNoise of itself. Whole numbers stay: they may be positions or counts,
/// exact in any arithmetic.
static HostTensor addNoise(const HostTensor &tensor, std::mt19937 &random) {
  std::vector<double> values;
  for (double value : tensor.getFloats()) {
    double noise = kFloatNoise * (2.0 * random() / std::mt19937::max() - 1);
    values.push_back(std::isfinite(value) && value != std::rint(value) ? value * (1 + noise) : value);
  }
  return {tensor.getElementType(), tensor.getDims(), std::move(values)};
}

/// The reference some times more with noise that a float model would be allowed.
LogicalResult Verifier::evaluateNoisy() {
  noisyCosines.resize(outputs.size());
  for (unsigned run = 1; run <= kNoiseRuns; ++run) {
    std::mt19937 random(run);
    auto observer = [&](Value, HostTensor &tensor) {
      if (tensor.isFloat())
        tensor = addNoise(tensor, random);
    };
    SmallVector<HostTensor> noisy;
    if (failed(evaluate(observer, &noisy)))
      return failure();
    for (size_t i = 0; i < noisy.size(); ++i)
      noisyCosines[i].push_back(compareTensors(noisy[i], referenceOutputs[i], 0, tolerance).cosine);
  }
  return success();
}

TensorDifference Verifier::compareWithReference(size_t i) {
  const heddle_tensor_t *tensor = outputs[i].get();
  Type type = toType(&context, heddle_tensor_type(tensor));
  ArrayRef<int64_t> dims(heddle_tensor_dims(tensor), heddle_tensor_rank(tensor));
  auto actual = HostTensor::fromBytes(
      type, dims, ArrayRef(static_cast<const char *>(heddle_tensor_data(tensor)), heddle_tensor_byte_length(tensor)));
  if (actual && dims == referenceOutputs[i].getDims())
    return compareTensors(*actual, referenceOutputs[i], 0, tolerance);
  llvm::consumeError(actual.takeError());
  return {INFINITY, 0, 1, INFINITY};
}

/// One code that rounds the other way moves its row, where more codes then round the other way: some layers on, outputs
/// are about as far off as quantisation itself takes them, however right each kernel is. In step they agree by their
/// direction, or are no farther off than noise may take them.
LogicalResult Verifier::compareOutput(size_t i) {
  TensorDifference difference = compareWithReference(i);
  std::string detail = "output";
  bool agrees = difference.relative <= tolerance;
  if (goesInStep) {
    agrees = agreesButForCodes(difference.cosine, {});
    detail += llvm::formatv(", cosine {0:f6}", difference.cosine).str();
  }
  if (goesInStep && !agrees) {
    if (noisyCosines.empty() && failed(evaluateNoisy()))
      return failure();
    agrees = agreesButForCodes(difference.cosine, noisyCosines[i]);
    detail += llvm::formatv("; noise of 1e-5 leaves the reference {0:f6}", *llvm::min_element(noisyCosines[i])).str();
  }
  line(agrees, difference, session.getEntry().outputs[i].name, detail);
  return success();
}

LogicalResult Verifier::runArtifact() {
  std::vector<TensorPtr> tensors;
  std::vector<const heddle_tensor_t *> pointers;
  for (const HostTensor &input : inputs) {
    tensors.push_back(makeTensor(input, errors));
    if (!tensors.back())
      return failure();
    pointers.push_back(tensors.back().get());
  }
  auto observer = [](void *user, const heddle_dispatch_info_t *dispatch) {
    static_cast<Verifier *>(user)->observe(*dispatch);
  };
  heddle_session_set_observer(session.get(), observer, this);
  FailureOr<std::vector<TensorPtr>> results = session.run(pointers, errors);
  if (failed(results))
    return failure();
  outputs = std::move(*results);
  return success();
}

LogicalResult Verifier::run() {
  if (failed(session.load(options.artifactPath, options.device, options.threads, errors)) || failed(prepareModel()) ||
      failed(gatherInputs()) || failed(evaluateReference()))
    return failure();
  os << "        max|a-b|/max|b|\n";
  if (failed(runArtifact()) || (goesInStep && failed(compareInStep())))
    return failure();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (failed(compareOutput(i)))
      return failure();
  os << llvm::formatv("{0} tensors of {1} kernels compared{2}, {3} outputs; largest difference {4:e1}, bound {5:e1}\n",
                      comparedCount, kernelCount, goesInStep ? " in step" : "", outputs.size(), worst, tolerance);
  if (firstDifference.empty())
    return success();
  os << "first that differs: " << firstDifference << "\n";
  return failure();
}

LogicalResult heddle::verify(const VerifyOptions &options, MLIRContext &context, std::string &summary,
                             ErrorList &errors) {
  Verifier verifier(options, context, errors);
  LogicalResult result = verifier.run();
  summary = verifier.takeSummary();
  return result;
}
