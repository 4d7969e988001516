// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Field for field, but for entry points, which are found by their names.

#include "compiler/artifact/CandidateTables.h"

#include "runtime/include/heddle/artifact_generated.h"
#include "llvm/ADT/StringMap.h"

using namespace heddle;
using namespace mlir;

std::unique_ptr<fb::SelfTestOutputT> heddle::makeSelfTestOutput(const SelfTestOutput &output) {
  auto table = std::make_unique<fb::SelfTestOutputT>();
  table->bytes = output.bytes;
  table->runs = output.runs;
  table->values = output.values;
  table->tolerance = output.tolerance;
  return table;
}

static std::unique_ptr<fb::CandidateCaseT> makeCase(const CandidateCase &made) {
  auto table = std::make_unique<fb::CandidateCaseT>();
  table->sizes = made.sizes;
  for (const CandidateInput &input : made.inputs) {
    auto entry = std::make_unique<fb::CandidateInputT>();
    entry->elements = input.elements;
    entry->seed = input.seed;
    entry->limit = input.limit;
    entry->is_filled = input.fill.has_value();
    entry->fill = input.fill.value_or(0);
    table->inputs.push_back(std::move(entry));
  }
  for (const SelfTestOutput &output : made.outputs)
    table->outputs.push_back(makeSelfTestOutput(output));
  return table;
}

LogicalResult heddle::addCandidates(ModuleOp module, ArrayRef<CandidateGroup> groups, fb::ProgramT &program) {
  llvm::StringMap<uint32_t> entries;
  for (const auto &entry : program.entries)
    entries.try_emplace(entry->name, entries.size());
  for (const CandidateGroup &group : groups) {
    auto table = std::make_unique<fb::CandidateGroupT>();
    table->signature = group.signature;
    table->rows = group.rows;
    table->kernel = group.kernel;
    table->nodes = group.nodes;
    table->share = group.share;
    table->dispatches = group.dispatches;
    table->timing = makeCase(group.timing);
    if (group.check)
      table->check = makeCase(*group.check);
    for (const Candidate &candidate : group.candidates) {
      auto found = entries.find(candidate.entry);
      if (found == entries.end())
        return module.emitOpError() << "expects an entry point '" << candidate.entry << "' of a candidate";
      auto entry = std::make_unique<fb::CandidateT>();
      entry->entry = found->second;
      entry->config = candidate.config;
      entry->seconds = candidate.seconds;
      table->candidates.push_back(std::move(entry));
    }
    program.candidates.push_back(std::move(table));
  }
  return success();
}
