// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/vulkan/application.h"

#include <cstdlib>

namespace heddle::test {

namespace {

template <typename Struct> Struct tagged(VkStructureType type) {
  Struct value = {};
  value.sType = type;
  return value;
}

} // namespace

application_buffer::application_buffer(const VolkDeviceTable &api, VkPhysicalDevice physical, VkDevice device,
                                       size_t bytes)
    : api_(api), device_(device), bytes_(bytes) {
  auto info = tagged<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  EXPECT_EQ(api.vkCreateBuffer(device, &info, nullptr, &handle_), VK_SUCCESS);
  VkMemoryRequirements needs = {};
  api.vkGetBufferMemoryRequirements(device, handle_, &needs);
  VkPhysicalDeviceMemoryProperties memory = {};
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  auto allocation = tagged<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocation.allocationSize = needs.size;
  for (uint32_t i = memory.memoryTypeCount; i-- > 0;)
    if ((needs.memoryTypeBits & (1u << i)) && (memory.memoryTypes[i].propertyFlags & host) == host)
      allocation.memoryTypeIndex = i;
  EXPECT_EQ(api.vkAllocateMemory(device, &allocation, nullptr, &memory_), VK_SUCCESS);
  EXPECT_EQ(api.vkBindBufferMemory(device, handle_, memory_, 0), VK_SUCCESS);
  void *data = nullptr;
  EXPECT_EQ(api.vkMapMemory(device, memory_, 0, VK_WHOLE_SIZE, 0, &data), VK_SUCCESS);
  data_ = static_cast<uint8_t *>(data);
  std::memset(data_, 0xee, bytes); // guards around what a run writes
}

application_buffer::~application_buffer() {
  api_.vkDestroyBuffer(device_, handle_, nullptr);
  api_.vkFreeMemory(device_, memory_, nullptr);
}

heddle_vulkan_buffer_t application_buffer::part(uint64_t offset) const {
  return {device_, reinterpret_cast<uint64_t>(handle_),
          VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, offset, bytes_ - offset};
}

tensor application_buffer::wrap(heddle_element_type_t type, const std::vector<int64_t> &dims, uint64_t offset) const {
  const heddle_vulkan_buffer_t memory = part(offset);
  heddle_tensor_t *handle = nullptr;
  EXPECT_OK(heddle_vulkan_tensor_wrap(&memory, type, dims.size(), dims.data(), nullptr, nullptr, &handle));
  return tensor(handle);
}

void VulkanApplication::SetUp() {
  VulkanTest::SetUp();
  if (IsSkipped() || HasFatalFailure())
    return;
  ASSERT_EQ(volkInitialize(), VK_SUCCESS);
  auto application = tagged<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_1;
  auto info = tagged<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
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
  auto queue = tagged<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto device = tagged<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  ASSERT_EQ(vkCreateDevice(physical_, &device, nullptr, &device_), VK_SUCCESS);
  volkLoadDeviceTable(&api_, device_);
  api_.vkGetDeviceQueue(device_, 0, 0, &queue_);
  const auto pool = tagged<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  ASSERT_EQ(api_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), VK_SUCCESS);
  theirs_ = {instance_, physical_, device_, queue_, 0, nullptr, 0, lock, unlock, this};
  options_.vulkan_device = &theirs_;
}

void VulkanApplication::TearDown() {
  if (device_) {
    api_.vkDeviceWaitIdle(device_);
    for (VkFence fence : fences_)
      api_.vkDestroyFence(device_, fence, nullptr);
    for (VkSemaphore semaphore : semaphores_)
      api_.vkDestroySemaphore(device_, semaphore, nullptr);
    api_.vkDestroyCommandPool(device_, pool_, nullptr);
    api_.vkDestroyDevice(device_, nullptr);
  }
  if (messenger_)
    destroy_messenger_(instance_, messenger_, nullptr);
  if (instance_)
    destroy_instance_(instance_, nullptr);
  // Destroying a device that still has objects is an error too.
  EXPECT_EQ(messages_, "");
}

void VulkanApplication::watch() {
  destroy_messenger_ = vkDestroyDebugUtilsMessengerEXT;
  auto info = tagged<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = [](VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                            const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) -> VkBool32 {
    static_cast<VulkanApplication *>(user)->messages_ += data->pMessage;
    return VK_FALSE;
  };
  info.pUserData = this;
  ASSERT_EQ(vkCreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_), VK_SUCCESS);
}

void VulkanApplication::lock(void *user) {
  auto &self = *static_cast<VulkanApplication *>(user);
  // Held twice by one thread it would never be had.
  self.queue_mutex_.lock();
  ++self.locks_;
}

void VulkanApplication::unlock(void *user) { static_cast<VulkanApplication *>(user)->queue_mutex_.unlock(); }

VkFence VulkanApplication::make_fence() {
  const auto info = tagged<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  fences_.emplace_back();
  EXPECT_EQ(api_.vkCreateFence(device_, &info, nullptr, &fences_.back()), VK_SUCCESS);
  return fences_.back();
}

VkSemaphore VulkanApplication::make_semaphore() {
  const auto info = tagged<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  semaphores_.emplace_back();
  EXPECT_EQ(api_.vkCreateSemaphore(device_, &info, nullptr, &semaphores_.back()), VK_SUCCESS);
  return semaphores_.back();
}

void VulkanApplication::wait(VkFence fence) {
  EXPECT_EQ(api_.vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
  EXPECT_EQ(api_.vkResetFences(device_, 1, &fence), VK_SUCCESS);
}

void VulkanApplication::submit(const std::function<void(VkCommandBuffer)> &record, VkSemaphore wait, VkSemaphore signal,
                               VkFence fence) {
  auto allocation = tagged<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocation.commandPool = pool_;
  allocation.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  ASSERT_EQ(api_.vkAllocateCommandBuffers(device_, &allocation, &commands), VK_SUCCESS);
  const auto begin = tagged<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  ASSERT_EQ(api_.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
  record(commands);
  ASSERT_EQ(api_.vkEndCommandBuffer(commands), VK_SUCCESS);
  const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  auto work = tagged<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  work.waitSemaphoreCount = wait ? 1 : 0;
  work.pWaitSemaphores = &wait;
  work.pWaitDstStageMask = &stage;
  work.commandBufferCount = 1;
  work.pCommandBuffers = &commands;
  work.signalSemaphoreCount = signal ? 1 : 0;
  work.pSignalSemaphores = &signal;
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  ASSERT_EQ(api_.vkQueueSubmit(queue_, 1, &work, fence), VK_SUCCESS);
}

status submit_run(const session &session, const std::vector<const tensor *> &inputs,
                  std::vector<heddle_tensor_t *> *outputs, const heddle_vulkan_sync_t &sync) {
  std::vector<const heddle_tensor_t *> handles;
  for (const tensor *input : inputs)
    handles.push_back(input->get());
  return status(heddle_vulkan_session_submit(session.get(), nullptr, handles.data(), handles.size(), outputs->data(),
                                             outputs->size(), &sync));
}

status run_into(const session &session, const std::vector<const tensor *> &inputs,
                std::vector<heddle_tensor_t *> outputs) {
  std::vector<const heddle_tensor_t *> handles;
  for (const tensor *input : inputs)
    handles.push_back(input->get());
  return status(
      heddle_session_run(session.get(), nullptr, handles.data(), handles.size(), outputs.data(), outputs.size()));
}

} // namespace heddle::test
