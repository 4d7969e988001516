// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything in a fingerprint comes from the runtime, which also runs where no compiler is.

#include "tools/heddle/fingerprint.h"

#include "tools/heddle/error.h"
#include "tools/heddle/handles.h"
#include "tools/heddle/json.h"
#include "tools/heddle/json_value.h"
#include "tools/heddle/program.h"
#include "tools/heddle/text.h"

#include <heddle/cpu_design.h>

namespace heddle::cli {

/// In the one text that a value has: keys sorted, no blanks.
static std::string oneText(JsonWriter &json) {
  std::string ignored;
  return parseJson(json.take(), ignored)->line();
}

static void writeFeatures(JsonWriter &json, const char *const *features, size_t count) {
  json.key("features").beginArray();
  for (size_t i = 0; i < count; ++i)
    json.string(features[i]);
  json.endArray();
}

std::string fingerprintOfCpu(unsigned threads) {
  const heddle_host_info_t &host = *heddle_host_info();
  const heddle_cpu_design_t &design = *heddle_cpu_design();
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject().key("kind").string("cpu").key("vendor").string(design.vendor);
  json.key("family").number(uint64_t(design.family)).key("model").number(uint64_t(design.model));
  writeFeatures(json, host.features, host.feature_count);
  json.key("l1d").number(host.l1d_bytes).key("l2").number(host.l2_bytes).key("l3").number(host.l3_bytes);
  json.key("threads").number(uint64_t(threads)).endObject();
  return oneText(json);
}

std::string fingerprintOf(const heddle_device_info_t &device) {
  if (kindOf(device.name) == "cpu")
    return fingerprintOfCpu(heddle_host_info()->thread_count);
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject().key("kind").string("vulkan").key("name").string(device.title);
  json.key("driver").string(device.driver);
  writeFeatures(json, device.features, device.feature_count);
  // Drivers show what they can by their limits: lavapipe has one version at every width of vectors.
  json.key("limits").string(device.limits).endObject();
  return oneText(json);
}

/// Whether |device| ("vulkan:1", "vulkan:radeon", "vulkan") means |info|, which is called "vulkan:0" and so on.
static bool isMeant(const std::string &device, const heddle_device_info_t &info) {
  if (device == kindOf(device) || device == info.name)
    return true;
  const std::string part = device.substr(kindOf(device).size() + 1);
  return !parseCount(part) && lowered(info.title).find(lowered(part)) != std::string::npos;
}

std::string fingerprintOf(const std::string &device, unsigned threads) {
  if (device.empty() || device == "cpu")
    return fingerprintOfCpu(threads);
  heddle_device_list_t *list = nullptr;
  check(heddle_device_list_create(&list));
  DeviceListPtr owner(list);
  std::vector<std::string> known = {"cpu"};
  for (size_t i = 0; i < heddle_device_list_count(list); ++i) {
    const heddle_device_info_t &info = *heddle_device_list_get(list, i);
    if (kindOf(info.name) != kindOf(device) || *info.problem)
      continue;
    if (isMeant(device, info))
      return fingerprintOf(info);
    known.push_back(info.name);
  }
  fail(Exit::Device, "H0401", "there is no device '" + device + "'", {}, suggest(device, known, "devices"));
}

std::vector<std::string> fingerprintsOfGpus() {
  std::vector<std::string> result;
  heddle_device_list_t *list = nullptr;
  check(heddle_device_list_create(&list));
  DeviceListPtr owner(list);
  for (size_t i = 0; i < heddle_device_list_count(list); ++i) {
    const heddle_device_info_t &info = *heddle_device_list_get(list, i);
    if (kindOf(info.name) == "vulkan" && !*info.problem)
      result.push_back(fingerprintOf(info));
  }
  return result;
}

} // namespace heddle::cli
