// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors and element types.

#include <cstdint>
#include <limits>

#include "runtime/core/element_type.h"
#include "runtime/include/heddle/artifact_generated.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

TEST(Tensor, OwnMemoryIsAlignedAndZeroed) {
  auto tensor = tensor::create(HEDDLE_ELEMENT_F32, {3, 5});
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data<float>()) % 64, 0u);
  EXPECT_EQ(heddle_tensor_byte_length(tensor->get()), 60u);
  EXPECT_EQ(values<float>(*tensor), std::vector<float>(15, 0.0f));
  EXPECT_EQ(tensor->dims(), (std::vector<int64_t>{3, 5}));
}

TEST(Tensor, ScalarsAndEmptyTensorsHaveAnAddress) {
  auto scalar = tensor::create(HEDDLE_ELEMENT_I64, {});
  ASSERT_TRUE(bool(scalar));
  EXPECT_EQ(scalar->element_count(), 1u);
  auto empty = tensor::create(HEDDLE_ELEMENT_F32, {0, 7});
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(empty->element_count(), 0u);
  EXPECT_NE(empty->data<float>(), nullptr);
  auto wrapped = tensor::wrap(HEDDLE_ELEMENT_F32, {0}, nullptr, 0);
  ASSERT_TRUE(bool(wrapped));
  EXPECT_NE(wrapped->data<float>(), nullptr);
}

TEST(Tensor, WrappedMemoryIsReleasedWithTheLastReference) {
  float data[4] = {};
  int released = 0;
  const int64_t dims[] = {4};
  heddle_tensor_t *tensor = nullptr;
  auto release = [](void *user, void *) { ++*static_cast<int *>(user); };
  EXPECT_OK(heddle_tensor_wrap(HEDDLE_ELEMENT_F32, 1, dims, data, sizeof(data), release, &released, &tensor));
  EXPECT_EQ(heddle_tensor_data(tensor), data);
  heddle_tensor_retain(tensor);
  heddle_tensor_release(tensor);
  EXPECT_EQ(released, 0);
  heddle_tensor_release(tensor);
  EXPECT_EQ(released, 1);
}

TEST(Tensor, RefusesWhatIsNoShape) {
  heddle_tensor_t *tensor = nullptr;
  const int64_t negative[] = {2, -1};
  expect_failure(heddle_tensor_create(HEDDLE_ELEMENT_F32, 2, negative, &tensor), "H0101",
                 "[2,-1] is no shape of a tensor: a dimension is negative or the size overflows");
  const int64_t huge[] = {int64_t(1) << 62, 2};
  expect_failure(heddle_tensor_create(HEDDLE_ELEMENT_F32, 2, huge, &tensor), "H0101",
                 "[4611686018427387904,2] is no shape of a tensor: a dimension is negative or the size overflows");
  const int64_t deep[9] = {};
  expect_failure(heddle_tensor_create(HEDDLE_ELEMENT_F32, 9, deep, &tensor), "H0101",
                 "expects at most 8 dimensions, got 9");
  expect_failure(heddle_tensor_create(static_cast<heddle_element_type_t>(13), 0, nullptr, &tensor), "H0101",
                 "13 is no element type");
  EXPECT_EQ(tensor, nullptr);
}

TEST(Tensor, ReportsMemoryThatIsNotThere) {
  heddle_tensor_t *tensor = nullptr;
  const int64_t dims[] = {int64_t(1) << 60};
  expect_failure(heddle_tensor_create(HEDDLE_ELEMENT_F32, 1, dims, &tensor), "H0313",
                 "not enough memory for a tensor of 4611686018427387904 bytes");
}

TEST(Tensor, RefusesMemoryThatDoesNotFit) {
  heddle_tensor_t *tensor = nullptr;
  alignas(8) char data[16] = {};
  const int64_t dims[] = {3};
  expect_failure(heddle_tensor_wrap(HEDDLE_ELEMENT_I64, 1, dims, data, 16, nullptr, nullptr, &tensor), "H0101",
                 "a tensor of i64 [3] needs 24 bytes, got 16");
  expect_failure(heddle_tensor_wrap(HEDDLE_ELEMENT_F32, 1, dims, data + 1, 12, nullptr, nullptr, &tensor), "H0101",
                 "data isn't aligned to its element size of 4 bytes");
  expect_failure(heddle_tensor_wrap(HEDDLE_ELEMENT_F32, 1, dims, nullptr, 12, nullptr, nullptr, &tensor), "H0101",
                 "data is null");
}

TEST(ElementType, EqualsTheArtifactsNumbers) {
  // One list in two files: a name that moved in one of them would change what every artifact says.
  for (auto type : fb::EnumValuesElementType()) {
    std::string name = fb::EnumNameElementType(type);
    EXPECT_EQ(heddle_element_type_name(static_cast<heddle_element_type_t>(type)), name == "boolean" ? "bool" : name);
  }
  EXPECT_EQ(heddle_element_type_size(HEDDLE_ELEMENT_BF16), 2u);
  EXPECT_EQ(heddle_element_type_size(static_cast<heddle_element_type_t>(15)), 0u);
  EXPECT_STREQ(heddle_element_type_name(static_cast<heddle_element_type_t>(13)), "unknown");
}

TEST(ElementType, IntegersSurviveStoringAndLoading) {
  const std::pair<heddle_element_type_t, int64_t> extremes[] = {
      {HEDDLE_ELEMENT_I8, -128}, {HEDDLE_ELEMENT_I16, -32768},    {HEDDLE_ELEMENT_I32, INT32_MIN},
      {HEDDLE_ELEMENT_U8, 255},  {HEDDLE_ELEMENT_U16, 65535},     {HEDDLE_ELEMENT_U32, UINT32_MAX},
      {HEDDLE_ELEMENT_BOOL, 1},  {HEDDLE_ELEMENT_I64, INT64_MIN}, {HEDDLE_ELEMENT_U64, INT64_MAX}};
  for (auto [type, value] : extremes) {
    int64_t data[2] = {};
    int64_t loaded = 0;
    EXPECT_TRUE(runtime::store_integer(type, data, 1, value)) << heddle_element_type_name(type);
    EXPECT_TRUE(runtime::load_integer(type, data, 1, &loaded));
    EXPECT_EQ(loaded, value) << heddle_element_type_name(type);
  }
}

TEST(ElementType, ValuesThatDoNotFitAreSaid) {
  int64_t data[1] = {};
  int64_t loaded = 0;
  EXPECT_FALSE(runtime::store_integer(HEDDLE_ELEMENT_I8, data, 0, 128));
  EXPECT_FALSE(runtime::store_integer(HEDDLE_ELEMENT_U64, data, 0, -1));
  EXPECT_FALSE(runtime::load_integer(HEDDLE_ELEMENT_U64, data, 0, &loaded)) << "2^64-1 exceeds i64";
  EXPECT_FALSE(runtime::store_integer(HEDDLE_ELEMENT_F32, data, 0, 1));
}

} // namespace
} // namespace heddle::test
