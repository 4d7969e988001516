// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine without Vulkan, and one whose loader finds no driver. A program of its own, because it keeps the loader
// from being opened, and a process opens it once.

#include <cstring>

#include <dlfcn.h>

#include "tests/runtime/vulkan/shader_builder.h"

namespace {
bool is_loader_missing = true;
}

#pragma GCC visibility push(default)
extern "C" void *dlopen(const char *path, int flags) noexcept {
  using function = void *(*)(const char *, int);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "dlopen"));
  if (is_loader_missing && path && std::strstr(path, "libvulkan.so"))
    return nullptr;
  return real(path, flags);
}
#pragma GCC visibility pop

namespace heddle::test {
namespace {

/// The devices by name, each with its problem.
std::vector<std::pair<std::string, std::string>> devices() {
  std::vector<std::pair<std::string, std::string>> list;
  auto all = device_list::create();
  EXPECT_TRUE(bool(all));
  for (size_t i = 0; i < all->size(); ++i)
    list.emplace_back((*all)[i].name, (*all)[i].problem);
  return list;
}

TEST(NoVulkan, IsAnErrorThatSaysSoAndTheCpuWorks) {
  const artifact_bytes artifact = scale_shaders().build();
  auto refused = program::load_memory(artifact.data(), artifact.size);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().error_code(), "H0401");
  EXPECT_EQ(refused.error().message(), "Vulkan isn't installed: libvulkan.so.1 can't be opened");
  EXPECT_EQ(refused.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
  ASSERT_EQ(devices().size(), 2u);
  EXPECT_EQ(devices()[0].second, "");
  EXPECT_EQ(devices()[1].first, "vulkan");
  EXPECT_EQ(devices()[1].second, "Vulkan isn't installed: libvulkan.so.1 can't be opened");
  const artifact_bytes on_cpu = scale_model().build();
  const program program = load(on_cpu);
  const tensor x = counting_tensor({2, 2});
  EXPECT_TRUE(bool(make_session(program).run(nullptr, {&x}, 1)));
  // Asking for it by name doesn't bring it back, and nothing else is taken.
  heddle_program_options_t options = {};
  options.device = "vulkan";
  EXPECT_EQ(load_error(artifact, options), "H0401: Vulkan isn't installed: libvulkan.so.1 can't be opened");

  // Now there is a loader, and no driver.
  is_loader_missing = false;
  const scoped_environment nothing("VK_ICD_FILENAMES", "/nowhere.json");
  const scoped_environment unvalidated("HEDDLE_VULKAN_VALIDATE", "0");
  EXPECT_EQ(load_error(artifact), "H0401: no Vulkan driver is installed");
}

} // namespace
} // namespace heddle::test
