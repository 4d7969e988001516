// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the instructions, which come in an order that the specification gives: decorations before types and
// constants, these before variables and functions. Numbers are those of the specification.

#include "runtime/devices/vulkan/spirv.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/core/status.h"
#include "runtime/devices/vulkan/features.h"

namespace heddle::runtime::vulkan {

namespace {

constexpr uint32_t magic = 0x07230203;
constexpr uint32_t newest_version = 0x00010300; // Vulkan 1.1 takes SPIR-V 1.3
constexpr size_t header_words = 5;

enum opcode : uint32_t {
  op_entry_point = 15,
  op_execution_mode = 16,
  op_capability = 17,
  op_type_bool = 20,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_matrix = 24,
  op_type_array = 28,
  op_type_runtime_array = 29,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant = 43,
  op_constant_composite = 44,
  op_spec_constant = 50,
  op_spec_constant_composite = 51,
  op_spec_constant_op = 52,
  op_variable = 59,
  op_decorate = 71,
  op_member_decorate = 72,
  op_decoration_group = 73,
  op_composite_extract = 81,
  op_bitcast = 124,
  op_add = 128,
  op_subtract = 130,
  op_multiply = 132,
  op_divide_unsigned = 134,
  op_divide_signed = 135,
};
enum decoration : uint32_t {
  decoration_spec_id = 1,
  decoration_array_stride = 6,
  decoration_built_in = 11,
  decoration_binding = 33,
  decoration_descriptor_set = 34,
  decoration_offset = 35
};
enum storage : uint32_t {
  storage_input = 1,
  storage_workgroup = 4,
  storage_private = 6,
  storage_function = 7,
  storage_push_constant = 9,
  storage_buffer = 12
};
constexpr uint32_t model_compute = 5;
constexpr uint32_t mode_local_size = 17;
constexpr uint32_t built_in_workgroup_size = 25;

/// What a module may use, and one of which features it needs then; 0: Vulkan 1.1 has it.
struct capability {
  uint32_t number;
  uint32_t features;
};
constexpr capability known_capabilities[] = {
    {0, 0},                                                 // Matrix
    {1, 0},                                                 // Shader
    {9, feature_float16},                                   // Float16
    {39, feature_int8},                                     // Int8
    {61, 0},                                                // GroupNonUniform
    {63, feature_subgroup_arithmetic},                      // GroupNonUniformArithmetic
    {65, feature_subgroup_shuffle | feature_subgroup_of_8}, // GroupNonUniformShuffle
    {4433, feature_storage_16bit},                          // StorageBuffer16BitAccess
    {4448, feature_storage_8bit},                           // StorageBuffer8BitAccess
    {6018, feature_dot | feature_dot_accelerated},          // DotProductInput4x8BitPacked
    {6019, feature_dot | feature_dot_accelerated},          // DotProduct
};

/// Sizes that nobody knows, or that don't fit, stay so in sums and products.
constexpr uint64_t unknown = UINT64_MAX;
uint64_t sum_of(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return a == unknown || b == unknown || __builtin_add_overflow(a, b, &sum) ? unknown : sum;
}
uint64_t product_of(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return a == unknown || b == unknown || __builtin_mul_overflow(a, b, &product) ? unknown : product;
}

template <typename Map> auto value_or(const Map &map, uint32_t key, typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

/// Whether the string that starts at |words| is "main": four characters and a word of zeros.
bool is_main(const uint32_t *words) { return std::memcmp(words, "main", 4) == 0 && words[1] == 0; }

/// Gathers what the checks ask for. Operands of an instruction are |x|, |count| of them; the first is the result, or
/// behind the type of one that has a value.
class module_reader {
public:
  explicit module_reader(const std::vector<uint32_t> &constants) : constants_(constants) {}

  /// Returns a fault that the module has by itself, "" if none.
  const char *read(const std::vector<uint32_t> &words);

  bool has_entry_point = false;
  std::vector<uint32_t> capabilities;
  uint64_t push_constant_bytes = 0;
  uint64_t shared_bytes = 0;
  /// The local size, unknown if the module states none.
  std::array<uint64_t, 3> workgroup() const;

private:
  struct type {
    uint64_t bytes = unknown;        ///< without padding
    uint64_t placed_bytes = unknown; ///< up to the last byte, by strides and offsets
    uint32_t pointee = 0;
    bool is_struct = false;
  };

  const char *read(uint32_t op, const uint32_t *x, uint32_t count);
  void decorate(uint32_t id, uint32_t decoration, uint32_t value);
  void read_type(uint32_t op, const uint32_t *x, uint32_t count);
  void read_struct(const uint32_t *x, uint32_t count);
  void read_constant(uint32_t op, const uint32_t *x, uint32_t count);
  uint64_t operate(uint32_t op, const uint32_t *x, uint32_t count) const;
  const char *read_variable(const uint32_t *x);
  uint64_t value(uint32_t id) const { return value_or(values_, id, unknown); }

  const std::vector<uint32_t> &constants_;
  std::unordered_map<uint32_t, uint32_t> spec_ids_, strides_, bindings_, sets_;
  std::unordered_map<uint64_t, uint32_t> offsets_; ///< by struct and member
  std::unordered_map<uint32_t, type> types_;
  std::unordered_map<uint32_t, uint64_t> values_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> composites_;
  std::array<uint64_t, 3> local_size_ = {unknown, unknown, unknown};
  uint32_t workgroup_id_ = 0; ///< the composite that replaces it; 0: none
};

/// Operands of |op| that are looked at without asking.
uint32_t least_operands(uint32_t op) {
  switch (op) {
  case op_capability:
  case op_type_bool:
  case op_type_struct:
    return 1;
  case op_type_int:
  case op_type_float:
  case op_type_runtime_array:
  case op_decorate:
  case op_execution_mode:
  case op_constant_composite:
  case op_spec_constant_composite:
    return 2;
  case op_type_vector:
  case op_type_matrix:
  case op_type_array:
  case op_type_pointer:
  case op_constant:
  case op_spec_constant:
  case op_spec_constant_op:
  case op_variable:
  case op_member_decorate:
    return 3;
  case op_entry_point:
    return 4;
  default:
    return 0;
  }
}

const char *module_reader::read(const std::vector<uint32_t> &words) {
  if (words.size() < header_words || words[0] != magic)
    return "it isn't SPIR-V";
  if (words[1] > newest_version)
    return "its version is newer than SPIR-V 1.3";
  for (size_t at = header_words; at < words.size();) {
    const uint32_t op = words[at] & 0xffff;
    const uint32_t length = words[at] >> 16;
    if (length == 0 || length > words.size() - at)
      return "an instruction reaches past its end";
    if (length - 1 < least_operands(op))
      return "an instruction lacks operands";
    if (const char *fault = read(op, words.data() + at + 1, length - 1); *fault)
      return fault;
    at += length;
  }
  return has_entry_point ? "" : "it has no compute entry point 'main'";
}

const char *module_reader::read(uint32_t op, const uint32_t *x, uint32_t count) {
  switch (op) {
  case op_capability:
    capabilities.push_back(x[0]);
    return "";
  case op_entry_point:
    // Model, function, then the name. A second one would be taken for the first by no driver, but for what?
    if (has_entry_point || x[0] != model_compute || !is_main(x + 2))
      return "it has another entry point than a compute shader 'main'";
    has_entry_point = true;
    return "";
  case op_execution_mode:
    if (x[1] == mode_local_size && count >= 5)
      local_size_ = {x[2], x[3], x[4]};
    return "";
  case op_decorate:
  case op_member_decorate:
    if (!types_.empty())
      return "its decorations come too late";
    if (op == op_decorate && count >= 3)
      decorate(x[0], x[1], x[2]);
    else if (op == op_member_decorate && count >= 4 && x[2] == decoration_offset)
      offsets_[uint64_t(x[0]) << 32 | x[1]] = x[3];
    return "";
  case op_decoration_group:
    return "its decorations are in groups";
  case op_variable:
    return read_variable(x);
  default:
    read_type(op, x, count);
    read_constant(op, x, count);
    return "";
  }
}

void module_reader::decorate(uint32_t id, uint32_t decoration, uint32_t value) {
  if (decoration == decoration_spec_id)
    spec_ids_[id] = value;
  else if (decoration == decoration_array_stride)
    strides_[id] = value;
  else if (decoration == decoration_binding)
    bindings_[id] = value;
  else if (decoration == decoration_descriptor_set)
    sets_[id] = value;
  else if (decoration == decoration_built_in && value == built_in_workgroup_size)
    workgroup_id_ = id;
}

void module_reader::read_type(uint32_t op, const uint32_t *x, uint32_t count) {
  auto plain = [&](uint64_t bytes) { types_[x[0]] = {bytes, bytes, 0, false}; };
  switch (op) {
  case op_type_bool:
    return plain(4);
  case op_type_int:
  case op_type_float:
    return plain(x[1] / 8);
  case op_type_vector:
  case op_type_matrix:
    return plain(product_of(types_[x[1]].bytes, x[2]));
  case op_type_array: {
    const type element = types_[x[1]];
    const uint64_t length = value(x[2]);
    const auto stride = strides_.find(x[0]);
    types_[x[0]] = {product_of(element.bytes, length),
                    product_of(stride == strides_.end() ? unknown : stride->second, length), 0, false};
    return;
  }
  case op_type_runtime_array:
    return plain(unknown);
  case op_type_struct:
    return read_struct(x, count);
  case op_type_pointer:
    types_[x[0]].pointee = x[2];
    return;
  default:
    return;
  }
}

void module_reader::read_struct(const uint32_t *x, uint32_t count) {
  type made = {0, 0, 0, true};
  for (uint32_t i = 1; i < count; ++i) {
    const type member = types_[x[i]];
    made.bytes = sum_of(made.bytes, member.bytes);
    const auto offset = offsets_.find(uint64_t(x[0]) << 32 | (i - 1));
    made.placed_bytes =
        std::max(made.placed_bytes, sum_of(offset == offsets_.end() ? unknown : offset->second, member.placed_bytes));
  }
  types_[x[0]] = made;
}

void module_reader::read_constant(uint32_t op, const uint32_t *x, uint32_t count) {
  if (op == op_constant) {
    values_[x[1]] = x[2];
  } else if (op == op_spec_constant) {
    const uint32_t number = value_or(spec_ids_, x[1], UINT32_MAX);
    values_[x[1]] = number < constants_.size() ? constants_[number] : x[2];
  } else if (op == op_constant_composite || op == op_spec_constant_composite) {
    composites_[x[1]] = {x + 2, x + count};
  } else if (op == op_spec_constant_op) {
    // Comparisons and the like are in no array's length.
    values_[x[1]] = operate(x[2], x + 3, count - 3);
  }
}

uint64_t module_reader::operate(uint32_t op, const uint32_t *x, uint32_t count) const {
  if (op == op_bitcast && count == 1)
    return value(x[0]);
  if (count != 2)
    return unknown;
  if (op == op_composite_extract) {
    const auto found = composites_.find(x[0]);
    return found == composites_.end() || x[1] >= found->second.size() ? unknown : value(found->second[x[1]]);
  }
  const uint64_t a = value(x[0]);
  const uint64_t b = value(x[1]);
  // Drivers compute in 32 bits; what doesn't fit them isn't known.
  auto in_32_bits = [](uint64_t result) { return result > UINT32_MAX ? unknown : result; };
  switch (op) {
  case op_add:
    return in_32_bits(sum_of(a, b));
  case op_subtract:
    return a == unknown || b > a ? unknown : a - b;
  case op_multiply:
    return in_32_bits(product_of(a, b));
  case op_divide_unsigned:
  case op_divide_signed:
    return a == unknown || b == unknown || b == 0 ? unknown : a / b;
  default:
    return unknown;
  }
}

/// The operands: type, result, storage class.
const char *module_reader::read_variable(const uint32_t *x) {
  const type &pointee = types_[types_[x[0]].pointee];
  switch (x[2]) {
  case storage_input:
  case storage_private:
  case storage_function:
    return "";
  case storage_workgroup:
    shared_bytes = sum_of(shared_bytes, pointee.bytes);
    return "";
  case storage_push_constant:
    push_constant_bytes = sum_of(push_constant_bytes, pointee.placed_bytes);
    return "";
  case storage_buffer:
    if (!pointee.is_struct)
      return "it has an array of bindings";
    if (value_or(bindings_, x[1], UINT32_MAX) > 3)
      return "it has more than four bindings";
    return value_or(sets_, x[1], UINT32_MAX) == 0 ? "" : "it has more than one descriptor set";
  default:
    return "it has other data than storage buffers and push constants";
  }
}

std::array<uint64_t, 3> module_reader::workgroup() const {
  const auto composite = composites_.find(workgroup_id_);
  if (composite == composites_.end() || composite->second.size() != 3)
    return local_size_;
  return {value(composite->second[0]), value(composite->second[1]), value(composite->second[2])};
}

} // namespace

std::string fault_of_module(const std::vector<uint32_t> &words, const module_claims &claims) {
  module_reader module(claims.constants);
  if (const char *fault = module.read(words); *fault)
    return fault;
  for (uint32_t number : module.capabilities) {
    const auto *known = std::find_if(std::begin(known_capabilities), std::end(known_capabilities),
                                     [&](const capability &other) { return other.number == number; });
    if (known == std::end(known_capabilities) || (known->features != 0 && (known->features & claims.features) == 0))
      return format("it needs capability %u of SPIR-V, which isn't among its features", number);
  }
  if (module.push_constant_bytes > claims.push_constant_words * 4)
    return format("it reads more push constants than the %llu words that it gets",
                  static_cast<unsigned long long>(claims.push_constant_words));
  if (module.shared_bytes > claims.shared_bytes)
    return format("it takes more shared memory than the %llu bytes that are stated",
                  static_cast<unsigned long long>(claims.shared_bytes));
  const std::array<uint64_t, 3> workgroup = module.workgroup();
  return std::equal(workgroup.begin(), workgroup.end(), claims.workgroup.begin())
             ? ""
             : "it has another workgroup size than is stated";
}

std::optional<uint64_t> shared_bytes_of_module(const std::vector<uint32_t> &words,
                                               const std::vector<uint32_t> &constants) {
  module_reader module(constants);
  if (*module.read(words) || module.shared_bytes == unknown)
    return std::nullopt;
  return module.shared_bytes;
}

} // namespace heddle::runtime::vulkan
