// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of 16 bytes, eight of each invocation, which lie side by side. Groups beyond the last part of the memory begin
// again with the first.

#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "arguments.glsl"

void main() {
  uint first = gl_WorkGroupID.x * gl_WorkGroupSize.x * 8 + gl_LocalInvocationID.x;
  vec4 sums[4];
  [[unroll]] for (uint i = 0; i < 4; ++i)
    sums[i] = data[(first + i * gl_WorkGroupSize.x) & mask] + data[(first + (i + 4) * gl_WorkGroupSize.x) & mask];
  float sum = dot(sums[0] + sums[1] + sums[2] + sums[3], vec4(1.0));
  if (sum == never)
    results[0] = sum;
}
