// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that stay in the mapped file: the same numbers, and a note that says how many bytes and, where none, why.

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

class VulkanImport : public VulkanTest {
protected:
  /// The first note of |artifact| as a file, after a run of it.
  static std::string note_of(const artifact_bytes &artifact, uint32_t columns, uint32_t depth) {
    const std::string path = write_file("import.heddle", artifact.data(), artifact.size);
    auto program = program::load(path);
    EXPECT_TRUE(bool(program)) << program.error().text();
    const tensor a = product_input(5, depth);
    auto outputs = make_session(*program).run(nullptr, {&a}, 1);
    EXPECT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), expected_product(5, columns, depth));
    return program->note(0) ? program->note(0) : "";
  }
};

TEST_F(VulkanImport, WeightsStayInTheMappedFileOnRequest) {
  // Weights and bias lie in sections of their own, so those that a kernel binds together are uploaded.
  const artifact_bytes artifact = product_shaders(33, 20).build();
  EXPECT_EQ(note_of(artifact, 33, 20), "");
  const scoped_environment import("HEDDLE_VULKAN_WEIGHTS", "import");
  EXPECT_EQ(note_of(artifact, 33, 20),
            "0 of 3072 bytes of weights are used where the file is mapped, the others uploaded");
  const scoped_environment lowered("HEDDLE_VULKAN_LIMITS", "staging=1");
  EXPECT_EQ(note_of(artifact, 33, 20),
            "0 of 3072 bytes of weights are used where the file is mapped, the others uploaded: the device lacks "
            "VK_EXT_external_memory_host, or it isn't the host's memory");
}

TEST_F(VulkanImport, AConstantAloneIsImported) {
  const artifact_bytes artifact = scale_shaders(0.5f).build();
  const std::string path = write_file("import.heddle", artifact.data(), artifact.size);
  const scoped_environment import("HEDDLE_VULKAN_WEIGHTS", "import");
  auto program = program::load(path);
  ASSERT_TRUE(bool(program)) << program.error().text();
  EXPECT_STREQ(program->note(0), "256 of 256 bytes of weights are used where the file is mapped, the others uploaded");
  EXPECT_EQ(program->note(1), nullptr);
  const tensor x = counting_tensor({2, 3});
  auto outputs = make_session(*program).run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
}

TEST_F(VulkanImport, AnotherWordIsRefused) {
  const scoped_environment import("HEDDLE_VULKAN_WEIGHTS", "imprt");
  EXPECT_EQ(load_error(scale_shaders().build()), "H0101: HEDDLE_VULKAN_WEIGHTS has 'imprt'");
}

} // namespace
} // namespace heddle::test
