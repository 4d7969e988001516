// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of element types, and single integers in and out of tensors of any integer type.

#include "runtime/core/element_type.h"

#include <cstring>
#include <limits>

namespace {

struct element_type_row {
  const char *name;
  size_t size;
};

/// In the order of heddle_element_type_t.
constexpr element_type_row rows[] = {{"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}, {"i8", 1},
                                     {"i16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1},   {"u16", 2},
                                     {"u32", 4}, {"u64", 8}, {"bool", 1}};
static_assert(sizeof(rows) / sizeof(rows[0]) == heddle::runtime::element_type_count, "one row a type");

bool is_known(heddle_element_type_t type) {
  return static_cast<unsigned>(type) < static_cast<unsigned>(heddle::runtime::element_type_count);
}

// Through memcpy: a caller's tensor of bytes may hold integers at any address that suits its element.
template <typename T> bool load_as(const void *data, size_t index, int64_t *out) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): i8 is a number here, never a character.
  *out = static_cast<int64_t>(value);
  return sizeof(T) < 8 || std::numeric_limits<T>::is_signed || *out >= 0;
}

template <typename T> bool store_as(void *data, size_t index, int64_t value) {
  // Wraps where it doesn't fit, which the comparison then tells.
  T narrow = static_cast<T>(value);
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &narrow, sizeof(T));
  return static_cast<int64_t>(narrow) == value && (std::numeric_limits<T>::is_signed || value >= 0);
}

} // namespace

size_t heddle_element_type_size(heddle_element_type_t type) { return is_known(type) ? rows[type].size : 0; }
const char *heddle_element_type_name(heddle_element_type_t type) {
  return is_known(type) ? rows[type].name : "unknown";
}

namespace heddle::runtime {

bool is_integer(heddle_element_type_t type) { return type >= HEDDLE_ELEMENT_I8 && type <= HEDDLE_ELEMENT_BOOL; }

heddle_element_type_t device_element_type(heddle_element_type_t type) {
  return type == HEDDLE_ELEMENT_I64 ? HEDDLE_ELEMENT_I32 : type == HEDDLE_ELEMENT_U64 ? HEDDLE_ELEMENT_U32 : type;
}

bool load_integer(heddle_element_type_t type, const void *data, size_t index, int64_t *out) {
  switch (type) {
  case HEDDLE_ELEMENT_I8:
    return load_as<int8_t>(data, index, out);
  case HEDDLE_ELEMENT_I16:
    return load_as<int16_t>(data, index, out);
  case HEDDLE_ELEMENT_I32:
    return load_as<int32_t>(data, index, out);
  case HEDDLE_ELEMENT_I64:
    return load_as<int64_t>(data, index, out);
  case HEDDLE_ELEMENT_U8:
  case HEDDLE_ELEMENT_BOOL:
    return load_as<uint8_t>(data, index, out);
  case HEDDLE_ELEMENT_U16:
    return load_as<uint16_t>(data, index, out);
  case HEDDLE_ELEMENT_U32:
    return load_as<uint32_t>(data, index, out);
  case HEDDLE_ELEMENT_U64:
    return load_as<uint64_t>(data, index, out);
  default:
    return false;
  }
}

bool store_integer(heddle_element_type_t type, void *data, size_t index, int64_t value) {
  switch (type) {
  case HEDDLE_ELEMENT_I8:
    return store_as<int8_t>(data, index, value);
  case HEDDLE_ELEMENT_I16:
    return store_as<int16_t>(data, index, value);
  case HEDDLE_ELEMENT_I32:
    return store_as<int32_t>(data, index, value);
  case HEDDLE_ELEMENT_I64:
    return store_as<int64_t>(data, index, value);
  case HEDDLE_ELEMENT_U8:
    return store_as<uint8_t>(data, index, value);
  case HEDDLE_ELEMENT_BOOL:
    return store_as<uint8_t>(data, index, value != 0);
  case HEDDLE_ELEMENT_U16:
    return store_as<uint16_t>(data, index, value);
  case HEDDLE_ELEMENT_U32:
    return store_as<uint32_t>(data, index, value);
  case HEDDLE_ELEMENT_U64:
    return store_as<uint64_t>(data, index, value);
  default:
    return false;
  }
}

} // namespace heddle::runtime
