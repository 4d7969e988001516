// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From TensorProto to the attribute of nn.constant.

#include "compiler/import/onnx/TensorData.h"

#include "dialects/nn/ConstantData.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using ::onnx::TensorProto;

namespace heddle::importer {

Type getElementType(int dataType, MLIRContext *context) {
  auto integer = [&](unsigned width, IntegerType::SignednessSemantics signedness = IntegerType::Signless) {
    return IntegerType::get(context, width, signedness);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return FloatType::getF32(context);
  case TensorProto::DOUBLE:
    return FloatType::getF64(context);
  case TensorProto::FLOAT16:
    return FloatType::getF16(context);
  case TensorProto::BFLOAT16:
    return FloatType::getBF16(context);
  case TensorProto::BOOL:
    return integer(1);
  case TensorProto::INT4:
    return integer(4);
  case TensorProto::INT8:
    return integer(8);
  case TensorProto::INT16:
    return integer(16);
  case TensorProto::INT32:
    return integer(32);
  case TensorProto::INT64:
    return integer(64);
  case TensorProto::UINT4:
    return integer(4, IntegerType::Unsigned);
  case TensorProto::UINT8:
    return integer(8, IntegerType::Unsigned);
  case TensorProto::UINT16:
    return integer(16, IntegerType::Unsigned);
  case TensorProto::UINT32:
    return integer(32, IntegerType::Unsigned);
  case TensorProto::UINT64:
    return integer(64, IntegerType::Unsigned);
  default:
    return {};
  }
}

std::string getDataTypeName(int dataType) {
  if (!::onnx::TensorProto_DataType_IsValid(dataType))
    return "number " + std::to_string(dataType);
  return llvm::StringRef(::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(dataType)))
      .lower();
}

namespace {

/// The typed field in which a tensor of |dataType| keeps its data.
PayloadField getTypedField(int dataType) {
  switch (dataType) {
  case TensorProto::FLOAT:
    return kFloatData;
  case TensorProto::DOUBLE:
    return kDoubleData;
  case TensorProto::INT64:
    return kInt64Data;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return kUint64Data;
  default:
    return kInt32Data;
  }
}

/// What the field is called in onnx-ml.proto.
llvm::StringRef getFieldName(unsigned field) {
  switch (field) {
  case kFloatData:
    return "float_data";
  case kInt32Data:
    return "int32_data";
  case kInt64Data:
    return "int64_data";
  case kDoubleData:
    return "double_data";
  case kUint64Data:
    return "uint64_data";
  default:
    return "raw_data";
  }
}

/// |raw| as a literal. MLIR packs bools into bits and gives 4-bit integers a byte each.
DenseElementsAttr makeLiteral(RankedTensorType type, llvm::ArrayRef<char> raw) {
  unsigned width = type.getElementTypeBitWidth();
  if (width == 1) {
    llvm::SmallVector<bool> bools(llvm::map_range(raw, [](char byte) { return byte != 0; }));
    return DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bools));
  }
  if (width == 4) {
    llvm::SmallVector<llvm::APInt> codes;
    for (int64_t i = 0, count = type.getNumElements(); i < count; ++i)
      codes.emplace_back(4, (static_cast<uint8_t>(raw[i / 2]) >> (i % 2 * 4)) & 15);
    return DenseElementsAttr::get(type, codes);
  }
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

/// Decodes |packed|, varints, into little-endian numbers of |width| bytes each; false if there are not exactly as many
/// as |raw| has room for.
bool decodeVarints(llvm::StringRef packed, unsigned width, std::vector<char> &raw) {
  size_t next = 0;
  for (size_t position = 0; position < packed.size();) {
    uint64_t value = 0;
    bool ends = false;
    for (unsigned shift = 0; shift < 64 && position < packed.size() && !ends; shift += 7) {
      uint8_t byte = packed[position++];
      value |= uint64_t(byte & 0x7f) << shift;
      ends = byte < 0x80;
    }
    if (!ends || next == raw.size())
      return false;
    for (unsigned i = 0; i < width; ++i)
      raw[next++] = static_cast<char>(value >> (8 * i));
  }
  return next == raw.size();
}

} // namespace

Attribute makeConstantValue(RankedTensorType type, llvm::ArrayRef<char> raw, llvm::StringRef name) {
  if (static_cast<int64_t>(raw.size()) <= nn::ConstantOp::kMaxLiteralBytes)
    return makeLiteral(type, raw);
  AsmResourceBlob blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(raw, alignof(std::max_align_t));
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

LogicalResult TensorReader::fail(ErrorCode code, const llvm::Twine &message, llvm::StringRef help) {
  return errors.add({code, message.str(), ("in " + file.getName()).str(), help.str()});
}

/// The type that |tensor| claims, once it is sure that a file could hold so much.
FailureOr<RankedTensorType> TensorReader::readType(const TensorProto &tensor, llvm::StringRef what) {
  Type element = getElementType(tensor.data_type(), context);
  if (!element)
    return fail(ErrorCode::H0206,
                what + ": elements of type " + getDataTypeName(tensor.data_type()) + " are not supported");
  std::string dims =
      "[" + llvm::join(llvm::map_range(tensor.dims(), [](int64_t d) { return std::to_string(d); }), ",") + "]";
  if (tensor.dims_size() > kMaxRank)
    return fail(ErrorCode::H0518, what + ": " + llvm::Twine(tensor.dims_size()) + " dimensions, at most " +
                                      llvm::Twine(kMaxRank) + " are possible");
  if (llvm::any_of(tensor.dims(), [](int64_t extent) { return extent < 0; }))
    return fail(ErrorCode::H0515, what + ": a constant's shape can't be " + dims);
  auto type = RankedTensorType::get(llvm::ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()), element);
  if (!nn::getRawSize(type))
    return fail(ErrorCode::H0515, what + ": shape " + dims + " has more elements than any file can hold");
  return type;
}

FailureOr<Constant> TensorReader::read(const TensorProto &tensor, llvm::StringRef what) {
  FailureOr<RankedTensorType> type = readType(tensor, what);
  if (failed(type))
    return failure();
  if (tensor.has_segment())
    return fail(ErrorCode::H0515, what + ": a constant in segments is not supported");
  FailureOr<Attribute> value = tensor.data_location() == TensorProto::EXTERNAL ? readExternal(tensor, *type, what)
                                                                               : readPayload(tensor, *type, what);
  if (failed(value))
    return failure();
  return Constant{*type, *value};
}

/// Data within the model file, at the place that the scan has found.
FailureOr<Attribute> TensorReader::readPayload(const TensorProto &tensor, RankedTensorType type, llvm::StringRef what) {
  uint64_t size = static_cast<uint64_t>(*nn::getRawSize(type));
  // Without any data the tensor is as if it had raw data of no bytes, which is right for an empty one.
  std::optional<uint64_t> index = getPayloadIndex(tensor.raw_data());
  Payload none;
  none.field = kRawData;
  const Payload &payload = index && *index < payloads.size() ? payloads[*index] : none;
  bool isLoose = !payload.pieces.empty();
  llvm::StringRef bytes = isLoose ? payload.pieces : file.bytes().substr(payload.offset, payload.length);

  PayloadField typedField = getTypedField(tensor.data_type());
  if (payload.field != kRawData && payload.field != typedField)
    return fail(ErrorCode::H0515, what + ": data of type " + getDataTypeName(tensor.data_type()) + " in " +
                                      getFieldName(payload.field) + ", expected in " + getFieldName(typedField));
  bool isVarint = payload.field != kRawData && payload.field != kFloatData && payload.field != kDoubleData;
  if (isVarint) {
    // Each number takes a byte at least, so this bounds the memory by the file.
    unsigned width = std::max(type.getElementTypeBitWidth() / 8, 1u);
    std::vector<char> raw(size / width <= bytes.size() ? size : 0);
    if (raw.size() == size && decodeVarints(bytes, width, raw))
      return makeConstantValue(type, raw, tensor.name());
    return fail(ErrorCode::H0515, what + ": " + getFieldName(payload.field) + " doesn't hold " +
                                      llvm::Twine(size / width) + " numbers, as the shape asks");
  }
  if (bytes.size() != size)
    return fail(ErrorCode::H0515, what + ": " + getFieldName(payload.field) + " too " +
                                      (bytes.size() < size ? "short" : "long") + ": " + llvm::Twine(bytes.size()) +
                                      " of " + llvm::Twine(size) + " bytes");
  if (isLoose || static_cast<int64_t>(size) <= nn::ConstantOp::kMaxLiteralBytes)
    return makeConstantValue(type, llvm::ArrayRef<char>(bytes.data(), bytes.size()), tensor.name());
  return nn::ExternalAttr::get(context, file.getPath(), payload.offset, payload.length);
}

/// Whether |file| holds a Git LFS pointer in place of data: cloning without LFS leaves such.
static bool isPointer(const ExternalFile &file) {
  constexpr uint64_t kLooked = 64;
  if (file.size < kLooked)
    return false;
  auto begin = llvm::MemoryBuffer::getFileSlice(file.path, kLooked, 0);
  return begin && isGitLfsPointer((*begin)->getBuffer());
}

/// Data in a file beside the model. Keys that ONNX doesn't define are of no concern, nor is the checksum.
FailureOr<Attribute> TensorReader::readExternal(const TensorProto &tensor, RankedTensorType type,
                                                llvm::StringRef what) {
  uint64_t size = static_cast<uint64_t>(*nn::getRawSize(type));
  std::string location;
  uint64_t offset = 0, length = size;
  for (const ::onnx::StringStringEntryProto &entry : tensor.external_data()) {
    bool bad = false;
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      bad = llvm::StringRef(entry.value()).getAsInteger(10, offset);
    else if (entry.key() == "length")
      bad = llvm::StringRef(entry.value()).getAsInteger(10, length);
    if (bad)
      return fail(ErrorCode::H0516,
                  what + ": " + entry.key() + " '" + entry.value() + "' of its external data is no number");
  }
  std::string where = what.str() + ": external data '" + location + "'";
  FailureOr<ExternalFile> found = externalFiles.get(location, [&](const llvm::Twine &reason) {
    return fail(ErrorCode::H0516, where + " refused: " + reason,
                "keep the file itself, readable and not a link, in the model's folder or below");
  });
  if (failed(found))
    return failure();
  if (length != size)
    return fail(ErrorCode::H0515, where + " has " + llvm::Twine(length) + " of " + llvm::Twine(size) + " bytes");
  bool isTooShort = offset > found->size || length > found->size - offset;
  if (isTooShort && isPointer(*found))
    return fail(ErrorCode::H0516, where + " is a Git LFS pointer, not the data", "fetch the real file: git lfs pull");
  if (isTooShort)
    return fail(ErrorCode::H0516,
                where + " ends past the end of the file: " + llvm::Twine(length) + " bytes at offset " +
                    llvm::Twine(offset) + ", the file has " + llvm::Twine(found->size),
                "copy or download the file again");
  auto external = nn::ExternalAttr::get(context, found->path, offset, length);
  if (static_cast<int64_t>(size) > nn::ConstantOp::kMaxLiteralBytes)
    return external;
  FailureOr<nn::ConstantData> data =
      nn::ConstantData::get(external, type, [&] { return emitError(UnknownLoc::get(context)); });
  if (failed(data))
    return failure();
  llvm::ArrayRef<uint8_t> bytes = data->getBytes();
  return makeLiteral(type, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

} // namespace heddle::importer
