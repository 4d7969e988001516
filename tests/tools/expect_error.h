// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs something that must fail, and hands out how.

#pragma once

#include "tools/heddle/error.h"

#include <gtest/gtest.h>
#include <string>

namespace heddle::cli {

/// The text of the CommandError that |action| throws, "exit N: " before it; empty if it throws none.
template <typename Action> std::string errorOf(const Action &action) {
  try {
    action();
  } catch (const CommandError &error) {
    return "exit " + std::to_string(static_cast<int>(error.exit)) + ": " + error.text;
  }
  return {};
}

} // namespace heddle::cli
