// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scan of the wire form: where weights are found, and what no file can make it do.

#include "compiler/import/onnx/WireScan.h"
#include "tests/compiler/import/onnx/import_support.h"

#include <gtest/gtest.h>

namespace heddle::test {
namespace {

using importer::WireScan;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

/// A length-delimited field by hand: what protobuf's own writer never makes.
std::string field(unsigned number, const std::string &bytes) {
  std::string text;
  auto varint = [&](uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
  };
  varint(number << 3 | 2);
  varint(bytes.size());
  return text + bytes;
}

WireScan scan(const std::string &bytes) {
  ErrorList errors;
  auto result = importer::scanModel(bytes, "model.onnx", errors);
  EXPECT_TRUE(errors.empty()) << errors.str();
  return succeeded(result) ? *result : WireScan();
}

std::string scanError(const std::string &bytes) {
  ErrorList errors;
  auto result = importer::scanModel(bytes, "model.onnx", errors);
  EXPECT_EQ(failed(result), !errors.empty());
  return errors.str();
}

ModelProto parse(const WireScan &scan) {
  ModelProto model;
  EXPECT_TRUE(model.ParseFromString(scan.skeleton));
  return model;
}

TEST(WireScan, CutsDataAndRemembersItsPlace) {
  ModelBuilder builder;
  builder.tensor("a", {3}, TensorProto::UINT8).set_raw_data("\x01\x02\x03");
  for (float value : {1.0f, 2.0f})
    builder.tensor("b", {1}).add_float_data(value);
  std::string bytes = builder.bytes();
  WireScan result = scan(bytes);
  ASSERT_EQ(result.payloads.size(), 3u);
  EXPECT_EQ(bytes.substr(result.payloads[0].offset, result.payloads[0].length), "\x01\x02\x03");
  EXPECT_EQ(result.payloads[0].field, importer::kRawData);
  EXPECT_EQ(result.payloads[2].field, importer::kFloatData);
  EXPECT_EQ(bytes.substr(result.payloads[2].offset, result.payloads[2].length), std::string("\0\0\0\x40", 4));
  ModelProto model = parse(result);
  EXPECT_EQ(importer::getPayloadIndex(model.graph().initializer(2).raw_data()), 2u);
  EXPECT_EQ(model.graph().initializer(2).float_data_size(), 0);
  EXPECT_EQ(model.graph().initializer(0).name(), "a");
}

TEST(WireScan, FindsTensorsInAttributesBranchesAndFunctions) {
  ModelBuilder builder;
  ::onnx::AttributeProto &branch = *builder.node("If", {"c"}, {"y"}).add_attribute();
  ::onnx::NodeProto &constant = *branch.mutable_g()->add_node();
  constant.add_attribute()->mutable_t()->set_raw_data("12345678");
  branch.mutable_g()->add_initializer()->set_raw_data("abcdefgh");
  builder.proto.add_functions()->add_node()->add_attribute()->mutable_t()->set_raw_data("ABCDEFGH");
  WireScan result = scan(builder.bytes());
  EXPECT_EQ(result.payloads.size(), 3u);
  EXPECT_EQ(result.skeleton.find("ABCDEFGH"), std::string::npos);
}

TEST(WireScan, JoinsDataInPieces) {
  // One number a field, then a packed run: both are legal protobuf, and their numbers follow each other.
  std::string one("\x25\x00\x00\x80\x3f", 5), two = field(4, std::string("\0\0\0\x40", 4));
  std::string bytes = field(7, field(5, one + two + one));
  WireScan result = scan(bytes);
  ASSERT_EQ(result.payloads.size(), 1u);
  EXPECT_EQ(result.payloads[0].pieces, std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x80\x3f", 12));
}

TEST(WireScan, DropsDocumentation) {
  ModelBuilder builder;
  builder.proto.set_doc_string("documentation");
  ::onnx::NodeProto &node = builder.node("Relu", {"x"}, {"y"}, "kept");
  node.set_doc_string("documentation");
  node.add_metadata_props()->set_key("documentation");
  WireScan result = scan(builder.bytes());
  EXPECT_EQ(result.skeleton.find("documentation"), std::string::npos);
  EXPECT_EQ(parse(result).graph().node(0).name(), "kept");
}

TEST(WireScan, KeepsTheModulesOfNodesAlone) {
  const std::string key = "pkg.torch.onnx.name_scopes";
  ModelBuilder builder;
  ::onnx::NodeProto &node = builder.node("Relu", {"x"}, {"y"});
  for (const std::string &name : {std::string("stack_trace"), key, key + "_of_old", std::string("pkg")}) {
    ::onnx::StringStringEntryProto &entry = *node.add_metadata_props();
    entry.set_key(name);
    entry.set_value("['', 'encoder']");
  }
  ::onnx::StringStringEntryProto &large = *builder.node("Relu", {"y"}, {"z"}).add_metadata_props();
  large.set_key(key);
  large.set_value(std::string(1024, 'x'));
  ModelProto kept = parse(scan(builder.bytes()));
  ASSERT_EQ(kept.graph().node(0).metadata_props_size(), 1);
  EXPECT_EQ(kept.graph().node(0).metadata_props(0).key(), key);
  EXPECT_EQ(kept.graph().node(0).metadata_props(0).value(), "['', 'encoder']");
  EXPECT_EQ(kept.graph().node(1).metadata_props_size(), 0);
}

TEST(WireScan, SaysHowMuchOfATruncatedFileIsThere) {
  ModelBuilder builder;
  builder.tensor("a", {100}, TensorProto::UINT8).set_raw_data(std::string(100, 'x'));
  std::string bytes = builder.bytes();
  // Each cut is found, whatever field it goes through; only between two fields there is none to be found.
  for (size_t size = 1; size < bytes.size(); ++size) {
    std::string part = bytes.substr(0, size), error = scanError(part);
    if (ModelProto().ParseFromString(part))
      EXPECT_EQ(error, "");
    else
      EXPECT_EQ(error.find("error[H0513]: file is "), 0u) << size << error;
  }
  EXPECT_NE(scanError(bytes.substr(0, 60)).find("file is truncated: 60 bytes of at least "), std::string::npos);
}

TEST(WireScan, RefusesWhatIsNoMessage) {
  EXPECT_NE(scanError(std::string("\x0b\x00", 2)).find("byte 0 starts no field"), std::string::npos); // a group
  EXPECT_NE(scanError(std::string("\x00\x00", 2)).find("byte 0 starts no field"), std::string::npos); // field 0
  EXPECT_NE(scanError(std::string(11, '\xff')).find("has no end"), std::string::npos);
  EXPECT_NE(scanError("\x08\x80").find("is cut off"), std::string::npos);
  // A length near 2^64 must not wrap around.
  EXPECT_NE(scanError("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").find("of at least 2^64"), std::string::npos);
  // Within the file, but not within the message it is a part of.
  std::string inner = field(5, field(9, "data"));
  inner[3] = 100;
  EXPECT_NE(scanError(field(7, inner) + std::string(200, ' ')).find("longer than what it lies in"), std::string::npos);
}

TEST(WireScan, RefusesTwoKindsOfDataInOneTensor) {
  std::string tensor = field(9, "abcd") + field(4, "abcd");
  EXPECT_NE(scanError(field(7, field(5, tensor))).find("has its data twice"), std::string::npos);
  EXPECT_NE(scanError(field(7, field(5, field(9, "abcd") + field(9, "abcd")))).find("has its data twice"),
            std::string::npos);
}

TEST(WireScan, BoundsDepthAndNumberOfNodes) {
  std::string graph;
  for (int i = 0; i < 100; ++i)
    graph = field(1, field(5, field(6, graph)));
  EXPECT_NE(scanError(field(7, graph)).find("error[H0518]"), std::string::npos);

  std::string nodes;
  for (int i = 0; i < 1'000'001; ++i)
    nodes += std::string("\x0a\x00", 2);
  EXPECT_NE(scanError(field(7, nodes)).find("more than 1000000 nodes"), std::string::npos);
}

} // namespace
} // namespace heddle::test
