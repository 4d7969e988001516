// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artifacts whose tables contradict each other: each contradiction is refused at load, in its own words.

#include <functional>

#include "runtime/core/artifact_reader.h"
#include "runtime/core/plan.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

struct damage {
  const char *name;
  std::function<void(fb::ProgramT &)> inflict; ///< on the scale model
  const char *message;
};

fb::EntryT &entry(fb::ProgramT &program) { return *program.entries[0]; }
fb::DispatchT &dispatch(fb::ProgramT &program, size_t step = 0) {
  return *entry(program).steps[step]->instruction.AsDispatch();
}

const damage damages[] = {
    {"TargetWithoutName", [](auto &p) { p.targets[0]->name = ""; }, "a target has no name"},
    {"TargetInNoSection", [](auto &p) { p.targets[0]->section = 9; },
     "target 'cpu:x86-64' names section 9, which holds no code"},
    {"TargetInWeights", [](auto &p) { p.targets[0]->section = 1; },
     "target 'cpu:x86-64' names section 1, which holds no code"},
    {"ConstantInNoSection", [](auto &p) { p.constants[0]->section = 7; },
     "constant 0 names section 7, which holds no weights"},
    {"ConstantInCode", [](auto &p) { p.constants[0]->section = 0; },
     "constant 0 names section 0, which holds no weights"},
    {"ConstantMisaligned", [](auto &p) { p.constants[0]->offset = 1; },
     "constant 0 isn't aligned or lies outside section 1"},
    {"ConstantThatWraps", [](auto &p) { p.constants[0]->offset = UINT64_MAX - 63; },
     "constant 0 isn't aligned or lies outside section 1"},
    {"ConstantTooLong", [](auto &p) { p.constants[0]->length = 5; },
     "constant 0 isn't aligned or lies outside section 1"},
    {"SectionOfUnknownKind", [](auto &p) { p.sections[1]->kind = fb::SectionKind(9); },
     "section 1 is of unknown kind 9"},
    {"EntryTwice",
     [](auto &p) {
       p.entries.push_back(std::make_unique<fb::EntryT>(entry(p))), p.entries[1]->steps.clear(),
           p.entries[1]->buffers.clear();
     },
     "two entry points are named 'main'"},
    {"InputTwice", [](auto &p) { entry(p).inputs.push_back(std::make_unique<fb::InputT>(*entry(p).inputs[0])); },
     "entry 'main' has two inputs named 'x'"},
    {"DefaultOfUnknownConstant", [](auto &p) { entry(p).inputs[0]->default_constant = 1; },
     "the default of input 'x' is constant 1 of 1"},
    {"DefaultOfAnotherRank",
     [](auto &p) { entry(p).inputs[0]->default_constant = 0, entry(p).inputs[0]->default_dims = {1}; },
     "the default of input 'x' doesn't fit it"},
    {"DefaultOfNegativeSize",
     [](auto &p) { entry(p).inputs[0]->default_constant = 0, entry(p).inputs[0]->default_dims = {-1, -1}; },
     "the default of input 'x' doesn't fit it"},
    {"DefaultLargerThanItsConstant",
     [](auto &p) {
       entry(p).inputs[0]->default_constant = 0,
       entry(p).inputs[0]->default_dims = {int64_t(1) << 32, int64_t(1) << 31};
     },
     "the default of input 'x' doesn't fit it"},
    {"InputOfUnknownType", [](auto &p) { entry(p).inputs[0]->type = fb::ElementType(13); },
     "input 'x' has an unknown element type"},
    {"InputOfNegativeSize", [](auto &p) { entry(p).inputs[0]->dims[1]->value = -2; },
     "dimension 1 of tensor 'x' is negative"},
    {"InputOfTooManyDims",
     [](auto &p) {
       while (entry(p).inputs[0]->dims.size() < 9)
         entry(p).inputs[0]->dims.push_back(std::make_unique<fb::DimensionT>());
     },
     "tensor 'x' has 9 dimensions"},
    {"OutputOfUnknownType", [](auto &p) { entry(p).outputs[0]->type = fb::ElementType(200); },
     "output 'y' has an unknown element type"},
    {"OutputWithoutSizes", [](auto &p) { entry(p).outputs[0]->slots.pop_back(); },
     "output 'y' has 2 dimensions but 1 sizes"},
    {"OutputOfUnknownSlot", [](auto &p) { entry(p).outputs[0]->slots[0] = 100; }, "entry 'main' names slot 100 of 9"},
    {"UnknownOpcode", [](auto &p) { entry(p).shape_program[1] = {0, 0, 0, 0, fb::ShapeOpcode(14)}; },
     "shape instruction 1 of entry 'main' has an unknown opcode"},
    {"OperandOfLaterSlot", [](auto &p) { entry(p).shape_program[1] = {0, 1, 0, 0, fb::ShapeOpcode::add}; },
     "shape instruction 1 of entry 'main' has an operand that isn't there"},
    {"SelectOfLaterSlot", [](auto &p) { entry(p).shape_program[1] = {0, 0, 0, 1, fb::ShapeOpcode::select}; },
     "shape instruction 1 of entry 'main' has an operand that isn't there"},
    {"DimOfNoInput", [](auto &p) { entry(p).shape_program[0] = {0, 1, 0, 0, fb::ShapeOpcode::input_dim}; },
     "shape instruction 0 of entry 'main' has an operand that isn't there"},
    {"DimPastTheRank", [](auto &p) { entry(p).shape_program[0] = {0, 0, 2, 0, fb::ShapeOpcode::input_dim}; },
     "shape instruction 0 of entry 'main' has an operand that isn't there"},
    {"ValueOfAFloat", [](auto &p) { entry(p).shape_program[0] = {0, 0, 0, 0, fb::ShapeOpcode::input_value}; },
     "shape instruction 0 of entry 'main' has an operand that isn't there"},
    {"CheckOfUnknownKind",
     [](auto &p) {
       entry(p).checks.push_back(std::make_unique<fb::ShapeCheckT>());
       entry(p).checks[0]->kind = fb::CheckKind(2);
     },
     "shape check 0 of entry 'main' is of unknown kind"},
    {"BufferOfUnknownSlot", [](auto &p) { entry(p).buffers[0]->bytes = 9; }, "entry 'main' names slot 9 of 9"},
    {"BufferThatEndsFirst", [](auto &p) { entry(p).buffers[0]->first = 1, entry(p).buffers[0]->last = 0; },
     "buffer 0 of entry 'main' lives from step 1 to step 0 of 2"},
    {"BufferPastTheEnd", [](auto &p) { entry(p).buffers[0]->last = 2; },
     "buffer 0 of entry 'main' lives from step 0 to step 2 of 2"},
    {"BufferUsedOutsideItsLife", [](auto &p) { entry(p).buffers[0]->last = 0; },
     "step 1 of entry 'main' uses buffer 0 outside its life"},
    {"UnknownKernel", [](auto &p) { dispatch(p).kernel = 2; }, "step 0 of entry 'main' names kernel 2 of 2"},
    {"OperandOfUnknownBuffer", [](auto &p) { dispatch(p).bindings[2] = {1, fb::BindingKind::buffer}; },
     "step 0 of entry 'main' has an operand that isn't there"},
    {"OperandOfUnknownConstant", [](auto &p) { dispatch(p, 1).bindings[1] = {1, fb::BindingKind::constant}; },
     "step 1 of entry 'main' has an operand that isn't there"},
    {"OperandOfUnknownKind", [](auto &p) { dispatch(p).bindings[0] = {0, fb::BindingKind(4)}; },
     "step 0 of entry 'main' has an operand that isn't there"},
    {"ResultInAConstant", [](auto &p) { dispatch(p).bindings[2] = {0, fb::BindingKind::constant}; },
     "step 0 of entry 'main' writes an input or a constant"},
    {"ResultInAnInput", [](auto &p) { dispatch(p).bindings[2] = {0, fb::BindingKind::input}; },
     "step 0 of entry 'main' writes an input or a constant"},
    {"ResultInItsOperand", [](auto &p) { dispatch(p).bindings[0] = {0, fb::BindingKind::buffer}; },
     "step 0 of entry 'main' writes one of its own operands"},
    {"OperandMissing", [](auto &p) { dispatch(p).bindings.pop_back(); },
     "step 0 of entry 'main' has 2 operands and 1 sizes, kernel 'test_add' takes 3 and 1"},
    {"SizeMissing", [](auto &p) { dispatch(p).sizes.clear(); },
     "step 0 of entry 'main' has 3 operands and 0 sizes, kernel 'test_add' takes 3 and 1"},
    {"MoreResultsThanOperands",
     [](auto &p) {
       while (dispatch(p).results.size() < 4)
         dispatch(p).results.push_back(std::make_unique<fb::ResultInfoT>());
     },
     "step 0 of entry 'main' has 3 operands and 4 results"},
    {"PathMissing", [](auto &p) { dispatch(p).nodes = {"a", "b"}, dispatch(p).paths = {"layer.0/a"}; },
     "step 0 of entry 'main' has 1 paths of 2 nodes"},
    {"ResultOfUnknownType", [](auto &p) { dispatch(p).results[0]->type = fb::ElementType(77); },
     "result 'add_result' has an unknown element type"},
    {"PermutationThatRepeats", [](auto &p) { dispatch(p).results[0]->permutation = {1, 1}; },
     "result 'add_result' has dimensions that are no permutation of the model's"},
    {"PermutationOutOfRange", [](auto &p) { dispatch(p).results[0]->permutation = {0, 255}; },
     "result 'add_result' has dimensions that are no permutation of the model's"},
    {"DispatchForNoTarget", [](auto &p) { p.targets.clear(); }, "step 0 of entry 'main' is for 1 of 0 targets"},
    {"GridOfUnknownSlot", [](auto &p) { dispatch(p).targets[0]->grid = 50; }, "entry 'main' names slot 50 of 9"},
    {"ScratchOfUnknownSlot", [](auto &p) { dispatch(p).targets[0]->scratch = UINT32_MAX; },
     "entry 'main' names slot 4294967295 of 9"},
    {"FlopsOfUnknownSlot", [](auto &p) { dispatch(p).flops = 9; }, "entry 'main' names slot 9 of 9"},
    {"StepOfNoKind", [](auto &p) { entry(p).steps[0]->instruction.Reset(); },
     "step 0 of entry 'main' is of unknown kind"},
    {"SlotsStoredAsFloats",
     [](auto &p) {
       fb::StoreSlotsT store;
       store.type = fb::ElementType::f32;
       entry(p).steps[1]->instruction.Set(std::move(store));
     },
     "step 1 of entry 'main' stores slots as something else than integers"},
    {"StoreWithoutTarget",
     [](auto &p) {
       fb::StoreSlotsT store;
       store.type = fb::ElementType::i64;
       entry(p).steps[1]->instruction.Set(std::move(store));
     },
     "step 1 of entry 'main' lacks an operand"},
    {"CopyOntoItself",
     [](auto &p) {
       fb::CopyT copy;
       copy.source = std::make_unique<fb::Binding>(0, fb::BindingKind::buffer);
       copy.target = std::make_unique<fb::Binding>(0, fb::BindingKind::buffer);
       entry(p).steps[1]->instruction.Set(std::move(copy));
     },
     "step 1 of entry 'main' copies memory onto itself"},
};

fb::TargetT &shaders(fb::ProgramT &program) { return *program.targets[1]; }
fb::ShaderT &shader(fb::ProgramT &program) { return *shaders(program).shaders[0]; }
fb::ShaderVariantT &variant(fb::ProgramT &program) { return *shader(program).variants[0]; }

/// On the scale model with shaders beside its code.
const damage shader_damages[] = {
    {"ShadersForACpu", [](auto &p) { shaders(p).name = "cpu:x"; }, "target 'cpu:x' has 0 of 2 kernels"},
    {"ShadersBesideCode", [](auto &p) { p.targets[0]->modules = shaders(p).modules; },
     "target 'cpu:x86-64' has shaders"},
    {"CodeForVulkan", [](auto &p) { p.targets[0]->name = "vulkan:a"; }, "target 'vulkan:a' has addresses of code"},
    {"ShaderMissing", [](auto &p) { shaders(p).shaders.pop_back(); }, "target 'vulkan' has 1 of 2 shaders"},
    {"ModuleOffWords", [](auto &p) { shaders(p).modules[1] = {22, 24}; },
     "module 1 of target 'vulkan' isn't aligned, is empty or lies outside section 2"},
    {"ModuleOfPartOfAWord", [](auto &p) { shaders(p).modules[1] = {24, 23}; },
     "module 1 of target 'vulkan' isn't aligned, is empty or lies outside section 2"},
    {"ModuleOfNothing", [](auto &p) { shaders(p).modules[1] = {24, 0}; },
     "module 1 of target 'vulkan' isn't aligned, is empty or lies outside section 2"},
    {"ModulePastTheEnd", [](auto &p) { shaders(p).modules[1] = {24, 28}; },
     "module 1 of target 'vulkan' isn't aligned, is empty or lies outside section 2"},
    {"ModuleThatWraps", [](auto &p) { shaders(p).modules[1] = {UINT64_MAX - 3, 24}; },
     "module 1 of target 'vulkan' isn't aligned, is empty or lies outside section 2"},
    {"UnknownModule", [](auto &p) { variant(p).module_ = 2; }, "a shader of kernel 'test_add' names module 2 of 2"},
    {"WorkgroupOfNothing", [](auto &p) { variant(p).workgroup[1] = 0; },
     "a shader of kernel 'test_add' has no workgroup size"},
    {"WorkgroupOfTwoNumbers", [](auto &p) { variant(p).workgroup.pop_back(); },
     "a shader of kernel 'test_add' has no workgroup size"},
    {"WorkgroupTooLarge", [](auto &p) { variant(p).workgroup[2] = 65537; },
     "a shader of kernel 'test_add' has no workgroup size"},
    {"TileOfNothing", [](auto &p) { variant(p).tile[0] = 0; }, "a shader of kernel 'test_add' has no tile"},
    {"TileOfFourNumbers", [](auto &p) { variant(p).tile.push_back(1); }, "a shader of kernel 'test_add' has no tile"},
    {"MostOfNoNumber", [](auto &p) { variant(p).most.clear(); },
     "a shader of kernel 'test_add' has no greatest extents"},
    {"ShaderOperandMissing", [](auto &p) { shader(p).operands.pop_back(); },
     "a shader of kernel 'test_add' has 2 of 3 operands"},
    {"ShaderOperandOfUnknownType", [](auto &p) { shader(p).operands[0] = {fb::ElementType(13), 1}; },
     "operand 0 of a shader of kernel 'test_add' has an unknown type or storage buffer"},
    {"ShaderOperandInUnknownBinding", [](auto &p) { shader(p).operands[2] = {fb::ElementType::f32, 4}; },
     "operand 2 of a shader of kernel 'test_add' has an unknown type or storage buffer"},
    {"FailureWithoutAResult",
     [](auto &p) { shader(p).operands[2] = {fb::ElementType::f32, 2}, shader(p).can_fail = true; },
     "a shader of kernel 'test_add' can fail and has no result"},
    {"NoVariant", [](auto &p) { shader(p).variants.clear(); },
     "kernel 'test_add' has no shader that runs on any device"},
    {"TooManyVariants",
     [](auto &p) {
       while (shader(p).variants.size() < 65)
         shader(p).variants.push_back(std::make_unique<fb::ShaderVariantT>(variant(p)));
     },
     "kernel 'test_add' has 65 shaders"},
    {"LastVariantNeedsAFeature", [](auto &p) { variant(p).features = {"float16"}; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"LastVariantHasALimit", [](auto &p) { variant(p).most[2] = 7; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"LastVariantOfManyInvocations", [](auto &p) { variant(p).workgroup = {43, 3, 1}; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"LastVariantTooDeep", [](auto &p) { variant(p).workgroup = {1, 1, 65}; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"LastVariantThatWraps", [](auto &p) { variant(p).workgroup = {65536, 65536, 65536}; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"LastVariantOfMuchSharedMemory", [](auto &p) { variant(p).shared_bytes = 16385; },
     "kernel 'test_add' has no shader that runs on any device"},
    {"TooManyPushConstants",
     [](auto &p) {
       // 3 words, 1 for the error record, 3 operands, 26 sizes.
       p.kernels[0]->size_count = 26, dispatch(p).sizes.assign(26, 2), shader(p).can_fail = true;
     },
     "a shader of kernel 'test_add' has 33 words of push constants"},
    {"TooManyPushConstantsWithATable",
     [](auto &p) { p.kernels[0]->size_count = 25, dispatch(p).sizes.assign(25, 2), shader(p).table_operand = 0; },
     "a shader of kernel 'test_add' has 33 words of push constants"},
    {"TableOfNoOperand", [](auto &p) { shader(p).table_operand = 3, shader(p).table_row_bytes = 4; },
     "a shader of kernel 'test_add' has rows of 4 bytes of operand 3, which is no table"},
    {"TableBelowNone", [](auto &p) { shader(p).table_operand = -2, shader(p).table_row_bytes = 4; },
     "a shader of kernel 'test_add' has rows of 4 bytes of operand -2, which is no table"},
    {"TableThatIsNoConstant", [](auto &p) { shader(p).table_operand = 1, shader(p).table_row_bytes = 4; },
     "a shader of kernel 'test_add' has rows of 4 bytes of operand 1, which is no table"},
    {"TableOfEmptyRows",
     [](auto &p) { shader(p).operands[1] = {fb::ElementType::f32, 0}, shader(p).table_operand = 1; },
     "a shader of kernel 'test_add' has rows of 0 bytes of operand 1, which is no table"},
    {"AxesMissing", [](auto &p) { dispatch(p).targets[1]->axes.pop_back(); },
     "step 0 of entry 'main' has 11 of 12 axes for target 'vulkan'"},
    {"AxesForACpu", [](auto &p) { dispatch(p).targets[0]->axes = {0, 0, 0}; },
     "step 0 of entry 'main' has 3 of 0 axes for target 'cpu:x86-64'"},
    {"AxisOfUnknownSlot", [](auto &p) { dispatch(p).targets[1]->axes[4] = 9; }, "entry 'main' names slot 9 of 9"},
    {"ResultAmongInputs", [](auto &p) { shader(p).operands[2] = {fb::ElementType::f32, 2}; },
     "step 0 of entry 'main' has operand 2 in another storage buffer than kernel 'test_add'"},
    {"InputAmongResults", [](auto &p) { shader(p).operands[1] = {fb::ElementType::f32, 3}; },
     "step 0 of entry 'main' has operand 1 in another storage buffer than kernel 'test_add'"},
    {"InputAmongConstants", [](auto &p) { shader(p).operands[0] = {fb::ElementType::f32, 0}; },
     "step 0 of entry 'main' has operand 0 in another storage buffer than kernel 'test_add'"},
};

fb::SelfTestT &self_test(fb::ProgramT &program) { return *shaders(program).shaders[1]->self_test; }
fb::SelfTestOutputT &tested_output(fb::ProgramT &program) { return *self_test(program).outputs[0]; }

/// On the case of kernel test_scale.
const damage self_test_damages[] = {
    {"SizeMissing", [](auto &p) { self_test(p).sizes.clear(); },
     "the self-test of kernel 'test_scale' has 0 sizes and 12 axes"},
    {"AxisMissing", [](auto &p) { self_test(p).axes.pop_back(); },
     "the self-test of kernel 'test_scale' has 1 sizes and 11 axes"},
    {"NoWork", [](auto &p) { self_test(p).axes[1] = 0; },
     "the self-test of kernel 'test_scale' has no work, or too much"},
    {"TooMuchWork", [](auto &p) { self_test(p).axes[0] = (64 << 20) + 1; },
     "the self-test of kernel 'test_scale' has no work, or too much"},
    {"WorkThatWraps", [](auto &p) { self_test(p).axes[0] = self_test(p).axes[1] = 1u << 26; },
     "the self-test of kernel 'test_scale' has no work, or too much"},
    {"InputMissing", [](auto &p) { self_test(p).inputs.pop_back(); },
     "the self-test of kernel 'test_scale' has 1 inputs and 1 outputs"},
    {"OutputMissing", [](auto &p) { self_test(p).outputs.clear(); },
     "the self-test of kernel 'test_scale' has 2 inputs and 0 outputs"},
    {"InputForAnOutput",
     [](auto &p) {
       self_test(p).inputs.pop_back();
       self_test(p).outputs.push_back(std::make_unique<fb::SelfTestOutputT>(tested_output(p)));
     },
     "the self-test of kernel 'test_scale' has 1 inputs and 2 outputs"},
    {"PartOfAnElement", [](auto &p) { self_test(p).inputs[1] = {6, 1, 0, 0, 0, 0, 0}; },
     "operand 1 of the self-test of kernel 'test_scale' has 6 bytes"},
    {"InputTooLong", [](auto &p) { self_test(p).inputs[0] = {(64 << 20) + 4, 1, 0, 0, 0, 0, 0}; },
     "operand 0 of the self-test of kernel 'test_scale' has 67108868 bytes"},
    {"OperandsTooLong", [](auto &p) { self_test(p).inputs[0] = {(64 << 20) - 20, 1, 0, 0, 0, 0, 0}; },
     "operand 2 of the self-test of kernel 'test_scale' has 20 bytes"},
    {"PackedInPanelsOfNothing", [](auto &p) { self_test(p).inputs[1] = {4, 1, 0, 3, 3, 0, 1}; },
     "operand 1 of the self-test of kernel 'test_scale' is packed in no way"},
    {"OutputThatWraps", [](auto &p) { tested_output(p).bytes = UINT64_MAX - 3; },
     "operand 2 of the self-test of kernel 'test_scale' has 18446744073709551612 bytes"},
    {"NoTolerance", [](auto &p) { tested_output(p).tolerance = std::numeric_limits<float>::quiet_NaN(); },
     "the self-test of kernel 'test_scale' has no tolerance"},
    {"NegativeTolerance", [](auto &p) { tested_output(p).tolerance = -1; },
     "the self-test of kernel 'test_scale' has no tolerance"},
    {"RunBehindTheEnd", [](auto &p) { tested_output(p).runs[2] = 4; },
     "the self-test of kernel 'test_scale' compares elements behind the end"},
    {"RunThatWraps", [](auto &p) { tested_output(p).runs = {UINT32_MAX, 2, 3, 2}; },
     "the self-test of kernel 'test_scale' compares elements behind the end"},
    {"PartOfARun", [](auto &p) { tested_output(p).runs.push_back(0); },
     "the self-test of kernel 'test_scale' has 12 bytes of values for 3 elements"},
    {"ValueMissing", [](auto &p) { tested_output(p).values.pop_back(); },
     "the self-test of kernel 'test_scale' has 11 bytes of values for 3 elements"},
};

/// The scale model with shaders, one of them with a case. They and their axes are there before anything is damaged.
artifact_builder shader_model() {
  artifact_builder builder = scale_model();
  builder.add_shader_target();
  builder.add_self_test(1);
  builder.build();
  return builder;
}

class ShaderDamage : public testing::TestWithParam<damage> {};

TEST_P(ShaderDamage, IsRefusedAtLoad) {
  artifact_builder builder = shader_model();
  GetParam().inflict(builder.program);
  EXPECT_EQ(load_error(builder.build()), std::string("H0505: the artifact is damaged: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Tables, ShaderDamage, testing::ValuesIn(shader_damages),
                         [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(SelfTests, ShaderDamage, testing::ValuesIn(self_test_damages),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Shaders, HaveTheirSelfTests) {
  const artifact_bytes bytes = shader_model().build();
  runtime::artifact artifact;
  artifact.source.use_memory(bytes.data(), bytes.size);
  EXPECT_OK(runtime::read_artifact(&artifact, /*verify_checksums=*/true));
  const runtime::target_table &target = artifact.tables.targets[1];
  EXPECT_FALSE(target.shaders[0].self_test);
  ASSERT_TRUE(target.shaders[1].self_test);
  const runtime::self_test_table &test = *target.shaders[1].self_test;
  EXPECT_EQ(test.sizes, std::vector<int64_t>{5});
  EXPECT_EQ(test.axes, std::vector<uint32_t>(12, 4));
  ASSERT_EQ(test.inputs.size(), 2u);
  EXPECT_EQ(test.inputs[0].bytes, 20u);
  EXPECT_EQ(test.inputs[1].seed, 8u);
  EXPECT_EQ(test.inputs[1].limit, 1u);
  ASSERT_EQ(test.outputs.size(), 1u);
  EXPECT_EQ(test.outputs[0].bytes, 20u);
  ASSERT_EQ(test.outputs[0].runs.size(), 2u);
  EXPECT_EQ(test.outputs[0].runs[1].first, 3u);
  EXPECT_EQ(test.outputs[0].runs[1].count, 2u);
  EXPECT_EQ(test.outputs[0].values[11], 11);
  EXPECT_EQ(test.outputs[0].tolerance, 0.25f);
}

TEST(Shaders, AreReadAsTheyAreWritten) {
  artifact_builder builder = shader_model();
  auto better = std::make_unique<fb::ShaderVariantT>(variant(builder.program));
  better->features = {"float16", "subgroup_arithmetic"};
  better->workgroup = {8, 16, 2};
  better->most = {0, 64, 0};
  better->module_ = 1;
  better->shared_bytes = 48000;
  shader(builder.program).variants.insert(shader(builder.program).variants.begin(), std::move(better));
  shader(builder.program).can_fail = true;
  const artifact_bytes bytes = builder.build();
  runtime::artifact artifact;
  artifact.source.use_memory(bytes.data(), bytes.size);
  EXPECT_OK(runtime::read_artifact(&artifact, /*verify_checksums=*/true));
  const runtime::target_table &target = artifact.tables.targets[1];
  EXPECT_TRUE(target.kernels.empty());
  ASSERT_EQ(target.modules.size(), 2u);
  EXPECT_EQ(target.modules[1].offset, 24u);
  EXPECT_EQ(target.modules[1].length, 24u);
  ASSERT_EQ(target.shaders.size(), 2u);
  EXPECT_TRUE(target.shaders[0].can_fail);
  EXPECT_FALSE(target.shaders[1].can_fail);
  ASSERT_EQ(target.shaders[0].operands.size(), 3u);
  EXPECT_EQ(target.shaders[0].operands[1].binding, runtime::shader_binding::inputs);
  EXPECT_EQ(target.shaders[0].operands[2].binding, runtime::shader_binding::results);
  ASSERT_EQ(target.shaders[0].variants.size(), 2u);
  const runtime::shader_variant_table &first = target.shaders[0].variants[0];
  ASSERT_EQ(first.features.size(), 2u);
  EXPECT_STREQ(first.features[1], "subgroup_arithmetic");
  EXPECT_EQ(first.module, 1u);
  EXPECT_EQ(first.workgroup, (std::array<uint32_t, 3>{8, 16, 2}));
  EXPECT_EQ(first.constants, (std::vector<uint32_t>{4}));
  EXPECT_EQ(first.tile, (std::array<uint32_t, 3>{16, 1, 1}));
  EXPECT_EQ(first.most, (std::array<uint32_t, 3>{0, 64, 0}));
  EXPECT_EQ(first.shared_bytes, 48000u);
}

TEST(Shaders, PlansHoldTheAxesOfTheirTargetAlone) {
  artifact_builder builder = shader_model();
  const artifact_bytes bytes = builder.build();
  runtime::artifact artifact;
  artifact.source.use_memory(bytes.data(), bytes.size);
  EXPECT_OK(runtime::read_artifact(&artifact, /*verify_checksums=*/false));
  const tensor x = counting_tensor({3, 100});
  const heddle_tensor_t *inputs[] = {x.get()};
  const runtime::entry_table &entry = artifact.tables.entries[0];
  runtime::plan on_cpu, on_gpu;
  EXPECT_OK(runtime::make_plan(artifact.tables, entry, 0, inputs, &on_cpu));
  EXPECT_TRUE(on_cpu.axes.empty());
  EXPECT_OK(runtime::make_plan(artifact.tables, entry, 1, inputs, &on_gpu));
  ASSERT_EQ(on_gpu.axes.size(), 24u);
  EXPECT_EQ(on_gpu.dispatches[0].axes, 0u);
  EXPECT_EQ(on_gpu.dispatches[1].axes, 12u);
  EXPECT_EQ(on_gpu.axes[12], 19u) << "300 elements, 16 at a time";
  EXPECT_EQ(on_gpu.axes[13], 1u);
  EXPECT_EQ(on_gpu.axes[15], 0u);
}

TEST(Shaders, AxesBeyond32BitsAreRefused) {
  for (int64_t value : {int64_t(-1), int64_t(1) << 32}) {
    artifact_builder builder = shader_model();
    fb::EntryT &main = entry(builder.program);
    main.shape_program.emplace_back(value, 0, 0, 0, fb::ShapeOpcode::constant);
    dispatch(builder.program).targets[1]->axes[7] = static_cast<uint32_t>(main.shape_program.size() - 1);
    const artifact_bytes bytes = builder.build();
    runtime::artifact artifact;
    artifact.source.use_memory(bytes.data(), bytes.size);
    EXPECT_OK(runtime::read_artifact(&artifact, /*verify_checksums=*/false));
    const tensor x = counting_tensor({3, 100});
    const heddle_tensor_t *inputs[] = {x.get()};
    runtime::plan plan;
    expect_failure(runtime::make_plan(artifact.tables, artifact.tables.entries[0], 1, inputs, &plan), "H0308",
                   "a size is negative or overflows, for x [3,100]");
    EXPECT_OK(runtime::make_plan(artifact.tables, artifact.tables.entries[0], 0, inputs, &plan));
  }
}

class Damage : public testing::TestWithParam<damage> {};

TEST_P(Damage, IsRefusedAtLoad) {
  artifact_builder builder = scale_model();
  GetParam().inflict(builder.program);
  EXPECT_EQ(load_error(builder.build()), std::string("H0505: the artifact is damaged: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Tables, Damage, testing::ValuesIn(damages),
                         [](const auto &info) { return std::string(info.param.name); });

/// The error of the scale model's plan after |inflict|.
std::string plan_error(const std::function<void(fb::ProgramT &)> &inflict) {
  artifact_builder builder = scale_model();
  inflict(builder.program);
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const tensor x = counting_tensor({2, 8});
  const heddle_tensor_t *inputs[] = {x.get()};
  heddle_plan_info_t plan = {};
  return status(heddle_program_plan(program.get(), nullptr, inputs, 1, &plan)).message();
}

TEST(DamageOfSizes, IsRefusedWhenPlanned) {
  const std::string damaged = "the artifact is damaged: ";
  EXPECT_EQ(plan_error([](auto &p) { dispatch(p).results[0]->slots = {2, 2}; }),
            damaged + "result 'add_result' of kernel 'test_add' is larger than its memory");
  EXPECT_EQ(plan_error([](auto &p) {
              fb::CopyT copy;
              copy.source = std::make_unique<fb::Binding>(0, fb::BindingKind::constant);
              copy.target = std::make_unique<fb::Binding>(0, fb::BindingKind::output);
              copy.bytes = 2; // 16 elements, as bytes, of a constant of 4
              entry(p).steps[1]->instruction.Set(std::move(copy));
            }),
            damaged + "a copy reaches past the end of its memory");
  EXPECT_EQ(plan_error([](auto &p) {
              fb::StoreSlotsT store;
              store.type = fb::ElementType::i64;
              store.target = std::make_unique<fb::Binding>(0, fb::BindingKind::output);
              store.slots.assign(9, 0);
              entry(p).steps[1]->instruction.Set(std::move(store));
            }),
            damaged + "slots are stored into memory that is too small");
}

} // namespace
} // namespace heddle::test
