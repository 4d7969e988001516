// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/spirv_memory.h"

#include <cstring>

#include <gtest/gtest.h>

#include "runtime/devices/vulkan/spirv.h"

namespace heddle::conformance {

void expect_stated_memory(const KernelImage &image) {
  for (const Shader &shader : image.shaders)
    for (const ShaderVariant &variant : shader.variants) {
      const auto &module = image.modules[variant.module];
      std::vector<uint32_t> words(module.length / sizeof(uint32_t));
      std::memcpy(words.data(), image.bytes.data() + module.offset, module.length);
      std::vector<uint32_t> constants(variant.workgroup.begin(), variant.workgroup.end());
      constants.insert(constants.end(), variant.constants.begin(), variant.constants.end());
      EXPECT_EQ(runtime::vulkan::shared_bytes_of_module(words, constants),
                std::optional<uint64_t>(variant.sharedBytes));
    }
}

} // namespace heddle::conformance
