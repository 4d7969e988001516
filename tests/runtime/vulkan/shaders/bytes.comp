// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes: out = uint8(x), one element an invocation along x, each stored into its word by two atomic operations.

#version 450
#extension GL_GOOGLE_include_directive : require
#include "operands.glsl"
layout(push_constant) uniform Words { uint first_x, first_y, first_z, x, out_, count; };

void main() {
  uvec3 first_group = uvec3(first_x, first_y, first_z);
  uint i = UNIT(x);
  if (i >= count)
    return;
  uint shift = 8 * (i % 4);
  atomicAnd(result_words[out_ + i / 4], ~(255u << shift));
  atomicOr(result_words[out_ + i / 4], (uint(first_input[x + i]) & 255u) << shift);
}
