// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/attention_check.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

namespace heddle::conformance {

namespace {

void set_value_scales(const attention_text &text, inputs &values) {
  host_tensor &scales = values[text.value_scale_argument()];
  for (int64_t i = 0; i < scales.size(); ++i)
    scales.set_float(i, (1.5 + static_cast<double>(i % 5) / 4) / 127);
}

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

inputs make_inputs(const attention_text &text, kernel_module &module, const std::vector<int64_t> &sizes,
                   unsigned seed) {
  inputs values = random_inputs(module.func("attention"), sizes, seed);
  if (text.pv_int8)
    set_value_scales(text, values);
  return values;
}

host_tensor first_of(const host_tensor &tensor, unsigned axis, int64_t extent) {
  std::vector<int64_t> dims = tensor.dims;
  dims[axis] = extent;
  host_tensor result(tensor.type, dims);
  size_t outer = 1, inner = tensor.element_bytes();
  for (unsigned i = 0; i < tensor.dims.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : tensor.dims[i];
  for (size_t i = 0; i < outer; ++i)
    std::memcpy(&result.bytes[i * extent * inner], &tensor.bytes[i * tensor.dims[axis] * inner], extent * inner);
  return result;
}

void check_rows_ignore_others(attention_text text) {
  for (const std::string &target : byte_targets()) {
    auto whole = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::gives;
    auto gives = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::takes;
    auto takes = kernel_module::compile(text.build(), target);
    text.parts = attention_text::parts_use::none;
    ASSERT_TRUE(whole && gives && takes);
    inputs values = make_inputs(text, *whole, {1, 150, 300}, 3);
    kernel_result all = whole->run("attention", values, {1, 150, 300});
    for (int64_t rows : {1, 2, 7, 64, 149}) {
      inputs fewer = values;
      fewer[0] = first_of(values[0], 1, rows);
      kernel_result part = whole->run("attention", fewer, {1, rows, 300});
      EXPECT_EQ(part.outputs[0].bytes, first_of(all.outputs[0], 1, rows).bytes) << target << " " << rows;
      fewer.push_back(gives->run("attention", fewer, {1, rows, 300, 2}, 1).outputs[0]);
      kernel_result merged = takes->run("attention", fewer, {1, rows, 300, 2}, 1);
      EXPECT_EQ(merged.outputs[0].bytes, part.outputs[0].bytes) << target << " by parts " << rows;
    }
  }
}

void check_rows_ignore_padding(const attention_text &text, const std::vector<int64_t> &lengths) {
  attention_text padded = text;
  padded.mask = "%keep = arith.andi %c0, %c0 : i1";
  padded.captures = {{"tensor<?x?xi1>", "0, 2", "b, n", "i1"}};
  for (const std::string &target : byte_targets()) {
    auto plain = kernel_module::compile(text.build(), target), masked = kernel_module::compile(padded.build(), target);
    ASSERT_TRUE(plain && masked);
    inputs values = make_inputs(text, *masked, {1, 13, 300}, 3);
    for (int64_t length : lengths) {
      inputs shorter = values;
      shorter.pop_back(); // the mask
      for (unsigned i : {1, 2})
        shorter[i] = first_of(values[i], 1, length);
      kernel_result expected = plain->run("attention", shorter, {1, 13, length});
      for (double fill : {1e9, double(NAN)}) {
        inputs longer = values;
        for (int64_t n = 0; n < 300; ++n)
          longer.back().set_int(n, n < length);
        for (unsigned i : {1, 2})
          for (int64_t place = shorter[i].size(); place < longer[i].size(); ++place)
            longer[i].set_float(place, fill);
        EXPECT_EQ(masked->run("attention", longer, {1, 13, 300}).outputs[0].bytes, expected.outputs[0].bytes)
            << target << " length " << length << " fill " << fill;
      }
    }
  }
}

} // namespace heddle::conformance
