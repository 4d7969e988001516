// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading: what isn't an artifact, versions, damage to the file's frame, checksums, targets, descriptions.

#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include <heddle/artifact_format.h>
#include <heddle/vulkan.h>

#include "runtime/core/artifact_source.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

std::string file_error(const std::string &path, const heddle_program_options_t &options = {}) {
  auto program = program::load(path, options);
  return program ? "" : program.error().error_code() + ": " + program.error().message();
}

std::string content_error(const std::string &content) {
  return file_error(write_file("content", content.data(), content.size()));
}

heddle_artifact_header_t *header_of(const artifact_bytes &artifact) {
  return reinterpret_cast<heddle_artifact_header_t *>(artifact.data());
}

TEST(Load, NamesWhatIsNoArtifact) {
  const std::string prefix = "H0502: expects a Heddle artifact, but the file is ";
  EXPECT_EQ(content_error(""), "H0502: the file is empty");
  EXPECT_EQ(content_error("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            prefix + "a Git LFS pointer, not the file it stands for");
  EXPECT_EQ(content_error("PK\x03\x04 data"), prefix + "a zip archive");
  EXPECT_EQ(content_error("\x1f\x8b data"), prefix + "gzip-compressed data");
  EXPECT_EQ(content_error("\x7f"
                          "ELF data"),
            prefix + "an ELF program or library");
  EXPECT_EQ(content_error("hello\nworld\n"), prefix + "a text file");
  EXPECT_EQ(content_error("HEDDLE\nxxxxxxxxxxxxxxxxxxx"),
            prefix + "an artifact whose line ends were converted by a transfer in text mode");
  EXPECT_EQ(content_error("\x08\x08\x12\x07pytorch\x01"), prefix + "probably an ONNX model");
  EXPECT_EQ(content_error(std::string("\xff\xfe\0\0 data", 9)), prefix + "something else");
}

TEST(Load, HelpsWithWhatIsNoArtifact) {
  auto program = program::load(write_file("lfs", "version https://git-lfs.github.com/spec/v1\n", 43));
  ASSERT_FALSE(bool(program));
  EXPECT_EQ(program.error().help(), "fetch the real file with 'git lfs pull'");
  EXPECT_EQ(program.error().context(), "in " + testing::TempDir() + "lfs");
}

TEST(Load, NamesWhatCannotBeRead) {
  EXPECT_EQ(file_error("/no/such/file"), "H0501: cannot open '/no/such/file': No such file or directory");
  EXPECT_EQ(file_error("/"), "H0501: cannot open '/': it is a folder");
  EXPECT_EQ(file_error("/dev/null"), "H0501: cannot open '/dev/null': it is no regular file");
}

TEST(Load, SaysHowMuchIsMissing) {
  const artifact_bytes artifact = scale_model().build();
  const std::string whole = std::to_string(artifact.size);
  EXPECT_EQ(file_error(write_file("cut", artifact.data(), 1000)), "H0503: truncated: 1000 of " + whole + " bytes");
  EXPECT_EQ(file_error(write_file("cut", artifact.data(), 5)), "H0503: truncated: 5 of 64 bytes");
  EXPECT_EQ(file_error(write_file("cut", artifact.data(), artifact.size - 1)),
            "H0503: truncated: " + std::to_string(artifact.size - 1) + " of " + whole + " bytes");
}

TEST(Load, EveryTruncationIsRefused) {
  const artifact_bytes artifact = scale_model().build();
  for (size_t size = 1; size < artifact.size; size += size < 200 ? 1 : 997) {
    auto program = program::load_memory(artifact.data(), size);
    ASSERT_FALSE(bool(program)) << size;
    EXPECT_EQ(program.error().error_code(), "H0503") << size;
  }
}

TEST(Load, RefusesOtherVersions) {
  const artifact_bytes artifact = scale_model().build();
  header_of(artifact)->format_version = 4;
  EXPECT_EQ(load_error(artifact), "H0504: the artifact has format version 4, this runtime reads version 3");
  header_of(artifact)->format_version = HEDDLE_ARTIFACT_FORMAT_VERSION;
  header_of(artifact)->executable_abi_version = 0;
  EXPECT_EQ(load_error(artifact), "H0504: the artifact's code has ABI version 0, this runtime calls version 1");
}

TEST(Load, RefusesADamagedFrame) {
  const std::string damaged = "H0505: the artifact is damaged: ";
  auto error_after = [](auto change) {
    const artifact_bytes artifact = scale_model().build();
    change(header_of(artifact));
    return load_error(artifact);
  };
  EXPECT_EQ(error_after([](auto *header) { header->file_length -= 1; }), damaged + "1 bytes follow its end");
  EXPECT_EQ(error_after([](auto *header) { header->zero[15] = 1; }),
            damaged + "its header has bytes where zeros belong");
  const std::string outside = damaged + "its program lies outside the file";
  EXPECT_EQ(error_after([](auto *header) { header->program_offset = 65; }), outside);
  EXPECT_EQ(error_after([](auto *header) { header->program_offset = 0; }), outside);
  EXPECT_EQ(error_after([](auto *header) { header->program_offset = UINT64_MAX - 63; }), outside);
  EXPECT_EQ(error_after([](auto *header) { header->program_length = UINT64_MAX; }), outside);
  EXPECT_EQ(error_after([](auto *header) { header->program_length -= 1; }), "H0506: checksum of the program differs");
}

TEST(Load, RefusesAFlatBufferThatDoesNotVerify) {
  const artifact_bytes artifact = scale_model().build();
  std::memset(artifact.data() + header_of(artifact)->program_offset, 0xff, 4);
  fix_program_checksum(artifact);
  EXPECT_EQ(load_error(artifact), "H0505: the artifact is damaged: its program is no valid FlatBuffer");
}

TEST(Load, ChecksumsOfSectionsAreComparedOnDemand) {
  const artifact_bytes artifact = scale_model().build();
  artifact.data()[artifact.size - 1] ^= std::byte(1); // the weight's last byte
  EXPECT_EQ(load_error(artifact), "");
  heddle_program_options_t options = {};
  options.verify_checksums = 1;
  EXPECT_EQ(load_error(artifact, options), "H0506: checksum of section 1 (weights) differs");
}

TEST(Load, MemoryIsHandedBackWithTheLastReference) {
  const artifact_bytes artifact = scale_model().build();
  int released = 0;
  heddle_program_t *program = nullptr;
  auto release = [](void *user, void *) { ++*static_cast<int *>(user); };
  EXPECT_OK(heddle_program_load_memory(artifact.data(), artifact.size, release, &released, nullptr, &program));
  heddle_session_t *session = nullptr;
  EXPECT_OK(heddle_session_create(program, &session));
  heddle_program_release(program);
  EXPECT_EQ(released, 0) << "the session keeps its program";
  heddle_session_release(session);
  EXPECT_EQ(released, 1);
}

TEST(Load, MemoryMustBeAligned) {
  alignas(64) static const char bytes[128] = {};
  heddle_program_t *program = nullptr;
  expect_failure(heddle_program_load_memory(bytes + 8, 100, nullptr, nullptr, nullptr, &program), "H0101",
                 "expects an artifact aligned to 64 bytes");
}

TEST(Load, AFileThatShrinksIsNoticedBeforeTheRun) {
  const artifact_bytes artifact = scale_model().build();
  const std::string path = write_file("shrinks", artifact.data(), artifact.size);
  auto program = program::load(path);
  ASSERT_TRUE(bool(program)) << program.error().text();
  const session session = make_session(*program);
  ASSERT_EQ(truncate(path.c_str(), 64), 0);
  const tensor x = counting_tensor({1, 4});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().message(),
            "the artifact shrank from " + std::to_string(artifact.size) + " to 64 bytes after it was loaded");
  EXPECT_EQ(outputs.error().error_code(), "H0507");
}

TEST(Load, AFileThatShrinksWhileItIsCopiedIsNoticed) {
  const artifact_bytes artifact = scale_model().build();
  const std::string path = write_file("shrinks_early", artifact.data(), artifact.size);
  runtime::artifact_source source;
  EXPECT_OK(source.open_file(path.c_str()));
  std::vector<std::byte> bytes(artifact.size);
  EXPECT_OK(source.read(8, artifact.size - 8, bytes.data()));
  EXPECT_EQ(std::memcmp(bytes.data(), artifact.data() + 8, artifact.size - 8), 0);
  ASSERT_EQ(truncate(path.c_str(), 64), 0);
  expect_failure(source.read(8, artifact.size - 8, bytes.data()), "H0507",
                 "the artifact shrank from " + std::to_string(artifact.size) + " to 64 bytes after it was loaded");
}

TEST(Load, AFileMayBeReplacedByRename) {
  const artifact_bytes artifact = scale_model().build();
  const std::string path = write_file("renamed", artifact.data(), artifact.size);
  auto program = program::load(path);
  ASSERT_TRUE(bool(program)) << program.error().text();
  ASSERT_EQ(rename(write_file("other", "x", 1).c_str(), path.c_str()), 0);
  const session session = make_session(*program);
  const tensor x = counting_tensor({1, 4});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{0, 1, 2, 3}));
}

TEST(Targets, TheFirstThatTheCpuHasIsTaken) {
  artifact_builder builder = scale_model();
  builder.program.targets.clear();
  builder.add_target("cpu:future", {"sse2", "feature-of-2040"});
  builder.add_target("cpu:good", {"sse2"});
  builder.add_target("cpu:plain", {});
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  ASSERT_EQ(program.info().target_count, 3u);
  EXPECT_STREQ(program.info().targets[0].missing_feature, "feature-of-2040");
  EXPECT_EQ(program.info().targets[0].selected, 0);
  EXPECT_EQ(program.info().targets[1].selected, 1);
  EXPECT_EQ(program.info().targets[2].selected, 0);
  heddle_program_options_t options = {};
  options.target = "cpu:plain";
  EXPECT_EQ(load(artifact, options).info().targets[2].selected, 1);
}

TEST(Targets, AMissingFeatureIsNamedWithTheRemedy) {
  artifact_builder builder = scale_model();
  builder.program.model = "my model.onnx";
  builder.program.targets.clear();
  builder.add_target("cpu:a", {"feature-a"});
  builder.add_target("cpu:b", {"feature-b"});
  const artifact_bytes artifact = builder.build();
  auto program = program::load_memory(artifact.data(), artifact.size);
  ASSERT_FALSE(bool(program));
  EXPECT_EQ(program.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
  EXPECT_EQ(program.error().text(),
            "error[H0402]: this CPU can't run the artifact: target 'cpu:a' needs feature-a, target 'cpu:b' needs "
            "feature-b\n  in memory\n  help: compile it for this machine: heddle compile 'my model.onnx' --target cpu "
            "-o OUT");
  heddle_program_options_t options = {};
  options.target = "cpu:b";
  EXPECT_EQ(load_error(artifact, options), "H0402: target 'cpu:b' needs feature-b, which this CPU lacks");
  options.target = "cpu:c";
  EXPECT_EQ(load_error(artifact, options), "H0403: the artifact has no target 'cpu:c'");
}

TEST(Targets, AnotherDeviceIsNeverTakenInSilence) {
  artifact_builder builder = scale_model();
  builder.program.targets.clear();
  builder.add_target("dsp:tiny", {});
  const artifact_bytes artifact = builder.build();
  EXPECT_EQ(load_error(artifact), "H0402: the artifact has no target for device 'cpu'; it has: dsp:tiny");
  heddle_program_options_t options = {};
  options.device = "dsp";
  EXPECT_EQ(load_error(artifact, options), "H0401: there is no device 'dsp'");
  options.device = "cpu:1";
  EXPECT_EQ(load_error(artifact, options), "H0401: there is no device 'cpu:1'");
}

TEST(Targets, AMisspeltDeviceHasANearestAndAList) {
  const artifact_bytes artifact = scale_model().build();
  heddle_program_options_t options = {};
  options.device = "cpo";
  auto program = program::load_memory(artifact.data(), artifact.size, options);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), HEDDLE_STATUS_DEVICE_UNAVAILABLE);
  EXPECT_EQ(program.error().message(), "there is no device 'cpo'; did you mean 'cpu'?");
  EXPECT_EQ(program.error().help().find("devices here: cpu"), 0u) << program.error().help();
}

TEST(Devices, TheCpuComesFirst) {
  auto devices = device_list::create();
  ASSERT_TRUE(devices);
  ASSERT_GE(devices->size(), 1u);
  const heddle_device_info_t &cpu = (*devices)[0];
  EXPECT_STREQ(cpu.name, "cpu");
  EXPECT_STREQ(cpu.kind, "cpu");
  EXPECT_STREQ(cpu.title, heddle_host_info()->cpu_name);
  EXPECT_STREQ(cpu.problem, "");
  EXPECT_EQ(cpu.feature_count, heddle_host_info()->feature_count);
  EXPECT_EQ(heddle_device_list_get(devices->get(), devices->size()), nullptr);
  expect_failure(heddle_device_list_create(nullptr), "H0101", "out_list is null");
}

TEST(Program, OnTheCpuHasNoLimitsOfAVulkanDevice) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  heddle_vulkan_limits_t limits = {};
  expect_failure(heddle_vulkan_measure_limits(program.get(), &limits), "H0101",
                 "the program runs on the CPU, and the limits of a Vulkan device were asked for");
  expect_failure(heddle_vulkan_measure_limits(program.get(), nullptr), "H0101", "out_limits is null");
}

TEST(Inspection, NeedsNoFittingTarget) {
  artifact_builder builder = scale_model();
  builder.program.targets.clear();
  builder.add_target("cpu:future", {"feature-of-2040"});
  const artifact_bytes artifact = builder.build();
  heddle_program_options_t options = {};
  options.inspect_only = 1;
  const program program = load(artifact, options);
  EXPECT_EQ(program.info().targets[0].selected, 0);
  heddle_session_t *session = nullptr;
  expect_failure(heddle_session_create(program.get(), &session), "H0103", "the program was loaded for inspection only");
  heddle_vulkan_limits_t limits = {};
  expect_failure(heddle_vulkan_measure_limits(program.get(), &limits), "H0103",
                 "the program was loaded for inspection only");
  heddle_memory_info_t memory = {};
  expect_failure(heddle_program_memory(program.get(), nullptr, nullptr, 0, &memory), "H0103",
                 "the program was loaded for inspection only");
  heddle_plan_info_t plan = {};
  const tensor x = counting_tensor({3, 100});
  const heddle_tensor_t *inputs[] = {x.get()};
  EXPECT_OK(heddle_program_plan(program.get(), "main", inputs, 1, &plan));
  EXPECT_EQ(plan.arena_bytes, 1216) << "1200 bytes, rounded up to whole cache lines";
  EXPECT_EQ(plan.dispatch_count, 2u);
  EXPECT_EQ(plan.flops, 2 * 19);
}

TEST(Inspection, DescribesAllOfIt) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const heddle_program_info_t &info = program.info();
  EXPECT_EQ(info.format_version, 3u);
  EXPECT_EQ(info.file_bytes, artifact.size);
  EXPECT_EQ(info.constant_bytes, 4u);
  EXPECT_STREQ(info.producer, "heddle test");
  EXPECT_STREQ(info.model, "test.onnx");
  ASSERT_EQ(info.section_count, 2u);
  EXPECT_STREQ(info.sections[0].kind, "code");
  EXPECT_STREQ(info.sections[1].kind, "weights");
  ASSERT_EQ(info.kernel_count, 2u);
  EXPECT_STREQ(info.kernels[1].name, "test_scale");
  EXPECT_STREQ(info.kernels[1].root, "map");
  ASSERT_EQ(info.kernels[1].node_count, 1u);
  EXPECT_STREQ(info.kernels[1].nodes[0], "scale");
  EXPECT_EQ(info.kernels[1].dispatch_count, 1u);
  ASSERT_EQ(info.entry_count, 1u);
  EXPECT_STREQ(info.entries[0].name, "main");
  ASSERT_EQ(info.entries[0].input_count, 1u);
  const heddle_tensor_info_t &x = info.entries[0].inputs[0];
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.type, HEDDLE_ELEMENT_F32);
  ASSERT_EQ(x.rank, 2u);
  EXPECT_STREQ(x.dims[1].symbol, "width");
  EXPECT_EQ(x.dims[1].value, -1);
  EXPECT_STREQ(info.entries[0].outputs[0].name, "y");
  EXPECT_EQ(info.targets[0].module_count, 0u);
  EXPECT_EQ(info.targets[0].shader_count, 0u);
}

TEST(Inspection, DescribesShaders) {
  artifact_builder builder = scale_model();
  fb::TargetT &target = builder.add_shader_target();
  auto better = std::make_unique<fb::ShaderVariantT>(*target.shaders[1]->variants[0]);
  better->features = {"float16"};
  better->module_ = 0;
  better->shared_bytes = 512;
  target.shaders[1]->variants.insert(target.shaders[1]->variants.begin(), std::move(better));
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const heddle_program_info_t &info = program.info();
  ASSERT_EQ(info.target_count, 2u);
  EXPECT_EQ(info.targets[0].selected, 1) << "the CPU, unless another device is asked for";
  EXPECT_EQ(info.targets[1].selected, 0);
  EXPECT_EQ(info.targets[1].module_count, 2u);
  ASSERT_EQ(info.targets[1].shader_count, info.kernel_count);
  EXPECT_EQ(info.targets[1].shaders[0].variant_count, 1u);
  ASSERT_EQ(info.targets[1].shaders[1].variant_count, 2u);
  const heddle_shader_variant_info_t &first = info.targets[1].shaders[1].variants[0];
  ASSERT_EQ(first.feature_count, 1u);
  EXPECT_STREQ(first.features[0], "float16");
  EXPECT_EQ(first.module, 0u);
  EXPECT_EQ(first.workgroup[0], 64u);
  EXPECT_EQ(first.shared_bytes, 512u);
  EXPECT_EQ(info.targets[1].shaders[1].variants[1].feature_count, 0u);
}

TEST(Host, KnowsItself) {
  const heddle_host_info_t *host = heddle_host_info();
  EXPECT_STREQ(host->architecture, "x86-64");
  EXPECT_GT(std::strlen(host->cpu_name), 0u);
  EXPECT_GE(host->thread_count, 1u);
  const std::vector<std::string> features(host->features, host->features + host->feature_count);
  auto has = [&](const char *name) { return std::find(features.begin(), features.end(), name) != features.end(); };
  EXPECT_TRUE(has("sse2"));
  // The compiler that built this asks the CPU too.
  EXPECT_EQ(has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
}

} // namespace
} // namespace heddle::test
