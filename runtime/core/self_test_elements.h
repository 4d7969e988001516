// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of cases with known results: what goes in, and whether what came out is right.

#pragma once

#include <heddle/self_test.h>

#include "runtime/core/program_tables.h"

namespace heddle::runtime {

/// Whether elements are floats; all others must come out exactly.
bool is_float(heddle_element_type_t type);

/// The float of |type| at |from|, of any alignment.
double read_float(heddle_element_type_t type, const void *from);

/// Writes |input|'s elements to |to|.
void make_elements(heddle_element_type_t type, const self_test_input &input, std::byte *to);

/// The largest magnitude among |expected|'s values; 0 for other elements than floats.
double largest_magnitude(heddle_element_type_t type, const self_test_output &expected);

/// By how much the element at |actual| differs from the one at |expected|, both of any alignment, in units of what is
/// allowed: more than 1 is wrong. Where no finite number is wanted anything is right.
double difference_of(heddle_element_type_t type, const void *actual, const void *expected, double allowed);

} // namespace heddle::runtime
