// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// out (rows, columns) = a (rows, depth) @ weights (columns, depth)^T + bias (columns): columns along x, rows along y.

#version 450
#extension GL_GOOGLE_include_directive : require
#include "operands.glsl"
layout(push_constant) uniform Words {
  uint first_x, first_y, first_z, a, weights, bias, out_, rows, columns, depth;
};

void main() {
  uvec3 first_group = uvec3(first_x, first_y, first_z);
  uint column = UNIT(x), row = UNIT(y);
  if (column >= columns || row >= rows)
    return;
  float sum = 0;
  for (uint k = 0; k < depth; ++k)
    sum += first_input[a + row * depth + k] * constants[weights + column * depth + k];
  results[out_ + row * columns + column] = sum + constants[bias + column];
}
