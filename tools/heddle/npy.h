// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy format, versions 1 to 3 (numpy/lib/format.py describes it). bfloat16, which NumPy itself doesn't know,
// has the type code V2, as ml_dtypes writes it.

#pragma once

#include "tools/heddle/handles.h"

#include <string>
#include <string_view>

namespace heddle::cli {

/// Reads the array that |bytes| hold, row-major and little-endian whatever the file has. |name| stands for the file in
/// messages. Throws for other formats, types we don't have and truncated data.
TensorPtr readNpy(std::string_view bytes, const std::string &name);

/// Whether |bytes| start like a .npy file.
bool looksLikeNpy(std::string_view bytes);

/// The header of a version 1 file; the tensor's data follow it as they lie in memory.
std::string npyHeader(const heddle_tensor_t *tensor);

/// Writes one array to |path|, whole or not at all.
void writeNpy(const std::string &path, const heddle_tensor_t *tensor);

} // namespace heddle::cli
