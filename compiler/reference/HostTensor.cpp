// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage of the evaluator's tensors, and their conversion from and to bytes.

#include "compiler/reference/HostTensor.h"

#include <cstring>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// Reads element |index| of an array whose elements have no alignment.
template <typename T> T readElement(ArrayRef<char> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void appendElement(std::vector<char> &bytes, T value) {
  const char *begin = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

// The elements of |bytes|, each of type Narrow, as values of type Wide.
template <typename Narrow, typename Wide> std::vector<Wide> widen(ArrayRef<char> bytes, int64_t count) {
  std::vector<Wide> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = readElement<Narrow>(bytes, i);
  return values;
}

std::vector<double> widenFloats(Type type, ArrayRef<char> bytes, int64_t count) {
  if (type.isF64())
    return widen<double, double>(bytes, count);
  if (type.isF32())
    return widen<float, double>(bytes, count);
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits = readElement<uint16_t>(bytes, i);
    values[i] = type.isBF16() ? llvm::bit_cast<float>(uint32_t(bits) << 16) : decodeHalf(bits);
  }
  return values;
}

std::vector<int64_t> widenInts(IntFormat format, ArrayRef<char> bytes, int64_t count) {
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) {
    switch (format.width) {
    case 1:
      values[i] = bytes[i] != 0;
      continue;
    case 4:
      values[i] = static_cast<uint8_t>(bytes[i / 2]) >> (i % 2 * 4);
      break;
    case 8:
      values[i] = readElement<int8_t>(bytes, i);
      break;
    case 16:
      values[i] = readElement<int16_t>(bytes, i);
      break;
    case 32:
      values[i] = readElement<int32_t>(bytes, i);
      break;
    default:
      values[i] = readElement<int64_t>(bytes, i);
      break;
    }
    values[i] = format.wrap(values[i]);
  }
  return values;
}

void appendFloats(std::vector<char> &bytes, Type type, ArrayRef<double> values) {
  for (double value : values) {
    if (type.isF64())
      appendElement(bytes, value);
    else if (type.isF32())
      appendElement(bytes, static_cast<float>(value));
    else
      appendElement(bytes, encodeHalf(value, type));
  }
}

void appendInts(std::vector<char> &bytes, unsigned width, ArrayRef<int64_t> values) {
  if (width == 4) {
    for (size_t i = 0; i < values.size(); i += 2) {
      int64_t high = i + 1 < values.size() ? values[i + 1] : 0;
      bytes.push_back(static_cast<char>((values[i] & 15) | (high & 15) << 4));
    }
    return;
  }
  // Little-endian: the low bytes come first.
  size_t size = width == 1 ? 1 : width / 8;
  for (int64_t value : values)
    bytes.insert(bytes.end(), reinterpret_cast<const char *>(&value), reinterpret_cast<const char *>(&value) + size);
}

// Whether the evaluator knows the layout of elements of |type|.
bool isKnownElementType(Type type) {
  if (type.isF64() || type.isF32() || type.isF16() || type.isBF16())
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && llvm::is_contained({1u, 4u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

} // namespace

HostTensor::HostTensor(Type elementType, ArrayRef<int64_t> dims, std::vector<double> values)
    : elementType(elementType), dims(dims), floats(std::make_shared<std::vector<double>>(std::move(values))) {
  assert(isa<FloatType>(elementType) && "expects a float type for doubles");
}

HostTensor::HostTensor(Type elementType, ArrayRef<int64_t> dims, std::vector<int64_t> values)
    : elementType(elementType), dims(dims), ints(std::make_shared<std::vector<int64_t>>(std::move(values))) {
  assert(isa<IntegerType>(elementType) && "expects an integer type for integers");
}

int64_t HostTensor::getByteSize(Type elementType, int64_t elementCount) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  return width == 4 ? llvm::divideCeil(elementCount, 2) : elementCount * llvm::divideCeil(width, 8);
}

llvm::Expected<HostTensor> HostTensor::fromBytes(Type elementType, ArrayRef<int64_t> dims, ArrayRef<char> bytes) {
  if (!isKnownElementType(elementType)) {
    std::string name;
    llvm::raw_string_ostream(name) << elementType;
    return makeError("expects a float or integer element type, got '" + name + "'");
  }
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  int64_t size = getByteSize(elementType, *count);
  if (size != static_cast<int64_t>(bytes.size()))
    return makeError("expects " + Twine(size) + " bytes for shape " + toString(dims) + ", got " + Twine(bytes.size()));
  if (isa<FloatType>(elementType))
    return HostTensor(elementType, dims, widenFloats(elementType, bytes, *count));
  return HostTensor(elementType, dims, widenInts(IntFormat::of(elementType), bytes, *count));
}

std::vector<char> HostTensor::toBytes() const {
  std::vector<char> bytes;
  bytes.reserve(getByteSize(elementType, getNumElements()));
  if (isFloat())
    appendFloats(bytes, elementType, getFloats());
  else
    appendInts(bytes, elementType.getIntOrFloatBitWidth(), getInts());
  return bytes;
}

HostTensor HostTensor::withDims(ArrayRef<int64_t> newDims) const {
  HostTensor result = *this;
  result.dims.assign(newDims.begin(), newDims.end());
  return result;
}

std::string toString(ArrayRef<int64_t> dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(dims, stream);
  stream << ']';
  return text;
}

llvm::Expected<int64_t> countElements(ArrayRef<int64_t> dims) {
  // A product may only be too large where no extent is 0, whatever the order.
  bool isEmpty = llvm::is_contained(dims, 0);
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return makeError("expects extents of at least 0, got shape " + toString(dims));
    if (!isEmpty && (llvm::MulOverflow(count, dim, count) || count > HostTensor::kMaxElements))
      return makeError("expects at most " + Twine(HostTensor::kMaxElements) + " elements, got shape " + toString(dims));
  }
  return isEmpty ? 0 : count;
}

llvm::Error makeError(const Twine &message) { return llvm::createStringError(llvm::inconvertibleErrorCode(), message); }

} // namespace heddle::reference
