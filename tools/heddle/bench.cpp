// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle bench: times artifacts at one or several shapes, one table.

#include "tools/heddle/command.h"
#include "tools/heddle/device_roofline.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/json.h"
#include "tools/heddle/limits.h"
#include "tools/heddle/machine.h"
#include "tools/heddle/measure.h"
#include "tools/heddle/program.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::cli {

namespace {

struct Row {
  std::string artifact, device;
  NamedShapes shapes;
  unsigned threads;
  Measurement measurement;
  double leastSeconds; ///< that the device's roofline leaves for a run; NaN where that isn't known or means nothing
  bool countsTokens;   ///< the first input is of ids: a sentence is a row of them
  std::vector<std::string> notes;

  double percentOfRoofline() const { return 100 * leastSeconds * 1e6 / measurement.p50; }
  double gflops() const { return static_cast<double>(measurement.plan.flops) / measurement.p50 / 1e3; }
  /// Leading dimension of the first input: sentences, images.
  int64_t batch() const { return shapes.empty() || shapes[0].second.empty() ? 1 : shapes[0].second[0]; }
  double sentencesPerSecond() const { return static_cast<double>(batch()) * 1e6 / measurement.p50; }
  double tokensPerSecond() const {
    return countsTokens ? sentencesPerSecond() * static_cast<double>(shapes[0].second[1]) : std::nan("");
  }
};

Table tableOf(const std::vector<Row> &rows) {
  Table table({"<artifact", "<device", "<shapes", "threads", "runs", "min_us", "p50_us", "p90_us", "p99_us", "max_us",
               "sentences_per_s", "tokens_per_s", "gflops", "percent_of_roofline"});
  for (const Row &row : rows) {
    const Measurement &m = row.measurement;
    std::vector<std::string> shapes;
    for (const auto &[name, dims] : row.shapes)
      shapes.push_back(name + "=" + formatShape(dims));
    table.addRow({row.artifact, row.device, join(shapes, " "), std::to_string(row.threads),
                  std::to_string(m.samples.size()), formatFixed(m.min, 1), formatFixed(m.p50, 1), formatFixed(m.p90, 1),
                  formatFixed(m.p99, 1), formatFixed(m.max, 1), formatFixed(row.sentencesPerSecond(), 1),
                  formatFixed(row.tokensPerSecond(), 1), formatFixed(row.gflops(), 2),
                  formatFixed(row.percentOfRoofline(), 1)});
  }
  return table;
}

std::string jsonOf(const std::vector<Row> &rows, const std::vector<Roofline> &rooflines,
                   const std::vector<std::string> &notes) {
  JsonWriter json;
  json.beginObject().key("schema").string("heddle-bench-1");
  writeMachine(json, rooflines, notes);
  json.key("rows").beginArray();
  for (const Row &row : rows) {
    const Measurement &m = row.measurement;
    json.beginObject().key("artifact").string(row.artifact).key("device").string(row.device);
    writeShapes(json, row.shapes);
    json.key("threads").number(uint64_t(row.threads)).key("warm_up_runs").number(uint64_t(m.warmUpRuns));
    json.key("runs").number(uint64_t(m.samples.size()));
    json.key("min_us").number(m.min).key("p50_us").number(m.p50).key("p90_us").number(m.p90);
    json.key("p99_us").number(m.p99).key("max_us").number(m.max).key("samples_us").beginArray();
    for (double sample : m.samples)
      json.number(sample);
    json.endArray().key("sentences_per_s").number(row.sentencesPerSecond());
    json.key("tokens_per_s").number(row.tokensPerSecond()).key("gflops").number(row.gflops());
    json.key("percent_of_roofline").number(row.percentOfRoofline()).key("notes").strings(row.notes).endObject();
  }
  json.endArray().endObject();
  return json.take();
}

class BenchCommand : public Command {
public:
  BenchCommand() : Command("bench", "time artifacts", "ARTIFACT... [options]") {
    options.positionals("ARTIFACT", artifacts, "the artifacts");
    options.list("--shape", shapes, "NAME=1x128", "shape of inputs; naming an input again starts another row");
    options.list("--input", inputs, "NAME=VALUE", "as for heddle run; default: generated inputs");
    options.number("--seconds", seconds, "T", "time to measure each row, after warm-up; default: 2");
    options.flag("--json", json, "print JSON with all samples");
    options.flag("--csv", csv, "print CSV");
    execution.declare(options);
    execution.declareWeights(options);
  }

  Exit run() override {
    require(artifacts.empty() ? std::string() : artifacts[0], "ARTIFACT");
    MachineWatch watch;
    std::vector<Row> rows;
    for (const std::string &artifact : artifacts) {
      LoadedProgram loaded = loadProgram(artifact, execution);
      for (const std::vector<std::string> &shapeRow : shapeRows(shapes))
        rows.push_back(measureRow(loaded, shapeRow));
    }
    std::vector<std::string> notes = watch.notes(rows.back().threads);
    std::string text = json ? jsonOf(rows, rooflines, notes) : csv ? tableOf(rows).csv() : tableOf(rows).aligned();
    std::fputs(text.c_str(), stdout);
    tell(rows, notes);
    return Exit::Fine;
  }

private:
  Row measureRow(const LoadedProgram &loaded, const std::vector<std::string> &shapeRow) {
    const heddle_entry_info_t &entry = loaded.entry();
    RunInputs run = prepareInputs(entry, inputs, shapeRow, Missing::Generate, defaultInputs(loaded));
    if (!run.generated.empty())
      note("generated inputs: " + join(run.generated, ", "));
    Row row = {loaded.path, execution.deviceOf(loaded), shapesOf(entry, run), loaded.threads, {}, std::nan(""), false,
               {}};
    row.countsTokens = entry.input_count && entry.inputs[0].rank == 2 && entry.inputs[0].type == HEDDLE_ELEMENT_I64;
    row.measurement = measure(loaded, run.pointers(), seconds);
    row.notes = sampleNotes(row.measurement.samples);
    if (auto limits = limitsOf(rooflineFor(loaded, row.device), loaded, row.measurement.plan))
      row.leastSeconds = limits->leastSeconds(row.measurement.dispatches);
    return row;
  }

  static void tell(const std::vector<Row> &rows, const std::vector<std::string> &notes) {
    note("note: warm runs: weights, inputs and code are where the run before left them");
    for (const std::string &line : notes)
      note("note: " + line);
    for (const Row &row : rows)
      for (const std::string &line : row.notes)
        note("note: " + (rows.size() > 1 ? "row " + std::to_string(&row - rows.data() + 1) + ": " : "") + line);
  }

  /// The limits of what |loaded| runs on, measured once; those of a single thread stand beside a CPU's in the report.
  Roofline rooflineFor(const LoadedProgram &loaded, const std::string &device) {
    bool isCpu = selectedDevice(loaded) == "cpu";
    auto find = [&](unsigned threads) {
      return std::find_if(rooflines.begin(), rooflines.end(), [&](const Roofline &roofline) {
        return roofline.device == device && roofline.threads == threads;
      });
    };
    if (isCpu && find(1) == rooflines.end())
      rooflines.push_back(measureRoofline(1));
    auto found = find(isCpu ? loaded.threads : 0);
    return found != rooflines.end() ? *found : rooflines.emplace_back(measureRoofline(loaded, device));
  }

  std::vector<std::string> artifacts, shapes, inputs;
  double seconds = 2;
  bool json = false, csv = false;
  std::vector<Roofline> rooflines; ///< of one thread of the CPU, and of what the rows use
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeBenchCommand() { return std::make_unique<BenchCommand>(); }

} // namespace heddle::cli
