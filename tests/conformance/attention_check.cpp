// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/attention_check.h"

#include <cmath>

#include <gtest/gtest.h>

namespace heddle::conformance {

namespace {

/// Queries and keys of -1, 0 and 1, and scales of values.
void set_codes(const attention_text &text, inputs &values) {
  for (unsigned i : {0, 1})
    for (int64_t place = 0; place < values[i].size() && (i == 0 || text.layout != "fused"); ++place)
      values[i].set_float(place, std::nearbyint(values[i].get_float(place) / 2));
  if (text.scale_input)
    values[text.value_scale_argument() - 1].set_float(0, 0.25);
  set_value_scales(text, values);
}

} // namespace

void set_value_scales(const attention_text &text, inputs &values) {
  host_tensor &scales = values[text.value_scale_argument()];
  for (int64_t i = 0; i < scales.size(); ++i)
    scales.set_float(i, (1.5 + static_cast<double>(i % 5) / 4) / 127);
}

void check_attention(const attention_text &text, const shapes &sizes_list, const std::vector<change> &changes) {
  // Codes multiply by instructions of their own.
  for (const std::string &target : text.qk_int8 || text.pv_int8 ? byte_targets() : runnable_targets()) {
    auto module = kernel_module::compile(text.build(), target);
    ASSERT_TRUE(module);
    unsigned seed = 1;
    auto check = [&](const std::vector<int64_t> &sizes, const change *apply) {
      std::string where = target + " with sizes";
      for (int64_t size : sizes)
        where += " " + std::to_string(size);
      inputs values = random_inputs(module->func("attention"), sizes, seed++);
      if (text.pv_int8)
        set_codes(text, values);
      if (apply)
        (*apply)(values, sizes);
      kernel_result expected = interpret(module->func("attention"), values, sizes);
      kernel_result whole = module->run("attention", values, sizes);
      expect_near(whole, expected, 6e-6, where);
      kernel_result single = module->run("attention", values, sizes, 1);
      for (size_t i = 0; i < whole.outputs.size(); ++i)
        EXPECT_EQ(whole.outputs[i].bytes, single.outputs[i].bytes) << where << ": items depend on each other";
    };
    for (const std::vector<int64_t> &sizes : sizes_list) {
      if (changes.empty())
        check(sizes, nullptr);
      for (const change &apply : changes)
        check(sizes, &apply);
    }
  }
}

attention_text make_small(const std::string &mask, const std::string &rule) {
  return {.key_heads = 1, .head_size = 8, .value_size = 8, .mask = mask, .fully_masked = rule};
}

void set_padding(inputs &values, const std::vector<int64_t> &sizes) {
  for (int64_t b = 0; b < sizes[0]; ++b)
    for (int64_t n = 0; n < sizes[2]; ++n) {
      const bool kept[] = {true, n < 100, n >= 150, n % 70 < 40, false, n == 201};
      values[3].set_int(b * sizes[2] + n, kept[b % 6]);
    }
}

} // namespace heddle::conformance
