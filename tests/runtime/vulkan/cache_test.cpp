// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What sessions and processes keep: recordings by shape, pipelines on disk.

#include <filesystem>
#include <random>

#include <malloc.h>

#include "runtime/devices/vulkan/device.h"
#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
namespace vk = heddle::runtime::vulkan;

class VulkanCache : public VulkanTest {
protected:
  void TearDown() override { vk::on_device_created = nullptr; }
};

/// Calls of the driver since they were last set to 0.
int recordings;
int allocations;
int live_memory;
VolkDeviceTable real;

void count_calls(VolkDeviceTable *api) {
  real = *api;
  api->vkBeginCommandBuffer = [](VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
    ++recordings;
    return real.vkBeginCommandBuffer(commands, info);
  };
  api->vkAllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *callbacks,
                             VkDeviceMemory *out) {
    ++allocations;
    ++live_memory;
    return real.vkAllocateMemory(device, info, callbacks, out);
  };
  api->vkFreeMemory = [](VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *callbacks) {
    --live_memory;
    real.vkFreeMemory(device, memory, callbacks);
  };
}

TEST_F(VulkanCache, SixteenShapesStayRecorded) {
  vk::on_device_created = count_calls;
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  const session session = make_session(program);
  auto run = [&](int64_t width) {
    const tensor x = counting_tensor({1, width});
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  };
  run(1000); // the largest first: the arena grows no more, which would drop recordings
  for (int64_t width = 1; width < 16; ++width)
    run(width);
  recordings = allocations = 0;
  run(1000);
  for (int64_t width = 1; width < 16; ++width)
    run(width);
  EXPECT_EQ(recordings, 0);
  run(16); // in place of 1000, which was used longest ago
  EXPECT_EQ(recordings, 1);
  run(1);
  EXPECT_EQ(recordings, 1);
  run(1000);
  EXPECT_EQ(recordings, 2);
  EXPECT_EQ(allocations, 0);
}

TEST_F(VulkanCache, RandomShapesGrowNothing) {
  // Validation keeps books of its own, which grow.
  const scoped_environment unvalidated("HEDDLE_VULKAN_VALIDATE", "0");
  vk::on_device_created = count_calls;
  live_memory = 0;
  const artifact_bytes artifact = scale_shaders().build();
  const program program = load(artifact);
  {
    const session session = make_session(program);
    std::mt19937 random(1);
    std::uniform_int_distribution<int64_t> size(1, 200);
    auto run = [&](int64_t rows, int64_t width) {
      const tensor x = counting_tensor({rows, width});
      auto outputs = session.run(nullptr, {&x}, 1);
      ASSERT_TRUE(bool(outputs)) << outputs.error().text();
      ASSERT_EQ(values<float>((*outputs)[0]), values<float>(x));
    };
    run(200, 200);
    for (int i = 0; i < 200; ++i)
      run(size(random), size(random));
    allocations = 0;
    const size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 800; ++i)
      run(size(random), size(random));
    EXPECT_EQ(allocations, 0);
    EXPECT_LE(live_memory, 4); // constants, arena, and one each for what a driver does behind our back
    // The last 64 plans and 16 recordings differ in size from those before; no more than that.
    const size_t after = mallinfo2().uordblks;
    EXPECT_LT(after, before + (512 << 10)) << before;
  }
  EXPECT_EQ(live_memory, 1) << "the constants' block alone outlives the session";
}

class VulkanDiskCache : public VulkanCache {
protected:
  void SetUp() override {
    VulkanCache::SetUp();
    fs::remove_all(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    VulkanCache::TearDown();
  }

  /// Loads, runs and releases a program; returns how the driver's cache began.
  size_t run_once(const artifact_bytes &artifact) {
    static size_t initial_bytes;
    initial_bytes = 0;
    vk::on_device_created = [](VolkDeviceTable *api) {
      real = *api;
      api->vkCreatePipelineCache = [](VkDevice device, const VkPipelineCacheCreateInfo *info,
                                      const VkAllocationCallbacks *callbacks, VkPipelineCache *out) {
        initial_bytes = info->initialDataSize;
        return real.vkCreatePipelineCache(device, info, callbacks, out);
      };
    };
    const program program = load(artifact);
    const session session = make_session(program);
    const tensor x = counting_tensor({2, 3});
    auto outputs = session.run(nullptr, {&x}, 1);
    EXPECT_TRUE(bool(outputs)) << outputs.error().text();
    return initial_bytes;
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    // Mesa keeps a cache of its own beside ours.
    if (const std::string ours = folder_ + "/heddle"; fs::exists(ours))
      for (const fs::directory_entry &file : fs::recursive_directory_iterator(ours))
        if (file.is_regular_file())
          list.push_back(file.path());
    return list;
  }

  static std::string content(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const std::string folder_ = testing::TempDir() + "heddle-vulkan-cache";
  const scoped_environment on_{"HEDDLE_VULKAN_CACHE", "1"};
  const scoped_environment place_{"XDG_CACHE_HOME", folder_.c_str()};
};

TEST_F(VulkanDiskCache, TheNextProcessFindsWhatThisOneMade) {
  const artifact_bytes artifact = scale_shaders().build();
  EXPECT_EQ(run_once(artifact), 0u);
  ASSERT_EQ(files().size(), 1u);
  const std::string first = content(files()[0]);
  EXPECT_EQ(first.substr(0, 6), "HDLVKC");
  EXPECT_GT(run_once(artifact), 0u);
  EXPECT_EQ(content(files()[0]), first) << "equal content isn't written again";
  // Another artifact has a file of its own, and so has another set of features.
  EXPECT_EQ(run_once(scale_shaders(3).build()), 0u);
  const scoped_environment disabled("HEDDLE_VULKAN_DISABLE", "subgroup");
  EXPECT_EQ(run_once(artifact), 0u);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(VulkanDiskCache, ABrokenFileIsIgnoredAndReplaced) {
  const artifact_bytes artifact = scale_shaders().build();
  run_once(artifact);
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  const std::string good = content(path);
  std::vector<std::string> broken = {"", "x", good.substr(0, 31), good.substr(0, good.size() - 1), good + "x"};
  // Magic, version, length of the key, length of the content, checksum, key, content.
  for (size_t at : {size_t(0), size_t(8), size_t(12), size_t(16), size_t(24), size_t(40), good.size() - 1}) {
    broken.push_back(good);
    broken.back()[at] = static_cast<char>(broken.back()[at] ^ 0x41);
  }
  for (const std::string &bytes : broken) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_EQ(run_once(artifact), 0u) << bytes.size();
    EXPECT_EQ(content(path), good) << bytes.size();
  }
  EXPECT_EQ(files().size(), 1u) << "no temporary file is left";
}

TEST_F(VulkanDiskCache, ADriverMayRefuseWhatItOnceWrote) {
  const artifact_bytes artifact = scale_shaders().build();
  run_once(artifact);
  static int refused;
  refused = 0;
  vk::on_device_created = [](VolkDeviceTable *api) {
    real = *api;
    api->vkCreatePipelineCache = [](VkDevice device, const VkPipelineCacheCreateInfo *info,
                                    const VkAllocationCallbacks *callbacks, VkPipelineCache *out) {
      if (info->initialDataSize != 0)
        return ++refused, VK_ERROR_UNKNOWN;
      return real.vkCreatePipelineCache(device, info, callbacks, out);
    };
  };
  const program program = load(artifact);
  const tensor x = counting_tensor({2, 3});
  auto outputs = make_session(program).run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  EXPECT_EQ(refused, 1);
}

TEST_F(VulkanDiskCache, NoPlaceForItIsNoError) {
  const artifact_bytes artifact = scale_shaders().build();
  std::ofstream(folder_) << "a file, where a folder should be";
  EXPECT_EQ(run_once(artifact), 0u);
  const scoped_environment relative("XDG_CACHE_HOME", "somewhere");
  const scoped_environment home("HOME", "here");
  EXPECT_EQ(run_once(artifact), 0u);
  EXPECT_FALSE(fs::exists("somewhere/heddle"));
  fs::remove_all("somewhere"); // Mesa's
}

TEST_F(VulkanDiskCache, OldFilesMakeRoom) {
  const artifact_bytes artifact = scale_shaders().build();
  run_once(artifact);
  const fs::path folder = files()[0].parent_path();
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (int i = 0; i < 70; ++i) {
    const fs::path old = folder / ("pipelines-" + std::to_string(i));
    std::ofstream(old) << i;
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  std::ofstream(folder / "another's") << "stays";
  // Written by processes that were killed, and by one that may still be at it.
  std::ofstream(folder / ".new-1-0") << "half";
  std::ofstream(folder / ".new-2-0") << "half";
  fs::last_write_time(folder / ".new-1-0", fs::file_time_type::clock::now() - std::chrono::hours(2));
  run_once(artifact);
  EXPECT_FALSE(fs::exists(folder / ".new-1-0"));
  EXPECT_TRUE(fs::remove(folder / ".new-2-0"));
  EXPECT_EQ(files().size(), 65u);
  EXPECT_TRUE(fs::exists(folder / "another's"));
  EXPECT_TRUE(fs::exists(folder / "pipelines-69"));
  EXPECT_FALSE(fs::exists(folder / "pipelines-6"));
}

} // namespace
} // namespace heddle::test
