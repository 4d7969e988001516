// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing .npy files, version 1.0 and 2.0 of their format.

#include "tests/compiler/reference/npy.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// What follows |key| in the header, a Python dictionary as text.
StringRef findEntry(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  return at == StringRef::npos ? StringRef() : header.drop_front(at + key.size() + 3).ltrim();
}

// The element type of a descr such as '<f4'; null for one that isn't known.
Type getElementType(StringRef descr, MLIRContext *context) {
  StringRef name = llvm::StringSwitch<StringRef>(descr)
                       .Case("|b1", "i1")
                       .Case("|i1", "i8")
                       .Case("|u1", "ui8")
                       .Case("<i2", "i16")
                       .Case("<u2", "ui16")
                       .Case("<i4", "i32")
                       .Case("<u4", "ui32")
                       .Case("<i8", "i64")
                       .Case("<u8", "ui64")
                       .Case("<f2", "f16")
                       .Case("<f4", "f32")
                       .Case("<f8", "f64")
                       .Default("");
  return name.empty() ? Type() : parseType(name, context);
}

} // namespace

llvm::Expected<HostTensor> readNpy(const std::string &path, MLIRContext *context) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return makeError("cannot read '" + path + "': " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12)
    return makeError("'" + path + "' is no .npy file");
  auto byteAt = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])); };
  bool isFirstVersion = byteAt(6) == 1;
  size_t start = isFirstVersion ? 10 : 12;
  size_t length = byteAt(8) | byteAt(9) << 8 | (isFirstVersion ? 0 : byteAt(10) << 16 | byteAt(11) << 24);
  StringRef header = bytes.substr(start, length);

  Type type =
      getElementType(findEntry(header, "descr").drop_front().take_until([](char c) { return c == '\''; }), context);
  if (!type || !findEntry(header, "fortran_order").starts_with("False"))
    return makeError("'" + path + "' has an element type or order that this test doesn't read");
  Dims dims;
  StringRef shape = findEntry(header, "shape").drop_front().take_until([](char c) { return c == ')'; });
  while (!shape.empty()) {
    auto [extent, rest] = shape.split(',');
    int64_t dim;
    if (extent.trim().getAsInteger(10, dim))
      return makeError("'" + path + "' has no shape");
    dims.push_back(dim);
    shape = rest.trim();
  }
  StringRef data = bytes.drop_front(start + length);
  return HostTensor::fromBytes(type, dims, ArrayRef(data.data(), data.size()));
}

llvm::Error writeNpy(const std::string &path, const HostTensor &tensor) {
  std::string shape;
  for (int64_t dim : tensor.getDims())
    shape += std::to_string(dim) + ",";
  bool isUnsigned = !tensor.isFloat() && tensor.getIntFormat().isUnsigned && tensor.getIntFormat().width == 64;
  std::string header = std::string("{'descr': '") +
                       (tensor.isFloat() ? "<f8"
                        : isUnsigned     ? "<u8"
                                         : "<i8") +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data starts at a multiple of 64 bytes, the header ends in a line break.
  header.resize((10 + header.size()) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return makeError("cannot write '" + path + "': " + error.message());
  file << "\x93NUMPY" << '\1' << '\0' << char(header.size() & 255) << char(header.size() >> 8) << header;
  tensor.visit([&](auto elements) {
    file.write(reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(elements[0]));
  });
  return llvm::Error::success();
}

} // namespace heddle::reference
