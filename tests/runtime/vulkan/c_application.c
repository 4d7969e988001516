// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C program with Vulkan objects of its own: `c_application ARTIFACT`, which computes y = 2 x over x [batch, width].
// It owns the device, the queue, a buffer and a fence, and runs two sessions one after the other on its queue: the
// second reads what the first has written, and nothing is copied to the host in between.
//
// Compiled as C99 with warnings as errors. Returns 77 where there is no Vulkan device, for ctest to skip it.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include <heddle/vulkan.h>

enum { element_count = 8, part_bytes = 256, no_device = 77 };

/// Functions of Vulkan, by the name of their type.
#define INSTANCE_FUNCTIONS(X)                                                                                          \
  X(vkEnumeratePhysicalDevices)                                                                                        \
  X(vkGetPhysicalDeviceMemoryProperties)                                                                               \
  X(vkCreateDevice)                                                                                                    \
  X(vkGetDeviceQueue)                                                                                                  \
  X(vkCreateBuffer)                                                                                                    \
  X(vkGetBufferMemoryRequirements)                                                                                     \
  X(vkAllocateMemory)                                                                                                  \
  X(vkBindBufferMemory)                                                                                                \
  X(vkMapMemory)                                                                                                       \
  X(vkCreateFence)                                                                                                     \
  X(vkWaitForFences)                                                                                                   \
  X(vkDestroyFence)                                                                                                    \
  X(vkDestroyBuffer)                                                                                                   \
  X(vkFreeMemory)                                                                                                      \
  X(vkDestroyDevice)                                                                                                   \
  X(vkDestroyInstance)
#define DECLARE(name) static PFN_##name name;
INSTANCE_FUNCTIONS(DECLARE)

typedef struct application_t {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  VkBuffer buffer; ///< three parts: x, what lies between the sessions, y
  VkDeviceMemory memory;
  VkFence fence;
  float *data; ///< of the buffer
} application_t;

static void check(int fine, const char *what) {
  if (fine)
    return;
  fprintf(stderr, "can't %s\n", what);
  exit(1);
}

/// What CI doesn't run, nobody does.
static void skip(void) {
  fprintf(stderr, "no Vulkan device\n");
  exit(getenv("CI") ? 1 : no_device);
}

static void succeed(heddle_status_t status, const char *what) {
  if (!status)
    return;
  fprintf(stderr, "%s: error[%s]: %s\n", what, heddle_status_error_code(status), heddle_status_message(status));
  exit(1);
}

static void create_device(application_t *app) {
  void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!loader)
    skip();
  PFN_vkGetInstanceProcAddr get = NULL;
  *(void **)&get = dlsym(loader, "vkGetInstanceProcAddr");
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                         .pApplicationInfo = &application};
  check(create(&instance, NULL, &app->instance) == VK_SUCCESS, "make an instance");
#define LOAD(name)                                                                                                     \
  name = (PFN_##name)get(app->instance, #name);                                                                        \
  check(name != NULL, "find " #name);
  INSTANCE_FUNCTIONS(LOAD)
  uint32_t count = 1;
  if (vkEnumeratePhysicalDevices(app->instance, &count, &app->physical) < 0 || count == 0)
    skip();
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  check(vkCreateDevice(app->physical, &device, NULL, &app->device) == VK_SUCCESS, "make a device");
  vkGetDeviceQueue(app->device, 0, 0, &app->queue);
}

static void create_buffer(application_t *app) {
  const VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = (VkDeviceSize)3 * part_bytes,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  check(vkCreateBuffer(app->device, &buffer, NULL, &app->buffer) == VK_SUCCESS, "make a buffer");
  VkMemoryRequirements needs;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetBufferMemoryRequirements(app->device, app->buffer, &needs);
  vkGetPhysicalDeviceMemoryProperties(app->physical, &memory);
  const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  while (!(needs.memoryTypeBits & (1u << allocation.memoryTypeIndex)) ||
         (memory.memoryTypes[allocation.memoryTypeIndex].propertyFlags & host) != host)
    check(++allocation.memoryTypeIndex < memory.memoryTypeCount, "find memory that the host sees");
  void *data = NULL;
  check(vkAllocateMemory(app->device, &allocation, NULL, &app->memory) == VK_SUCCESS &&
            vkBindBufferMemory(app->device, app->buffer, app->memory, 0) == VK_SUCCESS &&
            vkMapMemory(app->device, app->memory, 0, VK_WHOLE_SIZE, 0, &data) == VK_SUCCESS,
        "allocate memory");
  app->data = data;
  const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(vkCreateFence(app->device, &fence, NULL, &app->fence) == VK_SUCCESS, "make a fence");
}

/// A tensor [2, 4] in part |part| of the buffer.
static heddle_tensor_t *wrap(const application_t *app, uint64_t part) {
  const heddle_vulkan_buffer_t memory = {.device = app->device,
                                         .buffer = (uint64_t)app->buffer,
                                         .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                         .offset = part * part_bytes,
                                         .byte_length = element_count * sizeof(float)};
  const int64_t dims[] = {2, element_count / 2};
  heddle_tensor_t *tensor = NULL;
  succeed(heddle_vulkan_tensor_wrap(&memory, HEDDLE_ELEMENT_F32, 2, dims, NULL, NULL, &tensor), "wrap");
  return tensor;
}

static void run(const application_t *app, const char *artifact) {
  const heddle_vulkan_device_t device = {.instance = app->instance,
                                         .physical_device = app->physical,
                                         .device = app->device,
                                         .queue = app->queue,
                                         .queue_family = 0};
  const heddle_program_options_t options = {.vulkan_device = &device};
  heddle_program_t *program = NULL;
  heddle_session_t *sessions[2] = {NULL, NULL};
  heddle_tensor_t *tensors[3];
  succeed(heddle_program_load(artifact, &options, &program), "load");
  for (int i = 0; i < 3; ++i)
    tensors[i] = wrap(app, (uint64_t)i);
  for (int i = 0; i < element_count; ++i)
    app->data[i] = (float)i;
  const heddle_vulkan_sync_t sync = {.fence = (uint64_t)app->fence};
  for (int i = 0; i < 2; ++i) {
    const heddle_tensor_t *input = tensors[i];
    succeed(heddle_session_create(program, &sessions[i]), "make a session");
    // The fence behind the second run is behind the first too.
    succeed(heddle_vulkan_session_submit(sessions[i], NULL, &input, 1, &tensors[i + 1], 1, i == 1 ? &sync : NULL),
            "submit");
  }
  check(vkWaitForFences(app->device, 1, &app->fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS, "wait for the fence");
  for (int i = 0; i < element_count; ++i)
    check(app->data[2 * part_bytes / sizeof(float) + (size_t)i] == (float)(4 * i), "compute 2 * 2 * x");
  for (int i = 0; i < 2; ++i) {
    succeed(heddle_vulkan_session_finish(sessions[i]), "finish");
    heddle_session_release(sessions[i]);
  }
  for (int i = 0; i < 3; ++i)
    heddle_tensor_release(tensors[i]);
  heddle_program_release(program);
}

int main(int argc, char **argv) {
  application_t app;
  memset(&app, 0, sizeof(app));
  check(argc == 2, "do without the path of an artifact");
  create_device(&app);
  create_buffer(&app);
  run(&app, argv[1]);
  vkDestroyFence(app.device, app.fence, NULL);
  vkDestroyBuffer(app.device, app.buffer, NULL);
  vkFreeMemory(app.device, app.memory, NULL);
  vkDestroyDevice(app.device, NULL);
  vkDestroyInstance(app.instance, NULL);
  printf("two sessions on one queue: y = 4 x\n");
  return 0;
}
