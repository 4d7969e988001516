// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wire format is that of protobuf's "Encoding" page; groups don't occur in ONNX files.

#include "tests/fuzz/wire_mutator.h"

#include <utility>

namespace heddle::test {

namespace {

/// Deeper ones stay bytes.
constexpr unsigned max_depth = 24;

bool read_varint(std::string_view *bytes, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *out |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

void write_varint(uint64_t value, std::string *out) {
  for (; value >= 0x80; value >>= 7)
    out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

bool read_fixed(std::string_view *bytes, size_t length, uint64_t *out) {
  if (bytes->size() < length)
    return false;
  *out = 0;
  for (size_t i = length; i-- > 0;)
    *out = *out << 8 | static_cast<unsigned char>((*bytes)[i]);
  bytes->remove_prefix(length);
  return true;
}

bool read_field(std::string_view *bytes, wire_field *field, unsigned depth) {
  uint64_t tag = 0;
  if (!read_varint(bytes, &tag) || tag >> 3 == 0 || tag >> 3 > 1000)
    return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = tag & 7;
  switch (field->type) {
  case 0:
    return read_varint(bytes, &field->value);
  case 1:
    return read_fixed(bytes, 8, &field->value);
  case 5:
    return read_fixed(bytes, 4, &field->value);
  case 2:
    break;
  default:
    return false;
  }
  uint64_t length = 0;
  if (!read_varint(bytes, &length) || length > bytes->size())
    return false;
  const std::string_view content = bytes->substr(0, length);
  bytes->remove_prefix(length);
  if (content.empty() || depth == max_depth || !parse_wire(content, &field->fields, depth + 1)) {
    field->fields.clear();
    field->bytes = content;
  }
  return true;
}

/// A field and the message that it lies in.
struct place {
  std::vector<wire_field> *message;
  size_t index;
  wire_field &field() const { return (*message)[index]; }
};

void collect(std::vector<wire_field> *message, std::vector<place> *out) {
  for (size_t i = 0; i < message->size(); ++i) {
    out->push_back({message, i});
    collect(&(*message)[i].fields, out);
  }
}

uint64_t breaking_number(std::minstd_rand &random) {
  static const uint64_t numbers[] = {0,           1,          2,          7,
                                     8,           16,         63,         64,
                                     255,         1u << 16,   INT32_MAX,  uint64_t(1) << 31,
                                     UINT32_MAX,  1ull << 32, 1ull << 40, 1ull << 62,
                                     INT64_MAX,   1ull << 63, UINT64_MAX, uint64_t(-2),
                                     uint64_t(-8)};
  return numbers[random() % (sizeof(numbers) / sizeof(numbers[0]))];
}

/// Changes the bytes of a name, a number's raw data, or whatever they are.
void mutate_bytes(std::string *bytes, std::minstd_rand &random) {
  switch (bytes->empty() ? 1 : random() % 4) {
  case 0:
    bytes->resize(random() % bytes->size());
    break;
  case 1:
    bytes->insert(bytes->empty() ? 0 : random() % bytes->size(), 1 + random() % 8, static_cast<char>(random() % 256));
    break;
  case 2:
    (*bytes)[random() % bytes->size()] ^= static_cast<char>(1u << random() % 8);
    break;
  case 3: {
    // A whole number somewhere in it, as raw data hold them.
    const uint64_t number = breaking_number(random);
    const size_t at = random() % bytes->size();
    for (size_t i = 0; i < 8 && at + i < bytes->size(); ++i)
      (*bytes)[at + i] = static_cast<char>(number >> (8 * i));
    break;
  }
  }
}

void mutate_content(wire_field *field, std::minstd_rand &random) {
  if (field->type != 2)
    field->value = random() % 2 ? breaking_number(random) : field->value + (random() % 2 ? 1 : uint64_t(-1));
  else if (field->fields.empty())
    mutate_bytes(&field->bytes, random);
  else if (random() % 8 == 0)
    field->fields.clear();
}

void mutate_place(const place &place, const std::vector<struct place> &all, std::minstd_rand &random) {
  wire_field &field = place.field();
  const wire_field other = all[random() % all.size()].field();
  switch (random() % 8) {
  case 0:
    place.message->erase(place.message->begin() + static_cast<ptrdiff_t>(place.index));
    break;
  case 1:
    place.message->insert(place.message->begin() + static_cast<ptrdiff_t>(place.index), wire_field(field));
    break;
  case 2:
    std::swap(field, (*place.message)[random() % place.message->size()]);
    break;
  case 3:
    // Another field's content under the old number: names meet names, attributes attributes, often enough.
    if (other.type == field.type)
      field = wire_field{field.number, other.type, other.value, other.bytes, other.fields};
    break;
  case 4:
    field.number = other.number;
    break;
  default:
    mutate_content(&field, random);
  }
}

} // namespace

bool parse_wire(std::string_view bytes, std::vector<wire_field> *out, unsigned depth) {
  while (!bytes.empty()) {
    wire_field field;
    if (!read_field(&bytes, &field, depth))
      return false;
    out->push_back(std::move(field));
  }
  return true;
}

std::string print_wire(const std::vector<wire_field> &fields) {
  std::string out;
  for (const wire_field &field : fields) {
    write_varint(uint64_t(field.number) << 3 | field.type, &out);
    if (field.type == 0) {
      write_varint(field.value, &out);
    } else if (field.type != 2) {
      for (unsigned i = 0; i < (field.type == 1 ? 8u : 4u); ++i)
        out.push_back(static_cast<char>(field.value >> (8 * i)));
    } else {
      const std::string content = field.fields.empty() ? field.bytes : print_wire(field.fields);
      write_varint(content.size(), &out);
      out += content;
    }
  }
  return out;
}

void mutate_wire(std::vector<wire_field> *fields, std::minstd_rand &random) {
  for (uint64_t rounds = 1 + random() % 4; rounds > 0; --rounds) {
    // Anew each time: a mutation moves what the places point to.
    std::vector<place> places;
    collect(fields, &places);
    if (places.empty())
      return;
    mutate_place(places[random() % places.size()], places, random);
  }
}

} // namespace heddle::test
