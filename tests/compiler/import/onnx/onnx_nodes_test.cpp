// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's own tests of operators, as the pinned onnx package ships them: each is a model of one node or a few, with
// inputs and outputs. What imports is run by the reference evaluator, and its numbers must be ONNX's.

#include "compiler/reference/Evaluator.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <regex>

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using reference::HostTensor;

/// A float outside of the range of a 4-bit integer: ONNX leaves the cast open, its files wrap, nn.cast saturates.
bool differsOnPurpose(const std::string &name) {
  static const std::regex pattern("test_cast(like)?_FLOAT(16)?_to_U?INT4(_expanded)?");
  return std::regex_match(name, pattern);
}

/// Empty, or what differs. The bounds are those of onnx's runner, and a millionth of the greatest element for sums
/// whose terms cancel: the waves of a Fourier transform are f32.
std::string compare(const HostTensor &actual, const HostTensor &expected) {
  if (actual.getElementType() != expected.getElementType() || actual.getDims() != expected.getDims())
    return "another type or shape";
  double largest = 0;
  for (int64_t i = 0; expected.isFloat() && i < expected.getNumElements(); ++i)
    if (std::isfinite(expected.getFloats()[i]))
      largest = std::max(largest, std::abs(expected.getFloats()[i]));
  for (int64_t i = 0; i < actual.getNumElements(); ++i) {
    double a = actual.isFloat() ? actual.getFloats()[i] : static_cast<double>(actual.getInts()[i]);
    double b = expected.isFloat() ? expected.getFloats()[i] : static_cast<double>(expected.getInts()[i]);
    bool isEqual =
        a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-7 + 1e-3 * std::abs(b) + 1e-6 * largest;
    if (!isEqual)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " + std::to_string(b);
  }
  return "";
}

std::optional<std::vector<HostTensor>> readTensors(const fs::path &folder, const std::string &kind,
                                                   mlir::MLIRContext *context) {
  std::vector<HostTensor> tensors;
  for (int i = 0; fs::exists(folder / (kind + "_" + std::to_string(i) + ".pb")); ++i) {
    ::onnx::TensorProto proto;
    if (!proto.ParseFromString(readFile(folder / (kind + "_" + std::to_string(i) + ".pb"))))
      return std::nullopt;
    llvm::Expected<HostTensor> tensor = toHostTensor(proto, context);
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
      return std::nullopt;
    }
    tensors.push_back(*tensor);
  }
  return tensors;
}

/// Runs |import| on the data in |folder|; empty, or what went wrong.
std::string runCase(const Import &import, const fs::path &folder) {
  auto inputs = readTensors(folder, "input", import.context.get());
  auto outputs = readTensors(folder, "output", import.context.get());
  if (!inputs || !outputs)
    return "its data can't be read";
  // Inputs that were made constants come last, so the first ones are those of the function.
  inputs->resize(import.main().getNumArguments());
  llvm::Expected<llvm::SmallVector<HostTensor>> actual = reference::Evaluator(import.main()).run(*inputs);
  if (!actual)
    return llvm::toString(actual.takeError());
  for (size_t i = 0; i < outputs->size(); ++i)
    if (std::string difference = compare((*actual)[i], (*outputs)[i]); !difference.empty())
      return "output " + std::to_string(i) + ": " + difference;
  return "";
}

/// The model in |folder| with its last inputs as constants, as many as are vectors or scalars of integers: axes, sizes
/// and the like, which our ops want to know when compiling. Nothing where there is none.
std::optional<std::string> makeParametersConstant(const fs::path &folder) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(readFile(folder / "model.onnx")))
    return std::nullopt;
  int count = model.graph().input_size(), kept = count;
  for (; kept > 0; --kept) {
    ::onnx::TensorProto tensor;
    fs::path file = folder / "test_data_set_0" / ("input_" + std::to_string(kept - 1) + ".pb");
    bool isParameter =
        tensor.ParseFromString(readFile(file)) && tensor.dims_size() < 2 &&
        (tensor.data_type() == ::onnx::TensorProto::INT64 || tensor.data_type() == ::onnx::TensorProto::INT32);
    if (!isParameter)
      break;
    tensor.set_name(model.graph().input(kept - 1).name());
    *model.mutable_graph()->add_initializer() = tensor;
  }
  model.mutable_graph()->mutable_input()->DeleteSubrange(kept, count - kept);
  return kept == count ? std::nullopt : std::optional(model.SerializeAsString());
}

Import importCase(const fs::path &folder, const ScratchFolder &scratch) {
  Import import = importFile(folder / "model.onnx");
  std::optional<std::string> other = import.module ? std::nullopt : makeParametersConstant(folder);
  if (!other)
    return import;
  writeFile(scratch / "model.onnx", *other);
  return importFile(scratch / "model.onnx");
}

TEST(NodeTests, GiveOnnxNumbers) {
  fs::path data = folderFromEnvironment("HEDDLE_ONNX_TEST_DATA");
  ASSERT_TRUE(fs::is_directory(data)) << data << ": run tools/setup";
  ScratchFolder scratch;
  unsigned imported = 0, total = 0;
  for (const char *kind : {"node", "simple", "pytorch-operator", "pytorch-converted"})
    for (const fs::directory_entry &entry : fs::directory_iterator(data / kind)) {
      ++total;
      std::string name = entry.path().filename();
      Import import = importCase(entry.path(), scratch);
      if (!import.module) {
        // Nothing else may keep a valid model out.
        EXPECT_EQ(import.errors.exitCode(), 3) << name << ": " << import.errors.str();
        if (std::getenv("HEDDLE_LIST_REFUSED"))
          std::cout << name << ": " << import.errors.str();
        continue;
      }
      ++imported;
      std::string fault = runCase(import, entry.path() / "test_data_set_0");
      EXPECT_EQ(fault.empty(), !differsOnPurpose(name)) << kind << "/" << name << ": " << fault;
    }
  std::cout << imported << " of " << total << " imported\n";
  // What imports today may not be lost; raised as operators are added.
  EXPECT_GE(imported, 1297u);
}

} // namespace
} // namespace heddle::test
