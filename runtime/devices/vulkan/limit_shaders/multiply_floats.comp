// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiply-adds of f32: 384 a round, in twelve chains, which wait for none of each other. With the two factors they fit
// the sixteen registers of AVX2, which software devices have.

#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "arguments.glsl"

void main() {
  // Towards 1 from wherever they begin: neither infinite nor denormal.
  vec4 chains[3];
  [[unroll]] for (uint i = 0; i < 3; ++i)
    chains[i] = vec4(float(gl_LocalInvocationID.x + i));
  uint round = 0;
  do {
    [[unroll]] for (uint step = 0; step < 32; ++step)
      [[unroll]] for (uint i = 0; i < 3; ++i)
        chains[i] = fma(chains[i], vec4(factor), vec4(factor));
  } while (++round < rounds);
  float sum = dot(chains[0] + chains[1] + chains[2], vec4(1.0));
  if (sum == never)
    results[0] = sum;
}
