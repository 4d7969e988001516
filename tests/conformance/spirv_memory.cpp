// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/spirv_memory.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace heddle::conformance {
namespace {

/// Numbers of SPIR-V's unified specification.
enum opcode : uint16_t {
  op_type_bool = 20,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_matrix = 24,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant = 43,
  op_spec_constant = 50,
  op_spec_constant_composite = 51,
  op_spec_constant_op = 52,
  op_variable = 59,
  op_decorate = 71,
  op_composite_extract = 81,
  op_bitcast = 124,
  op_add = 128,
  op_subtract = 130,
  op_multiply = 132,
  op_divide_unsigned = 134,
  op_divide_signed = 135,
};
constexpr uint32_t kSpecId = 1, kWorkgroupStorage = 4, kHeaderWords = 5;

class memory_counter {
public:
  explicit memory_counter(const std::vector<uint32_t> &constants) : constants_(constants) {}

  std::optional<uint64_t> count(const std::vector<uint32_t> &words) {
    for (size_t at = kHeaderWords; at < words.size(); at += words[at] >> 16)
      read(static_cast<uint16_t>(words[at] & 0xffff), &words[at + 1], (words[at] >> 16) - 1);
    return known_ ? std::optional<uint64_t>(total_) : std::nullopt;
  }

private:
  /// One instruction with |count| operands |x|.
  void read(uint16_t op, const uint32_t *x, uint32_t count) {
    switch (op) {
    case op_decorate:
      if (x[1] == kSpecId)
        spec_ids_[x[0]] = x[2];
      break;
    case op_type_bool:
      bytes_[x[0]] = 4;
      break;
    case op_type_int:
    case op_type_float:
      bytes_[x[0]] = x[1] / 8;
      break;
    case op_type_vector:
    case op_type_matrix:
      bytes_[x[0]] = bytes_[x[1]] * x[2];
      break;
    case op_type_array:
      known_ &= values_.count(x[2]) != 0;
      bytes_[x[0]] = bytes_[x[1]] * values_[x[2]];
      break;
    case op_type_struct:
      for (uint32_t i = 1; i < count; ++i)
        bytes_[x[0]] += bytes_[x[i]];
      break;
    case op_type_pointer:
      pointees_[x[0]] = x[2];
      break;
    case op_variable:
      if (x[2] == kWorkgroupStorage)
        total_ += bytes_[pointees_[x[0]]];
      break;
    default:
      read_constant(op, x, count);
    }
  }

  void read_constant(uint16_t op, const uint32_t *x, uint32_t count) {
    if (op == op_constant)
      values_[x[1]] = x[2];
    if (op == op_spec_constant) {
      uint32_t number = spec_ids_[x[1]];
      values_[x[1]] = number < constants_.size() ? constants_[number] : x[2];
    }
    if (op == op_spec_constant_composite)
      composites_[x[1]] = {x + 2, x + count};
    // Comparisons and the like are in no array's length.
    if (op == op_spec_constant_op)
      if (std::optional<uint64_t> value = operate(x[2], x + 3))
        values_[x[1]] = *value;
  }

  std::optional<uint64_t> operate(uint32_t op, const uint32_t *x) {
    switch (op) {
    case op_composite_extract:
      return values_[composites_[x[0]][x[1]]];
    case op_bitcast:
      return values_[x[0]];
    case op_add:
      return values_[x[0]] + values_[x[1]];
    case op_subtract:
      return values_[x[0]] - values_[x[1]];
    case op_multiply:
      return values_[x[0]] * values_[x[1]];
    case op_divide_unsigned:
    case op_divide_signed:
      return values_[x[1]] ? values_[x[0]] / values_[x[1]] : uint64_t(0);
    default:
      return std::nullopt;
    }
  }

  const std::vector<uint32_t> &constants_;
  std::map<uint32_t, uint32_t> spec_ids_, pointees_;
  std::map<uint32_t, uint64_t> bytes_, values_;
  std::map<uint32_t, std::vector<uint32_t>> composites_;
  uint64_t total_ = 0;
  bool known_ = true;
};

} // namespace

std::optional<uint64_t> count_shared_bytes(const std::vector<uint32_t> &words, const std::vector<uint32_t> &constants) {
  return memory_counter(constants).count(words);
}

void expect_stated_memory(const KernelImage &image) {
  for (const Shader &shader : image.shaders)
    for (const ShaderVariant &variant : shader.variants) {
      const auto &module = image.modules[variant.module];
      std::vector<uint32_t> words(module.length / sizeof(uint32_t));
      std::memcpy(words.data(), image.bytes.data() + module.offset, module.length);
      std::vector<uint32_t> constants(variant.workgroup.begin(), variant.workgroup.end());
      constants.insert(constants.end(), variant.constants.begin(), variant.constants.end());
      EXPECT_EQ(count_shared_bytes(words, constants), std::optional<uint64_t>(variant.sharedBytes));
    }
}

} // namespace heddle::conformance
