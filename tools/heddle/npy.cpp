// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy reader and writer. The header is a Python dictionary; only the three keys that the format defines, with
// the literals that NumPy writes for them, are understood.

#include "tools/heddle/npy.h"

#include "tools/heddle/files.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace heddle::cli {

static constexpr std::string_view magic("\x93NUMPY", 6);

/// Element types by NumPy's kind and size.
static constexpr struct {
  std::string_view code;
  heddle_element_type_t type;
} typeCodes[] = {{"f4", HEDDLE_ELEMENT_F32},  {"f8", HEDDLE_ELEMENT_F64}, {"f2", HEDDLE_ELEMENT_F16},
                 {"V2", HEDDLE_ELEMENT_BF16}, {"i1", HEDDLE_ELEMENT_I8},  {"i2", HEDDLE_ELEMENT_I16},
                 {"i4", HEDDLE_ELEMENT_I32},  {"i8", HEDDLE_ELEMENT_I64}, {"u1", HEDDLE_ELEMENT_U8},
                 {"u2", HEDDLE_ELEMENT_U16},  {"u4", HEDDLE_ELEMENT_U32}, {"u8", HEDDLE_ELEMENT_U64},
                 {"b1", HEDDLE_ELEMENT_BOOL}};

namespace {

struct Header {
  heddle_element_type_t type = HEDDLE_ELEMENT_F32;
  bool swapBytes = false;
  bool fortranOrder = false;
  std::vector<int64_t> dims;
};

/// Scans the dictionary from left to right.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &name) : text(text), name(name) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      std::string_view key = quoted();
      expect(':');
      parseValue(key);
      if (!accept(',') && peek() != '}')
        failWith("malformed header");
    }
    if (seen != 7)
      failWith("header lacks descr, fortran_order or shape");
    return header;
  }

private:
  [[noreturn]] void failWith(const std::string &reason) {
    fail(Exit::File, "H0522", "'" + name + "' is no readable .npy file: " + reason);
  }

  char peek() {
    text = trim(text);
    return text.empty() ? '\0' : text.front();
  }

  bool accept(char c) {
    if (peek() != c)
      return false;
    text.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      failWith("malformed header");
  }

  std::string_view quoted() {
    char quote = peek();
    size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      failWith("malformed header");
    std::string_view content = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return content;
  }

  std::string_view word() {
    peek();
    size_t end = std::min(text.find_first_of(",)} \n"), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end);
    return content;
  }

  void parseValue(std::string_view key) {
    if (key == "descr") {
      parseType();
      seen |= 1;
    } else if (key == "fortran_order") {
      std::string_view value = word();
      if (value != "True" && value != "False")
        failWith("malformed header");
      header.fortranOrder = value == "True";
      seen |= 2;
    } else if (key == "shape") {
      parseShape();
      seen |= 4;
    } else {
      failWith("unknown key '" + std::string(key) + "' in the header");
    }
  }

  void parseType() {
    if (peek() == '[')
      failType("a record type");
    std::string_view code = quoted();
    char order = code.empty() ? '\0' : code.front();
    if (order == '<' || order == '>' || order == '|' || order == '=')
      code.remove_prefix(1);
    header.swapBytes = order == '>';
    for (const auto &known : typeCodes) {
      if (known.code == code) {
        header.type = known.type;
        return;
      }
    }
    failType("type '" + std::string(code) + "'");
  }

  [[noreturn]] void failType(const std::string &type) {
    fail(Exit::File, "H0524", "'" + name + "' holds " + type + ", which no tensor has", {},
         "convert it, for example with array.astype('float32') or array.astype('int64')");
  }

  void parseShape() {
    expect('(');
    header.dims.clear();
    while (!accept(')')) {
      std::string_view value = word();
      if (endsWith(value, "L")) // Python 2
        value.remove_suffix(1);
      std::optional<int64_t> dim = parseCount(value);
      if (!dim)
        failWith("malformed shape");
      header.dims.push_back(*dim);
      if (!accept(',') && peek() != ')')
        failWith("malformed shape");
    }
    if (header.dims.size() > HEDDLE_MAX_RANK)
      failWith("more than " + std::to_string(HEDDLE_MAX_RANK) + " dimensions");
  }

  std::string_view text;
  const std::string &name;
  Header header;
  unsigned seen = 0; ///< a bit a key
};

} // namespace

/// Copies column-major elements to row-major order.
static void copyFromFortran(const char *source, char *target, const std::vector<int64_t> &dims, size_t elementSize) {
  size_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<size_t>(dim);
  std::vector<int64_t> index(dims.size());
  for (size_t i = 0; i < count; ++i, target += elementSize) {
    size_t offset = 0;
    for (size_t axis = dims.size(); axis-- > 0;)
      offset = offset * static_cast<size_t>(dims[axis]) + static_cast<size_t>(index[axis]);
    std::memcpy(target, source + offset * elementSize, elementSize);
    for (size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];)
      index[axis] = 0;
  }
}

static void normalise(heddle_tensor_t *tensor, bool swapBytes) {
  char *data = static_cast<char *>(heddle_tensor_data(tensor));
  size_t length = heddle_tensor_byte_length(tensor);
  size_t elementSize = heddle_element_type_size(heddle_tensor_type(tensor));
  if (swapBytes)
    for (size_t i = 0; i < length; i += elementSize)
      std::reverse(data + i, data + i + elementSize);
  if (heddle_tensor_type(tensor) == HEDDLE_ELEMENT_BOOL)
    for (size_t i = 0; i < length; ++i)
      data[i] = data[i] != 0;
}

bool looksLikeNpy(std::string_view bytes) { return startsWith(bytes, magic); }

/// Splits the header's text off |bytes|, which are left at the data.
static std::string_view takeHeader(std::string_view &bytes, const std::string &name) {
  auto failWith = [&](const std::string &reason) {
    fail(Exit::File, "H0522", "'" + name + "' is no readable .npy file: " + reason);
  };
  if (!looksLikeNpy(bytes))
    failWith(bytes.empty() ? "it is empty" : "it doesn't start with NumPy's magic bytes");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  if (bytes.size() < 8)
    failWith("truncated: the header is cut off");
  size_t major = byte(6);
  if (major < 1 || major > 3)
    failWith("format version " + std::to_string(major) + ", expects 1 to 3");
  size_t lengthBytes = major == 1 ? 2 : 4;
  size_t length = 0;
  if (bytes.size() < 8 + lengthBytes)
    failWith("truncated: the header is cut off");
  for (size_t i = lengthBytes; i-- > 0;)
    length = length << 8 | byte(8 + i);
  bytes.remove_prefix(8 + lengthBytes);
  if (length > bytes.size())
    failWith("truncated: the header is cut off");
  std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return header;
}

TensorPtr readNpy(std::string_view bytes, const std::string &name) {
  Header header = HeaderParser(takeHeader(bytes, name), name).parse();
  size_t elementSize = heddle_element_type_size(header.type);
  // Checked before anything is allocated: a damaged shape may ask for any size.
  uint64_t needed = elementSize;
  for (int64_t dim : header.dims)
    if (__builtin_mul_overflow(needed, static_cast<uint64_t>(dim), &needed) || needed > INT64_MAX)
      fail(Exit::File, "H0522", "'" + name + "' is no readable .npy file: its shape overflows");
  if (needed > bytes.size())
    fail(Exit::File, "H0522",
         "'" + name + "' is truncated: " + std::to_string(bytes.size()) + " of " + std::to_string(needed) +
             " bytes of data",
         {}, "copy or write the file again");
  TensorPtr tensor = createTensor(header.type, header.dims);
  char *data = static_cast<char *>(heddle_tensor_data(tensor.get()));
  if (header.fortranOrder)
    copyFromFortran(bytes.data(), data, header.dims, elementSize);
  else
    std::copy_n(bytes.data(), needed, data);
  normalise(tensor.get(), header.swapBytes);
  return tensor;
}

std::string npyHeader(const heddle_tensor_t *tensor) {
  heddle_element_type_t type = heddle_tensor_type(tensor);
  std::string_view code;
  for (const auto &known : typeCodes)
    if (known.type == type)
      code = known.code;
  std::string shape;
  for (int64_t dim : dimsOf(tensor))
    shape += std::to_string(dim) + ", ";
  // One element is "(3,)", several are "(3, 4)".
  if (heddle_tensor_rank(tensor) != 0)
    shape.resize(shape.size() - (heddle_tensor_rank(tensor) == 1 ? 1 : 2));
  std::string dictionary = "{'descr': '" + std::string(heddle_element_type_size(type) == 1 ? "|" : "<") +
                           std::string(code) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The data start at a multiple of 64, which lets NumPy map the file.
  size_t length = (10 + dictionary.size() + 1 + 63) / 64 * 64 - 10;
  dictionary.append(length - dictionary.size() - 1, ' ');
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return header + dictionary + "\n";
}

void writeNpy(const std::string &path, const heddle_tensor_t *tensor) {
  OutputFile file(path);
  file.write(npyHeader(tensor));
  file.write({static_cast<const char *>(heddle_tensor_data(tensor)), heddle_tensor_byte_length(tensor)});
  file.commit();
}

} // namespace heddle::cli
