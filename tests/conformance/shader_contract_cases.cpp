// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows with weights, for heddle-shader-bench. The shaders by hand are the fastest of the tiles that were
// tried on lavapipe: 16 rows by 8 columns for each of eight invocations, whose rows come from the workgroup's number,
// so that they are read once for all; weights lie as rows of columns.

#include "tests/conformance/contract_text.h"
#include "tests/conformance/shader_bench.h"
#include <algorithm>

#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

constexpr int64_t kLanes = 8, kColumns = 16, kMostRows = 8;

/// What both shaders begin with, for sizes that are whole tiles.
std::string head(int64_t rows, int64_t n, int64_t k, const std::string &constants, const std::string &results) {
  return llvm::formatv("#version 450\n"
                       "#extension GL_EXT_control_flow_attributes : require\n"
                       "layout(local_size_x = {0}) in;\n"
                       "const uint ROWS = {1}, COLUMNS4 = {2}, N4 = {3}, DEPTH4 = {4};\n"
                       "layout(set = 0, binding = 0, std430) readonly buffer W {{ {5} w[]; };\n"
                       "layout(set = 0, binding = 3, std430) buffer Y {{ {6} y[]; };\n",
                       kLanes, rows, kColumns / 4, n / 4, k / 4, constants, results);
}

constexpr char kFloats[] = R"(
layout(set = 0, binding = 1, std430) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 2, std430) readonly buffer B { vec4 bias[]; };
void main() {
  uint column = gl_GlobalInvocationID.x * COLUMNS4, row = gl_WorkGroupID.y * ROWS;
  uint panel = gl_GlobalInvocationID.x * DEPTH4 * 4 * COLUMNS4;
  vec4 sum[ROWS][COLUMNS4];
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
      sum[i][j] = vec4(0);
  for (uint k = 0; k < DEPTH4; ++k) {
    vec4 left[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      left[i] = x[(row + i) * DEPTH4 + k];
    [[unroll]] for (uint u = 0; u < 4; ++u) {
      vec4 right[COLUMNS4];
      [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
        right[j] = w[panel + (4 * k + u) * COLUMNS4 + j];
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
          sum[i][j] = fma(vec4(left[i][u]), right[j], sum[i][j]);
    }
  }
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
      y[(row + i) * N4 + column + j] = sum[i][j] + bias[column + j];
})";

constexpr char kBytes[] = R"(
layout(set = 0, binding = 1, std430) readonly buffer X { uint x[]; };
void main() {
  uint column = gl_GlobalInvocationID.x * COLUMNS4, row = gl_WorkGroupID.y * ROWS;
  uint panel = gl_GlobalInvocationID.x * DEPTH4 * COLUMNS4;
  ivec4 sum[ROWS][COLUMNS4];
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
      sum[i][j] = ivec4(0);
  for (uint k = 0; k < DEPTH4; ++k) {
    ivec4 right[COLUMNS4][4];
    [[unroll]] for (uint j = 0; j < COLUMNS4; ++j) {
      ivec4 codes = ivec4(w[panel + k * COLUMNS4 + j]);
      right[j][0] = (codes << 24) >> 24;
      right[j][1] = (codes << 16) >> 24;
      right[j][2] = (codes << 8) >> 24;
      right[j][3] = codes >> 24;
    }
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      uint left = x[(row + i) * DEPTH4 + k];
      int a = int(left & 255u), b = int((left >> 8) & 255u), c = int((left >> 16) & 255u), d = int(left >> 24);
      [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
        sum[i][j] += a * right[j][0] + b * right[j][1] + c * right[j][2] + d * right[j][3];
    }
  }
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < COLUMNS4; ++j)
      y[(row + i) * N4 + column + j] = sum[i][j];
})";

shader_case make_case(const std::string &kind, int64_t m, int64_t n, int64_t k) {
  shader_case result;
  result.name = llvm::formatv("{0}/{1}x{2}x{3}", kind, m, n, k);
  result.function = "product";
  result.constants = {1};
  result.sizes = {m};
  result.operations = 2.0 * static_cast<double>(m * n * k);
  result.groups = {static_cast<uint32_t>(n / (kLanes * kColumns)), static_cast<uint32_t>(m / std::min(m, kMostRows)),
                   1};
  return result;
}

} // namespace

std::vector<shader_case> contract_shader_cases() {
  std::vector<shader_case> cases;
  for (auto [m, n, k] :
       {std::tuple(int64_t(128), 768, 768), {128, 3072, 768}, {128, 768, 3072}, {1, 768, 768}, {4, 768, 768}}) {
    shader_case &floats = cases.emplace_back(make_case("contract", m, n, k));
    floats.text = packed_product(n, k);
    floats.glsl = head(std::min(m, kMostRows), n, k, "vec4", "vec4") + kFloats;
  }
  for (auto [m, n, k] :
       {std::tuple(int64_t(128), 768, 768), {128, 3072, 768}, {128, 768, 3072}, {1, 768, 768}, {4, 768, 768}}) {
    shader_case &bytes = cases.emplace_back(make_case("byte_contract", m, n, k));
    bytes.text = byte_product(n, k);
    bytes.glsl = head(std::min(m, kMostRows), n, k, "uvec4", "ivec4") + kBytes;
    bytes.tolerance = 0;
  }
  return cases;
}

} // namespace heddle::conformance
