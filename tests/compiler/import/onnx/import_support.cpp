// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/compiler/import/onnx/import_support.h"

#include "compiler/import/onnx/TensorData.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace heddle::test {

namespace fs = std::filesystem;
using ::onnx::TensorProto;

std::string Import::text() const {
  std::string text;
  if (module) {
    llvm::raw_string_ostream os(text);
    module.get().print(os);
  }
  return text;
}

mlir::func::FuncOp Import::main() const { return *module.get().getOps<mlir::func::FuncOp>().begin(); }

Import importFile(const fs::path &path) {
  Import result;
  result.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  result.module = importOnnx(path.string(), result.context.get(), result.errors);
  // A failure without a reason, or a result in spite of errors, is wrong whatever the file holds.
  EXPECT_EQ(!result.module, !result.errors.empty()) << path;
  return result;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "heddle-import-XXXXXX").string();
  path = ::mkdtemp(pattern.data());
}

ScratchFolder::~ScratchFolder() { fs::remove_all(path); }

void writeFile(const fs::path &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string readFile(const fs::path &path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ModelBuilder::ModelBuilder(int64_t opset) {
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(opset);
  proto.mutable_graph()->set_name("test");
}

ModelBuilder &ModelBuilder::input(const std::string &name, std::initializer_list<Dim> dims, int type) {
  ::onnx::ValueInfoProto &info = *proto.mutable_graph()->add_input();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  ::onnx::TensorShapeProto &shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const Dim &dim : dims) {
    ::onnx::TensorShapeProto::Dimension &entry = *shape.add_dim();
    if (const int *extent = std::get_if<int>(&dim))
      entry.set_dim_value(*extent);
    else if (**std::get_if<const char *>(&dim))
      entry.set_dim_param(std::get<const char *>(dim));
  }
  return *this;
}

ModelBuilder &ModelBuilder::output(const std::string &name, int type) {
  ::onnx::ValueInfoProto &info = *proto.mutable_graph()->add_output();
  info.set_name(name);
  if (type != TensorProto::UNDEFINED)
    info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return *this;
}

::onnx::NodeProto &ModelBuilder::node(const std::string &type, std::initializer_list<const char *> inputs,
                                      std::initializer_list<const char *> outputs, const std::string &name) {
  ::onnx::NodeProto &node = *proto.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(name);
  for (const char *input : inputs)
    node.add_input(input);
  for (const char *output : outputs)
    node.add_output(output);
  return node;
}

TensorProto &ModelBuilder::tensor(const std::string &name, std::initializer_list<int64_t> dims, int type) {
  TensorProto &tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t extent : dims)
    tensor.add_dims(extent);
  return tensor;
}

ModelBuilder &ModelBuilder::ints(const std::string &name, std::initializer_list<int64_t> values) {
  TensorProto &proto = tensor(name, {static_cast<int64_t>(values.size())}, TensorProto::INT64);
  for (int64_t value : values)
    proto.add_int64_data(value);
  return *this;
}

Import ModelBuilder::import() const {
  ScratchFolder scratch;
  writeFile(scratch / "model.onnx", bytes());
  return importFile(scratch / "model.onnx");
}

::onnx::NodeProto &setInt(::onnx::NodeProto &node, const std::string &name, int64_t value) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(value);
  return node;
}

::onnx::NodeProto &setInts(::onnx::NodeProto &node, const std::string &name, std::initializer_list<int64_t> values) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
  return node;
}

llvm::Expected<reference::HostTensor> toHostTensor(const TensorProto &tensor, mlir::MLIRContext *context) {
  mlir::Type type = importer::getElementType(tensor.data_type(), context);
  if (!type)
    return reference::makeError("elements of type " + importer::getDataTypeName(tensor.data_type()));
  reference::Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (!tensor.raw_data().empty())
    return reference::HostTensor::fromBytes(type, dims,
                                            llvm::ArrayRef(tensor.raw_data().data(), tensor.raw_data().size()));
  // ONNX's generator writes raw data but for 4-bit integers, two in a number; old files have typed fields.
  if (type.getIntOrFloatBitWidth() == 4) {
    std::vector<char> bytes(tensor.int32_data().begin(), tensor.int32_data().end());
    return reference::HostTensor::fromBytes(type, dims, bytes);
  }
  if (llvm::isa<mlir::FloatType>(type)) {
    std::vector<double> values(tensor.float_data().begin(), tensor.float_data().end());
    values.insert(values.end(), tensor.double_data().begin(), tensor.double_data().end());
    return reference::HostTensor(type, dims, std::move(values));
  }
  std::vector<int64_t> values(tensor.int32_data().begin(), tensor.int32_data().end());
  values.insert(values.end(), tensor.int64_data().begin(), tensor.int64_data().end());
  values.insert(values.end(), tensor.uint64_data().begin(), tensor.uint64_data().end());
  return reference::HostTensor(type, dims, std::move(values));
}

fs::path folderFromEnvironment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

} // namespace heddle::test
