// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vulkan 1.1 is asked for and nothing more: what a device has beyond comes by extensions, which newer drivers keep.

#include "runtime/devices/vulkan/instance.h"

#include <cstring>
#include <new>
#include <vector>

namespace heddle::runtime::vulkan {

namespace {

constexpr char validation_layer[] = "VK_LAYER_KHRONOS_validation";

bool has_layer(const char *name) {
  uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) < 0)
    return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) < 0)
    return false;
  for (const VkLayerProperties &layer : layers)
    if (std::strcmp(layer.layerName, name) == 0)
      return true;
  return false;
}

} // namespace

VkBool32 instance::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                              const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  auto &self = *static_cast<instance *>(user);
  const std::lock_guard<std::mutex> lock(self.mutex_);
  // The first says most: those behind it follow from it. The layer, which calls this, knows no exceptions.
  try {
    if (self.message_.empty())
      self.message_ = data->pMessage;
  } catch (const std::bad_alloc &) {
    self.message_ = "an error"; // short enough to need no memory
  }
  return VK_FALSE;
}

instance::~instance() {
  if (messenger_)
    destroy_messenger_(handle_, messenger_, nullptr);
  if (handle_)
    destroy_(handle_, nullptr);
}

heddle_status_t instance::add_messenger() {
  destroy_messenger_ = vkDestroyDebugUtilsMessengerEXT;
  auto info = tagged<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  info.pUserData = this;
  return check_result(vkCreateDebugUtilsMessengerEXT(handle_, &info, nullptr, &messenger_), "report what it validates");
}

heddle_status_t instance::create(const options &settings) {
  // The loader stays open once it is: drivers don't like to be unloaded.
  if (!vkGetInstanceProcAddr && volkInitialize() != VK_SUCCESS)
    return fail(error::H0401, "Vulkan isn't installed: libvulkan.so.1 can't be opened",
                "install the Vulkan loader (Debian: libvulkan1) and the driver of your GPU, or run with --device cpu");
  const uint32_t version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_1)
    return fail(error::H0401, "Vulkan 1.1 is needed, and the loader here is older");
  auto application = tagged<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "heddle";
  application.pEngineName = "heddle";
  application.apiVersion = VK_API_VERSION_1_1;
  auto info = tagged<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  const VkValidationFeatureEnableEXT checks[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto validation = tagged<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = checks;
  const char *const layers[] = {validation_layer};
  const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  if (settings.is_validated) {
    if (!has_layer(validation_layer))
      return fail(error::H0401, "HEDDLE_VULKAN_VALIDATE is set, but the validation layer isn't installed",
                  "install it (Debian: vulkan-validationlayers)");
    info.pNext = &validation;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = layers;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
  }
  const VkResult result = vkCreateInstance(&info, nullptr, &handle_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return fail(error::H0401, "no Vulkan driver is installed",
                "install the driver of your GPU (Debian: mesa-vulkan-drivers), or run with --device cpu");
  HEDDLE_RETURN_IF_ERROR(check_result(result, "start"));
  volkLoadInstanceOnly(handle_);
  destroy_ = vkDestroyInstance;
  return settings.is_validated ? add_messenger() : nullptr;
}

heddle_status_t instance::take_validation_error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (message_.empty())
    return nullptr;
  std::string message;
  message.swap(message_);
  return fail(error::H0901, "Vulkan's validation layer reports: " + message);
}

} // namespace heddle::runtime::vulkan
