// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of candidates. They say how large tensors are and which entry points take them, so both are made sure of here.

#include <cmath>

#include <heddle/artifact_format.h>
#include <heddle/self_test.h>

#include "runtime/core/checked_math.h"
#include "runtime/core/table_reader.h"

namespace heddle::runtime {

namespace {

/// Whether all inputs and outputs have one dimension, and input 0 can be a kernel's sizes.
bool takes_candidates(const entry_table &entry) {
  const auto is_flat = [](const auto &tensor) { return tensor.dims.size() == 1; };
  for (const input_table &input : entry.inputs)
    if (!is_flat(input))
      return false;
  for (const output_table &output : entry.outputs)
    if (!is_flat(output))
      return false;
  return !entry.inputs.empty() && entry.inputs.front().type == HEDDLE_ELEMENT_I64 && !entry.outputs.empty();
}

/// Whether the entry points take and give tensors of the same types.
bool are_alike(const entry_table &a, const entry_table &b) {
  const auto have_one_type = [](const auto &x, const auto &y) {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].type != y[i].type)
        return false;
    return true;
  };
  return a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size() &&
         have_one_type(a.inputs, b.inputs) && have_one_type(a.outputs, b.outputs);
}

} // namespace

heddle_status_t table_reader::read_candidate_input(const fb::CandidateInput &input, const char *group,
                                                   size_t element_bytes, candidate_case *out) {
  if (input.elements() > HEDDLE_MAX_CANDIDATE_BYTES / element_bytes)
    return damaged(format("candidates for '%s' take an input of %llu elements", group,
                          static_cast<unsigned long long>(input.elements())));
  out->inputs.push_back({input.elements(), input.seed(), input.limit(), input.is_filled(), input.fill()});
  return nullptr;
}

heddle_status_t table_reader::read_candidate_case(const fb::CandidateCase &candidates,
                                                  const candidate_group_table &group, candidate_case *out) {
  const entry_table &entry = tables_->entries[group.candidates.front().entry];
  if (!is_aligned(candidates.sizes(), sizeof(int64_t)))
    return damaged(format("sizes of candidates for '%s' aren't aligned", group.signature));
  HEDDLE_RETURN_IF_ERROR(charge(count(candidates.sizes()), sizeof(int64_t)));
  for (size_t i = 0; i < count(candidates.sizes()); ++i)
    out->sizes.push_back(candidates.sizes()->Get(i));
  const size_t outputs = count(candidates.outputs());
  if (count(candidates.inputs()) + 1 != entry.inputs.size() || (outputs != 0 && outputs != entry.outputs.size()))
    return damaged(format("candidates for '%s' have %zu inputs and %zu outputs, entry '%s' takes %zu and gives %zu",
                          group.signature, count(candidates.inputs()) + 1, outputs, entry.name, entry.inputs.size(),
                          entry.outputs.size()));
  HEDDLE_RETURN_IF_ERROR(charge(count(candidates.inputs()), sizeof(candidate_input)));
  uint64_t bytes = 0;
  for (size_t i = 0; i < count(candidates.inputs()); ++i) {
    const size_t size = heddle_element_type_size(entry.inputs[i + 1].type);
    HEDDLE_RETURN_IF_ERROR(read_candidate_input(*candidates.inputs()->Get(i), group.signature, size, out));
    bytes += out->inputs.back().elements * size; // each at most 2^30, of no more inputs than the file has bytes
  }
  if (bytes > HEDDLE_MAX_CANDIDATE_BYTES)
    return damaged(format("candidates for '%s' take inputs of %llu bytes", group.signature,
                          static_cast<unsigned long long>(bytes)));
  HEDDLE_RETURN_IF_ERROR(charge(outputs, sizeof(self_test_output)));
  for (size_t i = 0; i < outputs; ++i)
    HEDDLE_RETURN_IF_ERROR(read_self_test_output(*candidates.outputs()->Get(i), group.signature,
                                                 heddle_element_type_size(entry.outputs[i].type),
                                                 &out->outputs.emplace_back()));
  return nullptr;
}

heddle_status_t table_reader::read_candidate(const fb::Candidate &candidate, candidate_group_table *out) {
  if (candidate.entry() >= tables_->entries.size())
    return damaged(format("a candidate for '%s' names entry point %u of %zu", out->signature, candidate.entry(),
                          tables_->entries.size()));
  const entry_table &entry = tables_->entries[candidate.entry()];
  if (!takes_candidates(entry) ||
      (!out->candidates.empty() && !are_alike(entry, tables_->entries[out->candidates.front().entry])))
    return damaged(format("entry '%s' is none of a candidate for '%s'", entry.name, out->signature));
  if (!std::isfinite(candidate.seconds()) || candidate.seconds() < 0)
    return damaged(format("a candidate for '%s' is expected to take no time", out->signature));
  out->candidates.push_back({candidate.entry(), text(candidate.config()), candidate.seconds()});
  return nullptr;
}

heddle_status_t table_reader::read_candidates(const fb::CandidateGroup &group) {
  candidate_group_table out{text(group.signature()),
                            text(group.rows()),
                            text(group.kernel()),
                            {},
                            group.share(),
                            group.dispatches(),
                            {},
                            {},
                            {}};
  if (!*out.signature || !*out.rows)
    return damaged(format("group %zu of candidates is of no kernel", tables_->candidates.size()));
  if (!(out.share >= 0 && out.share <= 1) || count(group.candidates()) == 0 || !group.timing())
    return damaged(format("group '%s' has no candidates, sizes or share of the time", out.signature));
  HEDDLE_RETURN_IF_ERROR(read_strings(group.nodes(), &out.nodes));
  HEDDLE_RETURN_IF_ERROR(charge(count(group.candidates()), sizeof(candidate_table)));
  for (size_t i = 0; i < count(group.candidates()); ++i)
    HEDDLE_RETURN_IF_ERROR(read_candidate(*group.candidates()->Get(i), &out));
  HEDDLE_RETURN_IF_ERROR(read_candidate_case(*group.timing(), out, &out.timing));
  if (group.check()) {
    HEDDLE_RETURN_IF_ERROR(read_candidate_case(*group.check(), out, &out.check.emplace()));
    if (out.check->outputs.empty())
      return damaged(format("the case of group '%s' knows no results", out.signature));
  }
  tables_->candidates.push_back(std::move(out));
  return nullptr;
}

} // namespace heddle::runtime
