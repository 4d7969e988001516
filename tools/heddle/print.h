// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors for people to read, in the way NumPy prints arrays: nested brackets, the middle of long axes left out.

#pragma once

#include <heddle/heddle.h>
#include <string>

namespace heddle::cli {

/// "scores f32[2,3]" and the values, with a final line end.
std::string formatTensor(const std::string &name, const heddle_tensor_t *tensor);

/// Its first few elements on one line: "0.5", "[1, 2, 3]", "[0, 0, 0, 0, ...]" whatever the rank.
std::string summarizeTensor(const heddle_tensor_t *tensor);

} // namespace heddle::cli
