// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles: layers by nodes' names, times by spans, rows that add up, traces and charts.

#include "tools/heddle/layers.h"
#include "tools/heddle/machine.h"
#include "tools/heddle/profiling.h"
#include "tools/heddle/roofline_chart.h"
#include "tools/heddle/text.h"
#include "tools/heddle/trace.h"

#include <cmath>
#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

TEST(Layers, AreFoundInExportersNames) {
  EXPECT_EQ(layerOf("/encoder/layer.0/attention/self/MatMul"), "encoder/layer.0");
  EXPECT_EQ(layerOf("/bert/encoder/layer.11/output/LayerNorm/Add_1"), "bert/encoder/layer.11");
  EXPECT_EQ(layerOf("/vit/encoder/layer.3/intermediate/Mul"), "vit/encoder/layer.3");
  EXPECT_EQ(layerOf("/transformer/h.5/mlp/c_fc/Gemm"), "transformer/h.5");
  EXPECT_EQ(layerOf("/model/layers.7/self_attn/q_proj/MatMul"), "model/layers.7");
  EXPECT_EQ(layerOf("model.layers.7.self_attn.q_proj"), "model.layers.7");
  EXPECT_EQ(layerOf("bert/encoder/layer_2/attention/MatMul"), "bert/encoder/layer_2");
  EXPECT_EQ(layerOf("/blocks/0/norm1/LayerNormalization"), "blocks/0");
  EXPECT_EQ(layerOf("/resblocks.4/attn/MatMul"), "resblocks.4");
  // T5's blocks hold lists of layers: the outermost one counts.
  EXPECT_EQ(layerOf("/decoder/block.1/layer.0/SelfAttention/q/MatMul"), "decoder/block.1");
}

TEST(Layers, AreNotTakenFromOtherNumbers) {
  for (const char *node : {"", "/", "MatMul_12", "/embeddings/LayerNorm/Add_1", "/pooler/dense.0/Gemm", "/layer",
                           "/embeddings/layer_1", "/shared.0/h", "//"})
    EXPECT_EQ(layerOf(std::string_view(node)), "") << node;
}

TEST(Layers, OfADispatchIsThatOfMostNodes) {
  EXPECT_EQ(layerOf(std::vector<std::string>{}), "");
  EXPECT_EQ(layerOf({"/layer.0/a", "/layer.1/a", "/layer.1/b"}), "layer.1");
  EXPECT_EQ(layerOf({"/layer.0/a", "/layer.1/a"}), "layer.0");
  EXPECT_EQ(layerOf({"/final/a", "/layer.1/a", "/final/b"}), "");
}

heddle_span_t span(size_t dispatch, unsigned thread, int64_t begin, int64_t end) {
  return {dispatch, thread, begin, end, 1, 0, 1};
}

TEST(DispatchTimes, CountWhatThreadsOverlapOnce) {
  std::vector<heddle_span_t> spans = {span(0, 0, 0, 3000), span(2, 0, 9000, 10000), span(0, 1, 1000, 2000),
                                      span(2, 1, 9500, 12000), span(2, 2, 13000, 14000)};
  EXPECT_EQ(dispatchTimes(spans, 4), (std::vector<double>{3, 0, 4, 0}));
}

/// Three dispatches of two kernels in two layers, eight runs; the first of them and the last one are disturbed.
Profile example() {
  Profile profile;
  profile.dispatches = {{"gemm", "contract", {"/layer.0/MatMul", "/layer.0/<Add>"}, 4000000, 20000, false},
                        {"norm", "rowwise", {"/layer.0/Norm"}, 1000, 8000, false},
                        {"gemm", "contract", {"/layer.1/MatMul"}, 4000000, 20000, false}};
  for (int run = 0; run < 8; ++run) {
    double slow = run == 0 || run == 7 ? 100 : 0;
    profile.walls.push_back(10 + slow);
    profile.times.push_back({4 + slow, 1, 3});
  }
  profile.traced = {
      1000, 11000, {span(0, 0, 1500, 5000), span(1, 0, 5500, 6500), span(2, 0, 7000, 10000), span(0, 1, 2000, 5000)}};
  return profile;
}

Roofline limits() {
  Roofline roofline = {};
  roofline.threads = 2;
  roofline.flops = 2e12, roofline.byteOps = 2e12;
  roofline.l1 = 4e11, roofline.l2 = 2e11, roofline.l3 = 1e11;
  roofline.cache = roofline.memory = 5e10;
  roofline.l1Bytes = 1 << 16, roofline.l2Bytes = 1 << 20, roofline.l3Bytes = 1 << 24;
  return roofline;
}

TEST(ProfileRows, OfKernelsAddUpToTheWall) {
  Limits known(limits(), 1000);
  ProfileRows rows = rowsOf(example(), ProfileBy::Kernel, &known);
  EXPECT_DOUBLE_EQ(rows.wall, 10);
  ASSERT_EQ(rows.rows.size(), 3u);
  const ProfileRow &gemm = rows.rows[0], &norm = rows.rows[1], &runtime = rows.rows[2];
  EXPECT_EQ(gemm.name, "gemm");
  EXPECT_EQ(gemm.dispatches, 2u);
  EXPECT_EQ(gemm.nodes, (std::vector<std::string>{"/layer.0/MatMul", "/layer.0/<Add>", "/layer.1/MatMul"}));
  EXPECT_DOUBLE_EQ(gemm.time, 7);
  EXPECT_DOUBLE_EQ(gemm.median, 7);
  EXPECT_DOUBLE_EQ(gemm.share, 0.7);
  EXPECT_DOUBLE_EQ(gemm.gflops(), 8e6 / 7 / 1e3);
  EXPECT_NEAR(gemm.percentOfRoofline(), 100 * 4.0 / 7, 1e-9);
  EXPECT_EQ(gemm.boundBy, "compute");
  EXPECT_EQ(norm.boundBy, "latency");
  EXPECT_TRUE(runtime.isRuntime);
  EXPECT_DOUBLE_EQ(runtime.time, 2);
  EXPECT_TRUE(std::isnan(runtime.percentOfRoofline()));
}

TEST(ProfileRows, OfLayersComeInTheModelsOrder) {
  Profile profile = example();
  profile.dispatches[1].nodes = {"/final/Norm"};
  ProfileRows rows = rowsOf(profile, ProfileBy::Layer, nullptr);
  ASSERT_EQ(rows.rows.size(), 4u);
  const char *names[] = {"layer.0", "", "layer.1", "runtime"};
  const double times[] = {4, 1, 3, 2};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows.rows[i].name, names[i]);
    EXPECT_DOUBLE_EQ(rows.rows[i].time, times[i]);
    EXPECT_EQ(rows.rows[i].boundBy, "");
  }
}

TEST(ProfileRows, OfLayersGoByPathsOfModulesBeforeNames) {
  Profile profile = example();
  profile.dispatches[0].paths = {"h.7/linear", ""};
  profile.dispatches[1].paths = {"h.8/norm"};
  profile.dispatches[2].paths = {"/embeddings/linear"};
  ProfileRows rows = rowsOf(profile, ProfileBy::Layer, nullptr);
  ASSERT_EQ(rows.rows.size(), 4u);
  EXPECT_EQ(rows.rows[0].name, "h.7");
  EXPECT_EQ(rows.rows[1].name, "h.8");
  EXPECT_EQ(rows.rows[2].name, "");
  EXPECT_EQ(rows.rows[1].nodes, (std::vector<std::string>{"/layer.0/Norm"}));
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

TEST(Trace, HasATrackForEachThread) {
  std::string text = traceJson(example(), "model.heddle on cpu", "cpu");
  EXPECT_EQ(count(text, "\"ph\": \"X\""), 5u); // the run and four spans
  EXPECT_EQ(count(text, "\"name\": \"thread_name\""), 2u);
  EXPECT_EQ(count(text, "\"name\": \"heddle-1\""), 1u);
  EXPECT_EQ(count(text, "\"name\": \"/layer.0/MatMul and 1 more\""), 2u);
  EXPECT_EQ(count(text, "\"ts\": 0.5,"), 1u);
  EXPECT_EQ(count(text, "\"dur\": 3.5,"), 1u);
}

TEST(Trace, HasADevicesTrackBesideTheCallers) {
  std::string text = traceJson(example(), "model.heddle on vulkan", "vulkan");
  EXPECT_EQ(count(text, "\"name\": \"vulkan\""), 2u); // threads 0 and 1 of the example
  EXPECT_EQ(count(text, "\"name\": \"caller\""), 1u);
}

TEST(RooflineChart, HasAPointForEachKernelThatComputes) {
  Profile profile = example();
  profile.dispatches[1].flops = 0;
  profile.dispatches[0].kernel = profile.dispatches[2].kernel = "a<b>&\"c\"";
  Limits known(limits(), 1000);
  std::string text = rooflineChart(rowsOf(profile, ProfileBy::Kernel, &known), limits(), "title <1>");
  EXPECT_EQ(text.rfind("<svg ", 0), 0u);
  EXPECT_EQ(count(text, "<title>"), 1u);
  EXPECT_EQ(count(text, "a&lt;b&gt;&amp;&quot;c&quot;"), 2u); // the point and the list
  EXPECT_EQ(count(text, "title &lt;1&gt;"), 1u);
  for (const char *roof : {"L1 400 GB/s", "L2 200 GB/s", "L3 100 GB/s", "DRAM 50 GB/s", "f32 2e+03 GFLOP/s"})
    EXPECT_EQ(count(text, roof), 1u) << roof;
  EXPECT_EQ(count(text, "int8"), 0u);
  EXPECT_EQ(count(text, "nan") + count(text, "inf"), 0u);
}

TEST(RooflineChart, HasRoofsOfADeviceWhoseBytesAreSlower) {
  Roofline device = {};
  device.flops = 2e12, device.byteOps = 5e11;
  device.l1 = device.l2 = device.l3 = device.cache = 3e11, device.memory = 5e10;
  device.cacheBytes = 1 << 22;
  Limits known(device, 1000);
  std::string text = rooflineChart(rowsOf(example(), ProfileBy::Kernel, &known), device, "title");
  for (const char *roof : {"cache 300 GB/s", "DRAM 50 GB/s", "f32 2e+03 GFLOP/s", "int8 500 GFLOP/s"})
    EXPECT_EQ(count(text, roof), 1u) << roof;
  for (const char *roof : {"L1 ", "L2 ", "L3 "})
    EXPECT_EQ(count(text, roof), 0u) << roof;
}

TEST(ProfileRows, WithoutTimesHaveNoRates) {
  ProfileRow row;
  row.operations = row.bytes = row.leastTime = 1;
  for (double value : {row.gflops(), row.gbs(), row.percentOfRoofline()})
    EXPECT_EQ(formatFixed(value, 1), "-");
}

TEST(SampleNotes, DoubtWhatIsFewWideOrDrifting) {
  std::vector<double> steady(200, 10);
  EXPECT_TRUE(sampleNotes(steady).empty());
  EXPECT_EQ(sampleNotes(std::vector<double>(12, 10)),
            std::vector<std::string>{"few runs (12): p99 is the slowest one"});
  EXPECT_EQ(sampleNotes({5}), std::vector<std::string>{"few runs (1): p99 is the slowest one"});
  for (size_t i = 0; i < 200; i += 4)
    steady[i] = 13;
  EXPECT_EQ(sampleNotes(steady), std::vector<std::string>{"noisy: from min to p90 it is 30 % of p50"});
  std::vector<double> drifting(200, 10);
  std::fill(drifting.begin() + 100, drifting.end(), 11);
  EXPECT_EQ(sampleNotes(drifting),
            std::vector<std::string>{"drifting: the second half of the runs is 10 % slower than the first"});
}

} // namespace
} // namespace heddle::cli
