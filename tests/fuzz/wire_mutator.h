// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutations of protobuf messages that leave them messages: a changed byte in a length ends most of what a plain fuzzer
// tries on a model before the importer has seen a node.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::test {

/// A field of a message. The wire doesn't say what the bytes of a length-delimited field are, so whatever can be read
/// as a message is one here.
struct wire_field {
  uint32_t number = 0;
  uint8_t type = 0;               ///< wire type
  uint64_t value = 0;             ///< of varints and fixed numbers
  std::string bytes;              ///< of a length-delimited field that is no message
  std::vector<wire_field> fields; ///< of one that looks like a message
};

/// Reads |bytes| as a message; false if it is none.
bool parse_wire(std::string_view bytes, std::vector<wire_field> *out, unsigned depth = 0);

/// The message of |fields|, with lengths that are right.
std::string print_wire(const std::vector<wire_field> &fields);

/// Changes one to four places: drops, doubles and moves fields, gives one field the content of another, and sets
/// numbers to what breaks arithmetic.
void mutate_wire(std::vector<wire_field> *fields, std::minstd_rand &random);

} // namespace heddle::test
