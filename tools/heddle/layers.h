// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which layer of its model a node belongs to, by its name, in which older exporters keep the modules' path, or by that
// path itself, where the model file has it beside the name.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// The layer of |node|, a name or a path of modules: up to the first number of a list of layers or blocks,
/// "encoder/layer.0" of "/encoder/layer.0/attention/self/MatMul". "" for a node outside of all layers.
std::string layerOf(std::string_view node);

/// The layer of most of |nodes|, given likewise, the first one of those where several have as many; "" if that is none.
std::string layerOf(const std::vector<std::string> &nodes);

} // namespace heddle::cli
