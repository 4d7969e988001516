// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the shaders have in common by which a device's limits are measured. Each goes through rounds of the same work. No
// driver knows what they begin with, and what they end with would be stored if it were a number that it never is: so
// none can leave the work out. Loops are tested behind their bodies, as those of kernels are.

layout(local_size_x = 64) in;
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) restrict readonly buffer Data { vec4 data[]; };
layout(set = 0, binding = 1) restrict buffer Results { float results[]; };
layout(push_constant) uniform Arguments {
  uint rounds;  // one at least
  uint mask;    // of data's indices: as many as are read, less one
  uint word;    // four bytes of no meaning
  float factor; // a half
  float never;  // below 0
};
