// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes by the instruction for dot products, as kernels make them where it is fast: 384 instructions a round,
// each of four products, in twelve chains.

#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require
#include "arguments.glsl"

// DotProductKHR and DotProductInput4x8BitPackedKHR; OpSDotKHR; packing 0 is four bytes.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_bytes(uint left, uint right, spirv_literal int packing);

void main() {
  int chains[12];
  [[unroll]] for (uint i = 0; i < 12; ++i)
    chains[i] = int(gl_LocalInvocationID.x + i);
  uint round = 0;
  do {
    [[unroll]] for (uint step = 0; step < 32; ++step)
      [[unroll]] for (uint i = 0; i < 12; ++i)
        chains[i] += dot_bytes(uint(chains[i]), word, 0);
  } while (++round < rounds);
  int all = 0;
  [[unroll]] for (uint i = 0; i < 12; ++i)
    all += chains[i];
  float sum = float(all & 0xffff);
  if (sum == never)
    results[0] = sum;
}
