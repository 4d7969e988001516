// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/vulkan/shader_builder.h"

#include <cstdlib>

#include <heddle/self_test.h>

namespace heddle::test {

namespace {

std::vector<uint8_t> read_module(const std::string &name) {
  std::ifstream file(std::string(HEDDLE_TEST_SHADERS) + "/" + name + ".spv", std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_FALSE(bytes.empty()) << "no shader " << name;
  return bytes;
}

constexpr fb::ElementType f32 = fb::ElementType::f32;

/// Element |i| of an input of a self-test.
float test_value(uint32_t seed, uint64_t i) {
  return static_cast<float>(heddle_self_test_fraction(seed, i, 16)) / 65536.0f;
}

/// The one output of |test|, all of whose elements are compared.
void set_expected(const std::vector<float> &values, float tolerance, fb::SelfTestT *test) {
  auto output = std::make_unique<fb::SelfTestOutputT>();
  output->bytes = values.size() * sizeof(float);
  output->runs = {0, static_cast<uint32_t>(values.size())};
  output->values.resize(output->bytes);
  std::memcpy(output->values.data(), values.data(), output->bytes);
  output->tolerance = tolerance;
  test->outputs.push_back(std::move(output));
}

} // namespace

shader_builder::shader_builder() {
  builder.program.targets.clear();
  builder.add_target("vulkan", {});
  target().section = builder.add_section(fb::SectionKind::code, {});
}

uint32_t shader_builder::kernel(const std::string &name, const std::vector<operand> &operands, uint32_t size_count,
                                bool can_fail, std::array<uint32_t, 3> tile) {
  const uint32_t index = builder.kernel(name, static_cast<uint32_t>(operands.size()), size_count);
  if (index < target().shaders.size())
    return index;
  const std::vector<uint8_t> module = read_module(name);
  std::vector<uint8_t> &section = builder.section_bytes[target().section];
  target().modules.emplace_back(section.size(), module.size());
  section.insert(section.end(), module.begin(), module.end());
  auto shader = std::make_unique<fb::ShaderT>();
  for (const operand &operand : operands)
    shader->operands.emplace_back(operand.type, operand.binding);
  shader->can_fail = can_fail;
  target().shaders.push_back(std::move(shader));
  add_variant(index, tile);
  return index;
}

fb::ShaderVariantT &shader_builder::add_variant(uint32_t kernel, std::array<uint32_t, 3> tile) {
  auto variant = std::make_unique<fb::ShaderVariantT>();
  variant->module_ = kernel;
  variant->workgroup.assign(tile.begin(), tile.end());
  variant->tile.assign(tile.begin(), tile.end());
  variant->most = {0, 0, 0};
  auto &variants = target().shaders[kernel]->variants;
  return **variants.insert(variants.begin(), std::move(variant));
}

fb::SelfTestT &shader_builder::self_test(uint32_t kernel) {
  auto &test = target().shaders[kernel]->self_test;
  if (!test)
    test = std::make_unique<fb::SelfTestT>();
  return *test;
}

void shader_builder::dispatch(entry_builder &entry, uint32_t kernel, const work &work) {
  entry_builder::dispatch_options options;
  options.grid = entry.mul(entry.mul(work.extents[0], work.extents[1]), work.extents[2]);
  options.grain = entry.constant(1);
  options.scratch = entry.constant(0);
  options.result_dims = work.result_dims[0];
  options.node = work.node;
  entry.dispatch(kernel, work.bindings, work.sizes, options);
  fb::DispatchT &dispatch = *entry.table().steps.back()->instruction.AsDispatch();
  const size_t results = work.result_dims.size();
  const auto &operands = target().shaders[kernel]->operands;
  for (size_t i = 1; i < results; ++i) {
    auto result = std::make_unique<fb::ResultInfoT>(*dispatch.results[0]);
    result->name += std::to_string(i);
    result->slots = work.result_dims[i];
    dispatch.results.push_back(std::move(result));
  }
  for (size_t i = 0; i < results; ++i)
    dispatch.results[i]->type = operands[operands.size() - results + i].type();
  std::vector<uint32_t> &axes = dispatch.targets[0]->axes;
  axes.assign(work.extents.begin(), work.extents.end());
  for (const std::array<uint32_t, 3> &strides : work.strides)
    axes.insert(axes.end(), strides.begin(), strides.end());
}

shader_builder scale_shaders(float factor) {
  shader_builder shaders;
  const uint32_t add = shaders.kernel("add", {{f32, 1}, {f32, 2}, {f32, 3}}, 1);
  const uint32_t scale = shaders.kernel("scale", {{f32, 1}, {f32, 0}, {f32, 3}}, 1);
  const fb::Binding constant = shaders.constant({factor});
  entry_builder entry = shaders.add_entry();
  const fb::Binding x = entry.input("x", f32, {"batch", "width"});
  const uint32_t batch = entry.dim(x, 0);
  const uint32_t width = entry.dim(x, 1);
  const uint32_t count = entry.mul(batch, width);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const uint32_t four = entry.constant(4);
  const fb::Binding y = entry.output("y", f32, {"batch", "width"}, {batch, width});
  const fb::Binding sum = entry.buffer(entry.mul(count, four), 0, 1);
  const std::array<uint32_t, 3> elements = {four, none, none};
  const std::array<uint32_t, 3> whole = {none, none, none};
  shaders.dispatch(entry, add,
                   {{x, x, sum}, {count}, {count, one, one}, {elements, elements, elements}, {{batch, width}}, "add"});
  shaders.dispatch(
      entry, scale,
      {{sum, constant, y}, {count}, {count, one, one}, {elements, whole, elements}, {{batch, width}}, "scale"});
  return shaders;
}

shader_builder product_shaders(uint32_t columns, uint32_t depth) {
  shader_builder shaders;
  const uint32_t product = shaders.kernel("product", {{f32, 1}, {f32, 0}, {f32, 0}, {f32, 3}}, 3, false, {16, 4, 1});
  std::vector<float> weights(size_t(columns) * depth);
  for (size_t c = 0; c < columns; ++c)
    for (size_t k = 0; k < depth; ++k)
      weights[c * depth + k] = static_cast<float>((c + k) % 7) - 3;
  std::vector<float> bias(columns);
  std::iota(bias.begin(), bias.end(), 0.0f);
  const fb::Binding w = shaders.constant(weights);
  const fb::Binding b = shaders.constant(bias);
  entry_builder entry = shaders.add_entry();
  const fb::Binding a = entry.input("a", f32, {"rows", std::to_string(depth)});
  const uint32_t rows = entry.dim(a, 0);
  const uint32_t n = entry.constant(columns);
  const uint32_t none = entry.constant(0);
  const uint32_t four = entry.constant(4);
  const uint32_t row = entry.constant(int64_t(depth) * 4);
  const uint32_t out_row = entry.constant(int64_t(columns) * 4);
  const fb::Binding y = entry.output("y", f32, {"rows", std::to_string(columns)}, {rows, n});
  shaders.dispatch(entry, product,
                   {{a, w, b, y},
                    {rows, n, entry.constant(depth)},
                    {n, rows, entry.constant(1)},
                    {{none, row, none}, {row, none, none}, {four, none, none}, {four, out_row, none}},
                    {{rows, n}},
                    "product"});
  return shaders;
}

tensor product_input(int64_t rows, uint32_t depth) {
  std::vector<float> values(static_cast<size_t>(rows) * depth);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 5);
  return make_tensor<float>(HEDDLE_ELEMENT_F32, {rows, depth}, values);
}

std::vector<float> expected_product(int64_t rows, uint32_t columns, uint32_t depth) {
  std::vector<float> out;
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r)
    for (size_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (size_t k = 0; k < depth; ++k)
        sum += static_cast<float>((r * depth + k) % 5) * (static_cast<float>((c + k) % 7) - 3);
      out.push_back(sum + static_cast<float>(c));
    }
  return out;
}

shader_builder gather_shaders(uint32_t rows, uint32_t width) {
  shader_builder shaders;
  const uint32_t gather = shaders.kernel("gather", {{fb::ElementType::i64, 1}, {f32, 0}, {f32, 3}}, 3, true);
  std::vector<float> table(size_t(rows) * width);
  std::iota(table.begin(), table.end(), 0.0f);
  const fb::Binding constant = shaders.constant(table);
  entry_builder entry = shaders.add_entry();
  const fb::Binding ids = entry.input("ids", fb::ElementType::i64, {"count"});
  const uint32_t count = entry.dim(ids, 0);
  const uint32_t none = entry.constant(0);
  const uint32_t one = entry.constant(1);
  const uint32_t columns = entry.constant(width);
  const fb::Binding y = entry.output("y", f32, {"count", std::to_string(width)}, {count, columns});
  const std::array<uint32_t, 3> whole = {none, none, none};
  shaders.dispatch(entry, gather,
                   {{ids, constant, y},
                    {entry.constant(rows), columns, count},
                    {count, one, one},
                    {{entry.constant(4), none, none}, whole, {entry.constant(int64_t(width) * 4), none, none}},
                    {{count, columns}},
                    "embeddings/word"});
  return shaders;
}

void add_product_test(shader_builder &shaders, uint32_t columns, uint32_t depth) {
  constexpr uint32_t rows = 6;
  fb::SelfTestT &test = shaders.self_test(0);
  test.sizes = {rows, columns, depth};
  test.axes = {columns, rows, 1, 0, depth * 4, 0, depth * 4, 0, 0, 4, 0, 0, 4, columns * 4, 0};
  const uint64_t bytes[] = {rows * depth * 4, columns * depth * 4, columns * 4};
  for (uint32_t i = 0; i < 3; ++i)
    test.inputs.emplace_back(bytes[i], i + 1, 0, 0, 0, 0, 0);
  std::vector<float> expected;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += test_value(1, r * depth + k) * test_value(2, c * depth + k);
      expected.push_back(sum + test_value(3, c));
    }
  set_expected(expected, 1e-6f, &test);
}

void add_gather_test(shader_builder &shaders, uint32_t rows, uint32_t width) {
  constexpr uint32_t count = 70;
  fb::SelfTestT &test = shaders.self_test(0);
  test.sizes = {rows, width, count};
  test.axes = {count, 1, 1, 4, 0, 0, 0, 0, 0, width * 4, 0, 0};
  test.inputs.emplace_back(count * 8, 1, rows, 0, 0, 0, 0);
  test.inputs.emplace_back(rows * width * 4, 2, 0, 0, 0, 0, 0);
  std::vector<float> expected;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < width; ++j)
      expected.push_back(test_value(2, uint64_t(heddle_self_test_integer(1, i, rows)) * width + j));
  set_expected(expected, 0, &test);
}

scoped_environment::scoped_environment(const char *name, const char *value) : name_(name) {
  if (const char *before = std::getenv(name))
    before_ = before;
  setenv(name, value, 1);
}

scoped_environment::~scoped_environment() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

void VulkanTest::SetUp() {
  // Submissions that wait for nothing are looked at too; this layer knows that switch by environment alone.
  setenv("HEDDLE_VULKAN_VALIDATE", "1", 0);
  setenv("VK_LAYER_ENABLES",
         "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT:"
         "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT",
         0);
  auto devices = device_list::create();
  ASSERT_TRUE(bool(devices)) << devices.error().text();
  std::string problem = "no Vulkan";
  for (size_t i = 0; i < devices->size(); ++i)
    if (std::string((*devices)[i].name).rfind("vulkan", 0) == 0) {
      problem = (*devices)[i].problem;
      break;
    }
  if (problem.empty())
    return;
  // What CI doesn't run, nobody does.
  ASSERT_EQ(std::getenv("CI"), nullptr) << problem;
  GTEST_SKIP() << problem;
}

} // namespace heddle::test
