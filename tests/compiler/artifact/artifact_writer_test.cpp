// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module written by the compiler and read by the runtime's reader, which trusts nothing: every record arrives.

#include "runtime/core/artifact_reader.h"
#include "tests/compiler/artifact/artifact_test.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::test;

namespace {

const char *const kModule = R"(
module attributes {rt.targets = ["cpu:x86-64-v4", "cpu:x86-64-v3"]} {
  rt.constant @w {source = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>, source_type = tensor<2x3xf32>,
                  recipe = [{kind = "pack", panel = 2 : i64}]} : tensor<2x2x2xf32>
  rt.constant @tied {source = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>,
                     source_type = tensor<2x3xf32>, recipe = [{kind = "pack", panel = 2 : i64}]} : tensor<2x2x2xf32>
  rt.constant @ids {source = dense<[1, 2]> : tensor<2xi64>, source_type = tensor<2xi64>, recipe = []} : tensor<2xi64>
  rt.constant @start {source = dense<[5, 6]> : tensor<2xi64>, source_type = tensor<2xi64>, recipe = []} : tensor<2xi64>
  kernel.func @scale(%x: tensor<?x384xf32> {kernel.dims = array<i64: 0>}, %w: tensor<2x2x2xf32>, %rows: index)
      -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
    %y = kernel.map sizes(%rows) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
        attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
    ^bb0(%e: f32):
      kernel.yield %e : f32
    } : tensor<?x384xf32>
    kernel.return %y : tensor<?x384xf32>
  }
  rt.func @main attributes {inputs = [{name = "x", type = f32, dims = ["rows", 384]}, {name = "n", type = i64, dims = ["m"],
                            default = @start}],
                 outputs = [{name = "y", type = f32, dims = ["rows", 384]}, {name = "s", type = i64, dims = [2]}]} {
    %rows, %bytes, %two, %one, %n = rt.shape_func {
      %r = rt.input_dim 0, 0
      %c = rt.shape_constant 1536
      %b = rt.shape_arith mul %r, %c
      %v = rt.input_value 1, 0
      %o = rt.shape_constant 1
      %l = rt.shape_arith less %r, %v
      %s = rt.shape_select %l, %r, %v
      rt.check less_equal %o, %s node "/Slice" message "expects {a}, got {b}"
      %t = rt.shape_constant 2
      rt.yield %r, %b, %t, %o, %s : index, index, index, index, index
    } : index, index, index, index, index
    %x = rt.input 0
    %y = rt.output 0 sizes(%rows, %bytes)
    %shape = rt.output 1 sizes(%two)
    %w = rt.constant_buffer @w
    %tied = rt.constant_buffer @tied
    %unused = rt.buffer %bytes
    %a = rt.buffer %bytes
    %b = rt.buffer %bytes
    rt.dispatch @scale ins(%x, %w) outs(%a) sizes(%rows) result_sizes(%rows, %bytes) flops(%bytes) bytes(%bytes)
        grids(%rows, %two) grains(%one, %two) scratch(%one, %one)
        {nodes = ["/Mul", "/Add"], error_sites = [["/Gather", "Gather", "token id"]],
         results_info = [{name = "/Add_output_0", type = f32, permutation = array<i64: 1, 0>}]}
    rt.dispatch @scale ins(%a, %tied) outs(%b) sizes(%rows) result_sizes(%rows, %bytes)
        grids(%rows, %two) grains(%one, %two) scratch(%one, %one)
        {nodes = ["/Sub"], results_info = [{name = "", type = f32, permutation = array<i64: 0, 1>}]}
    rt.copy %b to %y bytes(%bytes)
    rt.store_slots %shape slots(%rows, %n) : i64
  }
})";

class ArtifactWriterTest : public ArtifactTest {
protected:
  std::vector<TargetImage> images() {
    return {{"cpu:x86-64-v4", {"avx512f"}, code, {{"other", 7}, {"scale", 4096}}, {}, {}},
            {"cpu:x86-64-v3", {"avx2", "fma"}, code.drop_back(1), {{"scale", 8192}}, {}, {}}};
  }

  /// Writes kModule and reads it with all checksums.
  void roundTrip() {
    parse(kModule);
    ASSERT_TRUE(succeeded(write("a.heddle", images()))) << errors.str();
    ASSERT_EQ(artifact.source.open_file(at("a.heddle").c_str()), nullptr);
    heddle_status_t status = runtime::read_artifact(&artifact, /*verify_checksums=*/true);
    ASSERT_EQ(status, nullptr) << heddle_status_message(status);
  }

  const float *constant(unsigned i) {
    return reinterpret_cast<const float *>(artifact.source.data() + artifact.tables.constants[i].offset);
  }

  llvm::ArrayRef<char> code = llvm::ArrayRef("\x7f"
                                             "ELF code",
                                             9);
  runtime::artifact artifact;
};

TEST_F(ArtifactWriterTest, ProgramNamesItsMaking) {
  roundTrip();
  EXPECT_STREQ(artifact.tables.model, "model.onnx");
  EXPECT_TRUE(llvm::StringRef(artifact.tables.producer).starts_with("heddle "));
  ASSERT_EQ(artifact.tables.options.size(), 1u);
  EXPECT_STREQ(artifact.tables.options[0].key, "target");
  EXPECT_STREQ(artifact.tables.options[0].value, "cpu:x86-64-v3");
}

TEST_F(ArtifactWriterTest, DefaultsAreConstantsWithTheirSizes) {
  roundTrip();
  const auto &inputs = artifact.tables.entries[0].inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].default_constant, -1);
  EXPECT_EQ(inputs[1].default_constant, 3);
  EXPECT_EQ(inputs[1].default_dims, (std::vector<int64_t>{2}));
  EXPECT_EQ(reinterpret_cast<const int64_t *>(constant(3))[1], 6);
}

/// Two entry points without steps, |second| before the attributes of the later one.
static std::string makeEntries(llvm::StringRef second) {
  return R"(module attributes {rt.targets = []} {
    rt.func @main attributes {inputs = [{name = "x", type = f32, dims = ["rows", 3]}], outputs = []} {
      rt.shape_func {
        rt.yield
      }
    }
    rt.func @main_8 attributes {)" +
         second.str() + R"(inputs = [{name = "x", type = f32, dims = [8, 3]}], outputs = []} {
      rt.shape_func {
        rt.yield
      }
    }
  })";
}

TEST_F(ArtifactWriterTest, EntriesNameWhatTheySpecialize) {
  parse(makeEntries("specializes = @main, "));
  ASSERT_TRUE(succeeded(write("a.heddle"))) << errors.str();
  ASSERT_EQ(artifact.source.open_file(at("a.heddle").c_str()), nullptr);
  heddle_status_t status = runtime::read_artifact(&artifact, /*verify_checksums=*/true);
  ASSERT_EQ(status, nullptr) << heddle_status_message(status);
  ASSERT_EQ(artifact.tables.entries.size(), 2u);
  EXPECT_STREQ(artifact.tables.entries[0].specializes, "");
  EXPECT_STREQ(artifact.tables.entries[1].specializes, "main");
  EXPECT_EQ(artifact.tables.entries[0].specializations, std::vector<uint32_t>{1});
}

TEST_F(ArtifactWriterTest, EntriesSpecializeEarlierOnes) {
  parse(makeEntries("specializes = @later, "));
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { text += diagnostic.str(); });
  EXPECT_TRUE(failed(write("a.heddle")));
  EXPECT_EQ(text, "'rt.func' op expects an rt.func named 'later' before it");
}

TEST_F(ArtifactWriterTest, TargetsKeepTheirOrderCodeAndAddresses) {
  roundTrip();
  const auto &tables = artifact.tables;
  ASSERT_EQ(tables.targets.size(), 2u);
  EXPECT_STREQ(tables.targets[0].name, "cpu:x86-64-v4");
  EXPECT_STREQ(tables.targets[1].features[1], "fma");
  EXPECT_EQ(tables.targets[0].kernels, std::vector<uint64_t>{4096});
  EXPECT_EQ(tables.targets[1].kernels, std::vector<uint64_t>{8192});
  const auto &section = tables.sections[tables.targets[0].section];
  EXPECT_TRUE(section.is_code);
  EXPECT_EQ(section.offset % 65536, 0u);
  EXPECT_EQ(llvm::StringRef(reinterpret_cast<const char *>(artifact.source.data() + section.offset), section.length),
            llvm::StringRef(code.data(), code.size()));
  EXPECT_EQ(tables.sections[tables.targets[1].section].length, code.size() - 1);
  ASSERT_EQ(tables.kernels.size(), 1u);
  EXPECT_STREQ(tables.kernels[0].name, "scale");
  EXPECT_STREQ(tables.kernels[0].root, "map");
  EXPECT_EQ(tables.kernels[0].binding_count, 3u);
  EXPECT_EQ(tables.kernels[0].size_count, 1u);
}

/// One kernel, dispatched once, for a CPU and for shaders.
const char *const kShaderModule = R"(
module attributes {rt.targets = ["cpu:x86-64-v3", "vulkan"]} {
  rt.constant @w {source = dense<[1.0, 2.0]> : tensor<2xf32>, source_type = tensor<2xf32>, recipe = []} : tensor<2xf32>
  kernel.func @scale(%x: tensor<2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
    %y = kernel.map bounds(affine_map<() -> (2)>) ins(%x, %w : tensor<2xf32>, tensor<2xf32>)
        attributes {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]} {
    ^bb0(%e: f32, %f: f32):
      kernel.yield %e : f32
    } : tensor<2xf32>
    kernel.return %y : tensor<2xf32>
  }
  rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [2]}],
                            outputs = [{name = "y", type = f32, dims = [2]}]} {
    %zero, %one, %two, %four = rt.shape_func {
      %0 = rt.shape_constant 0
      %1 = rt.shape_constant 1
      %2 = rt.shape_constant 2
      %4 = rt.shape_constant 4
      rt.yield %0, %1, %2, %4 : index, index, index, index
    } : index, index, index, index
    %x = rt.input 0
    %w = rt.constant_buffer @w
    %y = rt.output 0 sizes(%two)
    rt.dispatch @scale ins(%x, %w) outs(%y) sizes() result_sizes(%two) grids(%one, %two) grains(%one, %one)
        scratch(%zero, %zero)
        axes(%two, %one, %one, %four, %zero, %zero, %four, %zero, %zero, %four, %zero, %zero)
        {axes_counts = array<i64: 0, 12>, nodes = ["/Mul"],
         results_info = [{name = "y", type = f32, permutation = array<i64: 0>}]}
  }
})";

class ShaderWriterTest : public ArtifactWriterTest {
protected:
  ShaderWriterTest() {
    parse(kShaderModule);
    mlir::Type f32 = mlir::Float32Type::get(&context);
    shader.operands = {
        {f32, ShaderBinding::FirstInput}, {f32, ShaderBinding::Constants}, {f32, ShaderBinding::Results}};
    shader.canFail = true;
    shader.table = {1, 64};
    ShaderVariant best;
    best.features = {"float16"};
    best.module = 1;
    best.workgroup = {256, 1, 1};
    best.constants = {3, 5};
    best.tile = {4, 2, 1};
    best.most = {1024, 0, 0};
    best.sharedBytes = 20000;
    ShaderVariant plain;
    plain.workgroup = {64, 2, 1};
    shader.variants = {best, plain};
  }

  /// Writes with |shaders| and hands over what the writer says to it.
  std::string writeShaders(llvm::ArrayRef<Shader> shaders) {
    TargetImage cpu{"cpu:x86-64-v3", {"avx2"}, code, {{"scale", 4096}}, {}, {}};
    TargetImage vulkan{"vulkan", {}, spirv, {}, modules, shaders};
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { text += diagnostic.str(); });
    EXPECT_EQ(succeeded(write("a.heddle", {cpu, vulkan})), text.empty());
    return text;
  }

  const char spirv[44] = "two modules of twenty-four and twenty bytes";
  const ShaderModule modules[2] = {{0, 24}, {24, 20}};
  Shader shader;
};

TEST_F(ShaderWriterTest, ShadersArriveBesideCode) {
  ASSERT_EQ(writeShaders(shader), "");
  ASSERT_EQ(artifact.source.open_file(at("a.heddle").c_str()), nullptr);
  heddle_status_t status = runtime::read_artifact(&artifact, /*verify_checksums=*/true);
  ASSERT_EQ(status, nullptr) << heddle_status_message(status);
  ASSERT_EQ(artifact.tables.targets.size(), 2u);
  EXPECT_TRUE(artifact.tables.targets[0].shaders.empty());
  const runtime::target_table &target = artifact.tables.targets[1];
  EXPECT_STREQ(target.name, "vulkan");
  EXPECT_EQ(artifact.tables.sections[target.section].length, sizeof(spirv));
  ASSERT_EQ(target.modules.size(), 2u);
  EXPECT_EQ(target.modules[1].offset, 24u);
  EXPECT_EQ(target.modules[1].length, 20u);
  ASSERT_EQ(target.shaders.size(), 1u);
  const runtime::shader_table &read = target.shaders[0];
  EXPECT_TRUE(read.can_fail);
  EXPECT_EQ(read.table, 1u);
  EXPECT_EQ(read.table_row_bytes, 64u);
  ASSERT_EQ(read.operands.size(), 3u);
  EXPECT_EQ(read.operands[1].type, HEDDLE_ELEMENT_F32);
  EXPECT_EQ(read.operands[1].binding, runtime::shader_binding::constants);
  ASSERT_EQ(read.variants.size(), 2u);
  EXPECT_STREQ(read.variants[0].features[0], "float16");
  EXPECT_EQ(read.variants[0].module, 1u);
  EXPECT_EQ(read.variants[0].constants, (std::vector<uint32_t>{3, 5}));
  EXPECT_EQ(read.variants[0].tile[1], 2u);
  EXPECT_EQ(read.variants[0].most[0], 1024u);
  EXPECT_EQ(read.variants[0].shared_bytes, 20000u);
  EXPECT_EQ(read.variants[1].workgroup[1], 2u);
  const auto &dispatch = std::get<runtime::dispatch_step>(artifact.tables.entries[0].steps[0]);
  EXPECT_TRUE(dispatch.targets[0].axes.empty());
  EXPECT_EQ(dispatch.targets[1].axes, (std::vector<uint32_t>{2, 1, 1, 3, 0, 0, 3, 0, 0, 3, 0, 0}));
}

TEST_F(ShaderWriterTest, ShadersFitTheirKernels) {
  EXPECT_EQ(writeShaders({shader, shader}),
            "'builtin.module' op expects a shader for each of 1 kernels for vulkan, got 2");
  Shader odd = shader;
  odd.operands.pop_back();
  EXPECT_EQ(writeShaders(odd), "'builtin.module' op expects 3 operands of the shader for kernel 'scale', got 2");
  odd = shader;
  odd.operands[0].type = mlir::IndexType::get(&context);
  EXPECT_EQ(writeShaders(odd), "'builtin.module' op expects an element type that artifacts have in the shader for "
                               "kernel 'scale', got 'index'");
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(ArtifactWriterTest, ConstantsAreAlignedAndStoredOnce) {
  roundTrip();
  const auto &constants = artifact.tables.constants;
  ASSERT_EQ(constants.size(), 4u);
  EXPECT_EQ(constants[0].offset, constants[1].offset);
  EXPECT_EQ(constants[0].length, 32u);
  EXPECT_GE(constants[2].offset, constants[0].offset + 32);
  EXPECT_EQ(constants[2].offset % 64, 0u);
  const float expected[] = {1, 2, 4, 5, 3, 0, 6, 0};
  EXPECT_TRUE(std::equal(expected, expected + 8, constant(0)));
  EXPECT_EQ(reinterpret_cast<const int64_t *>(constant(2))[1], 2);
}

TEST_F(ArtifactWriterTest, EntryHasItsInterface) {
  roundTrip();
  const auto &entry = artifact.tables.entries[0];
  EXPECT_STREQ(entry.name, "main");
  ASSERT_EQ(entry.inputs.size(), 2u);
  EXPECT_STREQ(entry.inputs[0].name, "x");
  EXPECT_STREQ(entry.inputs[0].dims[0].symbol, "rows");
  EXPECT_EQ(entry.inputs[0].dims[0].value, -1);
  EXPECT_EQ(entry.inputs[0].dims[1].value, 384);
  EXPECT_EQ(entry.inputs[1].type, HEDDLE_ELEMENT_I64);
  ASSERT_EQ(entry.outputs.size(), 2u);
  EXPECT_EQ(entry.outputs[0].slots, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(entry.outputs[1].type, HEDDLE_ELEMENT_I64);
}

TEST_F(ArtifactWriterTest, ShapeProgramIsTheShapeFunctionInOrder) {
  roundTrip();
  const auto &entry = artifact.tables.entries[0];
  std::vector<runtime::shape_opcode> opcodes;
  for (const auto &instruction : entry.shape_program)
    opcodes.push_back(instruction.opcode);
  using op = runtime::shape_opcode;
  EXPECT_EQ(opcodes, (std::vector<op>{op::input_dim, op::constant, op::mul, op::input_value, op::constant, op::less,
                                      op::select, op::constant, op::constant}));
  EXPECT_EQ(entry.shape_program[1].value, 1536);
  EXPECT_EQ(entry.shape_program[2].a, 0u);
  EXPECT_EQ(entry.shape_program[2].b, 1u);
  EXPECT_EQ(entry.shape_program[6].c, 3u);
  ASSERT_EQ(entry.checks.size(), 1u);
  EXPECT_FALSE(entry.checks[0].is_equal);
  EXPECT_EQ(entry.checks[0].b, 6u);
  EXPECT_STREQ(entry.checks[0].node, "/Slice");
}

TEST_F(ArtifactWriterTest, BuffersLiveFromFirstToLastUse) {
  roundTrip();
  const auto &entry = artifact.tables.entries[0];
  ASSERT_EQ(entry.buffers.size(), 2u);
  EXPECT_EQ(entry.buffers[0].first, 0u);
  EXPECT_EQ(entry.buffers[0].last, 1u);
  EXPECT_EQ(entry.buffers[1].first, 1u);
  EXPECT_EQ(entry.buffers[1].last, 2u);
  EXPECT_EQ(entry.buffers[0].bytes, 2u);
}

TEST_F(ArtifactWriterTest, StepsHaveAllTheyRefer) {
  roundTrip();
  const auto &entry = artifact.tables.entries[0];
  ASSERT_EQ(entry.steps.size(), 4u);
  const auto &first = std::get<runtime::dispatch_step>(entry.steps[0]);
  ASSERT_EQ(first.bindings.size(), 3u);
  EXPECT_EQ(first.bindings[0].kind, runtime::binding_kind::input);
  EXPECT_EQ(first.bindings[1].kind, runtime::binding_kind::constant);
  EXPECT_EQ(first.bindings[2].kind, runtime::binding_kind::buffer);
  EXPECT_EQ(first.sizes, std::vector<uint32_t>{0});
  EXPECT_EQ(first.targets[1].grid, 7u);
  EXPECT_EQ(first.flops, 2u);
  EXPECT_STREQ(first.nodes[1], "/Add");
  EXPECT_STREQ(first.results[0].name, "/Add_output_0");
  EXPECT_EQ(first.results[0].permutation, (std::vector<uint8_t>{1, 0}));
  EXPECT_STREQ(first.error_sites[0].what, "token id");
  // What a dispatch leaves out is 0.
  const auto &second = std::get<runtime::dispatch_step>(entry.steps[1]);
  EXPECT_EQ(entry.shape_program[second.flops].value, 0);
  EXPECT_EQ(std::get<runtime::copy_step>(entry.steps[2]).bytes, 2u);
  EXPECT_EQ(std::get<runtime::store_slots_step>(entry.steps[3]).slots, (std::vector<uint32_t>{0, 6}));
}

TEST_F(ArtifactWriterTest, TwoWritesGiveTheSameBytes) {
  parse(kModule);
  ASSERT_TRUE(succeeded(write("a.heddle", images())));
  // Another module of the same text, at other addresses, over an older file.
  parse(kModule);
  ASSERT_TRUE(succeeded(write("b.heddle", images())));
  ASSERT_TRUE(succeeded(write("b.heddle", images())));
  EXPECT_EQ(bytes("a.heddle"), bytes("b.heddle"));
  EXPECT_EQ(countFiles(), 2u);
}

//===----------------------------------------------------------------------===//
// Faults of the file
//===----------------------------------------------------------------------===//

TEST_F(ArtifactWriterTest, MissingFolderIsNamed) {
  parse(kModule);
  EXPECT_TRUE(failed(write("nowhere/a.heddle", images())));
  ASSERT_EQ(errors.getErrors().size(), 1u);
  EXPECT_EQ(errors.getErrors()[0].code, ErrorCode::H0519);
  EXPECT_EQ(errors.getErrors()[0].message, "can't write '" + at("nowhere/a.heddle") + "': No such file or directory");
  EXPECT_EQ(errors.getErrors()[0].help, "the folder '" + at("nowhere") + "' doesn't exist");
}

TEST_F(ArtifactWriterTest, FullDiskLeavesTheOldFile) {
  parse(kModule);
  ASSERT_TRUE(succeeded(write("a.heddle", images())));
  std::string before = bytes("a.heddle");
  // A limit on file sizes fails as a full disk does, in the middle of a write.
  rlimit limit, smaller;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  smaller = {70000, limit.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &smaller), 0);
  mlir::LogicalResult result = write("a.heddle", images());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(failed(result));
  ASSERT_EQ(errors.getErrors().size(), 1u);
  EXPECT_EQ(errors.getErrors()[0].message, "can't write '" + at("a.heddle") + "': File too large");
  EXPECT_EQ(bytes("a.heddle"), before);
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(ArtifactWriterTest, WhatIsNoFileIsNeverReplaced) {
  parse(kModule);
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(failed(write("pipe", images())));
  ASSERT_EQ(errors.getErrors().size(), 1u);
  EXPECT_EQ(errors.getErrors()[0].message, "can't write '" + at("pipe") + "': it is no regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(std::filesystem::status(at("pipe"))));
}

//===----------------------------------------------------------------------===//
// Faults of the module
//===----------------------------------------------------------------------===//

class ArtifactFaultTest : public ArtifactWriterTest {
protected:
  /// The diagnostic of writing kModule with |from| replaced by |to|.
  std::string fault(llvm::StringRef from, llvm::StringRef to) {
    std::string source = kModule;
    size_t position = source.find(from.str());
    EXPECT_NE(position, std::string::npos) << from.str();
    source.replace(position, from.size(), to.str());
    parse(source);
    std::string text;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { text += diagnostic.str(); });
    EXPECT_TRUE(failed(write("a.heddle", images())));
    EXPECT_EQ(countFiles(), 0u);
    return text;
  }
};

TEST_F(ArtifactFaultTest, ImagesMustBeTheModulesTargets) {
  EXPECT_NE(fault("\"cpu:x86-64-v4\", ", "").find("expects rt.targets to name the 2 images' targets in order"),
            std::string::npos);
}

TEST_F(ArtifactFaultTest, EachKernelNeedsCode) {
  std::string text = fault("rt.func @main attributes {", R"(kernel.func @more(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = kernel.map bounds(affine_map<() -> (4)>) ins(%x : tensor<4xf32>)
        attributes {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>]} {
    ^bb0(%e: f32):
      kernel.yield %e : f32
    } : tensor<4xf32>
    kernel.return %y : tensor<4xf32>
  }
  rt.func @main attributes {)");
  EXPECT_NE(text.find("expects code for kernel 'more' in the image for cpu:x86-64-v4"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, DispatchesNeedWorkSizesForAllTargets) {
  std::string text =
      fault("grids(%rows, %two) grains(%one, %two) scratch(%one, %one)", "grids(%rows) grains(%one) scratch(%one)");
  EXPECT_NE(text.find("expects work sizes for 2 targets, got 1"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, ConstantsMustExist) {
  std::string text = fault("rt.constant_buffer @w\n", "rt.constant_buffer @nothing\n");
  EXPECT_NE(text.find("expects an rt.constant named 'nothing'"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, KernelsMustExist) {
  std::string text = fault("rt.dispatch @scale", "rt.dispatch @nothing");
  EXPECT_NE(text.find("expects a kernel named 'nothing'"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, InputsMustExist) {
  std::string text = fault("rt.input 0", "rt.input 2");
  EXPECT_NE(text.find("expects an input below 2, got 2"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, ElementTypesMustBeOnesThatArtifactsHave) {
  std::string text = fault("name = \"n\", type = i64", "name = \"n\", type = i128");
  EXPECT_NE(text.find("expects an element type that artifacts have, got i128"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, ResultsNeedTheirSizes) {
  std::string text = fault("permutation = array<i64: 1, 0>", "permutation = array<i64: 1, 0, 2>");
  EXPECT_NE(text.find("expects name, permutation and sizes of each result"), std::string::npos) << text;
}

TEST_F(ArtifactFaultTest, ErrorSitesAreTriples) {
  std::string text = fault("[\"/Gather\", \"Gather\", \"token id\"]", "[\"/Gather\", \"Gather\"]");
  EXPECT_NE(text.find("expects error sites of [node, op, what]"), std::string::npos) << text;
}

} // namespace
