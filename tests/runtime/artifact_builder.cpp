// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/runtime/artifact_builder.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include <elf.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <heddle/artifact_format.h>
#include <heddle/executable_abi.h>
#include <heddle/self_test.h>

// Some tests ask for memory that isn't there; a sanitizer's malloc would end the process instead of saying so.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }

namespace heddle::test {

namespace {

std::vector<uint8_t> read_kernel_image() {
  std::ifstream file(HEDDLE_TEST_KERNEL_IMAGE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Names and virtual addresses of the image's dynamic symbols.
std::map<std::string, uint64_t> read_symbols(const std::vector<uint8_t> &image) {
  std::map<std::string, uint64_t> symbols;
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type != SHT_DYNSYM)
      continue;
    const char *names = reinterpret_cast<const char *>(image.data()) + sections[section.sh_link].sh_offset;
    for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + section.sh_offset + at, sizeof(symbol));
      symbols[names + symbol.st_name] = symbol.st_value;
    }
  }
  return symbols;
}

std::unique_ptr<fb::DimensionT> dimension(const std::string &text) {
  auto dim = std::make_unique<fb::DimensionT>();
  const bool is_static = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  dim->value = is_static ? std::stoll(text) : -1;
  dim->symbol = is_static ? "" : text;
  return dim;
}

} // namespace

fb::Binding entry_builder::input(const std::string &name, fb::ElementType type, const std::vector<std::string> &dims) {
  auto input = std::make_unique<fb::InputT>();
  input->name = name;
  input->type = type;
  for (const std::string &dim : dims)
    input->dims.push_back(dimension(dim));
  entry_->inputs.push_back(std::move(input));
  return fb::Binding(static_cast<uint32_t>(entry_->inputs.size() - 1), fb::BindingKind::input);
}

fb::Binding entry_builder::output(const std::string &name, fb::ElementType type, const std::vector<std::string> &dims,
                                  const std::vector<uint32_t> &slots) {
  auto output = std::make_unique<fb::OutputT>();
  output->name = name;
  output->type = type;
  for (const std::string &dim : dims)
    output->dims.push_back(dimension(dim));
  output->slots = slots;
  entry_->outputs.push_back(std::move(output));
  return fb::Binding(static_cast<uint32_t>(entry_->outputs.size() - 1), fb::BindingKind::output);
}

fb::Binding entry_builder::buffer(uint32_t bytes, uint32_t first, uint32_t last) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->bytes = bytes;
  buffer->first = first;
  buffer->last = last;
  entry_->buffers.push_back(std::move(buffer));
  return fb::Binding(static_cast<uint32_t>(entry_->buffers.size() - 1), fb::BindingKind::buffer);
}

uint32_t entry_builder::constant(int64_t value) {
  entry_->shape_program.emplace_back(value, 0, 0, 0, fb::ShapeOpcode::constant);
  return static_cast<uint32_t>(entry_->shape_program.size() - 1);
}

uint32_t entry_builder::dim(const fb::Binding &input, uint32_t dim) {
  return op(fb::ShapeOpcode::input_dim, input.index(), dim);
}

uint32_t entry_builder::value(const fb::Binding &input, uint32_t element) {
  return op(fb::ShapeOpcode::input_value, input.index(), element);
}

uint32_t entry_builder::op(fb::ShapeOpcode opcode, uint32_t a, uint32_t b, uint32_t c) {
  entry_->shape_program.emplace_back(0, a, b, c, opcode);
  return static_cast<uint32_t>(entry_->shape_program.size() - 1);
}

void entry_builder::check(fb::CheckKind kind, uint32_t a, uint32_t b, const std::string &node,
                          const std::string &message) {
  auto check = std::make_unique<fb::ShapeCheckT>();
  check->kind = kind;
  check->a = a;
  check->b = b;
  check->node = node;
  check->message = message;
  entry_->checks.push_back(std::move(check));
}

template <typename T> void entry_builder::step(T table) {
  auto step = std::make_unique<fb::StepT>();
  step->instruction.Set(std::move(table));
  entry_->steps.push_back(std::move(step));
}

void entry_builder::dispatch(uint32_t kernel, const std::vector<fb::Binding> &bindings,
                             const std::vector<uint32_t> &sizes, const dispatch_options &options) {
  fb::DispatchT dispatch;
  dispatch.kernel = kernel;
  dispatch.bindings = bindings;
  dispatch.sizes = sizes;
  auto target = std::make_unique<fb::TargetDispatchT>();
  target->grid = options.grid;
  target->grain = options.grain;
  target->scratch = options.scratch;
  dispatch.targets.push_back(std::move(target));
  dispatch.nodes = {options.node};
  if (!options.path.empty())
    dispatch.paths = {options.path};
  auto result = std::make_unique<fb::ResultInfoT>();
  result->name = options.node + "_result";
  result->slots = options.result_dims;
  for (size_t i = 0; i < options.result_dims.size(); ++i)
    result->permutation.push_back(static_cast<uint8_t>(i));
  dispatch.results.push_back(std::move(result));
  for (const char *what : {"token id", ""}) {
    auto site = std::make_unique<fb::ErrorSiteT>();
    site->node = options.node;
    site->op = "Gather";
    site->what = what;
    dispatch.error_sites.push_back(std::move(site));
  }
  dispatch.flops = options.grid;
  dispatch.bytes = options.grid;
  step(std::move(dispatch));
}

void entry_builder::store_slots(const fb::Binding &target, fb::ElementType type, const std::vector<uint32_t> &slots) {
  fb::StoreSlotsT store;
  store.target = std::make_unique<fb::Binding>(target);
  store.type = type;
  store.slots = slots;
  step(std::move(store));
}

void entry_builder::copy(const fb::Binding &source, const fb::Binding &target, uint32_t bytes) {
  fb::CopyT copy;
  copy.source = std::make_unique<fb::Binding>(source);
  copy.target = std::make_unique<fb::Binding>(target);
  copy.bytes = bytes;
  step(std::move(copy));
}

artifact_builder::artifact_builder() {
  program.producer = "heddle test";
  program.model = "test.onnx";
  add_section(fb::SectionKind::code, read_kernel_image());
  symbols = read_symbols(section_bytes[0]);
  add_target("cpu:x86-64", {"sse2"});
}

entry_builder artifact_builder::add_entry(const std::string &name) {
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = name;
  program.entries.push_back(std::move(entry));
  return entry_builder(program.entries.back().get());
}

void artifact_builder::add_target(const std::string &name, const std::vector<std::string> &features) {
  auto target = std::make_unique<fb::TargetT>();
  target->name = name;
  target->features = features;
  target->section = 0;
  program.targets.push_back(std::move(target));
}

fb::TargetT &artifact_builder::add_shader_target() {
  add_target("vulkan", {});
  fb::TargetT &target = *program.targets.back();
  constexpr size_t module_bytes = 24;
  target.section = add_section(fb::SectionKind::code, std::vector<uint8_t>(module_bytes * program.kernels.size()));
  for (const auto &kernel : program.kernels) {
    auto shader = std::make_unique<fb::ShaderT>();
    for (uint32_t i = 0; i + 1 < kernel->binding_count; ++i)
      shader->operands.emplace_back(fb::ElementType::f32, i == 0 ? 1 : 2);
    shader->operands.emplace_back(fb::ElementType::f32, 3);
    auto variant = std::make_unique<fb::ShaderVariantT>();
    variant->module_ = static_cast<uint32_t>(target.modules.size());
    variant->workgroup = {64, 1, 1};
    variant->constants = {4};
    variant->tile = {16, 1, 1};
    variant->most = {0, 0, 0};
    shader->variants.push_back(std::move(variant));
    target.shaders.push_back(std::move(shader));
    target.modules.emplace_back(module_bytes * target.modules.size(), module_bytes);
  }
  return target;
}

void artifact_builder::add_self_test(uint32_t kernel) {
  const fb::KernelT &table = *program.kernels[kernel];
  auto test = std::make_unique<fb::SelfTestT>();
  test->sizes.assign(table.size_count, 5);
  test->axes.assign(3 + 3 * size_t(table.binding_count), 4);
  for (uint32_t i = 0; i + 1 < table.binding_count; ++i)
    test->inputs.emplace_back(20, 7 + i, i, 0, 0, 0, 0);
  auto output = std::make_unique<fb::SelfTestOutputT>();
  output->bytes = 20;
  output->runs = {0, 1, 3, 2};
  output->values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  output->tolerance = 0.25f;
  test->outputs.push_back(std::move(output));
  program.targets.back()->shaders[kernel]->self_test = std::move(test);
}

uint32_t artifact_builder::kernel(const std::string &symbol, uint32_t binding_count, uint32_t size_count) {
  for (size_t i = 0; i < program.kernels.size(); ++i)
    if (program.kernels[i]->name == symbol)
      return static_cast<uint32_t>(i);
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = symbol;
  kernel->root = "map";
  kernel->binding_count = binding_count;
  kernel->size_count = size_count;
  program.kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(program.kernels.size() - 1);
}

uint32_t artifact_builder::add_section(fb::SectionKind kind, std::vector<uint8_t> bytes) {
  auto section = std::make_unique<fb::SectionT>();
  section->kind = kind;
  program.sections.push_back(std::move(section));
  section_bytes.push_back(std::move(bytes));
  return static_cast<uint32_t>(program.sections.size() - 1);
}

fb::Binding artifact_builder::constant(const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  auto constant = std::make_unique<fb::ConstantT>();
  constant->length = bytes.size();
  constant->section = add_section(fb::SectionKind::weights, std::move(bytes));
  program.constants.push_back(std::move(constant));
  return fb::Binding(static_cast<uint32_t>(program.constants.size() - 1), fb::BindingKind::constant);
}

artifact_bytes artifact_builder::build() {
  for (auto &target : program.targets) {
    target->kernels.clear();
    if (target->shaders.empty())
      for (const auto &kernel : program.kernels)
        target->kernels.push_back(symbols.at(kernel->name));
  }
  // Every dispatch is for all targets; those of one test do not differ but for shaders: one axis with all items, and
  // operands that are needed whole.
  for (auto &entry : program.entries)
    for (auto &step : entry->steps)
      if (auto *dispatch = step->instruction.AsDispatch())
        while (dispatch->targets.size() < program.targets.size()) {
          auto &target = dispatch->targets.emplace_back(std::make_unique<fb::TargetDispatchT>(*dispatch->targets[0]));
          target->axes.clear();
          if (!program.targets[dispatch->targets.size() - 1]->shaders.empty()) {
            target->axes.assign(3 + 3 * dispatch->bindings.size(), target->scratch);
            target->axes[0] = target->grid;
            target->axes[1] = target->axes[2] = target->grain;
          }
        }
  // Numbers take the same room whatever they are, so the first pass gives the program's length.
  uint64_t end = 0;
  for (int pass = 0; pass < 2; ++pass) {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    builder.Finish(fb::Program::Pack(builder, &program), fb::ProgramIdentifier());
    end = HEDDLE_PROGRAM_ALIGNMENT + builder.GetSize();
    for (size_t i = 0; i < program.sections.size(); ++i) {
      program.sections[i]->offset =
          (end + HEDDLE_SECTION_ALIGNMENT - 1) / HEDDLE_SECTION_ALIGNMENT * HEDDLE_SECTION_ALIGNMENT;
      program.sections[i]->length = section_bytes[i].size();
      program.sections[i]->checksum = XXH64(section_bytes[i].data(), section_bytes[i].size(), 0);
      end = program.sections[i]->offset + program.sections[i]->length;
    }
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  builder.Finish(fb::Program::Pack(builder, &program), fb::ProgramIdentifier());

  artifact_bytes artifact;
  artifact.block.reserve(end);
  artifact.size = end;
  std::memset(artifact.data(), 0, end);
  heddle_artifact_header_t header = {};
  std::memcpy(header.magic, HEDDLE_ARTIFACT_MAGIC, sizeof(header.magic));
  header.format_version = HEDDLE_ARTIFACT_FORMAT_VERSION;
  header.executable_abi_version = HEDDLE_EXECUTABLE_ABI_VERSION;
  header.file_length = end;
  header.program_offset = HEDDLE_PROGRAM_ALIGNMENT;
  header.program_length = builder.GetSize();
  std::memcpy(artifact.data(), &header, sizeof(header));
  std::memcpy(artifact.data() + HEDDLE_PROGRAM_ALIGNMENT, builder.GetBufferPointer(), builder.GetSize());
  for (size_t i = 0; i < section_bytes.size(); ++i)
    if (!section_bytes[i].empty())
      std::memcpy(artifact.data() + program.sections[i]->offset, section_bytes[i].data(), section_bytes[i].size());
  fix_program_checksum(artifact);
  return artifact;
}

void fix_program_checksum(const artifact_bytes &artifact) {
  heddle_artifact_header_t header;
  std::memcpy(&header, artifact.data(), sizeof(header));
  header.program_checksum = XXH64(artifact.data() + header.program_offset, header.program_length, 0);
  std::memcpy(artifact.data(), &header, sizeof(header));
}

artifact_builder scale_model(float factor) {
  artifact_builder builder;
  const uint32_t add = builder.kernel("test_add", 3, 1);
  const uint32_t scale = builder.kernel("test_scale", 3, 1);
  const fb::Binding constant = builder.constant({factor});
  entry_builder entry = builder.add_entry("main");
  const fb::Binding x = entry.input("x", fb::ElementType::f32, {"batch", "width"});
  const uint32_t batch = entry.dim(x, 0);
  const uint32_t width = entry.dim(x, 1);
  const uint32_t count = entry.mul(batch, width);
  const uint32_t bytes = entry.mul(count, entry.constant(4));
  const fb::Binding y = entry.output("y", fb::ElementType::f32, {"batch", "width"}, {batch, width});
  const fb::Binding sum = entry.buffer(bytes, 0, 1);
  entry_builder::dispatch_options options;
  options.grid = entry.op(fb::ShapeOpcode::ceil_div, count, entry.constant(16));
  options.grain = entry.constant(1);
  options.scratch = entry.constant(0);
  options.result_dims = {batch, width};
  options.node = "add";
  entry.dispatch(add, {x, x, sum}, {count}, options);
  options.node = "scale";
  options.path = "layer.0/scale";
  entry.dispatch(scale, {sum, constant, y}, {count}, options);
  return builder;
}

artifact_builder embedding_model(uint32_t rows) {
  artifact_builder builder;
  std::vector<float> table(rows * 4);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(i);
  const uint32_t gather = builder.kernel("test_gather", 3, 2);
  const fb::Binding constant = builder.constant(table);
  entry_builder entry = builder.add_entry("main");
  const fb::Binding ids = entry.input("ids", fb::ElementType::i64, {"batch", "seq"});
  entry.input("mask", fb::ElementType::i64, {"batch", "seq"});
  const uint32_t batch = entry.dim(ids, 0);
  const uint32_t seq = entry.dim(ids, 1);
  const uint32_t width = entry.constant(4);
  entry.check(fb::CheckKind::less_equal, seq, entry.constant(512), "embeddings/position",
              "sequence length {a} exceeds the position table's {b}");
  const fb::Binding y = entry.output("y", fb::ElementType::f32, {"batch", "seq", "4"}, {batch, seq, width});
  entry_builder::dispatch_options options;
  options.grid = entry.mul(batch, seq);
  options.grain = entry.constant(1);
  options.scratch = entry.constant(0);
  options.result_dims = {batch, seq, width};
  options.node = "embeddings/word";
  entry.dispatch(gather, {ids, constant, y}, {entry.constant(rows), width}, options);
  return builder;
}

/// What the entry points of candidate_model() take for |elements| elements.
static std::unique_ptr<fb::CandidateCaseT> make_candidate_case(uint64_t elements) {
  auto made = std::make_unique<fb::CandidateCaseT>();
  made->sizes = {static_cast<int64_t>(elements)};
  for (uint32_t seed : {7u, 8u, 0u}) {
    auto input = std::make_unique<fb::CandidateInputT>();
    input->elements = elements;
    input->seed = seed;
    input->is_filled = seed == 0;
    input->fill = -2;
    made->inputs.push_back(std::move(input));
  }
  return made;
}

static float sum_of(uint64_t i) {
  return static_cast<float>(heddle_self_test_fraction(7, i, 16) + heddle_self_test_fraction(8, i, 16)) / 65536;
}

artifact_builder candidate_model() {
  artifact_builder builder;
  auto group = std::make_unique<fb::CandidateGroupT>();
  for (const char *name : {"c0", "c1"}) {
    entry_builder entry = builder.add_entry(name);
    const fb::Binding sizes = entry.input("sizes", fb::ElementType::i64, {"sizes"});
    const fb::Binding a = entry.input("a", fb::ElementType::f32, {"a"});
    const fb::Binding b = entry.input("b", fb::ElementType::f32, {"b"});
    entry.input("m", fb::ElementType::i64, {"m"});
    const uint32_t count = entry.value(sizes, 0);
    const uint32_t grid = entry.op(fb::ShapeOpcode::ceil_div, count, entry.constant(16));
    const fb::Binding y = entry.output("y", fb::ElementType::f32, {"y"}, {count});
    entry.dispatch(builder.kernel("test_add", 3, 1), {a, b, y}, {count},
                   {grid, entry.constant(1), entry.constant(0), {}});
    auto candidate = std::make_unique<fb::CandidateT>();
    candidate->entry = static_cast<uint32_t>(group->candidates.size());
    candidate->config = "{\"unroll\":" + std::to_string(group->candidates.size() + 1) + "}";
    candidate->seconds = 0.5f;
    group->candidates.push_back(std::move(candidate));
  }
  group->signature = "f32_map_?_0badcafe";
  group->rows = "any";
  group->kernel = "f32_map_x16";
  group->nodes = {"Add_1", "Add_2"};
  group->share = 0.25f;
  group->dispatches = 1;
  group->timing = make_candidate_case(1000);
  group->check = make_candidate_case(3);
  auto output = std::make_unique<fb::SelfTestOutputT>();
  output->bytes = 12;
  output->runs = {0, 1, 2, 1};
  for (uint64_t i : {0, 2}) {
    const float value = sum_of(i);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
    output->values.insert(output->values.end(), bytes, bytes + sizeof(value));
  }
  output->tolerance = 0x1p-10f;
  group->check->outputs.push_back(std::move(output));
  builder.program.candidates.push_back(std::move(group));
  return builder;
}

} // namespace heddle::test
