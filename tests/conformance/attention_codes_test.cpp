// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention whose queries and keys multiply as codes of 8 bits. Codes and their sums are the interpreter's
// exactly, on every target; what is left is f32's softmax, so the tolerance is that of floats.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/conformance/attention_check.h"

namespace heddle::conformance {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

attention_text make_codes(attention_text text) {
  text.qk_int8 = true;
  return text;
}

TEST(AttentionCodes, TakeAnyHeadSize) {
  for (int64_t size : {1, 3, 4, 18, 32, 64, 80, 129})
    check_attention(make_codes({.key_heads = 1, .head_size = size, .value_size = 16}), {{1, 1, 1}, {1, 7, 70}});
  check_attention(make_codes({.key_heads = 1, .head_size = 1024, .value_size = 8}), {{1, 5, 33}});
}

TEST(AttentionCodes, TakeEveryLayoutMaskAndGroup) {
  for (const char *layout : {"bsnd", "bnsd", "transposed", "fused"})
    check_attention(
        make_codes({.group = 2, .head_size = 22, .value_size = 24, .layout = layout, .mask = kCausal, .lse = true}),
        {{1, 1, 1}, {2, 3, 3}, {2, 70, 70}});
  check_attention(make_codes({.group = 5, .head_size = 16, .value_size = 20, .mask = kWindow, .scale_input = true}),
                  {{2, 3, 17}, {1, 40, 300}});
  attention_text padded = make_codes({.head_size = 32, .value_size = 32, .mask = kPaddingMask, .probabilities = true});
  padded.captures = {{"tensor<?x?xi64>", "0, 2", "b, n", "i64"}};
  padded.score = kPaddingScore;
  check_attention(padded, {{6, 9, 300}}, {set_padding});
  check_attention(make_codes({.head_size = 8, .value_size = 8, .mask = kCausal, .probability = kSquared}),
                  {{1, 20, 70}});
}

TEST(AttentionCodes, KeepScalesOfTheirRows) {
  // Each row has another magnitude: nothing, what f32 holds least and most of, and a single outlier.
  change magnitudes = [](inputs &values, const std::vector<int64_t> &sizes) {
    const double factors[] = {1, 0, 1e-38, 1e-44, 1e15, 1e-3};
    for (unsigned i : {0, 1})
      for (int64_t row = 0; row < sizes[i + 1]; ++row)
        for (int64_t d = 0; d < 12; ++d) {
          int64_t place = row * 12 + d;
          values[i].set_float(place,
                              values[i].get_float(place) * factors[(row + i) % 6] * (row == 7 && d == 3 ? 50 : 1));
        }
  };
  check_attention(make_codes({.key_heads = 1, .head_size = 12, .value_size = 8}), {{1, 19, 37}}, {magnitudes});
}

TEST(AttentionCodes, ShowWhatIsNotFinite) {
  // A query that isn't finite spoils its row, a key all rows that see it; a hidden one none.
  change marks = [](inputs &values, const std::vector<int64_t> &) {
    values[0].set_float(2 * 8 + 3, NAN);
    values[0].set_float(5 * 8 + 7, -kInfinity);
    values[1].set_float(20 * 8 + 1, kInfinity);
  };
  check_attention(make_codes({.key_heads = 1, .head_size = 8, .value_size = 8, .mask = kCausal}), {{1, 30, 40}},
                  {marks});
}

TEST(AttentionCodes, IgnoreOtherRows) {
  check_rows_ignore_others(make_codes({.group = 2, .head_size = 24, .value_size = 24, .mask = kCausal}));
}

TEST(AttentionCodes, IgnorePaddingOnTheRight) {
  check_rows_ignore_padding(make_codes({.head_size = 24, .value_size = 24}), {1, 16, 217, 290});
}

} // namespace
} // namespace heddle::conformance
