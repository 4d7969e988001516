// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes by shifts and multiplications, as kernels of "tile" and "shared" form make them: 64 a round, of two
// words of rows and eight words of columns. Columns stay in registers: a tile that is large enough reads few.

#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "arguments.glsl"

struct Codes { ivec4 k0, k1, k2, k3; };

Codes expand(uvec4 words) {
  return Codes(ivec4(words << 24) >> 24, ivec4(words << 16) >> 24, ivec4(words << 8) >> 24, ivec4(words) >> 24);
}

void main() {
  Codes columns[2];
  ivec4 sums[2][2];
  uint rows[2];
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    columns[i] = expand((uvec4(1, 2, 3, 4) + 4 * i + gl_LocalInvocationID.x) * word);
    rows[i] = word + i;
    [[unroll]] for (uint j = 0; j < 2; ++j)
      sums[i][j] = ivec4(gl_LocalInvocationID.x);
  }
  uint round = 0;
  do {
    [[unroll]] for (uint i = 0; i < 2; ++i) {
      // Other factors in each round, or their products would be made once.
      rows[i] += word;
      ivec4 row = ivec4((uvec4(rows[i]) >> uvec4(0, 8, 16, 24)) & 255u);
      [[unroll]] for (uint j = 0; j < 2; ++j)
        sums[i][j] += row.x * columns[j].k0 + row.y * columns[j].k1 + row.z * columns[j].k2 + row.w * columns[j].k3;
    }
  } while (++round < rounds);
  ivec4 all = sums[0][0] + sums[0][1] + sums[1][0] + sums[1][1];
  float sum = float((all.x + all.y + all.z + all.w) & 0xffff);
  if (sum == never)
    results[0] = sum;
}
