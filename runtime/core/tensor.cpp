// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes are checked once, when a tensor is made: everything later relies on sizes that don't overflow.

#include "runtime/core/tensor.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/core/border.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element_type.h"

namespace heddle::runtime {

namespace {

/// A tensor of that shape, still without data.
heddle_status_t create_shape(heddle_element_type_t type, size_t rank, const int64_t *dims,
                             std::unique_ptr<heddle_tensor_t> *out_tensor) {
  const size_t element_size = heddle_element_type_size(type);
  if (element_size == 0)
    return fail(error::H0101, format("%d is no element type", static_cast<int>(type)));
  if (rank > HEDDLE_MAX_RANK)
    return fail(error::H0101, format("expects at most %d dimensions, got %zu", HEDDLE_MAX_RANK, rank));
  if (rank != 0 && !dims)
    return fail(error::H0101, "dims is null");
  // Once and for all: no product of these sizes overflows anywhere later.
  int64_t elements = 0;
  int64_t bytes = 0;
  if (!checked_product(dims, rank, &elements) || !checked_mul(elements, static_cast<int64_t>(element_size), &bytes))
    return fail(error::H0101, format("%s is no shape of a tensor: a dimension is negative or the size overflows",
                                     format_dims(dims, rank).c_str()));
  auto tensor = std::make_unique<heddle_tensor_t>();
  tensor->type = type;
  tensor->rank = rank;
  if (rank != 0)
    std::memcpy(tensor->dims, dims, rank * sizeof(int64_t));
  tensor->element_count = static_cast<size_t>(elements);
  tensor->byte_length = static_cast<size_t>(bytes);
  *out_tensor = std::move(tensor);
  return nullptr;
}

} // namespace

heddle_status_t create_unset_tensor(heddle_element_type_t type, size_t rank, const int64_t *dims,
                                    heddle_tensor_t **out_tensor) {
  std::unique_ptr<heddle_tensor_t> tensor;
  HEDDLE_RETURN_IF_ERROR(create_shape(type, rank, dims, &tensor));
  if (!tensor->owned.reserve(tensor->byte_length))
    return fail(error::H0313, format("not enough memory for a tensor of %zu bytes", tensor->byte_length));
  tensor->data = tensor->owned.data();
  *out_tensor = tensor.release();
  return nullptr;
}

namespace {

heddle_status_t create_zeroed(heddle_element_type_t type, size_t rank, const int64_t *dims,
                              heddle_tensor_t **out_tensor) {
  if (!out_tensor)
    return fail(error::H0101, "out_tensor is null");
  HEDDLE_RETURN_IF_ERROR(create_unset_tensor(type, rank, dims, out_tensor));
  std::memset((*out_tensor)->data, 0, (*out_tensor)->byte_length);
  return nullptr;
}

heddle_status_t wrap(heddle_element_type_t type, size_t rank, const int64_t *dims, void *data, size_t byte_length,
                     heddle_release_fn_t release, void *user, heddle_tensor_t **out_tensor) {
  if (!out_tensor)
    return fail(error::H0101, "out_tensor is null");
  std::unique_ptr<heddle_tensor_t> tensor;
  HEDDLE_RETURN_IF_ERROR(create_shape(type, rank, dims, &tensor));
  if (byte_length < tensor->byte_length)
    return fail(error::H0101, format("a tensor of %s %s needs %zu bytes, got %zu", heddle_element_type_name(type),
                                     format_dims(dims, rank).c_str(), tensor->byte_length, byte_length));
  if (!data && byte_length != 0)
    return fail(error::H0101, "data is null");
  // Kernels load whole elements; a misaligned one would be slow on some CPUs and fault on others.
  if (reinterpret_cast<uintptr_t>(data) % heddle_element_type_size(type) != 0)
    return fail(error::H0101,
                format("data isn't aligned to its element size of %zu bytes", heddle_element_type_size(type)));
  if (!data && !tensor->owned.reserve(0)) // a tensor without elements has an address all the same
    return out_of_memory();
  tensor->data = data ? data : tensor->owned.data();
  tensor->release = release;
  tensor->user = user;
  *out_tensor = tensor.release();
  return nullptr;
}

heddle_status_t wrap_buffer(const heddle_vulkan_buffer_t *memory, heddle_element_type_t type, size_t rank,
                            const int64_t *dims, heddle_release_fn_t release, void *user,
                            heddle_tensor_t **out_tensor) {
  if (!memory || !out_tensor)
    return fail(error::H0101, !memory ? "memory is null" : "out_tensor is null");
  if (!memory->device || !memory->buffer)
    return fail(error::H0101, "a tensor in a VkBuffer needs the buffer and its VkDevice");
  if (device_element_type(type) != type)
    return fail(error::H0101, format("a VkBuffer holds no %s", heddle_element_type_name(type)),
                format("give %s, one word for each element", heddle_element_type_name(device_element_type(type))));
  // Words, as shaders and every API below Vulkan address memory.
  if (memory->offset % 4 != 0)
    return fail(error::H0101, format("expects an offset into a VkBuffer that is a multiple of 4, got %llu",
                                     static_cast<unsigned long long>(memory->offset)));
  if (memory->byte_length > UINT64_MAX - memory->offset)
    return fail(error::H0101, "the end of a VkBuffer's range overflows");
  std::unique_ptr<heddle_tensor_t> tensor;
  HEDDLE_RETURN_IF_ERROR(create_shape(type, rank, dims, &tensor));
  if (memory->byte_length < tensor->byte_length)
    return fail(error::H0101, format("a tensor of %s %s needs %zu bytes of a VkBuffer, got %llu",
                                     heddle_element_type_name(type), format_dims(dims, rank).c_str(),
                                     tensor->byte_length, static_cast<unsigned long long>(memory->byte_length)));
  tensor->buffer = *memory;
  tensor->release = release;
  tensor->user = user;
  *out_tensor = tensor.release();
  return nullptr;
}

} // namespace
} // namespace heddle::runtime

using namespace heddle::runtime;

heddle_status_t heddle_tensor_create(heddle_element_type_t type, size_t rank, const int64_t *dims,
                                     heddle_tensor_t **out_tensor) {
  return at_border([&] { return create_zeroed(type, rank, dims, out_tensor); });
}

heddle_status_t heddle_tensor_wrap(heddle_element_type_t type, size_t rank, const int64_t *dims, void *data,
                                   size_t byte_length, heddle_release_fn_t release, void *user,
                                   heddle_tensor_t **out_tensor) {
  return at_border([&] { return wrap(type, rank, dims, data, byte_length, release, user, out_tensor); });
}

heddle_status_t heddle_vulkan_tensor_wrap(const heddle_vulkan_buffer_t *memory, heddle_element_type_t type, size_t rank,
                                          const int64_t *dims, heddle_release_fn_t release, void *user,
                                          heddle_tensor_t **out_tensor) {
  return at_border([&] { return wrap_buffer(memory, type, rank, dims, release, user, out_tensor); });
}

void heddle_tensor_retain(heddle_tensor_t *tensor) { tensor->references.fetch_add(1, std::memory_order_relaxed); }

void heddle_tensor_release(heddle_tensor_t *tensor) {
  if (!tensor || tensor->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (tensor->release)
    tensor->release(tensor->user, tensor->data);
  delete tensor;
}

heddle_element_type_t heddle_tensor_type(const heddle_tensor_t *tensor) { return tensor->type; }
size_t heddle_tensor_rank(const heddle_tensor_t *tensor) { return tensor->rank; }
const int64_t *heddle_tensor_dims(const heddle_tensor_t *tensor) { return tensor->dims; }
void *heddle_tensor_data(const heddle_tensor_t *tensor) { return tensor->data; }
size_t heddle_tensor_element_count(const heddle_tensor_t *tensor) { return tensor->element_count; }
size_t heddle_tensor_byte_length(const heddle_tensor_t *tensor) { return tensor->byte_length; }
