// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reports say about the machine that they were measured on, and how much it can be trusted.

#pragma once

#include "tools/heddle/inputs.h"
#include "tools/heddle/json.h"
#include "tools/heddle/roofline.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// Writes the key "machine" with the CPU and the |rooflines| that were measured; |notes| are of the whole report.
void writeMachine(JsonWriter &json, const std::vector<Roofline> &rooflines, const std::vector<std::string> &notes);

/// Writes the key "shapes" with an array of sizes for each input.
void writeShapes(JsonWriter &json, const NamedShapes &shapes);

/// Watches the machine while something is measured: from its construction until notes().
class MachineWatch {
public:
  MachineWatch();
  /// What lets the figures differ from another day's: how the clock is governed, other work, a clock that changed,
  /// more threads than CPUs. What the system doesn't tell isn't mentioned.
  std::vector<std::string> notes(unsigned threads) const;

private:
  double started;     ///< seconds of the steady clock
  double busyCpus;    ///< seconds that all CPUs have been busy; negative if unknown
  double stolen;      ///< seconds that the hypervisor withheld
  double ownCpus;     ///< of them this process's
  double loopSeconds; ///< of a fixed loop: the core's clock
};

/// What lets |samples| of one row be doubted: few of them, wide spread, drift from the first half to the second.
std::vector<std::string> sampleNotes(const std::vector<double> &samples);

} // namespace heddle::cli
