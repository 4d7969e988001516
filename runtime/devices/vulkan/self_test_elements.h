// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of self-tests: what goes in, and whether what came out is right.

#pragma once

#include <string>

#include <heddle/self_test.h>

#include "runtime/core/program_tables.h"

namespace heddle::runtime::vulkan {

/// Writes |input|'s elements to |to| in the device's form.
void make_elements(heddle_element_type_t type, const self_test_input &input, std::byte *to);

/// The largest magnitude among |expected|'s values; 0 for other elements than floats.
double largest_magnitude(heddle_element_type_t type, const self_test_output &expected);

/// Whether two elements in host memory, of any alignment, differ by at most |allowed|, or not at all if they are no
/// floats.
bool is_near(heddle_element_type_t type, const void *actual, const void *expected, double allowed);

std::string format_element(heddle_element_type_t type, const void *element);

/// What each byte of a result of |type| is before, so that what isn't written is seen: floats are NaNs then, booleans
/// neither true nor false, and integers rarely right.
int unwritten_byte(heddle_element_type_t type);

} // namespace heddle::runtime::vulkan
