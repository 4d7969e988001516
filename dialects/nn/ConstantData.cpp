// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading constants. Every range is checked before it is used: attributes may come from any text or file.

#include "dialects/nn/ConstantData.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace heddle::nn;

std::optional<int64_t> heddle::nn::getRawSize(RankedTensorType type) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t count = 1;
  for (int64_t extent : type.getShape()) {
    std::optional<int64_t> product = llvm::checkedMul(count, extent);
    if (!product)
      return std::nullopt;
    count = *product;
  }
  int64_t width = type.getElementTypeBitWidth();
  if (width == 4)
    return count / 2 + count % 2;
  return llvm::checkedMul(count, width == 1 ? int64_t(1) : width / 8);
}

namespace {

/// A literal's elements as raw data. MLIR packs bools into bits and gives 4-bit integers a byte each.
std::vector<uint8_t> toRaw(DenseElementsAttr literal, int64_t size) {
  std::vector<uint8_t> raw(size);
  int64_t width = literal.getElementType().getIntOrFloatBitWidth();
  if (width == 1 || width == 4) {
    int64_t index = 0;
    for (const APInt &element : literal.getValues<APInt>()) {
      uint8_t bits = static_cast<uint8_t>(element.getZExtValue());
      if (width == 1)
        raw[index] = bits;
      else
        raw[index / 2] |= bits << (index % 2 * 4);
      ++index;
    }
    return raw;
  }
  ArrayRef<char> stored = literal.getRawData();
  for (int64_t i = 0; i < size; ++i) // a splat stores one element
    raw[i] = static_cast<uint8_t>(stored[i % stored.size()]);
  return raw;
}

FailureOr<MappedFiles::Buffer> openFile(ExternalAttr external, function_ref<InFlightDiagnostic()> emitError) {
  auto *dialect = external.getContext()->getLoadedDialect<NnDialect>();
  llvm::ErrorOr<MappedFiles::Buffer> file = dialect->getMappedFiles().get(external.getFile());
  if (!file)
    return emitError() << "expects a readable file '" << external.getFile() << "': " << file.getError().message();
  int64_t fileSize = static_cast<int64_t>((*file)->getBufferSize());
  // The attribute's verifier has seen to offset and length not being negative.
  if (external.getOffset() > fileSize || external.getLength() > fileSize - external.getOffset())
    return emitError() << "expects the range at " << external.getOffset() << " of " << external.getLength()
                       << " bytes within '" << external.getFile() << "', which has " << fileSize;
  return *file;
}

} // namespace

FailureOr<ConstantData> ConstantData::get(ConstantOp op) {
  return get(op.getValue(), op.getType(), [&] { return op.emitOpError(); });
}

FailureOr<ConstantData> ConstantData::get(Attribute value, RankedTensorType type,
                                          function_ref<InFlightDiagnostic()> emitError) {
  std::optional<int64_t> size = getRawSize(type);
  if (!size)
    return emitError() << "expects a static shape and integer or float elements, got " << type;
  if (auto elements = dyn_cast<ElementsAttr>(value); elements && elements.getShapedType() != type)
    return emitError() << "expects elements of " << type << ", got " << elements.getShapedType();
  ConstantData data;
  data.type = type;
  if (auto literal = dyn_cast<DenseElementsAttr>(value)) {
    auto raw = std::make_shared<std::vector<uint8_t>>(toRaw(literal, *size));
    data.bytes = *raw;
    data.owner = std::move(raw);
  } else if (auto external = dyn_cast<ExternalAttr>(value)) {
    FailureOr<MappedFiles::Buffer> file = openFile(external, emitError);
    if (failed(file))
      return failure();
    const char *start = (*file)->getBufferStart() + external.getOffset();
    data.bytes = {reinterpret_cast<const uint8_t *>(start), static_cast<size_t>(external.getLength())};
    data.owner = std::move(*file);
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitError() << "expects data for the resource '" << resource.getRawHandle().getKey() << "'";
    data.bytes = {reinterpret_cast<const uint8_t *>(blob->getData().data()), blob->getData().size()};
  } else {
    return emitError() << "expects a dense literal, a file range or a dense resource, got " << value;
  }
  if (static_cast<int64_t>(data.bytes.size()) != *size)
    return emitError() << "expects " << *size << " bytes for " << type << ", got " << data.bytes.size();
  return data;
}

int64_t ConstantData::getInt(int64_t index) const {
  namespace endian = llvm::support::endian;
  auto integer = cast<IntegerType>(type.getElementType());
  bool isSigned = !integer.isUnsigned();
  const uint8_t *at = bytes.data() + (integer.getWidth() >= 8 ? index * (integer.getWidth() / 8) : index);
  switch (integer.getWidth()) {
  case 1:
    return *at != 0;
  case 4: {
    uint8_t code = (bytes[index / 2] >> (index % 2 * 4)) & 15;
    return isSigned && code >= 8 ? code - 16 : code;
  }
  case 8:
    return isSigned ? static_cast<int64_t>(static_cast<int8_t>(*at)) : *at;
  case 16:
    return isSigned ? static_cast<int64_t>(static_cast<int16_t>(endian::read16le(at))) : endian::read16le(at);
  case 32: {
    uint32_t bits = endian::read32le(at);
    return isSigned ? static_cast<int64_t>(static_cast<int32_t>(bits)) : bits;
  }
  default:
    return static_cast<int64_t>(endian::read64le(at));
  }
}

double ConstantData::getDouble(int64_t index) const {
  namespace endian = llvm::support::endian;
  auto floatType = dyn_cast<FloatType>(type.getElementType());
  if (!floatType) {
    int64_t value = getInt(index);
    bool isUi64 = type.getElementType().isUnsignedInteger(64);
    return isUi64 ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
  }
  const uint8_t *at = bytes.data() + index * (floatType.getWidth() / 8);
  uint64_t bits = floatType.getWidth() == 16   ? endian::read16le(at)
                  : floatType.getWidth() == 32 ? endian::read32le(at)
                                               : endian::read64le(at);
  APFloat value(floatType.getFloatSemantics(), APInt(floatType.getWidth(), bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}
