// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scan. It descends only into the messages that lead to tensors and copies the rest; a message's length is written
// anew, since what is within it has shrunk. All sums of positions are in subtraction form: lengths come from the file.

#include "compiler/import/onnx/WireScan.h"

#include "compiler/import/onnx/ModulePath.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace heddle::importer {

namespace {

// A node in a branch of a branch is nine messages deep; protobuf itself stops at 100.
constexpr unsigned kMaxDepth = 64;
// The largest exports have some 100,000 nodes of 300 bytes each.
constexpr size_t kMaxNodes = 1'000'000;
constexpr size_t kMaxSkeleton = size_t(128) << 20;

/// The messages that the scan descends into.
enum class Message { Model, Graph, Node, Attribute, Tensor, SparseTensor, Function };

/// What becomes of a field of a message: most are copied.
struct Rule {
  /// KeepModules: dropped, but for the entry of the metadata that getModulePath reads.
  enum Kind { Copy, Drop, Descend, KeepModules } kind = Copy;
  Message child = Message::Model;
};

Rule ruleFor(Message message, unsigned field) {
  auto descend = [](Message child) { return Rule{Rule::Descend, child}; };
  Rule drop{Rule::Drop, Message::Model};
  switch (message) {
  case Message::Model:
    // doc_string, metadata_props, training_info.
    if (field == 6 || field == 14 || field == 20)
      return drop;
    return field == 7 ? descend(Message::Graph) : field == 25 ? descend(Message::Function) : Rule();
  case Message::Graph:
    // doc_string, quantization_annotation, metadata_props.
    if (field == 10 || field == 14 || field == 16)
      return drop;
    if (field == 1)
      return descend(Message::Node);
    return field == 5 ? descend(Message::Tensor) : field == 15 ? descend(Message::SparseTensor) : Rule();
  case Message::Node:
    // doc_string, metadata_props.
    if (field == 6)
      return drop;
    if (field == 9)
      return {Rule::KeepModules, Message::Model};
    return field == 5 ? descend(Message::Attribute) : Rule();
  case Message::Attribute:
    if (field == 5 || field == 10)
      return descend(Message::Tensor);
    if (field == 6 || field == 11)
      return descend(Message::Graph);
    return field == 22 || field == 23 ? descend(Message::SparseTensor) : field == 13 ? drop : Rule();
  case Message::SparseTensor:
    return field == 1 || field == 2 ? descend(Message::Tensor) : Rule();
  case Message::Function:
    // doc_string, value_info, metadata_props.
    if (field == 8 || field == 12 || field == 14)
      return drop;
    return field == 7 ? descend(Message::Node) : field == 11 ? descend(Message::Attribute) : Rule();
  case Message::Tensor:
    return field == 12 || field == 16 ? drop : Rule();
  }
  return Rule();
}

/// Whether a field of TensorProto holds data.
bool isPayload(unsigned field) {
  return field == kRawData || field == kFloatData || field == kInt32Data || field == kInt64Data ||
         field == kDoubleData || field == kUint64Data;
}

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// One field as it lies in the file: [start, next) with its tag, [begin, next) the value without tag and length.
struct Field {
  unsigned number, wireType;
  uint64_t start, begin, next;
};

/// Recursive over messages, which kMaxDepth bounds. After a failure it is of no more use.
class Scanner {
public:
  Scanner(llvm::StringRef bytes, llvm::StringRef file, ErrorList &errors) : bytes(bytes), file(file), errors(errors) {}

  /// Copies the message at [begin, end) to |out| by the rules.
  LogicalResult scan(Message message, uint64_t begin, uint64_t end, unsigned depth, std::string &out);

  std::vector<Payload> payloads;

private:
  LogicalResult readVarint(uint64_t &position, uint64_t end, uint64_t &value);
  LogicalResult readField(uint64_t position, uint64_t end, Field &field);
  LogicalResult skipValue(Field &field, uint64_t end);
  LogicalResult descend(Message child, const Field &field, unsigned depth, std::string &out);
  LogicalResult addPayload(const Field &field, Payload &payload);

  LogicalResult damaged(const llvm::Twine &what) {
    return errors.add({ErrorCode::H0513, ("file is damaged: " + what).str(), ("in " + file).str(),
                       "copy or download the file again"});
  }
  LogicalResult exceeds(const llvm::Twine &limit) {
    return errors.add({ErrorCode::H0518, ("model exceeds a limit: " + limit).str(), ("in " + file).str(), ""});
  }

  llvm::StringRef bytes;
  llvm::StringRef file;
  ErrorList &errors;
  size_t nodeCount = 0;
};

/// Reads a number of seven bits a byte, the lowest first, and moves |position| behind it.
LogicalResult Scanner::readVarint(uint64_t &position, uint64_t end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position == end)
      return damaged("a number at byte " + llvm::Twine(position) + " is cut off");
    uint8_t byte = bytes[position++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return success();
  }
  return damaged("a number before byte " + llvm::Twine(position) + " has no end");
}

/// Finds where the value of |field| ends, within |end|.
LogicalResult Scanner::skipValue(Field &field, uint64_t end) {
  uint64_t length = 0;
  switch (field.wireType) {
  case 0:
    return readVarint(field.next, end, length);
  case 1:
    length = 8;
    break;
  case 2:
    if (failed(readVarint(field.next, end, length)))
      return failure();
    field.begin = field.next;
    break;
  case 5:
    length = 4;
    break;
  default:
    return damaged("byte " + llvm::Twine(field.start) + " starts no field of a model");
  }
  if (length > bytes.size() - field.next) {
    // The outermost message that doesn't fit is the truncated one; its true length is what the user wants to know.
    return errors.add({ErrorCode::H0513,
                       ("file is truncated: " + llvm::Twine(bytes.size()) + " bytes of at least " +
                        (length > UINT64_MAX - field.next ? llvm::Twine("2^64") : llvm::Twine(field.next + length)))
                           .str(),
                       ("in " + file).str(), "copy or download the file again"});
  }
  if (length > end - field.next)
    return damaged("a field at byte " + llvm::Twine(field.start) + " is longer than what it lies in");
  field.next += length;
  return success();
}

LogicalResult Scanner::readField(uint64_t position, uint64_t end, Field &field) {
  field.start = field.next = position;
  uint64_t tag = 0;
  if (failed(readVarint(field.next, end, tag)))
    return failure();
  if (tag >> 3 == 0 || tag >> 3 >= (1u << 29))
    return damaged("byte " + llvm::Twine(position) + " starts no field of a model");
  field.number = static_cast<unsigned>(tag >> 3);
  field.wireType = tag & 7;
  field.begin = field.next;
  return skipValue(field, end);
}

/// Appends the message in |field| to |out|, scanned.
LogicalResult Scanner::descend(Message child, const Field &field, unsigned depth, std::string &out) {
  if (depth == kMaxDepth)
    return exceeds("messages nested more than " + llvm::Twine(kMaxDepth) + " deep");
  if (child == Message::Node && ++nodeCount > kMaxNodes)
    return exceeds("more than " + llvm::Twine(kMaxNodes) + " nodes");
  std::string inner;
  if (failed(scan(child, field.begin, field.next, depth + 1, inner)))
    return failure();
  appendVarint(out, field.number << 3 | 2);
  appendVarint(out, inner.size());
  out += inner;
  return success();
}

/// Adds the data in |field| to what the tensor has so far.
LogicalResult Scanner::addPayload(const Field &field, Payload &payload) {
  if (field.begin == field.next)
    return success();
  bool isFirst = payload.field == 0;
  if (!isFirst && (payload.field != field.number || field.number == kRawData))
    return damaged("the tensor at byte " + llvm::Twine(field.start) + " has its data twice");
  payload.field = field.number;
  if (isFirst && field.wireType == 2) {
    payload.offset = field.begin;
    payload.length = field.next - field.begin;
    return success();
  }
  // In pieces: several packed runs, or one number a field. Their values after one another are the packed form.
  if (payload.pieces.empty() && payload.length != 0)
    payload.pieces = bytes.substr(payload.offset, payload.length).str();
  payload.pieces += bytes.slice(field.begin, field.next);
  return success();
}

LogicalResult Scanner::scan(Message message, uint64_t begin, uint64_t end, unsigned depth, std::string &out) {
  Payload payload;
  for (uint64_t position = begin; position < end;) {
    Field field;
    if (failed(readField(position, end, field)))
      return failure();
    position = field.next;
    if (message == Message::Tensor && isPayload(field.number)) {
      if (failed(addPayload(field, payload)))
        return failure();
      continue;
    }
    Rule rule = ruleFor(message, field.number);
    if (rule.kind == Rule::Drop ||
        (rule.kind == Rule::KeepModules && !namesModules(bytes.slice(field.begin, field.next))))
      continue;
    if (rule.kind == Rule::Descend && field.wireType == 2) {
      if (failed(descend(rule.child, field, depth, out)))
        return failure();
    } else {
      out += bytes.slice(field.start, field.next);
    }
    if (out.size() > kMaxSkeleton)
      return exceeds("more than " + llvm::Twine(kMaxSkeleton >> 20) + " MiB beside the weights");
  }
  if (payload.field == 0)
    return success();
  appendVarint(out, kRawData << 3 | 2);
  appendVarint(out, sizeof(uint64_t));
  char index[sizeof(uint64_t)];
  llvm::support::endian::write64le(index, payloads.size());
  out.append(index, sizeof(index));
  payloads.push_back(std::move(payload));
  return success();
}

} // namespace

FailureOr<WireScan> scanModel(llvm::StringRef bytes, llvm::StringRef file, ErrorList &errors) {
  Scanner scanner(bytes, file, errors);
  WireScan result;
  if (failed(scanner.scan(Message::Model, 0, bytes.size(), 0, result.skeleton)))
    return failure();
  result.payloads = std::move(scanner.payloads);
  return result;
}

std::optional<uint64_t> getPayloadIndex(llvm::StringRef rawData) {
  if (rawData.size() != sizeof(uint64_t))
    return std::nullopt;
  return llvm::support::endian::read64le(rawData.data());
}

} // namespace heddle::importer
