// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table by ids, one id an invocation along x. Error site 0: an id outside the table.

#version 450
#extension GL_GOOGLE_include_directive : require
#include "operands.glsl"
layout(push_constant) uniform Words { uint first_x, first_y, first_z, record, ids, table, out_, rows, width, count; };

void main() {
  uvec3 first_group = uvec3(first_x, first_y, first_z);
  uint i = UNIT(x);
  if (i >= count)
    return;
  int id = first_ints[ids + i];
  if (id < -int(rows) || id >= int(rows)) {
    if (atomicCompSwap(result_words[record], 0u, 1u) == 0u) {
      result_ints[record + 1] = 0;
      result_ints[record + 2] = id;
      result_ints[record + 3] = int(rows);
    }
    id = 0;
  }
  uint row = uint(id < 0 ? id + int(rows) : id);
  for (uint j = 0; j < width; ++j)
    results[out_ + i * width + j] = constants[table + row * width + j];
}
