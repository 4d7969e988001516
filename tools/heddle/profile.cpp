// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle profile: where a run's time goes, by kernel or by layer of the model, and what binds it; as a table, CSV,
// JSON, a trace of one run, a chart.
//
// JSON: {"schema": "heddle-profile-1", "machine": {... as of heddle bench ..., "notes": [...]}, "artifact", "device",
// "shapes": {...}, "threads", "runs", "wall_us", "wall_p50_us", "by": "kernel" or "layer", "rows": [{"name", "root",
// "is_runtime", "dispatches", "time_us", "p50_us", "share", "flops", "bytes", "gflops", "gbs", "percent_of_roofline",
// "bound_by", "nodes": [...]}]}. The rows' time_us add up to wall_us; what isn't known is null. bound_by is "compute",
// "L1", "L2", "L3" or, of a device whose caches have no names, "cache", "DRAM", or "latency".

#include "tools/heddle/command.h"
#include "tools/heddle/device_roofline.h"
#include "tools/heddle/files.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/json.h"
#include "tools/heddle/machine.h"
#include "tools/heddle/profiling.h"
#include "tools/heddle/program.h"
#include "tools/heddle/roofline_chart.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"
#include "tools/heddle/trace.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace heddle::cli {

namespace {

/// What the command reports on.
struct Report {
  std::string artifact, device;
  NamedShapes shapes;
  unsigned threads;
  ProfileBy by;
  Profile profile;
  ProfileRows rows;
  Roofline roofline;
  std::vector<std::string> notes;
};

std::string nameOf(const ProfileRow &row) {
  return row.isRuntime ? "(runtime)" : row.name.empty() ? "(no layer)" : row.name;
}

/// In a table for people the first node and how many more; all of them, with blanks between, for programs.
std::string nodesOf(const ProfileRow &row, bool all) {
  if (all || row.nodes.size() < 2)
    return join(row.nodes, " ");
  return row.nodes[0] + " +" + std::to_string(row.nodes.size() - 1);
}

Table tableOf(const Report &report, bool all) {
  Table table({report.by == ProfileBy::Kernel ? "<kernel" : "<layer", "dispatches", "time_us", "share", "gflops", "gbs",
               "percent_of_roofline", "<bound_by", "<nodes"});
  for (const ProfileRow &row : report.rows.rows) {
    std::string rate = row.isRuntime ? "-" : formatFixed(row.gflops(), 2);
    table.addRow({nameOf(row), row.isRuntime ? "-" : std::to_string(row.dispatches), formatFixed(row.time, 1),
                  formatFixed(100 * row.share, 1), rate, row.isRuntime ? "-" : formatFixed(row.gbs(), 2),
                  formatFixed(row.percentOfRoofline(), 1), row.boundBy.empty() ? "-" : row.boundBy, nodesOf(row, all)});
  }
  return table;
}

void writeRow(JsonWriter &json, const ProfileRow &row) {
  json.beginObject().key("name").string(row.name).key("root");
  if (row.root.empty() || row.isRuntime)
    json.null();
  else
    json.string(row.root);
  json.key("is_runtime").boolean(row.isRuntime).key("dispatches").number(uint64_t(row.dispatches));
  json.key("time_us").number(row.time).key("p50_us").number(row.median).key("share").number(row.share);
  json.key("flops").number(row.operations).key("bytes").number(row.bytes);
  json.key("gflops").number(row.gflops()).key("gbs").number(row.gbs());
  json.key("percent_of_roofline").number(row.percentOfRoofline()).key("bound_by");
  if (row.boundBy.empty())
    json.null();
  else
    json.string(row.boundBy);
  json.key("nodes").strings(row.nodes).endObject();
}

std::string jsonOf(const Report &report) {
  JsonWriter json;
  json.beginObject().key("schema").string("heddle-profile-1");
  writeMachine(json, {report.roofline}, report.notes);
  json.key("artifact").string(report.artifact).key("device").string(report.device);
  writeShapes(json, report.shapes);
  json.key("threads").number(uint64_t(report.threads)).key("runs").number(uint64_t(report.profile.walls.size()));
  json.key("wall_us").number(report.rows.wall).key("wall_p50_us").number(report.profile.medianWall());
  json.key("by").string(report.by == ProfileBy::Kernel ? "kernel" : "layer").key("rows").beginArray();
  for (const ProfileRow &row : report.rows.rows)
    writeRow(json, row);
  json.endArray().endObject();
  return json.take();
}

void writeFile(const std::string &path, const std::string &text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
  note("wrote " + path);
}

class ProfileCommand : public Command {
public:
  ProfileCommand() : Command("profile", "show where an artifact's time goes", "ARTIFACT [options]") {
    options.positional("ARTIFACT", artifact, "the artifact");
    options.choice("--by", by, {"kernel", "layer"}, "a row for each kernel, or for each layer of the model");
    options.list("--shape", shapes, "NAME=1x128", "shape of inputs");
    options.list("--input", inputs, "NAME=VALUE", "as for heddle run; default: generated inputs");
    options.number("--seconds", seconds, "T", "time to measure, after warm-up; default: 2");
    options.text("--trace", trace, "FILE", "write one run for Perfetto: a track for each thread, the model's nodes");
    options.text("--roofline", chart, "FILE", "write an SVG chart of the kernels under the device's limits");
    options.flag("--json", json, "print JSON");
    options.flag("--csv", csv, "print CSV");
    execution.declare(options);
    execution.declareWeights(options);
  }

  Exit run() override {
    require(artifact, "ARTIFACT");
    LoadedProgram loaded = loadProgram(artifact, execution);
    Report report = measureReport(loaded);
    std::string text = json ? jsonOf(report) : csv ? tableOf(report, true).csv() : tableOf(report, false).aligned();
    std::fputs(json || csv ? text.c_str() : printable(text).c_str(), stdout);
    std::string title = artifact + " on " + report.device;
    if (!trace.empty())
      writeFile(trace, traceJson(report.profile, title, selectedDevice(loaded)));
    if (!chart.empty())
      writeFile(chart, rooflineChart(report.rows, report.roofline, title + limitsTitle(report.roofline)));
    return Exit::Fine;
  }

private:
  /// Whose limits a chart shows, behind the device: ", 2 threads", " (llvmpipe)".
  static std::string limitsTitle(const Roofline &roofline) {
    return roofline.threads ? ", " + std::to_string(roofline.threads) + " threads" : " (" + roofline.name + ")";
  }

  Report measureReport(const LoadedProgram &loaded) {
    MachineWatch watch;
    RunInputs run = prepareInputs(loaded.entry(), inputs, shapes, Missing::Generate, defaultInputs(loaded));
    if (!run.generated.empty())
      note("generated inputs: " + join(run.generated, ", "));
    Report report = {artifact,
                     execution.deviceOf(loaded),
                     shapesOf(loaded.entry(), run),
                     loaded.threads,
                     by == "layer" ? ProfileBy::Layer : ProfileBy::Kernel,
                     takeProfile(loaded, run.pointers(), seconds),
                     {},
                     {},
                     {}};
    // Where no dispatch has a time there is nothing to compare with a limit.
    bool hasTimes = !report.profile.traced.spans.empty();
    report.roofline = measureRoofline(loaded, report.device);
    std::optional<Limits> limits;
    if (hasTimes)
      limits = limitsOf(report.roofline, loaded, report.profile.plan);
    report.rows = rowsOf(report.profile, report.by, limits ? &*limits : nullptr);
    report.notes = watch.notes(loaded.threads);
    for (const std::string &line : sampleNotes(report.profile.walls))
      report.notes.push_back(line);
    if (!hasTimes && !report.profile.dispatches.empty())
      report.notes.push_back("the device has no clock of its own: all time is the runtime's");
    note("a run takes " + formatFixed(report.rows.wall, 1) + " us; rows are means over the middle half of " +
         std::to_string(report.profile.walls.size()) + " runs");
    for (const std::string &line : report.notes)
      note("note: " + line);
    return report;
  }

  std::string artifact, by = "kernel", trace, chart;
  std::vector<std::string> shapes, inputs;
  double seconds = 2;
  bool json = false, csv = false;
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeProfileCommand() { return std::make_unique<ProfileCommand>(); }

} // namespace heddle::cli
