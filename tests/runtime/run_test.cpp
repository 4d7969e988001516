// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running: numbers, outputs, what is refused and in which words.

#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// Runs |session|'s first entry point and returns the status.
status run(const session &session, const std::vector<const tensor *> &inputs, std::vector<heddle_tensor_t *> &outputs) {
  std::vector<const heddle_tensor_t *> handles;
  for (const tensor *input : inputs)
    handles.push_back(input->get());
  return status(
      heddle_session_run(session.get(), nullptr, handles.data(), handles.size(), outputs.data(), outputs.size()));
}

/// The error of a run of the embedding model on |ids| and |mask|, "" if it succeeds.
std::string embedding_error(const tensor &ids, const tensor &mask) {
  const artifact_bytes artifact = embedding_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  const status status = run(session, {&ids, &mask}, outputs);
  const tensor owned(outputs[0]);
  return status.ok() ? "" : status.error_code() + ": " + status.message();
}

tensor ids_tensor(const std::vector<int64_t> &dims, const std::vector<int64_t> &ids) {
  return make_tensor<int64_t>(HEDDLE_ELEMENT_I64, dims, ids);
}

/// Ids of zeros.
tensor zeros(const std::vector<int64_t> &dims) {
  auto tensor = tensor::create(HEDDLE_ELEMENT_I64, dims);
  EXPECT_TRUE(bool(tensor));
  return std::move(*tensor);
}

TEST(Run, ComputesForEveryShape) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  for (int64_t width : {1, 15, 16, 17, 1000}) {
    const tensor x = counting_tensor({3, width});
    auto outputs = session.run("main", {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ((*outputs)[0].dims(), (std::vector<int64_t>{3, width}));
    EXPECT_EQ(values<float>((*outputs)[0]), values<float>(x)) << "(x + x) / 2";
  }
}

TEST(Run, EmptyTensorsAreFine) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({0, 7});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].dims(), (std::vector<int64_t>{0, 7}));
}

TEST(Run, TheSplitOverThreadsChangesNoBit) {
  const artifact_bytes artifact = scale_model(0.3f).build();
  const tensor x = counting_tensor({7, 1001});
  std::vector<float> expected;
  for (unsigned threads : {1, 2, 3, 8}) {
    const thread_pool pool = make_pool(threads);
    heddle_program_options_t options = {};
    options.thread_pool = pool.get();
    const program program = load(artifact, options);
    const session session = make_session(program);
    auto outputs = session.run(nullptr, {&x}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    const std::vector<float> result = values<float>((*outputs)[0]);
    if (expected.empty())
      expected = result;
    EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)), 0) << threads;
  }
}

TEST(Run, CopiedWeightsGiveTheSame) {
  const artifact_bytes artifact = embedding_model(1000).build();
  heddle_program_options_t options = {};
  options.weights = HEDDLE_WEIGHTS_COPY;
  const program program = load(artifact, options);
  const session session = make_session(program);
  const tensor ids = ids_tensor({1, 2}, {999, -1000});
  auto outputs = session.run(nullptr, {&ids, &ids}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{3996, 3997, 3998, 3999, 0, 1, 2, 3}));
}

TEST(Run, CodeRunsFromAMappedFile) {
  const artifact_bytes artifact = scale_model().build();
  auto program = program::load(write_file("model.heddle", artifact.data(), artifact.size));
  ASSERT_TRUE(bool(program)) << program.error().text();
  const session session = make_session(*program);
  const tensor x = counting_tensor({2, 2});
  auto outputs = session.run(nullptr, {&x}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{0, 1, 2, 3}));
}

TEST(Run, ScratchBelongsToOneThread) {
  artifact_builder builder;
  const uint32_t kernel = builder.kernel("test_scratch", 1, 0);
  entry_builder entry = builder.add_entry("main");
  const uint32_t count = entry.constant(100000);
  const fb::Binding y = entry.output("y", fb::ElementType::f32, {"100000"}, {count});
  entry_builder::dispatch_options options;
  options.grid = count;
  options.grain = entry.constant(1);
  options.scratch = entry.constant(64);
  options.result_dims = {count};
  entry.dispatch(kernel, {y}, {}, options);
  const artifact_bytes artifact = builder.build();
  const thread_pool pool = make_pool(4);
  heddle_program_options_t load_options = {};
  load_options.thread_pool = pool.get();
  const program program = load(artifact, load_options);
  const session session = make_session(program);
  auto outputs = session.run(nullptr, {}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  const std::vector<float> sums = values<float>((*outputs)[0]);
  for (size_t i = 0; i < sums.size(); ++i)
    ASSERT_EQ(sums[i], 16 * static_cast<float>(i));
}

TEST(Run, StoresSlotsCopiesAndPassesInputsThrough) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  const fb::Binding x = entry.input("x", fb::ElementType::f32, {"batch", "3"});
  const uint32_t batch = entry.dim(x, 0);
  const uint32_t three = entry.constant(3);
  const uint32_t bytes = entry.mul(batch, entry.constant(12));
  const fb::Binding shape = entry.output("shape", fb::ElementType::i32, {"2"}, {entry.constant(2)});
  const fb::Binding same = entry.output("same", fb::ElementType::f32, {"batch", "3"}, {batch, three});
  const fb::Binding moved = entry.buffer(bytes, 1, 2);
  entry.store_slots(shape, fb::ElementType::i32, {batch, three});
  entry.copy(x, moved, bytes);
  entry.copy(moved, same, bytes);
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor input = counting_tensor({2, 3});
  auto outputs = session.run(nullptr, {&input}, 2);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<int32_t>((*outputs)[0]), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(values<float>((*outputs)[1]), values<float>(input));
}

TEST(Run, ASizeThatDoesNotFitItsTypeIsRefused) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  const fb::Binding y = entry.output("y", fb::ElementType::i8, {"1"}, {entry.constant(1)});
  entry.store_slots(y, fb::ElementType::i8, {entry.constant(300)});
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  auto outputs = session.run(nullptr, {}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().message(), "a size of 300 doesn't fit the model's i8");
}

TEST(Run, OutputsAreWrittenInPlace) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({2, 5});
  auto y = tensor::create(HEDDLE_ELEMENT_F32, {2, 5});
  ASSERT_TRUE(bool(y));
  std::vector<heddle_tensor_t *> outputs = {y->get()};
  EXPECT_TRUE(run(session, {&x}, outputs).ok());
  EXPECT_EQ(outputs[0], y->get());
  EXPECT_EQ(values<float>(*y), values<float>(x));
}

TEST(Run, GivenOutputsMustFit) {
  const artifact_bytes artifact = scale_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor x = counting_tensor({2, 5});
  auto message_for = [&](const tensor &output) {
    std::vector<heddle_tensor_t *> outputs = {output.get()};
    const status status = run(session, {&x}, outputs);
    return status.error_code() + ": " + status.message();
  };
  EXPECT_EQ(message_for(counting_tensor({2, 4})), "H0305: output 'y' has shape [2,5], but the given tensor has [2,4]");
  EXPECT_EQ(message_for(counting_tensor({10})), "H0304: output 'y' has shape [2,5], but the given tensor has [10]");
  EXPECT_EQ(message_for(zeros({2, 5})), "H0303: output 'y' has type f32, but the given tensor has i64");
  EXPECT_EQ(message_for(x), "H0311: the tensor given for output 'y' shares memory with input 'x'");
}

TEST(Run, GivenOutputsMustBeApart) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  const fb::Binding x = entry.input("x", fb::ElementType::f32, {"4"});
  const uint32_t four = entry.constant(4);
  const uint32_t bytes = entry.constant(16);
  for (const char *name : {"a", "b"})
    entry.copy(x, entry.output(name, fb::ElementType::f32, {"4"}, {four}), bytes);
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor input = counting_tensor({4});
  const tensor output = counting_tensor({4});
  std::vector<heddle_tensor_t *> outputs = {output.get(), output.get()};
  EXPECT_EQ(run(session, {&input}, outputs).message(), "the tensors given for outputs 'a' and 'b' share memory");
}

TEST(Run, AFailureHandsOutNoTensor) {
  const artifact_bytes artifact = embedding_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor ids = ids_tensor({1, 1}, {10});
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  EXPECT_FALSE(run(session, {&ids, &ids}, outputs).ok());
  EXPECT_EQ(outputs[0], nullptr);
}

TEST(Inputs, AreNamedWithWhatIsExpected) {
  EXPECT_EQ(embedding_error(zeros({8}), zeros({1, 8})), "H0304: input 'ids' expects [batch,seq], got [8]");
  EXPECT_EQ(embedding_error(zeros({2, 128}), zeros({2, 96})),
            "H0306: inputs 'ids' and 'mask' disagree on dimension 'seq': 128 and 96");
  EXPECT_EQ(embedding_error(zeros({1, 4}), counting_tensor({1, 4})), "H0303: input 'mask' expects i64, got f32");
  const tensor bytes = make_tensor<uint8_t>(HEDDLE_ELEMENT_U8, {1, 1}, {0});
  EXPECT_EQ(embedding_error(bytes, zeros({1, 1})), "H0303: input 'ids' expects i64, got u8");
}

TEST(Inputs, StaticDimensionsAreChecked) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  entry.input("pixels", fb::ElementType::f32, {"", "3", "224"});
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor pixels = counting_tensor({1, 3, 225});
  std::vector<heddle_tensor_t *> outputs;
  EXPECT_EQ(run(session, {&pixels}, outputs).message(), "input 'pixels' expects [?,3,224], got [1,3,225]");
}

TEST(Inputs, NumberAndNamesAreChecked) {
  const artifact_bytes artifact = embedding_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor ids = zeros({1, 4});
  std::vector<heddle_tensor_t *> outputs = {nullptr};
  const status too_few = run(session, {&ids}, outputs);
  EXPECT_EQ(too_few.message(), "expects 2 inputs, got 1");
  EXPECT_EQ(too_few.help(), "the inputs are: ids i64 [batch,seq], mask i64 [batch,seq]");
  const heddle_tensor_t *inputs[] = {ids.get(), nullptr};
  expect_failure(heddle_session_run(session.get(), nullptr, inputs, 2, outputs.data(), 1), "H0101",
                 "input 'mask' is null");
  expect_failure(heddle_session_run(session.get(), "mian", inputs, 2, outputs.data(), 1), "H0301",
                 "there is no entry point 'mian'");
  inputs[1] = ids.get();
  expect_failure(heddle_session_run(session.get(), nullptr, inputs, 2, outputs.data(), 0), "H0302",
                 "expects room for 1 outputs, got 0");
}

TEST(Inputs, I32IsWidened) {
  const artifact_bytes artifact = embedding_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor ids = make_tensor<int32_t>(HEDDLE_ELEMENT_I32, {1, 3}, {9, -1, 0});
  auto outputs = session.run(nullptr, {&ids, &ids}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{36, 37, 38, 39, 36, 37, 38, 39, 0, 1, 2, 3}));
}

TEST(Inputs, ChecksOfTheModelNameTheNode) {
  EXPECT_EQ(embedding_error(zeros({1, 513}), zeros({1, 513})),
            "H0307: node 'embeddings/position': sequence length 513 exceeds the position table's 512");
  EXPECT_EQ(embedding_error(zeros({1, 512}), zeros({1, 512})), "");
}

TEST(Kernels, AnIndexOutsideItsTableIsNamed) {
  EXPECT_EQ(embedding_error(ids_tensor({1, 2}, {3, 10}), zeros({1, 2})),
            "H0309: node 'embeddings/word': token id 10 is out of range, expects -10 to 9");
  EXPECT_EQ(embedding_error(ids_tensor({1, 1}, {INT64_MIN}), zeros({1, 1})),
            "H0309: node 'embeddings/word': token id -9223372036854775808 is out of range, expects -10 to 9");
}

TEST(Kernels, TheContextNamesFileAndOperator) {
  const artifact_bytes artifact = embedding_model().build();
  auto program = program::load(write_file("context.heddle", artifact.data(), artifact.size));
  ASSERT_TRUE(bool(program)) << program.error().text();
  const session session = make_session(*program);
  const tensor ids = ids_tensor({1, 1}, {10});
  auto outputs = session.run(nullptr, {&ids, &ids}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().context(), "in " + testing::TempDir() + "context.heddle, op Gather");
}

TEST(Kernels, TheFirstOfSeveralFailuresIsReported) {
  const artifact_bytes artifact = embedding_model().build();
  const thread_pool pool = make_pool(4);
  heddle_program_options_t options = {};
  options.thread_pool = pool.get();
  const program program = load(artifact, options);
  const session session = make_session(program);
  std::vector<int64_t> bad(512);
  for (size_t i = 0; i < bad.size(); ++i)
    bad[i] = i < 100 ? 0 : 1000 + static_cast<int64_t>(i);
  const tensor ids = ids_tensor({1, 512}, bad);
  for (int i = 0; i < 200; ++i) {
    std::vector<heddle_tensor_t *> outputs = {nullptr};
    EXPECT_EQ(run(session, {&ids, &ids}, outputs).message(),
              "node 'embeddings/word': token id 1100 is out of range, expects -10 to 9");
  }
}

TEST(Kernels, ASessionRunsOnAfterAFailure) {
  const artifact_bytes artifact = embedding_model().build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor bad = ids_tensor({1, 1}, {77});
  const tensor good = ids_tensor({1, 1}, {1});
  EXPECT_FALSE(bool(session.run(nullptr, {&bad, &bad}, 1)));
  auto outputs = session.run(nullptr, {&good, &good}, 1);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(values<float>((*outputs)[0]), (std::vector<float>{4, 5, 6, 7}));
}

/// Runs one dispatch of |symbol| over two inputs and an output of one i64 each and returns its error.
std::string kernel_error(const std::string &symbol) {
  artifact_builder builder;
  const uint32_t kernel = builder.kernel(symbol, 3, 0);
  entry_builder entry = builder.add_entry("main");
  const fb::Binding a = entry.input("a", fb::ElementType::i64, {"1"});
  const fb::Binding b = entry.input("b", fb::ElementType::i64, {"1"});
  const uint32_t one = entry.constant(1);
  const fb::Binding y = entry.output("y", fb::ElementType::i64, {"1"}, {one});
  entry_builder::dispatch_options options;
  options.grid = options.grain = options.scratch = one;
  options.result_dims = {one};
  options.node = "Div_1";
  entry.dispatch(kernel, {a, b, y}, {}, options);
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor zero = zeros({1});
  auto outputs = session.run(nullptr, {&zero, &zero}, 1);
  return outputs ? "" : outputs.error().error_code() + ": " + outputs.error().message();
}

TEST(Kernels, DivisionByZeroIsNamed) {
  EXPECT_EQ(kernel_error("test_divide"), "H0310: node 'Div_1': integer division by zero");
}

TEST(Kernels, ALoopThatADriverEndedIsNamed) {
  EXPECT_EQ(kernel_error("test_cut_short"), "H0408: the device's driver ended a loop of kernel 'test_cut_short' early: "
                                            "it takes more rounds than the driver allows");
}

TEST(Kernels, AnUnknownResultIsABug) {
  EXPECT_EQ(kernel_error("test_unknown_code"),
            "H0901: kernel 'test_unknown_code' failed with unknown code 99 in node 'Div_1'");
}

#if defined(__x86_64__)
TEST(Run, TheCallersFloatingPointModeChangesNothingAndComesBack) {
  const artifact_bytes artifact = scale_model(1.0f).build();
  const program program = load(artifact);
  const session session = make_session(program);
  // The smallest denormal, doubled: 0 where denormals are flushed.
  const tensor x = make_tensor<float>(HEDDLE_ELEMENT_F32, {1, 1}, {1e-45f});
  const unsigned before = _mm_getcsr();
  const unsigned flushing = before | 0x8040;
  _mm_setcsr(flushing);
  auto outputs = session.run(nullptr, {&x}, 1);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  ASSERT_TRUE(bool(outputs)) << outputs.error().text();
  EXPECT_EQ(after, flushing);
  uint32_t bits = 0;
  std::memcpy(&bits, (*outputs)[0].data<float>(), sizeof(bits));
  EXPECT_EQ(bits, 2u);
}
#endif

TEST(Plans, FollowValuesThatShapesDependOn) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  const fb::Binding n = entry.input("n", fb::ElementType::i64, {});
  const uint32_t size = entry.value(n, 0);
  const fb::Binding y = entry.output("y", fb::ElementType::i64, {"n"}, {size});
  entry.store_slots(y, fb::ElementType::i64, {size});
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  for (int64_t value : {1, 5, 1}) {
    const tensor input = ids_tensor({}, {value});
    auto outputs = session.run(nullptr, {&input}, 1);
    ASSERT_TRUE(bool(outputs)) << outputs.error().text();
    EXPECT_EQ((*outputs)[0].dims(), std::vector<int64_t>{value});
    EXPECT_EQ((*outputs)[0].data<int64_t>()[0], value);
  }
  const tensor negative = ids_tensor({}, {-1});
  auto outputs = session.run(nullptr, {&negative}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().message(), "a size is negative or overflows, for n []");
}

TEST(Run, MemoryThatIsNotThereIsReported) {
  artifact_builder builder;
  entry_builder entry = builder.add_entry("main");
  const fb::Binding n = entry.input("n", fb::ElementType::i64, {});
  const fb::Binding y = entry.output("y", fb::ElementType::i64, {"1"}, {entry.constant(1)});
  entry.buffer(entry.value(n, 0), 0, 0);
  entry.store_slots(y, fb::ElementType::i64, {entry.constant(1)});
  const artifact_bytes artifact = builder.build();
  const program program = load(artifact);
  const session session = make_session(program);
  const tensor huge = ids_tensor({}, {int64_t(1) << 60});
  auto outputs = session.run(nullptr, {&huge}, 1);
  ASSERT_FALSE(bool(outputs));
  EXPECT_EQ(outputs.error().message(),
            "not enough memory: the run needs 1152921504606846976 bytes for intermediate results");
  const tensor small = ids_tensor({}, {8});
  EXPECT_TRUE(bool(session.run(nullptr, {&small}, 1)));
}

} // namespace
} // namespace heddle::test
