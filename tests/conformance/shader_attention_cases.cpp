// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of 12 heads of size 64, for heddle-shader-bench. The shader by hand has the generated one's tile, eight
// rows for each of eight invocations that exchange what they read, and does without all that makes attention general:
// sizes are constants, there is one block of keys, every row has keys and every number is finite. A padding mask it
// adds as the operator does, four keys' at a time: a hidden key then weighs 0, and who hides all keys gets their mean.

#include "tests/conformance/attention_text.h"
#include "tests/conformance/shader_bench.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

constexpr int64_t kHeads = 12, kHeadSize = 64, kRows = 8, kInvocations = 8;

constexpr char kByHand[] = R"(
layout(set = 0, binding = 1, std430) readonly buffer Q { vec4 query[]; };
layout(set = 0, binding = 2, std430) readonly buffer K { vec4 keys[]; };
layout(set = 0, binding = 2, std430) readonly buffer M { ivec4 mask[]; };
layout(set = 0, binding = 3, std430) buffer O { vec4 result[]; };
layout(push_constant) uniform Push { uint first_x, first_y, first_z, query_at, key_at, value_at, places[2]; } push;
const uint SIZE4 = 16, STEP4 = 12 * SIZE4, STRIDE = KEYS / 4 + 1, COLUMNS = 4;

vec4 power(vec4 x) {
  x *= 1.44269504;
  vec4 n = roundEven(x), f = x - n;
  vec4 p = fma(fma(fma(fma(fma(vec4(1.326472731e-3), f, vec4(9.671512991e-3)), f, vec4(5.550733581e-2)), f,
                       vec4(2.402224243e-1)), f, vec4(6.931470037e-1)), f, vec4(1.0));
  return mix(p * intBitsToFloat((ivec4(n) + 127) << 23), vec4(0.0), lessThan(x, vec4(-126.0)));
}

vec4 scores[ROWS * STRIDE], queries[ROWS * SIZE4];
float sums[ROWS];
uint lane = gl_SubgroupInvocationID, row = (gl_WorkGroupID.x * 8 + gl_LocalInvocationID.x) * ROWS;
uint head = gl_WorkGroupID.y * SIZE4 + gl_WorkGroupID.z * KEYS * STEP4;

void multiply_keys() {
  uint query_base = push.query_at / 4 + head, key_base = push.key_at / 4 + head;
  for (uint d = 0; d < SIZE4; ++d)
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      queries[i * SIZE4 + d] = query[query_base + (row + i) * STEP4 + d];
  for (uint key = 0; key < KEYS; key += 8) {
    vec4 s[ROWS][2];
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      s[i][0] = s[i][1] = vec4(0.0);
    for (uint d = 0; d < SIZE4; ++d) {
      vec4 own = keys[key_base + (key + lane) * STEP4 + d], k[8];
      [[unroll]] for (uint j = 0; j < 8; ++j)
        k[j] = subgroupShuffle(own, j);
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        vec4 q = queries[i * SIZE4 + d];
        [[unroll]] for (uint g = 0; g < 2; ++g)
          [[unroll]] for (uint u = 0; u < 4; ++u)
            s[i][g] = fma(vec4(q[u]), vec4(k[4 * g][u], k[4 * g + 1][u], k[4 * g + 2][u], k[4 * g + 3][u]), s[i][g]);
      }
    }
#if CAPTURES > 0
    vec4 fill[2];
    [[unroll]] for (uint g = 0; g < 2; ++g)
      fill[g] = (1.0 - vec4(mask[(push.places[0] + gl_WorkGroupID.z * KEYS + key) / 4 + g])) * -3.40282347e38;
#endif
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      [[unroll]] for (uint g = 0; g < 2; ++g)
#if CAPTURES > 0
        scores[i * STRIDE + key / 4 + g] = fma(s[i][g], vec4(0.25), fill[g]);
#else
        scores[i * STRIDE + key / 4 + g] = s[i][g] * 0.25;
#endif
  }
}

void weigh_scores() {
  for (uint i = 0; i < ROWS; ++i) {
    vec4 greatest = scores[i * STRIDE];
    for (uint k = 0; k < KEYS / 4; k += 8)
      [[unroll]] for (uint p = 0; p < 8; ++p)
        greatest = max(greatest, scores[i * STRIDE + k + p]);
    float maximum = max(max(greatest.x, greatest.y), max(greatest.z, greatest.w));
    vec4 parts = vec4(0.0);
    for (uint k = 0; k < KEYS / 4; k += 4)
      [[unroll]] for (uint p = 0; p < 4; ++p) {
        vec4 w = power(scores[i * STRIDE + k + p] - maximum);
        scores[i * STRIDE + k + p] = w;
        parts += w;
      }
    sums[i] = 1.0 / (parts.x + parts.y + parts.z + parts.w);
  }
}

void multiply_values() {
  uint value_base = push.value_at / 4 + head;
  for (uint column = 0; column < SIZE4; column += COLUMNS) {
    vec4 sum[ROWS][COLUMNS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      [[unroll]] for (uint g = 0; g < COLUMNS; ++g)
        sum[i][g] = vec4(0.0);
    for (uint k = 0; k < KEYS / 4; ++k) {
      vec4 v[4 * COLUMNS];
      [[unroll]] for (uint b = 0; b < 4 * COLUMNS; b += 8) {
        uint at = b + lane;
        vec4 own = keys[value_base + (4 * k + at / COLUMNS) * STEP4 + column + at % COLUMNS];
        [[unroll]] for (uint j = 0; j < 8; ++j)
          v[b + j] = subgroupShuffle(own, j);
      }
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        vec4 w = scores[i * STRIDE + k];
        [[unroll]] for (uint g = 0; g < COLUMNS; ++g)
          [[unroll]] for (uint u = 0; u < 4; ++u)
            sum[i][g] = fma(vec4(w[u]), v[u * COLUMNS + g], sum[i][g]);
      }
    }
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      [[unroll]] for (uint g = 0; g < COLUMNS; ++g)
        result[push.places[CAPTURES] / 4 + head + (row + i) * STEP4 + column + g] = sum[i][g] * sums[i];
  }
}

void main() {
  multiply_keys();
  weigh_scores();
  multiply_values();
})";

shader_case make_case(const std::string &kind, const attention_text &text, int64_t batch, int64_t keys) {
  shader_case result;
  result.name = llvm::formatv("{0}/{1}x{2}", kind, batch, keys);
  result.text = text.build();
  result.function = "attention";
  result.sizes = {batch, keys, keys};
  result.operations = 4.0 * kHeadSize * static_cast<double>(kHeads * batch * keys * keys);
  result.glsl = llvm::formatv("#version 450\n#extension GL_EXT_control_flow_attributes : require\n"
                              "#extension GL_KHR_shader_subgroup_shuffle : require\n"
                              "layout(local_size_x = 8) in;\n#define CAPTURES {2}\nconst uint ROWS = {0}, KEYS = {1};",
                              kRows, keys, text.captures.size())
                    .str() +
                kByHand;
  result.groups = {static_cast<uint32_t>(keys / (kRows * kInvocations)), kHeads, static_cast<uint32_t>(batch)};
  result.tolerance = 6e-6;
  return result;
}

/// A region on numbers of 32 bits, which is what 64 bits are on the device.
std::string of_words(std::string region) {
  for (size_t at; (at = region.find("i64")) != std::string::npos;)
    region.replace(at, 3, "i32");
  return region;
}

} // namespace

std::vector<shader_case> attention_shader_cases() {
  attention_text plain{.key_heads = kHeads, .head_size = kHeadSize, .value_size = kHeadSize};
  // As encoders have it: the last keys of a sequence are padding.
  attention_text padded = plain;
  padded.captures = {{"tensor<?x?xi32>", "0, 2", "b, n", "i32"}};
  padded.score = of_words(kPaddingScore);
  padded.mask = of_words(kPaddingMask);
  std::vector<shader_case> cases;
  for (auto [batch, keys] : {std::pair(1, 128), {4, 128}, {1, 256}}) {
    cases.push_back(make_case("attention", plain, batch, keys));
    cases.push_back(make_case("attention_padding", padded, batch, keys));
    cases.back().prepare = [keys](std::vector<host_tensor> &inputs) {
      constexpr int64_t kPadding = 5;
      for (int64_t i = 0; i < inputs[3].size(); ++i)
        inputs[3].set_int(i, i % keys < keys - kPadding);
    };
  }
  return cases;
}

} // namespace heddle::conformance
