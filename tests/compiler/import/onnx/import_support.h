// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer's tests share: models written by hand, imports of files, tensors read from ONNX's own test data.

#pragma once

#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/import/onnx/onnx-ml.pb.h"
#include "compiler/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Skips the test, or fails it in CI, where nothing may be missing.
#define HEDDLE_MISSING(message)                                                                                        \
  do {                                                                                                                 \
    if (std::getenv("CI"))                                                                                             \
      FAIL() << message;                                                                                               \
    GTEST_SKIP() << message;                                                                                           \
  } while (false)

namespace heddle::test {

/// The result of one import, with the context that it lives in.
struct Import {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ErrorList errors;

  /// The module's text, without locations; empty where the import failed.
  std::string text() const;
  /// The one function of the module.
  mlir::func::FuncOp main() const;
};

Import importFile(const std::filesystem::path &path);

/// A folder that vanishes with the object.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  std::filesystem::path operator/(const std::string &name) const { return path / name; }
  std::filesystem::path path;
};

void writeFile(const std::filesystem::path &path, const std::string &bytes);
std::string readFile(const std::filesystem::path &path);

/// A name, an extent, or neither ("").
using Dim = std::variant<const char *, int>;

/// A model of a few nodes. Everything is open to the test, which goes on to bend |proto|.
class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17);

  ModelBuilder &input(const std::string &name, std::initializer_list<Dim> dims, int type = ::onnx::TensorProto::FLOAT);
  /// An output without a shape, and without a type unless one is given.
  ModelBuilder &output(const std::string &name, int type = ::onnx::TensorProto::UNDEFINED);
  ::onnx::NodeProto &node(const std::string &type, std::initializer_list<const char *> inputs,
                          std::initializer_list<const char *> outputs, const std::string &name = "");
  /// An initialiser without data.
  ::onnx::TensorProto &tensor(const std::string &name, std::initializer_list<int64_t> dims,
                              int type = ::onnx::TensorProto::FLOAT);
  ModelBuilder &ints(const std::string &name, std::initializer_list<int64_t> values);

  std::string bytes() const { return proto.SerializeAsString(); }
  /// Writes the model into a folder of its own and imports it.
  Import import() const;

  ::onnx::ModelProto proto;
};

::onnx::NodeProto &setInt(::onnx::NodeProto &node, const std::string &name, int64_t value);
::onnx::NodeProto &setInts(::onnx::NodeProto &node, const std::string &name, std::initializer_list<int64_t> values);

/// The tensor in a TensorProto, or why it can't be had; for tensors of the kinds that Heddle computes with.
llvm::Expected<reference::HostTensor> toHostTensor(const ::onnx::TensorProto &tensor, mlir::MLIRContext *context);

/// |name| in the environment, which the build's test runner sets.
std::filesystem::path folderFromEnvironment(const char *name);

} // namespace heddle::test
