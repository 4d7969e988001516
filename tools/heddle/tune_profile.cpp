// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few observed runs. What they miss of the whole time is the same for all kernels.

#include "tools/heddle/tune_profile.h"

#include "tools/heddle/error.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/json.h"
#include "tools/heddle/json_value.h"
#include "tools/heddle/roofline.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace heddle::cli {

namespace {

constexpr size_t kRuns = 5;

RunInputs inputsOf(const LoadedProgram &loaded, const std::vector<std::string> &row) {
  return prepareInputs(loaded.entry(), {}, row, Missing::Generate, defaultInputs(loaded));
}

/// "input_ids=1x128,attention_mask=1x128".
std::string shapeRow(const heddle_entry_info_t &entry, const RunInputs &inputs) {
  std::vector<std::string> shapes;
  for (const auto &[name, dims] : shapesOf(entry, inputs))
    shapes.push_back(name + "=" + formatShape(dims));
  return join(shapes, ",");
}

/// Nanoseconds of one run by the kernel's name.
using Times = std::map<std::string, double>;

void addTime(void *user, const heddle_dispatch_info_t *dispatch) {
  (*static_cast<Times *>(user))[dispatch->kernel] += static_cast<double>(dispatch->nanoseconds);
}

/// The times of the fastest of some runs, which other work on the machine disturbed least.
Times timesOf(const LoadedProgram &loaded, const RunInputs &inputs, double &seconds) {
  heddle_session_t *session = nullptr;
  check(heddle_session_create(loaded.program.get(), &session), loaded.context());
  const SessionPtr owner(session);
  const std::vector<const heddle_tensor_t *> given = inputs.pointers();
  std::vector<heddle_tensor_t *> outputs(loaded.entry().output_count);
  std::vector<TensorPtr> outputOwners;
  Times best;
  double bestSeconds = 0;
  // One more, whose times are those of the first use.
  for (size_t run = 0; run <= kRuns; ++run) {
    Times times;
    heddle_session_set_observer(session, addTime, &times);
    const auto start = std::chrono::steady_clock::now();
    check(heddle_session_run(session, nullptr, given.data(), given.size(), outputs.data(), outputs.size()),
          loaded.context());
    const double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run == 0)
      for (heddle_tensor_t *output : outputs)
        outputOwners.emplace_back(output);
    if (run == 0 || own < bestSeconds) {
      bestSeconds = own;
      best = std::move(times);
    }
  }
  seconds += bestSeconds;
  return best;
}

std::string limitsOf(const LoadedProgram &loaded) {
  if (selectedDevice(loaded) != "cpu")
    return {};
  const Roofline roofline = measureRoofline(loaded.threads);
  const heddle_host_info_t &host = *heddle_host_info();
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject();
  writeMembers(json, roofline);
  json.key("l1d").number(host.l1d_bytes).key("l2").number(host.l2_bytes).key("l3").number(host.l3_bytes).endObject();
  return json.take();
}

} // namespace

ModelProfile profileModel(const std::string &artifact, const std::vector<std::vector<std::string>> &rows,
                          const ExecutionOptions &execution) {
  const LoadedProgram loaded = loadProgram(artifact, execution);
  ModelProfile profile;
  Times sum;
  for (const std::vector<std::string> &row : rows) {
    const RunInputs inputs = inputsOf(loaded, row);
    profile.shapes.push_back(shapeRow(loaded.entry(), inputs));
    for (const auto &[kernel, nanoseconds] : timesOf(loaded, inputs, profile.runSeconds))
      sum[kernel] += nanoseconds;
  }
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject();
  for (const auto &[kernel, nanoseconds] : sum)
    json.key(kernel).number(nanoseconds * 1e-9);
  profile.shares = json.endObject().take();
  profile.limits = limitsOf(loaded);
  return profile;
}

ModelProfile describeModel(const std::string &artifact, const std::vector<std::vector<std::string>> &rows) {
  const LoadedProgram loaded = loadForInspection(artifact);
  ModelProfile profile;
  for (const std::vector<std::string> &row : rows)
    profile.shapes.push_back(shapeRow(loaded.entry(), inputsOf(loaded, row)));
  return profile;
}

std::string ModelProfile::json() const {
  JsonWriter json;
  json.beginObject().key("shapes").beginArray();
  for (const std::string &shape : shapes)
    json.string(shape);
  json.endArray().key("shares").string(shares).key("limits").string(limits);
  json.key("run_seconds").number(runSeconds).key("compile_seconds").number(compileSeconds);
  json.key("start").string(start).endObject();
  return json.take();
}

ModelProfile parseProfile(const std::string &text, const std::string &path) {
  std::string error;
  const std::optional<JsonValue> value = parseJson(text, error);
  if (!value)
    fail(Exit::File, "H0520", "cannot read '" + path + "': " + error, {}, "remove it, and it is made anew");
  ModelProfile profile;
  if (const JsonValue *shapes = value->find("shapes"))
    for (const JsonValue &shape : shapes->elements)
      profile.shapes.push_back(shape.text);
  profile.shares = value->findString("shares").value_or("");
  profile.limits = value->findString("limits").value_or("");
  profile.runSeconds = value->findNumber("run_seconds").value_or(0);
  profile.compileSeconds = value->findNumber("compile_seconds").value_or(0);
  profile.start = value->findString("start").value_or("");
  return profile;
}

} // namespace heddle::cli
