// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors written as text on the command line: `1,2,3`, `[[1,2],[3,4]]`, `0.5`.

#pragma once

#include "tools/heddle/handles.h"

#include <string_view>

namespace heddle::cli {

/// Reads |text| as a tensor of |type|. A single number is a scalar if |scalarRank| is 0, else one element of rank 1; a
/// list without brackets has rank 1. Integers accept no fraction and nothing out of range, booleans 0, 1, true and
/// false, floats also inf and nan. Throws a message that shows the place.
TensorPtr parseLiteral(std::string_view text, heddle_element_type_t type, size_t scalarRank);

} // namespace heddle::cli
