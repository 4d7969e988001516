// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/attention_text.h"

#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {

namespace {

/// An operand of the kernel.
struct operand {
  std::string name, type, dims, map;
};

std::string with_dims(const operand &o) {
  return o.dims.empty() ? o.type : o.type + " {kernel.dims = array<i64: " + o.dims + ">}";
}

std::string join(const std::vector<operand> &operands, const std::string &separator,
                 std::string (*print)(const operand &)) {
  std::string result;
  for (const operand &o : operands)
    result += (result.empty() ? "" : separator) + print(o);
  return result;
}

/// Query, key, value and output of |text| as its layout has them.
std::vector<operand> make_tensors(const attention_text &text) {
  int64_t heads = text.key_heads * text.group;
  std::string head = llvm::formatv("g * {0} + r", text.group);
  auto bsnd = [&](const char *name, int64_t count, int64_t size, const std::string &row, const std::string &n,
                  const char *d) {
    return operand{name, llvm::formatv("tensor<?x?x{0}x{1}xf32>", count, size), row == "m" ? "0, 1" : "0, 2",
                   "b, " + row + ", " + n + ", " + d};
  };
  operand output = bsnd("", heads, text.value_size, "m", head, "e");
  if (text.layout == "bsnd")
    return {bsnd("%q", heads, text.head_size, "m", head, "d"),
            bsnd("%k", text.key_heads, text.head_size, "n", "g", "d"),
            bsnd("%v", text.key_heads, text.value_size, "n", "g", "e"), output};
  if (text.layout == "bnsd") {
    auto type = [](int64_t count, int64_t size) { return llvm::formatv("tensor<?x{0}x?x{1}xf32>", count, size).str(); };
    return {{"%q", type(heads, text.head_size), "0, 1", "b, " + head + ", m, d"},
            {"%k", type(text.key_heads, text.head_size), "0, 2", "b, g, n, d"},
            {"%v", type(text.key_heads, text.value_size), "0, 2", "b, g, n, e"},
            output};
  }
  if (text.layout == "transposed") {
    auto type = [&](int64_t size) { return llvm::formatv("tensor<?x{0}x{1}x?xf32>", text.key_heads, size).str(); };
    return {bsnd("%q", heads, text.head_size, "m", head, "d"),
            {"%k", type(text.head_size), "0, 2", "b, g, d, n"},
            {"%v", type(text.value_size), "0, 2", "b, g, e, n"},
            output};
  }
  // One row holds all queries, all keys, all values.
  int64_t query = heads * text.head_size, key = text.key_heads * text.head_size;
  std::string type = llvm::formatv("tensor<?x?x{0}xf32>", query + key + text.key_heads * text.value_size);
  auto slice = [&](const std::string &row, int64_t start, const std::string &n, int64_t size, const char *d) {
    return operand{"%x", type, "0, 1", llvm::formatv("b, {0}, {1} + ({2}) * {3} + {4}", row, start, n, size, d)};
  };
  return {slice("m", 0, head, text.head_size, "d"), slice("n", query, "g", text.head_size, "d"),
          slice("n", query + key, "g", text.value_size, "e"), output};
}

/// States of parts.
operand make_states(const attention_text &text, const std::string &name) {
  std::string type = llvm::formatv("tensor<?x?x{0}x?x{1}xf32>", text.key_heads * text.group, text.value_size + 2);
  return {name, type, "3, 0, 1", llvm::formatv("n, b, g * {0} + r, m, e", text.group)};
}

std::vector<operand> make_results(const attention_text &text, const operand &output) {
  if (text.parts == attention_text::parts_use::gives)
    return {make_states(text, "")};
  std::vector<operand> results = {output};
  int64_t heads = text.key_heads * text.group;
  std::string head = llvm::formatv("b, g * {0} + r, m", text.group);
  if (text.lse)
    results.push_back({"", llvm::formatv("tensor<?x{0}x?xf32>", heads), "0, 1", head});
  if (text.probabilities)
    results.push_back({"", llvm::formatv("tensor<?x{0}x?x?xf32>", heads), "0, 1, 2", head + ", n"});
  return results;
}

std::string make_attributes(const attention_text &text) {
  std::string result = "fully_masked = \"" + text.fully_masked + "\"";
  if (!text.scale_input)
    result += ", scale = 0.25 : f32";
  bool gives = text.parts == attention_text::parts_use::gives, takes = text.parts == attention_text::parts_use::takes;
  for (auto [isSet, name] : {std::pair(text.kv_len, ", has_kv_len"),
                             {text.scale_input, ", has_scale_input"},
                             {text.lse && !gives, ", has_lse"},
                             {text.probabilities && !gives, ", has_probabilities"},
                             {text.qk_int8, ", qk_int8"},
                             {text.pv_int8, ", pv_int8_block = 256 : i64"},
                             {gives, ", part_size = 256 : i64, gives_parts"},
                             {takes, ", part_size = 256 : i64, takes_parts"}})
    result += isSet ? name : "";
  return result;
}

} // namespace

std::string attention_text::build() const {
  std::vector<operand> inputs = make_tensors(*this);
  std::vector<operand> results = make_results(*this, inputs.back());
  inputs.pop_back();
  if (kv_len)
    inputs.push_back({"%lengths", "tensor<?xi64>", "0", "b"});
  if (scale_input)
    inputs.push_back({"%factor", "tensor<f32>", "", ""});
  if (pv_int8)
    inputs.push_back({"%scales", llvm::formatv("tensor<{0}x{1}xf32>", key_heads, value_size), "", "g, e"});
  if (parts == parts_use::takes)
    inputs.push_back(make_states(*this, "%states"));
  std::string captured;
  for (size_t i = 0; i < captures.size(); ++i) {
    inputs.push_back({"%t" + std::to_string(i), captures[i].type, captures[i].dims, captures[i].map});
    captured += (i ? ", %c" : "%c") + std::to_string(i) + ": " + captures[i].element;
  }
  std::vector<operand> arguments(layout == "fused" ? inputs.begin() + 2 : inputs.begin(), inputs.end());
  auto name = [](const operand &o) { return o.name; };
  auto type = [](const operand &o) { return o.type; };
  auto map = [](const operand &o) { return "affine_map<(b, g, r, m, n, d, e)[s0, s1, s2] -> (" + o.map + ")>"; };
  std::vector<operand> all = inputs;
  all.insert(all.end(), results.begin(), results.end());
  std::string keys = layout == "fused" ? "s1" : "s2";
  std::string text = "kernel.func @attention(";
  text += join(arguments, ", ", [](const operand &o) { return o.name + ": " + with_dims(o); });
  text += ", %batch: index, %queries: index, %keys: index";
  text += parts == parts_use::none ? "" : ", %parts: index";
  text += ") -> (" + join(results, ", ", with_dims) + ") {\n";
  text += llvm::formatv("  %r:{0} = kernel.attention sizes(%batch, %queries, %keys) bounds(affine_map<()[s0, s1, s2] "
                        "-> (s0, {1}, {2}, s1, {3}, {4}, {5})>)\n",
                        results.size(), key_heads, group, keys, head_size, value_size);
  text += "      ins(" + join(inputs, ", ", name) + " : " + join(inputs, ", ", type) + ")\n";
  text += "      attributes {indexing_maps = [" + join(all, ", ", map) + "], " + make_attributes(*this) + "} score {\n";
  text += "  ^bb0(%s: f32" + std::string(captured.empty() ? "" : ", ") + captured + "):\n    " + score;
  text += "\n    kernel.yield " + std::string(score.empty() ? "%s" : "%score") + " : f32\n  } mask {\n";
  text += captured.empty() ? "" : "  ^bb0(" + captured + "):\n";
  text += "    %b = kernel.index 0\n    %m = kernel.index 3\n    %n = kernel.index 4\n    ";
  text += mask.empty() ? "%keep = arith.constant true" : mask;
  text += "\n    kernel.yield %keep : i1\n  }";
  if (!probability.empty()) {
    text += " probability {\n  ^bb0(%p: f32" + std::string(captured.empty() ? "" : ", ") + captured + "):\n";
    text += "    %b = kernel.index 0\n    %m = kernel.index 3\n    %n = kernel.index 4\n    " + probability;
    text += "\n    kernel.yield %weight : f32\n  }";
  }
  text += " : " + join(results, ", ", type) + "\n  kernel.return ";
  for (size_t i = 0; i < results.size(); ++i)
    text += (i ? ", %r#" : "%r#") + std::to_string(i);
  return text + " : " + join(results, ", ", type) + "\n}\n";
}

} // namespace heddle::conformance
