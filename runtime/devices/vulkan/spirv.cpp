// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the instructions. Numbers are those of the SPIR-V specification.

#include "runtime/devices/vulkan/spirv.h"

#include <cstring>

namespace heddle::runtime::vulkan {

namespace {

constexpr uint32_t magic = 0x07230203;
constexpr uint32_t newest_version = 0x00010300; // Vulkan 1.1 takes SPIR-V 1.3
constexpr size_t header_words = 5;

enum opcode : uint32_t { op_entry_point = 15, op_decorate = 71 };
enum decoration : uint32_t { decoration_binding = 33, decoration_descriptor_set = 34 };
constexpr uint32_t model_compute = 5;

/// Whether the string that starts at |words| is "main": four characters and a word of zeros.
bool is_main(const uint32_t *words) { return std::memcmp(words, "main", 4) == 0 && words[1] == 0; }

} // namespace

const char *fault_of_module(const std::vector<uint32_t> &words) {
  if (words.size() < header_words || words[0] != magic)
    return "it isn't SPIR-V";
  if (words[1] > newest_version)
    return "its version is newer than SPIR-V 1.3";
  bool has_entry_point = false;
  for (size_t at = header_words; at < words.size();) {
    const uint32_t *instruction = words.data() + at;
    const uint32_t length = instruction[0] >> 16;
    if (length == 0 || length > words.size() - at)
      return "an instruction reaches past its end";
    switch (instruction[0] & 0xffff) {
    case op_entry_point:
      // Model, function, then the name.
      has_entry_point |= length >= 5 && instruction[1] == model_compute && is_main(instruction + 3);
      break;
    case op_decorate:
      if (length >= 4 && instruction[2] == decoration_binding && instruction[3] > 3)
        return "it has more than four bindings";
      if (length >= 4 && instruction[2] == decoration_descriptor_set && instruction[3] != 0)
        return "it has more than one descriptor set";
      break;
    default:
      break;
    }
    at += length;
  }
  return has_entry_point ? "" : "it has no compute entry point 'main'";
}

} // namespace heddle::runtime::vulkan
