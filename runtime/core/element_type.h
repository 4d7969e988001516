// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime needs to know about element types beyond their size.

#pragma once

#include <heddle/heddle.h>

namespace heddle::runtime {

constexpr int element_type_count = HEDDLE_ELEMENT_BOOL + 1;

/// The type in which elements of |type| lie in device memory, which has no integers of 64 bits.
heddle_element_type_t device_element_type(heddle_element_type_t type);

/// Integers and booleans: the types whose elements shapes may depend on.
bool is_integer(heddle_element_type_t type);

/// Reads element |index| of integer data. Returns false if the value doesn't fit i64.
bool load_integer(heddle_element_type_t type, const void *data, size_t index, int64_t *out);

/// Writes element |index| of integer data. Returns false if |value| doesn't fit the type.
bool store_integer(heddle_element_type_t type, void *data, size_t index, int64_t value);

} // namespace heddle::runtime
