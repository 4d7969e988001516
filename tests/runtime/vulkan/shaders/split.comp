// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two further inputs and two results: low = x + a, high = x + b, one element an invocation along x.

#version 450
#extension GL_GOOGLE_include_directive : require
#include "operands.glsl"
layout(push_constant) uniform Words { uint first_x, first_y, first_z, x, a, b, low, high, count; };

void main() {
  uvec3 first_group = uvec3(first_x, first_y, first_z);
  uint i = UNIT(x);
  if (i >= count)
    return;
  results[low + i] = first_input[x + i] + inputs[a + i];
  results[high + i] = first_input[x + i] + inputs[b + i];
}
