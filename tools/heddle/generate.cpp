// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated inputs. The same seed gives the same values on every machine.

#include "tools/heddle/element.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/text.h"

namespace heddle::cli {

/// An artifact doesn't tell its vocabulary; every real one is larger than this, and speed doesn't depend on the ids.
static constexpr uint64_t idLimit = 8;

/// SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

Fill naturalFill(const heddle_tensor_info_t &input) {
  std::string name = lowered(input.name);
  auto mentions = [&](const char *word) { return name.find(word) != std::string::npos; };
  if (mentions("mask") || input.type == HEDDLE_ELEMENT_BOOL)
    return Fill::Ones;
  if (isFloat(input.type))
    return Fill::Random;
  if (mentions("type") || mentions("segment"))
    return Fill::Zeros;
  return mentions("position") ? Fill::Positions : Fill::Random;
}

std::string describeFill(heddle_element_type_t type, Fill fill) {
  switch (fill) {
  case Fill::Zeros:
    return "zeros";
  case Fill::Ones:
    return "ones";
  case Fill::Positions:
    return "positions";
  case Fill::Random:
    break;
  }
  if (isFloat(type))
    return "random in [-1, 1)";
  return type == HEDDLE_ELEMENT_BOOL ? "random" : "ids below " + std::to_string(idLimit);
}

void fillTensor(heddle_tensor_t *tensor, Fill fill, uint64_t seed) {
  heddle_element_type_t type = heddle_tensor_type(tensor);
  size_t size = heddle_element_type_size(type), rank = heddle_tensor_rank(tensor);
  char *element = static_cast<char *>(heddle_tensor_data(tensor));
  uint64_t rowLength = rank ? static_cast<uint64_t>(heddle_tensor_dims(tensor)[rank - 1]) : 1;
  for (size_t i = 0; i < heddle_tensor_element_count(tensor); ++i, element += size) {
    if (fill == Fill::Random && isFloat(type)) {
      // 24 bits, so that f32 holds the value exactly.
      storeFloat(type, element, static_cast<double>(nextRandom(seed) >> 40) * 0x1p-23 - 1);
      continue;
    }
    uint64_t value = fill == Fill::Ones        ? 1
                     : fill == Fill::Positions ? i % rowLength
                     : fill == Fill::Random    ? nextRandom(seed) % (type == HEDDLE_ELEMENT_BOOL ? 2 : idLimit)
                                               : 0;
    if (isFloat(type))
      storeFloat(type, element, static_cast<double>(value));
    else
      storeInteger(type, element, value, /*negative=*/false);
  }
}

} // namespace heddle::cli
