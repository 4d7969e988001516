// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bindings of every shader, and the number of the invocation along each axis of the whole dispatch.

layout(local_size_x = 1, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(set = 0, binding = 0) readonly buffer Constants { float constants[]; };
layout(set = 0, binding = 1) readonly buffer First { float first_input[]; };
layout(set = 0, binding = 1) readonly buffer FirstInts { int first_ints[]; };
layout(set = 0, binding = 2) readonly buffer Further { float inputs[]; };
layout(set = 0, binding = 3) buffer Results { float results[]; };
layout(set = 0, binding = 3) buffer ResultInts { int result_ints[]; };
layout(set = 0, binding = 3) buffer ResultWords { uint result_words[]; };

#define GROUP(axis) (gl_WorkGroupID.axis + first_group.axis)
#define UNIT(axis) (GROUP(axis) * gl_WorkGroupSize.axis + gl_LocalInvocationID.axis)
