// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roofline: which limit holds for which work, what becomes of a Vulkan device's limits, and that measuring gives
// limits in their order. No test says how fast a machine must be.

#include "tests/runtime/sanitizers.h"
#include "tools/heddle/device_roofline.h"
#include "tools/heddle/error.h"
#include "tools/heddle/limits.h"
#include "tools/heddle/peak_loops.h"
#include "tools/heddle/roofline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <new>

#include <sys/resource.h>
#include <unistd.h>

namespace heddle::cli {
namespace {

Roofline example() {
  Roofline roofline = {};
  roofline.threads = 2;
  roofline.flops = 1000, roofline.byteOps = 4000;
  roofline.l1 = 400, roofline.l2 = 200, roofline.l3 = 100, roofline.cache = roofline.memory = 50;
  roofline.l1Bytes = 10, roofline.l2Bytes = 100, roofline.l3Bytes = 1000;
  return roofline;
}

TEST(Roofline, ReadsFromTheSmallestLevelThatHoldsAll) {
  Roofline roofline = example();
  EXPECT_EQ(roofline.bandwidthFor(0), 400);
  EXPECT_EQ(roofline.bandwidthFor(10), 400);
  EXPECT_EQ(roofline.bandwidthFor(11), 200);
  EXPECT_EQ(roofline.bandwidthFor(1000), 100);
  EXPECT_EQ(roofline.bandwidthFor(1001), 50);
}

TEST(Roofline, NamesTheLevelThatHoldsAll) {
  Roofline roofline = example();
  EXPECT_STREQ(levelName(roofline.levelFor(10)), "L1");
  EXPECT_STREQ(levelName(roofline.levelFor(11)), "L2");
  EXPECT_STREQ(levelName(roofline.levelFor(1000)), "L3");
  EXPECT_STREQ(levelName(roofline.levelFor(1001)), "DRAM");
  EXPECT_EQ(roofline.bandwidthOf(Level::Memory), 50);
}

DispatchCost cost(const char *root, int64_t flops, int64_t bytes, bool multipliesBytes = false) {
  return {"kernel", root, {}, flops, bytes, multipliesBytes};
}

TEST(Limits, TakeTheSlowerOfComputingAndReading) {
  Roofline roofline = example();
  Limits limits(roofline, /*allBytes=*/5000);
  EXPECT_DOUBLE_EQ(limits.of(cost("map", 2000, 100)).seconds(), 2.0);
  EXPECT_DOUBLE_EQ(limits.of(cost("map", 2000, 500)).seconds(), 5.0);
  // A product's weights come from where the whole run's data lie.
  EXPECT_DOUBLE_EQ(limits.of(cost("contract", 2000, 500)).seconds(), 10.0);
  // Bytes multiply faster, and are read as fast as anything.
  EXPECT_DOUBLE_EQ(limits.of(cost("map", 2000, 20, true)).seconds(), 0.5);
  EXPECT_DOUBLE_EQ(limits.of(cost("map", 2000, 500, true)).seconds(), 5.0);
  EXPECT_DOUBLE_EQ(limits.leastSeconds({cost("map", 2000, 100), cost("contract", 2000, 500)}), 12.0);
}

TEST(BoundFinder, SaysWhatMostTimeIsFor) {
  Roofline roofline = example();
  Limits limits(roofline, 5000);
  BoundFinder bound;
  bound.add(limits.of(cost("map", 2000, 100)));
  EXPECT_STREQ(bound.boundOf(2), "compute");
  bound.add(limits.of(cost("map", 0, 500)));
  EXPECT_DOUBLE_EQ(bound.leastSeconds(), 7.0);
  EXPECT_STREQ(bound.boundOf(10), "L3");
  bound.add(limits.of(cost("contract", 0, 500)));
  EXPECT_STREQ(bound.boundOf(20), "DRAM");
  // No limit explains a hundred seconds.
  EXPECT_STREQ(bound.boundOf(100), "latency");
}

heddle_vulkan_limits_t vulkanLimits() { return {"a GPU", 0, 1000, 800, 50, 300, 4096}; }

TEST(DeviceRoofline, OfAGpuHasOneCacheWithoutAName) {
  Roofline roofline = rooflineOf(vulkanLimits());
  EXPECT_EQ(roofline.name, "a GPU");
  EXPECT_EQ(roofline.threads, 0u);
  EXPECT_EQ(roofline.rateOf(Arithmetic::Floats), 1000);
  EXPECT_EQ(roofline.rateOf(Arithmetic::Bytes), 800);
  EXPECT_EQ(roofline.peak(), 1000);
  EXPECT_STREQ(levelName(roofline.levelFor(0)), "cache");
  EXPECT_STREQ(levelName(roofline.levelFor(4096)), "cache");
  EXPECT_STREQ(levelName(roofline.levelFor(4097)), "DRAM");
  EXPECT_EQ(roofline.bandwidthFor(4096), 300);
  EXPECT_EQ(roofline.bandwidthFor(4097), 50);
  for (Level level : {Level::L1, Level::L2, Level::L3})
    EXPECT_EQ(roofline.bandwidthOf(level), 300);
}

TEST(DeviceRoofline, OfAGpuWithoutACacheHasMemoryAlone) {
  heddle_vulkan_limits_t limits = vulkanLimits();
  limits.cache_rate = limits.memory_rate, limits.cache_bytes = 0;
  Roofline roofline = rooflineOf(limits);
  EXPECT_STREQ(levelName(roofline.levelFor(1)), "DRAM");
  EXPECT_EQ(roofline.bandwidthFor(1), 50);
  EXPECT_EQ(roofline.bandwidthOf(Level::L1), 50);
}

TEST(DeviceRoofline, OfASoftwareDeviceReadsAsTheCpuDoes) {
  heddle_vulkan_limits_t limits = vulkanLimits();
  limits.is_software = 1, limits.memory_rate = 60;
  Roofline roofline = rooflineOf(limits, example());
  EXPECT_EQ(roofline.name, "a GPU");
  EXPECT_EQ(roofline.threads, 0u);
  EXPECT_EQ(roofline.flops, 1000);
  EXPECT_EQ(roofline.byteOps, 800);
  EXPECT_EQ(roofline.bandwidthFor(10), 400);
  EXPECT_EQ(roofline.bandwidthFor(1000), 100);
  // What the device was seen to read is no more than what can be read.
  EXPECT_EQ(roofline.bandwidthFor(1001), 60);
  EXPECT_STREQ(levelName(roofline.levelFor(1001)), "DRAM");
}

TEST(BoundFinder, NamesADevicesCache) {
  Limits limits(rooflineOf(vulkanLimits()), 5000);
  BoundFinder bound;
  bound.add(limits.of(cost("map", 0, 3000)));
  EXPECT_DOUBLE_EQ(bound.leastSeconds(), 10.0);
  EXPECT_STREQ(bound.boundOf(20), "cache");
  bound.add(limits.of(cost("contract", 0, 3000)));
  EXPECT_STREQ(bound.boundOf(200), "DRAM");
}

TEST(Roofline, MeasuresLimitsInTheirOrder) {
  for (unsigned threads : {1u, 3u}) {
    Roofline roofline = measureRoofline(threads);
    EXPECT_EQ(roofline.device, "cpu");
    EXPECT_EQ(roofline.threads, threads);
    EXPECT_GT(roofline.flops, 0);
    EXPECT_GE(roofline.byteOps, roofline.flops);
    EXPECT_GT(roofline.memory, 0);
    EXPECT_GE(roofline.l3, roofline.memory);
    EXPECT_GE(roofline.l2, roofline.l3);
    EXPECT_GE(roofline.l1, roofline.l2);
  }
}

#if !defined(HEDDLE_TEST_SANITIZED)
/// While it lives, the process gets no more than |bytes| of address space beyond what it has.
class MemoryLimit {
public:
  explicit MemoryLimit(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit tight = {pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes, before.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before); }

private:
  rlimit before;
};

TEST(Roofline, MemoryThatIsOutIsAnErrorOfTheCommand) {
  // The data beyond the caches are 48 MiB or more.
  MemoryLimit limit(16 << 20);
  EXPECT_THROW(measureRoofline(1), std::bad_alloc);
}

TEST(Roofline, AThreadThatIsRefusedIsAnErrorOfTheCommand) {
  // Each of 63 more threads asks for a stack.
  MemoryLimit limit(16 << 20);
  try {
    measureRoofline(64);
    FAIL() << "expects an error";
  } catch (const CommandError &error) {
    EXPECT_NE(error.text.find("H0313"), std::string::npos) << error.text;
    EXPECT_NE(error.text.find(" of 64 to measure the roofline with"), std::string::npos) << error.text;
  }
}
#endif

TEST(PeakLoops, AreWidestFirstAndCountWhatTheyDo) {
  unsigned bits = 1024;
  for (const PeakLoops &loops : peakLoops()) {
    EXPECT_LT(loops.bits, bits);
    bits = loops.bits;
    // Whole chains of vectors of two operations an element.
    EXPECT_EQ(loops.flopsPerRound % (2 * bits / 32), 0);
    // Half of anything plus a half tends to one: after many rounds every chain is there.
    EXPECT_FLOAT_EQ(loops.multiplyAdd(200, 0.5f), loops.multiplyAdd(400, 0.5f));
    alignas(64) float data[kReadGranule] = {};
    EXPECT_EQ(loops.read(data, kReadGranule), 0.0f);
  }
  EXPECT_EQ(bits, 128u);
}

TEST(PeakLoops, MultiplyBytesInEveryChain) {
  // Chain c of twelve starts at c, the lowest of its bytes; the factor is one.
  for (const PeakLoops &loops : peakLoops()) {
    if (loops.multiplyBytes) {
      EXPECT_EQ(loops.multiplyBytes(1, 1), 2 * 66);
      EXPECT_EQ(loops.multiplyBytes(2, 1), 4 * 66);
    }
    if (loops.multiplyBytesVnni) {
      EXPECT_EQ(loops.multiplyBytesVnni(1, 1), 66 + 12);
      EXPECT_EQ(loops.multiplyBytesVnni(2, 1), 66 + 24);
    }
  }
}

TEST(PeakLoops, ReadEveryElement) {
  for (const PeakLoops &loops : peakLoops())
    for (size_t i = 0; i < 2 * kReadGranule; ++i) {
      alignas(64) float data[2 * kReadGranule] = {};
      // Vectors give the sum of their first lane; the others are loaded with it.
      data[i] = 1.0f;
      float sum = loops.read(data, 2 * kReadGranule);
      if (i % (loops.bits / 32) == 0 || loops.bits == 128)
        EXPECT_NE(sum, 0.0f) << loops.bits << " bits, element " << i;
    }
}

} // namespace
} // namespace heddle::cli
