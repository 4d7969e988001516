// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles of the runtime.

#include "tools/heddle/handles.h"

#include "tools/heddle/text.h"

namespace heddle::cli {

static Exit exitOf(heddle_status_code_t code) {
  switch (code) {
  case HEDDLE_STATUS_OK:
    return Exit::Fine;
  case HEDDLE_STATUS_INVALID_ARGUMENT:
  case HEDDLE_STATUS_CANCELLED:
    return Exit::Usage;
  case HEDDLE_STATUS_UNSUPPORTED:
    return Exit::Model;
  case HEDDLE_STATUS_DEVICE_UNAVAILABLE:
  case HEDDLE_STATUS_DEVICE_LOST:
  case HEDDLE_STATUS_OUT_OF_MEMORY: // this machine is too small for it
    return Exit::Device;
  case HEDDLE_STATUS_BAD_FILE:
  case HEDDLE_STATUS_IO:
    return Exit::File;
  case HEDDLE_STATUS_INTERNAL:
    break;
  }
  return Exit::Bug;
}

void check(heddle_status_t status, std::string_view context) {
  if (!status)
    return;
  std::unique_ptr<heddle_status_object_t, Releaser<heddle_status_release>> owner(status);
  std::string own = heddle_status_context(status), where(context);
  // "op Gather" alone doesn't say in which file.
  if (!own.empty())
    where = where.empty() || startsWith(own, "in ") ? own : where + ", " + own;
  fail(exitOf(heddle_status_code(status)), heddle_status_error_code(status), heddle_status_message(status), where,
       heddle_status_help(status));
}

TensorPtr createTensor(heddle_element_type_t type, const std::vector<int64_t> &dims) {
  heddle_tensor_t *tensor = nullptr;
  check(heddle_tensor_create(type, dims.size(), dims.data(), &tensor));
  return TensorPtr(tensor);
}

std::vector<int64_t> dimsOf(const heddle_tensor_t *tensor) {
  const int64_t *dims = heddle_tensor_dims(tensor);
  return {dims, dims + heddle_tensor_rank(tensor)};
}

std::string describeDims(const heddle_tensor_info_t &info) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < info.rank; ++i)
    parts.push_back(info.dims[i].value >= 0 ? std::to_string(info.dims[i].value)
                    : *info.dims[i].symbol  ? info.dims[i].symbol
                                            : "?");
  return "[" + join(parts, ",") + "]";
}

std::string describeDims(const std::vector<int64_t> &dims) {
  std::vector<std::string> parts;
  for (int64_t dim : dims)
    parts.push_back(std::to_string(dim));
  return "[" + join(parts, ",") + "]";
}

} // namespace heddle::cli
