// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a model's time goes on this device, and what the device can do at most: what candidates are chosen by.

#pragma once

#include "tools/heddle/program.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// The profile of a model's artifact at some shapes.
struct ModelProfile {
  std::vector<std::string> shapes; ///< of all inputs: "input_ids=1x128,attention_mask=1x128", one a row
  std::string shares;              ///< JSON: seconds by the kernel's name; "" where nothing was run
  std::string limits;              ///< JSON: the device's; "" where they aren't known
  double runSeconds = 0;           ///< of one run of each shape
  double compileSeconds = 0;
  std::string start; ///< the tuning files that the artifact was compiled with, as text

  std::string json() const;
};

/// What json() wrote; throws if |text| is something else.
ModelProfile parseProfile(const std::string &text, const std::string &path);

/// Runs |artifact| some times with inputs of each of |rows|, which are values of --shape.
ModelProfile profileModel(const std::string &artifact, const std::vector<std::vector<std::string>> &rows,
                          const ExecutionOptions &execution);

/// The shapes alone, for an artifact that can't run here.
ModelProfile describeModel(const std::string &artifact, const std::vector<std::vector<std::string>> &rows);

} // namespace heddle::cli
