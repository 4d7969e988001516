// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs on a device of the application's own: nothing of it is destroyed, its queue is locked around submissions,
// and only features that it was made with are used.

#include <cstdlib>
#include <thread>

#include <volk.h>

#include <heddle/vulkan.h>

#include "tests/runtime/vulkan/shader_builder.h"

namespace heddle::test {
namespace {

/// An application that uses Vulkan. Made with the least that there is: Vulkan 1.1 and no feature.
class VulkanAdopt : public VulkanTest {
protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    ASSERT_EQ(volkInitialize(), VK_SUCCESS);
    VkApplicationInfo application = {};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const char *const layers[] = {"VK_LAYER_KHRONOS_validation"};
    const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    // Off where ThreadSanitizer looks.
    const bool is_validated = std::string(std::getenv("HEDDLE_VULKAN_VALIDATE")) != "0";
    info.enabledLayerCount = info.enabledExtensionCount = is_validated ? 1 : 0;
    info.ppEnabledLayerNames = layers;
    info.ppEnabledExtensionNames = extensions;
    ASSERT_EQ(vkCreateInstance(&info, nullptr, &instance_), VK_SUCCESS);
    volkLoadInstanceOnly(instance_);
    destroy_instance_ = vkDestroyInstance;
    if (is_validated)
      watch();
    uint32_t count = 1;
    ASSERT_GE(vkEnumeratePhysicalDevices(instance_, &count, &physical_), VK_SUCCESS);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device = {};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    ASSERT_EQ(vkCreateDevice(physical_, &device, nullptr, &device_), VK_SUCCESS);
    volkLoadDeviceTable(&api_, device_);
    api_.vkGetDeviceQueue(device_, 0, 0, &queue_);
    theirs_ = {instance_, physical_, device_, queue_, 0, nullptr, 0, lock, unlock, this};
    options_.vulkan_device = &theirs_;
  }

  void TearDown() override {
    if (device_)
      api_.vkDestroyDevice(device_, nullptr);
    if (messenger_)
      destroy_messenger_(instance_, messenger_, nullptr);
    if (instance_)
      destroy_instance_(instance_, nullptr);
    // Destroying a device that still has objects is an error too.
    EXPECT_EQ(messages_, "");
  }

  void watch() {
    destroy_messenger_ = vkDestroyDebugUtilsMessengerEXT;
    VkDebugUtilsMessengerCreateInfoEXT info = {};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                              const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) -> VkBool32 {
      static_cast<VulkanAdopt *>(user)->messages_ += data->pMessage;
      return VK_FALSE;
    };
    info.pUserData = this;
    ASSERT_EQ(vkCreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_), VK_SUCCESS);
  }

  static void lock(void *user) {
    auto &self = *static_cast<VulkanAdopt *>(user);
    EXPECT_EQ(self.depth_++, 0);
    ++self.locks_;
  }
  static void unlock(void *user) { EXPECT_EQ(--static_cast<VulkanAdopt *>(user)->depth_, 0); }

  /// The error of loading |artifact| with what |theirs_| says.
  std::string error_of(const artifact_bytes &artifact) { return load_error(artifact, options_); }

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VolkDeviceTable api_ = {};
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
  PFN_vkDestroyInstance destroy_instance_ = nullptr;
  heddle_vulkan_device_t theirs_ = {};
  heddle_program_options_t options_ = {};
  std::string messages_;
  int locks_ = 0;
  int depth_ = 0;
};

TEST_F(VulkanAdopt, ProgramsRunOnTheCallersDevice) {
  const artifact_bytes artifact = scale_shaders().build();
  const tensor x = counting_tensor({3, 5});
  for (int round = 0; round < 2; ++round) {
    const program program = load(artifact, options_);
    const session session = make_session(program);
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  }
  EXPECT_GE(locks_, 2);
  EXPECT_EQ(depth_, 0);
}

TEST_F(VulkanAdopt, StandsBesideADeviceOfTheRuntimes) {
  const artifact_bytes artifact = scale_shaders().build();
  const program adopted = load(artifact, options_);
  const program own = load(artifact);
  const tensor x = counting_tensor({2, 2});
  for (const program *program : {&adopted, &own, &adopted}) {
    auto outputs = make_session(*program).run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
  }
}

TEST_F(VulkanAdopt, TwoProgramsShareAQueueThatNobodyElseUses) {
  // Without functions that lock it; the validation layer reports a queue that two threads use at once.
  theirs_.lock_queue = theirs_.unlock_queue = nullptr;
  const artifact_bytes artifact = scale_shaders().build();
  const program programs[] = {load(artifact, options_), load(artifact, options_)};
  const tensor x = counting_tensor({3, 5});
  std::vector<std::thread> threads;
  for (const program &program : programs)
    threads.emplace_back([&x, &program] {
      const session session = make_session(program);
      for (int run = 0; run < 50; ++run) {
        auto outputs = session.run(nullptr, {&x}, 1);
        ASSERT_TRUE(bool(outputs)) << outputs.error().text();
        EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(VulkanAdopt, FeaturesThatWereNotEnabledAreNotUsed) {
  // lavapipe has float16; this device was made without. The first variant would be taken if it were thought to have it,
  // and leaves three quarters of its tiles unwritten.
  shader_builder shaders = product_shaders(20, 8);
  fb::ShaderVariantT &wrong = shaders.add_variant(0, {4, 4, 1});
  wrong.features = {"float16"};
  wrong.tile = {8, 8, 1};
  const artifact_bytes artifact = shaders.build();
  const program program = load(artifact, options_);
  const tensor a = product_input(2, 8);
  auto outputs = make_session(program).run(nullptr, {&a}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), expected_product(2, 20, 8));
}

TEST_F(VulkanAdopt, HalfADeviceIsRefused) {
  const artifact_bytes artifact = scale_shaders().build();
  const heddle_vulkan_device_t whole = theirs_;
  theirs_.queue = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: a Vulkan device needs its instance, physical device, device and queue");
  theirs_ = whole;
  theirs_.unlock_queue = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: a queue is locked and unlocked, or neither");
  theirs_ = whole;
  theirs_.queue_family = 99;
  EXPECT_EQ(error_of(artifact), "H0101: queue family 99 of the given device doesn't compute");
  theirs_ = whole;
  const char *const features[] = {"flaot16"};
  theirs_.features = features;
  theirs_.feature_count = 1;
  EXPECT_EQ(error_of(artifact), "H0101: there is no feature 'flaot16'");
  theirs_.features = nullptr;
  EXPECT_EQ(error_of(artifact), "H0101: 1 features of a Vulkan device are given, and no names");
  theirs_ = whole;
  for (const char *device : {"cpu", "vulkan:0"}) {
    options_.device = device;
    EXPECT_EQ(error_of(artifact),
              std::string("H0101: a Vulkan device was given to run on, and '") + device + "' was named");
  }
}

} // namespace
} // namespace heddle::test
