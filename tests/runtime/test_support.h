// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short forms for what every runtime test does: expect a status, load, make tensors, run.

#pragma once

#include <cstdio>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include <heddle/heddle.hpp>

#include "tests/runtime/artifact_builder.h"

namespace heddle::test {

/// Writes |size| bytes to a fresh file in the test's temporary folder and returns its path.
inline std::string write_file(const std::string &name, const void *data, size_t size) {
  const std::string path = testing::TempDir() + name;
  std::remove(path.c_str());
  std::ofstream(path, std::ios::binary).write(static_cast<const char *>(data), static_cast<std::streamsize>(size));
  return path;
}

/// Expects success; shows the error otherwise.
#define EXPECT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    ::heddle::status status_{expression};                                                                              \
    EXPECT_TRUE(status_.ok()) << status_.text();                                                                       \
  } while (0)

/// Expects the failure |error_code| with exactly this |message|, and releases it.
inline void expect_failure(heddle_status_t handle, const char *error_code, const std::string &message) {
  const status status{handle};
  EXPECT_EQ(status.error_code(), error_code);
  EXPECT_EQ(status.message(), message);
}

/// The error of loading |artifact|, "" if that works.
inline std::string load_error(const artifact_bytes &artifact, const heddle_program_options_t &options = {}) {
  auto program = program::load_memory(artifact.data(), artifact.size, options);
  return program ? "" : program.error().error_code() + ": " + program.error().message();
}

/// Loads an artifact that is known to be fine. |artifact| must outlive the program.
inline program load(const artifact_bytes &artifact, const heddle_program_options_t &options = {}) {
  auto program = program::load_memory(artifact.data(), artifact.size, options);
  EXPECT_TRUE(bool(program)) << program.error().text();
  return program ? std::move(*program) : heddle::program();
}

inline session make_session(const program &program) {
  auto session = session::create(program);
  EXPECT_TRUE(bool(session)) << session.error().text();
  return session ? std::move(*session) : heddle::session();
}

/// A tensor of |values|.
template <typename T>
tensor make_tensor(heddle_element_type_t type, const std::vector<int64_t> &dims, const std::vector<T> &values) {
  auto tensor = tensor::create(type, dims);
  EXPECT_TRUE(bool(tensor)) << tensor.error().text();
  EXPECT_EQ(tensor->element_count(), values.size());
  std::copy(values.begin(), values.end(), tensor->template data<T>());
  return std::move(*tensor);
}

/// A tensor of f32 with the elements 0, 1, 2 ...
inline tensor counting_tensor(const std::vector<int64_t> &dims) {
  auto tensor = tensor::create(HEDDLE_ELEMENT_F32, dims);
  EXPECT_TRUE(bool(tensor)) << tensor.error().text();
  std::iota(tensor->data<float>(), tensor->data<float>() + tensor->element_count(), 0.0f);
  return std::move(*tensor);
}

/// The elements of |tensor|.
template <typename T> std::vector<T> values(const tensor &tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.element_count()};
}

/// A pool of |count| threads.
inline thread_pool make_pool(unsigned count) {
  auto pool = thread_pool::create(count);
  EXPECT_TRUE(bool(pool)) << pool.error().text();
  return std::move(*pool);
}

} // namespace heddle::test
