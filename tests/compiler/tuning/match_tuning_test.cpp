// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose entries a target takes, and which of several for one kernel.

#include "compiler/tuning/MatchTuning.h"

#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/vulkan/VulkanTarget.h"

#include <gtest/gtest.h>

#include "llvm/Support/raw_ostream.h"

namespace heddle {
namespace {

/// A CPU by its number of threads, cache and features.
llvm::json::Object makeCpu(int threads, int l2, llvm::ArrayRef<std::string> features) {
  return llvm::json::Object{{"kind", "cpu"},
                            {"vendor", "AuthenticAMD"},
                            {"threads", threads},
                            {"l1d", 32768},
                            {"l2", l2},
                            {"l3", 33554432},
                            {"features", llvm::json::Array(features)}};
}
llvm::json::Object makeGpu(const char *name) { return llvm::json::Object{{"kind", "vulkan"}, {"deviceName", name}}; }

class MatchTuning : public testing::Test {
protected:
  MatchTuning() {
    cpu::registerCpuTarget();
    vulkan::registerVulkanTarget();
    host = llvm::cantFail(parseTarget("cpu"));
    level = llvm::cantFail(parseTarget("cpu:x86-64-v3"));
    gpu = llvm::cantFail(parseTarget("vulkan"));
    sources.devices = {makeCpu(2, 524288, {"avx2", "fma", "fast"}), makeGpu("one"), makeGpu("two")};
  }

  /// A file with an entry for each of |devices|, whose config's number is its place among all.
  void addFile(const char *name, llvm::ArrayRef<llvm::json::Object> devices) {
    TuningFile &file = sources.files.emplace_back();
    file.name = name;
    for (const llvm::json::Object &device : devices)
      file.entries.push_back({device, "kernel", "1", llvm::json::Object{{"number", number++}}});
  }

  /// "number, device" of what |target| takes; "" where it takes none.
  std::string taken(const Target &target) {
    TunedConfigs tuned = matchTuning(sources, target);
    const TunedConfig *config = tuned.find("kernel", "1");
    return config ? std::to_string(*config->config.getInteger("number")) + ", " + config->device : "";
  }

  TuningSources sources;
  int number = 0;
  std::unique_ptr<Target> host, level, gpu;
};

TEST_F(MatchTuning, PrefersThisMachineToOneLikeIt) {
  addFile("a", {makeCpu(2, 524288, {"avx2", "fma", "fast"}), makeCpu(8, 524288, {"avx2", "fma", "fast"})});
  EXPECT_EQ(taken(*host), "0, this device");
  sources.files[0].entries.erase(sources.files[0].entries.begin());
  EXPECT_EQ(taken(*host), "1, same ISA and caches");
}

TEST_F(MatchTuning, TakesNothingOfAnotherCacheOrIsa) {
  addFile("a", {makeCpu(2, 1 << 20, {"avx2", "fma", "fast"}), makeCpu(2, 524288, {"avx2", "fma"}), makeGpu("one")});
  EXPECT_EQ(taken(*host), "");
  const Target *targets[] = {host.get()};
  EXPECT_EQ(findForeignFiles(sources, targets), std::vector<std::string>{"a"});
}

TEST_F(MatchTuning, GoesByFeaturesForACpuThatIsNamed) {
  std::vector<std::string> features = level->getFeatures();
  addFile("a", {makeCpu(2, 524288, {"avx2", "fma", "fast"})});
  EXPECT_EQ(taken(*level), "") << "whatever machine this is";
  // What no kernel uses doesn't count.
  features.push_back("cmov");
  addFile("b", {makeCpu(64, 1 << 20, features)});
  EXPECT_EQ(taken(*level), "1, same ISA");
  features.push_back("avx512f");
  addFile("c", {makeCpu(64, 1 << 20, features)});
  EXPECT_EQ(taken(*level), "1, same ISA");
}

TEST_F(MatchTuning, LetsLaterFilesWinAndNamedOnesOverTheUsersFolder) {
  llvm::json::Object exact = makeCpu(2, 524288, {"avx2", "fma", "fast"}), alike = exact;
  alike["threads"] = 8;
  addFile("user", {exact});
  addFile("named", {alike});
  sources.userFileCount = 1;
  EXPECT_EQ(taken(*host), "1, same ISA and caches");
  addFile("later", {alike, alike});
  EXPECT_EQ(taken(*host), "3, same ISA and caches");
}

TEST_F(MatchTuning, TakesVulkanDevicesInTheMachinesOrder) {
  addFile("a", {makeGpu("one"), makeGpu("two")});
  EXPECT_EQ(taken(*gpu), "0, this device");
}

TEST_F(MatchTuning, TakesTheOnlyVulkanDeviceOfAFileThatWasNamed) {
  addFile("a", {makeGpu("elsewhere")});
  EXPECT_EQ(taken(*gpu), "0, the file's device");
  sources.userFileCount = 1;
  EXPECT_EQ(taken(*gpu), "");
  sources.userFileCount = 0;
  sources.files[0].entries.push_back(sources.files[0].entries.front());
  sources.files[0].entries.back().device["deviceName"] = "another";
  EXPECT_EQ(taken(*gpu), "") << "which of the two isn't said";
}

} // namespace
} // namespace heddle
