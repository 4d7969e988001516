// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names as exporters write them: "/encoder/layer.0/attention/MatMul" (BERT, ViT), "/transformer/h.3/mlp/Gemm" (GPT-2),
// "/decoder/block.1/layer.0/SelfAttention/q/MatMul" (T5), "bert/encoder/layer_0/attention/MatMul" (TensorFlow),
// "model.layers.7.self_attn" (PyTorch's own paths), "blocks/0/norm1" (Flax). And paths of modules,
// "encoder/layer.0/linear".

#include "tools/heddle/layers.h"

#include "tools/heddle/text.h"

#include <algorithm>

namespace heddle::cli {

namespace {

bool isSeparator(char c) { return c == '/' || c == '.' || c == '_'; }

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether modules called |word| stand in a list, one a layer. Not any list is one: "dense.0" is a part of something.
bool namesLayers(std::string_view word) {
  std::string name = lowered(word);
  for (std::string_view ending : {"layer", "layers", "block", "blocks", "stage", "stages"})
    if (endsWith(name, ending))
      return true;
  return name == "h" || name == "l" || name == "blk";
}

} // namespace

std::string layerOf(std::string_view node) {
  std::string_view path = node.substr(std::min(node.find_first_not_of('/'), node.size()));
  std::string_view before;
  for (size_t begin = 0; begin < path.size();) {
    size_t end = begin;
    while (end < path.size() && !isSeparator(path[end]))
      ++end;
    std::string_view word = path.substr(begin, end - begin);
    // A number at the very end counts nodes of one kind: "Layer_1".
    if (isNumber(word) && namesLayers(before) && end < path.size())
      return std::string(path.substr(0, end));
    before = word;
    begin = end + 1;
  }
  return {};
}

std::string layerOf(const std::vector<std::string> &nodes) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const std::string &node : nodes) {
    std::string layer = layerOf(node);
    auto known = std::find_if(counts.begin(), counts.end(), [&](const auto &entry) { return entry.first == layer; });
    ++(known == counts.end() ? counts.emplace_back(layer, 0) : *known).second;
  }
  auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : most->first;
}

} // namespace heddle::cli
