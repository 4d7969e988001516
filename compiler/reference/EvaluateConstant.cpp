// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of ops without a data operand.

#include <cmath>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "dialects/nn/ConstantData.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace heddle::reference {

namespace {

Type getElementType(Value value) { return cast<ShapedType>(value.getType()).getElementType(); }

// A rank-1 or scalar tensor of i64.
HostTensor makeInts(Type type, ArrayRef<int64_t> dims, ArrayRef<int64_t> values) {
  return HostTensor(type, dims, std::vector<int64_t>(values.begin(), values.end()));
}

// The number of elements of a range, which must be one that a tensor can have.
llvm::Expected<int64_t> getRangeLength(double length) {
  if (std::isnan(length) || length > HostTensor::kMaxElements)
    return makeError("expects a range of at most " + Twine(HostTensor::kMaxElements) + " elements");
  return static_cast<int64_t>(std::fmax(length, 0.0));
}

llvm::Expected<HostTensor> evaluateFloatRange(Type type, double start, double limit, double delta) {
  llvm::Expected<int64_t> length = getRangeLength(std::ceil((limit - start) / delta));
  if (!length)
    return length.takeError();
  std::vector<double> values(*length);
  for (int64_t i = 0; i < *length; ++i)
    values[i] = start + i * delta;
  return HostTensor(type, {*length}, std::move(values));
}

llvm::Expected<HostTensor> evaluateIntRange(Type type, int64_t start, int64_t limit, int64_t delta) {
  // In 128 bits nothing overflows: ceil((limit - start) / delta) by a floor of positive numbers.
  IntFormat format = IntFormat::of(type);
  using Wide = __int128;
  auto widen = [&](int64_t value) { return format.isUnsigned ? Wide(uint64_t(value)) : Wide(value); };
  Wide distance = widen(limit) - widen(start), step = widen(delta);
  if (step < 0) {
    distance = -distance;
    step = -step;
  }
  llvm::Expected<int64_t> length = getRangeLength(distance <= 0 ? 0.0 : double((distance - 1) / step + 1));
  if (!length)
    return length.takeError();
  std::vector<int64_t> values(*length);
  for (int64_t i = 0; i < *length; ++i)
    values[i] = format.wrap(uint64_t(start) + uint64_t(i) * uint64_t(delta));
  return HostTensor(type, {*length}, std::move(values));
}

} // namespace

llvm::Expected<HostTensor> evaluateConstant(nn::ConstantOp op) {
  // A constant that can't be read is reported as a diagnostic; here it becomes the message of the error. Passes on
  // other threads keep their diagnostics.
  std::string message;
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(op.getContext(), [&](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread)
      return failure();
    message = diagnostic.str();
    return success();
  });
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(op);
  if (failed(data))
    return makeError(message);
  ArrayRef<uint8_t> bytes = data->getBytes();
  return HostTensor::fromBytes(data->getType().getElementType(), data->getType().getShape(),
                               ArrayRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}

llvm::Expected<HostTensor> evaluate(nn::ConstantOfShapeOp op, In<nn::ConstantOfShapeOp> in) {
  ArrayRef<int64_t> dims = in.getShape()->getInts();
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  Type type = getElementType(op.getOutput());
  if (auto value = dyn_cast<FloatAttr>(op.getValue()))
    return HostTensor(type, dims, std::vector<double>(*count, value.getValueAsDouble()));
  if (auto value = dyn_cast<IntegerAttr>(op.getValue()))
    return HostTensor(type, dims,
                      std::vector<int64_t>(*count, IntFormat::of(type).wrap(value.getValue().getZExtValue())));
  return makeError("expects a number as value");
}

llvm::Expected<HostTensor> evaluate(nn::RangeOp op, In<nn::RangeOp> in) {
  const HostTensor &start = *in.getStart(), &limit = *in.getLimit(), &delta = *in.getDelta();
  Type type = start.getElementType();
  if (delta.visit([](auto only) { return only[0] == 0; }))
    return makeError("expects a delta other than 0");
  if (start.isFloat())
    return evaluateFloatRange(type, start.getFloats()[0], limit.getFloats()[0], delta.getFloats()[0]);
  return evaluateIntRange(type, start.getInts()[0], limit.getInts()[0], delta.getInts()[0]);
}

llvm::Expected<HostTensor> evaluate(nn::ShapeOp op, In<nn::ShapeOp> in) {
  int64_t start = op.getStart(), length = static_cast<int64_t>(op.getEnd()) - start;
  return makeInts(getElementType(op.getOutput()), {length}, in.getInput()->getDims().slice(start, length));
}

llvm::Expected<HostTensor> evaluate(nn::SizeOp op, In<nn::SizeOp> in) {
  return makeInts(getElementType(op.getOutput()), {}, {in.getInput()->getNumElements()});
}

} // namespace heddle::reference
