// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated shaders beside shaders written by hand for the same work and the same tile: what generality costs.

#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/kernel_interpreter.h"

namespace heddle::conformance {

struct shader_case {
  std::string name;     // "contract/128x768x768"
  std::string text;     // the kernel
  std::string function; // its name
  std::vector<int64_t> sizes;
  std::vector<unsigned> constants; // inputs that are constants of a model
  double operations = 0;           // of one run, a multiply-add counted as two
  /// GLSL by hand, with the bindings and the push constants of the generated shader, and how many workgroups it takes.
  std::string glsl;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  /// Changes the random inputs before they are used; may be null.
  std::function<void(std::vector<host_tensor> &)> prepare;
  /// Lays inputs out anew as the shader by hand reads them; null where it reads them as they are.
  std::function<void(std::vector<host_tensor> &)> arrange;
  /// By which results may differ, relative to the greatest.
  double tolerance = 2e-6;
};

std::vector<shader_case> attention_shader_cases();
std::vector<shader_case> contract_shader_cases();

} // namespace heddle::conformance
