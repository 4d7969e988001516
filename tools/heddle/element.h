// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single elements of tensors: reading, writing, printing, for every element type of the runtime. Not for speed: it
// serves literals, generated inputs, prints and comparisons.

#pragma once

#include <cstdint>
#include <heddle/heddle.h>
#include <string>

namespace heddle::cli {

bool isFloat(heddle_element_type_t type);
bool isSigned(heddle_element_type_t type);

/// Reads an element as a double; integers past 2^53 are rounded.
double loadElement(heddle_element_type_t type, const void *element);

/// Rounds |value| to a float type, to nearest with ties to even. |type| must be a float type.
void storeFloat(heddle_element_type_t type, void *element, double value);

/// Writes an integer or boolean: |magnitude| with the sign |negative|. Returns false, and writes nothing, if the type
/// can't hold it. |type| must not be a float type.
bool storeInteger(heddle_element_type_t type, void *element, uint64_t magnitude, bool negative);

/// "-0.1234", "17", "true"; floats with at most |digits| significant digits.
std::string formatElement(heddle_element_type_t type, const void *element, int digits);

} // namespace heddle::cli
