// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The comparison of an artifact with the reference evaluator.

#include "compiler/measure/Verify.h"

#include "compiler/measure/GenerateInputs.h"
#include "compiler/measure/RuntimeSession.h"
#include "compiler/pipelines/CompileModel.h"
#include "compiler/reference/Evaluator.h"
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

using namespace mlir;
using namespace heddle;
using reference::HostTensor;

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

namespace {
/// How far a result is from the reference.
struct Difference {
  double relative = 0; ///< max|a-b| / max|b|
  bool comparable = true;
};
} // namespace

/// |expected| with its dimensions in the order in which the kernel stored them.
static std::vector<double> permuted(const HostTensor &expected, const heddle_result_info_t &info) {
  size_t rank = info.rank;
  SmallVector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * expected.getDim(i);
  std::vector<double> values;
  values.reserve(expected.getNumElements());
  SmallVector<int64_t> index(rank, 0);
  for (int64_t n = 0; n < expected.getNumElements(); ++n) {
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i)
      offset += index[i] * strides[info.permutation[i]];
    values.push_back(expected.isFloat() ? expected.getFloats()[offset]
                                        : static_cast<double>(expected.getInts()[offset]));
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < info.dims[i])
        break;
      index[i] = 0;
    }
  }
  return values;
}

/// Equal non-finite values agree; anything else beside a non-finite one is an infinite difference.
///
/// |scale| is the least magnitude that a difference is measured against: a sum whose terms cancel can't be closer to
/// the exact one than its terms were.
static Difference compare(const HostTensor &actual, ArrayRef<double> expected, double scale = 0) {
  if (actual.getNumElements() != static_cast<int64_t>(expected.size()))
    return {INFINITY, false};
  double largest = scale, difference = 0;
  for (int64_t i = 0; i < actual.getNumElements(); ++i) {
    double a = actual.isFloat() ? actual.getFloats()[i] : static_cast<double>(actual.getInts()[i]), b = expected[i];
    // In the type's own range: the reference computes in f64, where f32 overflows.
    float narrow = static_cast<float>(b);
    if (std::isnan(a) && std::isnan(b))
      continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b && a != narrow)
        return {INFINITY, true};
      continue;
    }
    largest = std::max(largest, std::abs(b));
    difference = std::max(difference, std::abs(a - b));
  }
  return {largest > 0 ? difference / largest : difference, true};
}

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
  LogicalResult importModel();
  LogicalResult gatherInputs();
  LogicalResult evaluateReference();
  LogicalResult runArtifact();
  void observe(const heddle_dispatch_info_t &dispatch);
  void compareOutput(size_t i);
  void line(StringRef what, Difference difference, StringRef detail);

  const VerifyOptions &options;
  MLIRContext &context;
  ErrorList &errors;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  RuntimeSession session;
  std::vector<HostTensor> inputs;
  /// A tensor of the model, and the least magnitude to measure its differences against.
  struct Expected {
    HostTensor tensor;
    double scale;
  };
  llvm::StringMap<Expected> reference;
  SmallVector<HostTensor> referenceOutputs;
  std::vector<TensorPtr> outputs;
  std::string text;
  llvm::raw_string_ostream os;
  size_t kernelCount = 0, comparedCount = 0;
  double worst = 0;
  std::string firstDifference;
};
} // namespace

LogicalResult Verifier::importModel() {
  module = heddle::importModel(options.modelPath, context, errors);
  if (!module)
    return failure();
  function = module->lookupSymbol<func::FuncOp>("main");
  return success();
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

LogicalResult Verifier::evaluateReference() {
  llvm::DenseMap<Value, double> magnitudes;
  auto observer = [&](Value value, const HostTensor &tensor) {
    auto result = cast<OpResult>(value);
    magnitudes[value] = magnitude(tensor);
    double scale = 0;
    if (cancels(result.getOwner()) && isa<FloatType>(tensor.getElementType()))
      for (Value operand : result.getOwner()->getOperands())
        scale = std::max(scale, magnitudes.lookup(operand));
    auto names = result.getOwner()->getAttrOfType<ArrayAttr>("nn.outputs");
    if (names && result.getResultNumber() < names.size())
      if (auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]); name && !name.empty())
        reference[name.getValue()] = {tensor, scale};
  };
  auto results = reference::Evaluator(function).run(inputs, observer);
  if (!results)
    return errors.add({ErrorCode::H0111,
                       "the reference evaluator refuses the inputs: " + llvm::toString(results.takeError()),
                       "in " + options.modelPath, ""});
  referenceOutputs = std::move(*results);
  return success();
}

void Verifier::line(StringRef what, Difference difference, StringRef detail) {
  bool agrees = difference.comparable && difference.relative <= options.tolerance;
  worst = std::max(worst, difference.relative);
  os << llvm::formatv("{0}  {1,9:e1}  {2}  {3}\n", agrees ? "ok    " : "DIFFER", difference.relative, what, detail);
  if (!agrees && firstDifference.empty())
    firstDifference = (what + (detail.empty() ? "" : ", " + detail)).str();
}

void Verifier::observe(const heddle_dispatch_info_t &dispatch) {
  ++kernelCount;
  for (size_t i = 0; i < dispatch.result_count; ++i) {
    const heddle_result_info_t &info = dispatch.results[i];
    auto it = reference.find(info.name);
    if (it == reference.end() || it->second.tensor.getRank() != static_cast<int64_t>(info.rank))
      continue;
    int64_t count = 1;
    for (size_t d = 0; d < info.rank; ++d)
      count *= info.dims[d];
    Type type = toType(&context, info.type);
    auto actual = HostTensor::fromBytes(
        type, {count}, ArrayRef(static_cast<const char *>(info.data), HostTensor::getByteSize(type, count)));
    if (!actual) {
      llvm::consumeError(actual.takeError());
      continue;
    }
    ++comparedCount;
    line(info.name, compare(*actual, permuted(it->second.tensor, info), it->second.scale), dispatch.kernel);
  }
}

void Verifier::compareOutput(size_t i) {
  const heddle_tensor_t *tensor = outputs[i].get();
  Type type = toType(&context, heddle_tensor_type(tensor));
  int64_t count = heddle_tensor_element_count(tensor);
  auto actual = HostTensor::fromBytes(
      type, {count},
      ArrayRef(static_cast<const char *>(heddle_tensor_data(tensor)), heddle_tensor_byte_length(tensor)));
  const HostTensor &expected = referenceOutputs[i];
  std::vector<double> values;
  expected.visit([&](auto elements) { values.assign(elements.begin(), elements.end()); });
  bool sameShape = ArrayRef(heddle_tensor_dims(tensor), heddle_tensor_rank(tensor)) == expected.getDims();
  Difference difference = actual && sameShape ? compare(*actual, values) : Difference{INFINITY, false};
  if (!actual)
    llvm::consumeError(actual.takeError());
  line(session.getEntry().outputs[i].name, difference, "output");
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
  if (failed(importModel()) || failed(session.load(options.artifactPath, options.threads, errors)) ||
      failed(gatherInputs()) || failed(evaluateReference()))
    return failure();
  os << "        max|a-b|/max|b|\n";
  if (failed(runArtifact()))
    return failure();
  for (size_t i = 0; i < outputs.size(); ++i)
    compareOutput(i);
  os << llvm::formatv("{0} of {1} kernels compared, {2} outputs; largest difference {3:e1}, bound {4:e1}\n",
                      comparedCount, kernelCount, outputs.size(), worst, options.tolerance);
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
