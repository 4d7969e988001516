// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this machine as the C API hands them out.

#include "runtime/core/border.h"
#include "runtime/core/device.h"

using namespace heddle::runtime;

struct heddle_device_list_t {
  std::vector<device_description> devices;
  std::vector<std::vector<const char *>> features; ///< of each device
  std::vector<heddle_device_info_t> infos;         ///< point into both
};

namespace {

heddle_status_t make_list(heddle_device_list_t **out_list) {
  if (!out_list)
    return fail(error::H0101, "out_list is null");
  auto list = std::make_unique<heddle_device_list_t>();
  for (const device_driver *const *driver = device_drivers; *driver; ++driver)
    (*driver)->list(&list->devices);
  for (const device_description &device : list->devices) {
    std::vector<const char *> &features = list->features.emplace_back();
    for (const std::string &feature : device.features)
      features.push_back(feature.c_str());
    list->infos.push_back({device.name.c_str(), device.title.c_str(), device.kind.c_str(), device.driver.c_str(),
                           device.memory_bytes, features.data(), features.size(), device.limits.c_str(),
                           device.problem.c_str()});
  }
  *out_list = list.release();
  return nullptr;
}

} // namespace

heddle_status_t heddle_device_list_create(heddle_device_list_t **out_list) {
  return at_border([&] { return make_list(out_list); });
}

void heddle_device_list_release(heddle_device_list_t *list) { delete list; }

size_t heddle_device_list_count(const heddle_device_list_t *list) { return list->infos.size(); }

const heddle_device_info_t *heddle_device_list_get(const heddle_device_list_t *list, size_t index) {
  return index < list->infos.size() ? &list->infos[index] : nullptr;
}
