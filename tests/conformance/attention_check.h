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
/// sums of a few hundred terms stay within the tolerance of 6e-6. With codes of weights, queries and keys are -1, 0 or
/// 1: scores are multiples of 1/4 then, and no weight is near the middle between two codes, where f32 may round
/// otherwise.
void check_attention(const attention_text &text, const shapes &sizes_list, const std::vector<change> &changes = {});

/// A kernel of one small head, where the mask is what matters.
attention_text make_small(const std::string &mask, const std::string &rule = "literal");

/// Random inputs; codes of values with scales by which most are within the codes and some aren't.
inputs make_inputs(const attention_text &text, kernel_module &module, const std::vector<int64_t> &sizes, unsigned seed);

/// The first |extent| of dimension |axis| of |tensor|.
host_tensor first_of(const host_tensor &tensor, unsigned axis, int64_t extent);

/// Rows of queries of a kernel of codes have the same bits alone, among others and by parts, on each target.
void check_rows_ignore_others(attention_text text);

/// So they have where keys beyond |lengths| are masked, whatever is there.
void check_rows_ignore_padding(const attention_text &text, const std::vector<int64_t> &lengths);

/// Which keys a batch keeps, in input 3: all, a left part, a right part, holes, none, a single one.
void set_padding(inputs &values, const std::vector<int64_t> &sizes);

} // namespace heddle::conformance
