// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the artifact of fixtures.py's model.onnx by hand, so that golden cases also run where no compiler is built:
// ids (batch, sequence) -> rows of a table of 10 -> plus bias (batch, sequence, 4). Then the same without code for a
// CPU, with shaders in its place that no driver would take: for cases that end before one is asked. Last candidates for
// `heddle tune`.

#include <cstdio>

#include "tests/runtime/artifact_builder.h"

namespace {

using namespace heddle;

/// Whether all of |artifact| is in the file |path| now.
bool write(const test::artifact_bytes &artifact, const char *path) {
  std::FILE *file = std::fopen(path, "wb");
  return file && std::fwrite(artifact.data(), 1, artifact.size, file) == artifact.size && std::fclose(file) == 0;
}

/// A second form of the shader for the first kernel, for devices that have more.
void add_variants(fb::TargetT &target) {
  auto &variants = target.shaders[0]->variants;
  auto better = std::make_unique<fb::ShaderVariantT>(*variants[0]);
  better->features = {"float16", "integer_dot_product_accelerated"};
  variants.insert(variants.begin(), std::move(better));
}

/// Candidates of one kernel: what is there is slow, one is quick, one computes something else, one crashes.
test::artifact_bytes candidates() {
  test::artifact_builder builder;
  auto group = std::make_unique<fb::CandidateGroupT>();
  for (const char *kernel : {"test_slow", "test_trap", "test_scratch", "test_quick"}) {
    test::entry_builder entry = builder.add_entry(kernel);
    const fb::Binding sizes = entry.input("sizes", fb::ElementType::i64, {"sizes"});
    const uint32_t count = entry.value(sizes, 0);
    const fb::Binding result = entry.output("result", fb::ElementType::f32, {"result"}, {count});
    entry.dispatch(builder.kernel(kernel, 1, 1), {result}, {count}, {count, entry.constant(1), entry.constant(64), {}});
    auto candidate = std::make_unique<fb::CandidateT>();
    candidate->entry = static_cast<uint32_t>(group->candidates.size());
    candidate->config = "{\"tile\":" + std::to_string(group->candidates.size()) + "}";
    group->candidates.push_back(std::move(candidate));
  }
  group->signature = "f32_map_?_0badcafe";
  group->rows = "any";
  group->kernel = "f32_map_x16";
  group->nodes = {"/dense/Add"};
  group->share = 1;
  group->dispatches = 1;
  group->timing = std::make_unique<fb::CandidateCaseT>();
  group->timing->sizes = {2};
  builder.program.candidates.push_back(std::move(group));
  return builder.build();
}

} // namespace

int main(int argc, char **argv) {
  test::artifact_builder builder;
  builder.program.model = "model.onnx";
  builder.program.targets[0]->name = "cpu:x86-64-v3";
  builder.program.targets[0]->features = {"avx2"};
  std::vector<float> values(10 * 4);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) / 8;
  const fb::Binding table = builder.constant(values);
  const uint32_t gather = builder.kernel("test_gather", 3, 2);
  const uint32_t add = builder.kernel("test_add", 3, 1);

  test::entry_builder entry = builder.add_entry("main");
  const fb::Binding ids = entry.input("ids", fb::ElementType::i64, {"batch", "sequence"});
  const fb::Binding bias = entry.input("bias", fb::ElementType::f32, {"batch", "sequence", "4"});
  const uint32_t batch = entry.dim(ids, 0), sequence = entry.dim(ids, 1), width = entry.constant(4);
  const std::vector<uint32_t> dims = {batch, sequence, width};
  const uint32_t rows = entry.mul(batch, sequence), count = entry.mul(rows, width);
  const uint32_t one = entry.constant(1), zero = entry.constant(0);
  const fb::Binding result = entry.output("result", fb::ElementType::f32, {"batch", "sequence", "4"}, dims);
  const fb::Binding embedded = entry.buffer(entry.mul(count, entry.constant(sizeof(float))), 0, 1);
  entry.dispatch(gather, {ids, table, embedded}, {entry.constant(10), width}, {rows, one, zero, dims, "/embed/Gather"});
  const uint32_t blocks = entry.op(fb::ShapeOpcode::ceil_div, count, entry.constant(16));
  entry.dispatch(add, {embedded, bias, result}, {count}, {blocks, one, zero, dims, "/dense/Add"});

  entry.table().steps[0]->instruction.AsDispatch()->error_sites[0]->what = "index";
  bool isWritten = argc == 4 && write(candidates(), argv[3]) && write(builder.build(), argv[1]);
  add_variants(builder.add_shader_target());
  builder.build();
  // The dispatches have axes for the shaders now; the CPU's part goes.
  builder.program.targets.erase(builder.program.targets.begin());
  for (auto &step : entry.table().steps)
    step->instruction.AsDispatch()->targets.erase(step->instruction.AsDispatch()->targets.begin());
  if (!isWritten || !write(builder.build(), argv[2])) {
    std::fprintf(stderr, "usage: heddle-golden-artifact FILE SHADER_FILE CANDIDATES_FILE, which can be written\n");
    return 2;
  }
  return 0;
}
