// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle devices: what this machine has, and which target of an artifact it would take.

#include "tools/heddle/command.h"
#include "tools/heddle/program.h"
#include "tools/heddle/text.h"

#include <cstdio>

namespace heddle::cli {

namespace {

class DevicesCommand : public Command {
public:
  DevicesCommand() : Command("devices", "show this machine and what it would run", "[ARTIFACT]") {
    options.positional("ARTIFACT", artifact, "also show which of its targets each device takes");
  }

  Exit run() override {
    const heddle_host_info_t &host = *heddle_host_info();
    std::vector<std::string> features(host.features, host.features + host.feature_count);
    std::printf("cpu       %s (%s, %u %s)\n", host.cpu_name, host.architecture, host.thread_count,
                host.thread_count == 1 ? "thread" : "threads");
    std::printf("caches    %s\n", cachesOf(host).c_str());
    std::printf("features  %s\n", join(features, " ").c_str());
    if (!artifact.empty())
      printTargets();
    return Exit::Fine;
  }

private:
  static std::string cachesOf(const heddle_host_info_t &host) {
    auto cache = [](const char *name, uint64_t bytes) {
      return std::string(name) + " " + (bytes ? std::to_string(bytes >> 10) + " KiB" : "unknown");
    };
    return cache("L1d", host.l1d_bytes) + ", " + cache("L2", host.l2_bytes) + ", " + cache("L3", host.l3_bytes);
  }

  void printTargets() const {
    LoadedProgram loaded = loadForInspection(artifact);
    const heddle_program_info_t &info = loaded.info();
    bool taken = false;
    for (size_t i = 0; i < info.target_count; ++i) {
      const heddle_target_info_t &target = info.targets[i];
      bool fits = !*target.missing_feature;
      // Targets are listed best first.
      std::string verdict = !fits ? std::string("lacks ") + target.missing_feature : taken ? "can run" : "selected";
      taken = taken || fits;
      std::printf("%s  %s: %s\n", i ? "       " : "targets", target.name, verdict.c_str());
    }
  }

  std::string artifact;
};

} // namespace

std::unique_ptr<Command> makeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

} // namespace heddle::cli
