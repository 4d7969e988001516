// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// out = a + b, one element an invocation along x.

#version 450
#extension GL_GOOGLE_include_directive : require
#include "operands.glsl"
layout(push_constant) uniform Words { uint first_x, first_y, first_z, a, b, out_, count; };

void main() {
  uvec3 first_group = uvec3(first_x, first_y, first_z);
  uint i = UNIT(x);
  if (i < count)
    results[out_ + i] = first_input[a + i] + inputs[b + i];
}
