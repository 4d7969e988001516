// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle devices: what this machine has, which device a run takes, and which code of an artifact each device would run.

#include "tools/heddle/command.h"
#include "tools/heddle/fingerprint.h"
#include "tools/heddle/json.h"
#include "tools/heddle/program.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <cstdio>

namespace heddle::cli {

namespace {

std::string cachesOf(const heddle_host_info_t &host) {
  auto cache = [](const char *name, uint64_t bytes) {
    return std::string(name) + " " + (bytes ? std::to_string(bytes >> 10) + " KiB" : "unknown");
  };
  return cache("L1d", host.l1d_bytes) + ", " + cache("L2", host.l2_bytes) + ", " + cache("L3", host.l3_bytes);
}

class DevicesCommand : public Command {
public:
  DevicesCommand() : Command("devices", "show this machine and what it would run", "[ARTIFACT] [options]") {
    options.positional("ARTIFACT", artifact, "also show which of its code each device takes");
    options.flag("--json", json, "print JSON, with the form that tuning files have for each device");
  }

  Exit run() override {
    heddle_device_list_t *handle = nullptr;
    check(heddle_device_list_create(&handle));
    DeviceListPtr owner(handle);
    for (size_t i = 0; i < heddle_device_list_count(handle); ++i)
      devices.push_back(heddle_device_list_get(handle, i));
    if (json) {
      std::fputs(jsonOf(devices).c_str(), stdout);
      return Exit::Fine;
    }
    LoadedProgram loaded;
    if (!artifact.empty())
      loaded = loadForInspection(artifact);
    for (const heddle_device_info_t *device : devices) {
      print(*device);
      if (loaded.program && !*device->problem)
        printTargets(loaded.info(), *device);
      std::fputs("\n", stdout);
    }
    printChoice();
    return Exit::Fine;
  }

private:
  /// A line of a device: its first has the device's name, the others what they are about.
  static void line(std::string_view title, const std::string &text) {
    std::printf("%-9s %s\n", printable(title).c_str(), printable(text).c_str());
  }

  static void print(const heddle_device_info_t &device) {
    if (*device.problem && !*device.title) {
      line(device.name, std::string("none: ") + device.problem);
      return;
    }
    const heddle_host_info_t &host = *heddle_host_info();
    if (kindOf(device.name) == "cpu") {
      line(device.name, std::string(device.title) + " (" + host.architecture + ", " +
                            std::to_string(host.thread_count) + (host.thread_count == 1 ? " thread)" : " threads)"));
      line("caches", cachesOf(host));
    } else {
      line(device.name, std::string(device.title) + " (" + device.kind + ")");
      line("driver", device.driver);
      line("memory", formatBytes(device.memory_bytes));
    }
    if (*device.limits)
      line("limits", device.limits);
    line("features", join({device.features, device.features + device.feature_count}, " "));
    if (*device.problem)
      line("problem", device.problem);
  }

  /// Which targets |device| can run, and how many kernels it runs in which form.
  static void printTargets(const heddle_program_info_t &info, const heddle_device_info_t &device) {
    bool isTaken = false, isFirst = true;
    for (size_t i = 0; i < info.target_count; ++i) {
      const heddle_target_info_t &target = info.targets[i];
      if (kindOf(target.name) != kindOf(device.name))
        continue;
      // Targets are listed best first.
      std::string verdict = *target.missing_feature ? std::string("lacks ") + target.missing_feature
                            : isTaken               ? "can run"
                                                    : "selected" + describeForms(target, device);
      isTaken = isTaken || !*target.missing_feature;
      line(isFirst ? "targets" : "", std::string(target.name) + ": " + verdict);
      isFirst = false;
    }
    if (isFirst)
      line("targets", "none for this device");
  }

  /// ", 12 of 20 kernels in their best form, the others without float16"; nothing for a CPU.
  static std::string describeForms(const heddle_target_info_t &target, const heddle_device_info_t &device) {
    if (!target.shader_count)
      return {};
    auto has = [&](const char *feature) {
      return std::any_of(device.features, device.features + device.feature_count,
                         [&](const char *own) { return std::string_view(own) == feature; });
    };
    size_t best = 0;
    std::vector<std::string> lacking;
    for (size_t i = 0; i < target.shader_count; ++i) {
      const heddle_shader_variant_info_t &variant = target.shaders[i].variants[0];
      bool hasAll = true;
      for (size_t j = 0; j < variant.feature_count; ++j) {
        std::string feature = variant.features[j];
        if (has(feature.c_str()))
          continue;
        hasAll = false;
        if (std::find(lacking.begin(), lacking.end(), feature) == lacking.end())
          lacking.push_back(feature);
      }
      best += hasAll;
    }
    return ", " + std::to_string(best) + " of " + std::to_string(target.shader_count) + " kernels in their best form" +
           (lacking.empty() ? "" : ", the others without " + join(lacking, ", "));
  }

  /// What --device takes, and why.
  void printChoice() const {
    line("default", "cpu, or vulkan for an artifact that holds nothing else");
    const heddle_device_info_t *first = nullptr;
    size_t usable = 0;
    for (const heddle_device_info_t *device : devices)
      if (kindOf(device->name) == "vulkan" && !*device->problem) {
        first = first ? first : device;
        ++usable;
      }
    if (!first)
      return;
    const bool isSoftware = std::string_view(first->kind) == "software";
    line("vulkan", std::string(first->name) + (usable == 1  ? ", the only one"
                                               : isSoftware ? ", the first; none is hardware"
                                                            : ", the best hardware"));
  }

  static std::string jsonOf(const std::vector<const heddle_device_info_t *> &devices) {
    JsonWriter json;
    json.beginObject().key("devices").beginArray();
    for (const heddle_device_info_t *device : devices) {
      json.beginObject().key("name").string(device->name).key("title").string(device->title);
      json.key("kind").string(device->kind).key("driver").string(device->driver);
      json.key("memory_bytes").number(device->memory_bytes).key("features").beginArray();
      for (size_t i = 0; i < device->feature_count; ++i)
        json.string(device->features[i]);
      json.endArray().key("problem").string(device->problem);
      if (!*device->problem)
        json.key("tuning_device").literal(fingerprintOf(*device));
      json.endObject();
    }
    return json.endArray().endObject().take();
  }

  std::string artifact;
  bool json = false;
  std::vector<const heddle_device_info_t *> devices;
};

} // namespace

std::unique_ptr<Command> makeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

} // namespace heddle::cli
