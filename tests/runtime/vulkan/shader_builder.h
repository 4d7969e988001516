// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes artifacts of shaders for tests: the modules are those of shaders/, with the tables that a compiler would write
// for them. And what every test of the Vulkan device needs: a device, or a reason to fail or be skipped.

#pragma once

#include <array>

#include "tests/runtime/test_support.h"

namespace heddle::test {

/// Builds an artifact with the one target "vulkan".
class shader_builder {
public:
  struct operand {
    fb::ElementType type;
    uint8_t binding;
  };

  shader_builder();

  /// Adds shader |name| as a kernel. One invocation computes one unit, so a workgroup is a tile.
  uint32_t kernel(const std::string &name, const std::vector<operand> &operands, uint32_t size_count,
                  bool can_fail = false, std::array<uint32_t, 3> tile = {64, 1, 1});
  /// Adds a variant of |kernel|, a shader of the same module, in front of the others.
  fb::ShaderVariantT &add_variant(uint32_t kernel, std::array<uint32_t, 3> tile);

  /// The case of |kernel|, added at its first use.
  fb::SelfTestT &self_test(uint32_t kernel);

  /// All numbers are slots. |strides| has three for each binding; the last bindings are the results.
  struct work {
    std::vector<fb::Binding> bindings;
    std::vector<uint32_t> sizes;
    std::array<uint32_t, 3> extents;
    std::vector<std::array<uint32_t, 3>> strides;
    std::vector<std::vector<uint32_t>> result_dims;
    std::string node = "node";
  };
  void dispatch(entry_builder &entry, uint32_t kernel, const work &work);

  fb::Binding constant(const std::vector<float> &values) { return builder.constant(values); }
  template <typename T> fb::Binding typed_constant(const std::vector<T> &values) {
    const fb::Binding binding = builder.constant({0});
    fb::ConstantT &table = *builder.program.constants[binding.index()];
    std::vector<uint8_t> &bytes = builder.section_bytes[table.section];
    bytes.resize(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    table.length = bytes.size();
    return binding;
  }
  entry_builder add_entry(const std::string &name = "main") { return builder.add_entry(name); }
  artifact_bytes build() { return builder.build(); }

  artifact_builder builder;

private:
  fb::TargetT &target() { return *builder.program.targets.front(); }
};

/// y = (x + x) * factor over x [batch, width]: a buffer between two dispatches.
shader_builder scale_shaders(float factor = 0.5f);

/// y [rows, columns] = a [rows, depth] @ weights^T + bias, weights (c, k) = ((c + k) % 7) - 3, bias (c) = c. Rows are
/// dynamic; units are columns and rows.
shader_builder product_shaders(uint32_t columns, uint32_t depth);
/// What that gives for |rows| rows of a, whose element i is i % 5.
std::vector<float> expected_product(int64_t rows, uint32_t columns, uint32_t depth);
tensor product_input(int64_t rows, uint32_t depth);

/// ids [count] i64 to rows of a table of |rows| x |width|, whose element (r, c) is r * width + c.
shader_builder gather_shaders(uint32_t rows, uint32_t width);

/// Gives the only kernel of product_shaders(), or of gather_shaders(), a self-test with more than one tile.
void add_product_test(shader_builder &shaders, uint32_t columns, uint32_t depth);
void add_gather_test(shader_builder &shaders, uint32_t rows, uint32_t width);

/// Sets a variable of the environment while it lives.
class scoped_environment {
public:
  scoped_environment(const char *name, const char *value);
  scoped_environment(const scoped_environment &) = delete;
  scoped_environment &operator=(const scoped_environment &) = delete;
  ~scoped_environment();

private:
  const char *name_;
  std::string before_;
};

/// Fails where CI has no Vulkan device, and skips where a developer has none. Validation is on in all of them.
class VulkanTest : public testing::Test {
protected:
  void SetUp() override;
};

} // namespace heddle::test
