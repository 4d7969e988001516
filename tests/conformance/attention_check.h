// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention kernels compared with the interpreter, whole and item by item.

#pragma once

#include <functional>

#include "tests/conformance/attention_text.h"
#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {

using shapes = std::vector<std::vector<int64_t>>;
using inputs = std::vector<host_tensor>;
/// Makes of random inputs, for the sizes, what a case is about.
using change = std::function<void(inputs &, const std::vector<int64_t> &)>;

/// Compares the kernel with the interpreter, whole and item by item, on random inputs after each of |changes|. f32
/// sums of a few hundred terms stay within the tolerance of 6e-6.
void check_attention(const attention_text &text, const shapes &sizes_list, const std::vector<change> &changes = {});

/// A kernel of one small head, where the mask is what matters.
attention_text make_small(const std::string &mask, const std::string &rule = "literal");

/// Which keys a batch keeps, in input 3: all, a left part, a right part, holes, none, a single one.
void set_padding(inputs &values, const std::vector<int64_t> &sizes);

} // namespace heddle::conformance
