// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of a target that holds shaders. Whether a module is SPIR-V and agrees with what is written here, the device
// sees when it loads it: this only makes every number safe to use.

#include <algorithm>
#include <cstring>

#include <heddle/artifact_format.h>

#include "runtime/core/checked_math.h"
#include "runtime/core/table_reader.h"

namespace heddle::runtime {

namespace {

/// Words of push constants in front of the operands': the first workgroup along each axis.
constexpr uint64_t first_workgroup_words = 3;

bool read_triple(const flatbuffers::Vector<uint32_t> *numbers, std::array<uint32_t, 3> *out) {
  if (count(numbers) != out->size())
    return false;
  for (size_t i = 0; i < out->size(); ++i)
    (*out)[i] = numbers->Get(i);
  return true;
}

bool are_within(const std::array<uint32_t, 3> &numbers, uint32_t least, uint32_t most) {
  for (uint32_t number : numbers)
    if (number < least || number > most)
      return false;
  return true;
}

/// Whether each device of Vulkan 1.1 can run |variant| for any dispatch.
bool runs_anywhere(const shader_variant_table &variant) {
  // No axis is above HEDDLE_MAX_WORKGROUP, 2^16: the product fits.
  const uint64_t invocations = uint64_t(variant.workgroup[0]) * variant.workgroup[1] * variant.workgroup[2];
  return variant.features.empty() && invocations <= HEDDLE_BASE_INVOCATIONS &&
         variant.workgroup[2] <= HEDDLE_BASE_WORKGROUP_Z && variant.shared_bytes <= HEDDLE_BASE_SHARED_BYTES &&
         are_within(variant.most, 0, 0);
}

} // namespace

bool is_shader_target(const char *name) {
  constexpr char kind[] = "vulkan";
  constexpr size_t length = sizeof(kind) - 1;
  return std::strncmp(name, kind, length) == 0 && (name[length] == '\0' || name[length] == ':');
}

heddle_status_t table_reader::read_modules(const fb::Target &target, target_table *out) {
  if (!is_aligned(target.modules(), alignof(fb::ShaderModule)))
    return damaged(format("the modules of target '%s' aren't aligned", out->name));
  HEDDLE_RETURN_IF_ERROR(charge(count(target.modules()), sizeof(shader_module_table)));
  const uint64_t section_bytes = tables_->sections[out->section].length;
  for (size_t i = 0; i < count(target.modules()); ++i) {
    const fb::ShaderModule &module = *target.modules()->Get(i);
    // Drivers take whole words.
    if (module.offset() % 4 != 0 || module.length() % 4 != 0 || module.length() == 0 ||
        !range_fits(module.offset(), module.length(), section_bytes))
      return damaged(format("module %zu of target '%s' isn't aligned, is empty or lies outside section %u", i,
                            out->name, out->section));
    if (module.length() > HEDDLE_MAX_MODULE_BYTES)
      return damaged(format("module %zu of target '%s' has %llu bytes", i, out->name,
                            static_cast<unsigned long long>(module.length())));
    out->modules.push_back({module.offset(), module.length()});
  }
  return nullptr;
}

heddle_status_t table_reader::read_variant(const fb::ShaderVariant &variant, const char *kernel,
                                           const target_table &target, shader_variant_table *out) {
  HEDDLE_RETURN_IF_ERROR(charge(1, sizeof(*out)));
  HEDDLE_RETURN_IF_ERROR(read_strings(variant.features(), &out->features));
  out->module = variant.module_();
  if (out->module >= target.modules.size())
    return damaged(
        format("a shader of kernel '%s' names module %u of %zu", kernel, out->module, target.modules.size()));
  if (!read_triple(variant.workgroup(), &out->workgroup) || !are_within(out->workgroup, 1, HEDDLE_MAX_WORKGROUP))
    return damaged(format("a shader of kernel '%s' has no workgroup size", kernel));
  if (!read_triple(variant.tile(), &out->tile) || !are_within(out->tile, 1, UINT32_MAX))
    return damaged(format("a shader of kernel '%s' has no tile", kernel));
  if (!read_triple(variant.most(), &out->most))
    return damaged(format("a shader of kernel '%s' has no greatest extents", kernel));
  HEDDLE_RETURN_IF_ERROR(charge(count(variant.constants()), sizeof(uint32_t)));
  for (size_t i = 0; i < count(variant.constants()); ++i)
    out->constants.push_back(variant.constants()->Get(i));
  out->shared_bytes = variant.shared_bytes();
  return nullptr;
}

heddle_status_t table_reader::read_shader(const fb::Shader &shader, const kernel_table &kernel, target_table *out) {
  shader_table table{};
  table.can_fail = shader.can_fail();
  if (count(shader.operands()) != kernel.binding_count)
    return damaged(format("a shader of kernel '%s' has %zu of %u operands", kernel.name, count(shader.operands()),
                          kernel.binding_count));
  const uint64_t table_words = shader.table_operand() == -1 ? 0 : 2;
  const uint64_t words =
      first_workgroup_words + table_words + table.can_fail + uint64_t(kernel.binding_count) + kernel.size_count;
  if (words > HEDDLE_MAX_PUSH_CONSTANTS)
    return damaged(format("a shader of kernel '%s' has %llu words of push constants", kernel.name,
                          static_cast<unsigned long long>(words)));
  table.word_count = static_cast<uint32_t>(words);
  HEDDLE_RETURN_IF_ERROR(charge(count(shader.operands()), sizeof(shader_operand_table)));
  for (size_t i = 0; i < count(shader.operands()); ++i) {
    const fb::ShaderOperand &operand = *shader.operands()->Get(i);
    if (!is_element_type(operand.type()) || operand.binding() > static_cast<uint8_t>(shader_binding::results))
      return damaged(
          format("operand %zu of a shader of kernel '%s' has an unknown type or storage buffer", i, kernel.name));
    table.operands.push_back(
        {static_cast<heddle_element_type_t>(operand.type()), static_cast<shader_binding>(operand.binding())});
  }
  // The record lies behind the first result.
  const bool has_result = std::any_of(table.operands.begin(), table.operands.end(),
                                      [](const auto &operand) { return operand.binding == shader_binding::results; });
  if (table.can_fail && !has_result)
    return damaged(format("a shader of kernel '%s' can fail and has no result", kernel.name));
  if (table_words != 0) {
    const auto operand = static_cast<uint32_t>(shader.table_operand()); // what is below 0 is too large
    if (operand >= table.operands.size() || table.operands[operand].binding != shader_binding::constants ||
        shader.table_row_bytes() == 0)
      return damaged(format("a shader of kernel '%s' has rows of %u bytes of operand %d, which is no table",
                            kernel.name, shader.table_row_bytes(), shader.table_operand()));
    table.table = operand;
    table.table_row_bytes = shader.table_row_bytes();
  }
  if (count(shader.variants()) > HEDDLE_MAX_VARIANTS)
    return damaged(format("kernel '%s' has %zu shaders", kernel.name, count(shader.variants())));
  for (size_t i = 0; i < count(shader.variants()); ++i) {
    shader_variant_table &variant = table.variants.emplace_back();
    HEDDLE_RETURN_IF_ERROR(read_variant(*shader.variants()->Get(i), kernel.name, *out, &variant));
  }
  // So that choosing a variant always ends in one.
  if (table.variants.empty() || !runs_anywhere(table.variants.back()))
    return damaged(format("kernel '%s' has no shader that runs on any device", kernel.name));
  if (shader.self_test())
    HEDDLE_RETURN_IF_ERROR(read_self_test(*shader.self_test(), kernel, table.operands, &table.self_test.emplace()));
  out->shaders.push_back(std::move(table));
  return nullptr;
}

heddle_status_t table_reader::read_shaders(const fb::Target &target, target_table *out) {
  if (count(target.kernels()) != 0)
    return damaged(format("target '%s' has addresses of code", out->name));
  // Shaders are looked up by a kernel's number.
  if (count(target.shaders()) != tables_->kernels.size())
    return damaged(
        format("target '%s' has %zu of %zu shaders", out->name, count(target.shaders()), tables_->kernels.size()));
  HEDDLE_RETURN_IF_ERROR(read_modules(target, out));
  HEDDLE_RETURN_IF_ERROR(charge(tables_->kernels.size(), sizeof(shader_table)));
  for (size_t i = 0; i < count(target.shaders()); ++i)
    HEDDLE_RETURN_IF_ERROR(read_shader(*target.shaders()->Get(i), tables_->kernels[i], out));
  return nullptr;
}

} // namespace heddle::runtime
