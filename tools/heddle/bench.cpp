// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle bench: times artifacts at one or several shapes, one table.

#include "tools/heddle/command.h"
#include "tools/heddle/inputs.h"
#include "tools/heddle/json.h"
#include "tools/heddle/measure.h"
#include "tools/heddle/program.h"
#include "tools/heddle/roofline.h"
#include "tools/heddle/table.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace heddle::cli {

namespace {

struct Row {
  std::string artifact, device;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  unsigned threads;
  Measurement measurement;
  double leastSeconds; ///< that the CPU's roofline leaves for a run; NaN where that isn't known or means nothing

  double percentOfRoofline() const { return 100 * leastSeconds * 1e6 / measurement.p50; }
  double gflops() const { return static_cast<double>(measurement.plan.flops) / measurement.p50 / 1e3; }
  /// Leading dimension of the first input: sentences, images.
  int64_t batch() const { return shapes.empty() || shapes[0].second.empty() ? 1 : shapes[0].second[0]; }
};

/// The seconds that the dispatches take at the roofline, one after the other. NaN for products of bf16, which have a
/// peak of their own.
double secondsAtRoofline(const Roofline &roofline, const LoadedProgram &loaded, const Measurement &m) {
  for (size_t i = 0; i < loaded.info().option_count; ++i)
    if (loaded.info().options[i].key == std::string_view("precision"))
      return std::nan("");
  // Products read weights, which come from the level that holds all the run's data: each layer evicts the one before.
  // Other kernels read what was written just before them.
  uint64_t all = loaded.info().constant_bytes + static_cast<uint64_t>(m.plan.arena_bytes);
  double seconds = 0;
  for (const DispatchCost &cost : m.dispatches)
    seconds +=
        roofline.leastSeconds(cost.flops, cost.bytes, cost.root == "contract" ? all : static_cast<uint64_t>(cost.bytes),
                              cost.multipliesBytes ? Arithmetic::Bytes : Arithmetic::Floats);
  return seconds;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

Table tableOf(const std::vector<Row> &rows) {
  Table table({"<artifact", "<device", "<shapes", "threads", "runs", "min_us", "p50_us", "p90_us", "p99_us", "max_us",
               "sentences_per_s", "gflops", "percent_of_roofline"});
  for (const Row &row : rows) {
    const Measurement &m = row.measurement;
    std::vector<std::string> shapes;
    for (const auto &[name, dims] : row.shapes)
      shapes.push_back(name + "=" + formatShape(dims));
    table.addRow({row.artifact, row.device, join(shapes, " "), std::to_string(row.threads),
                  std::to_string(m.samples.size()), fixed(m.min, 1), fixed(m.p50, 1), fixed(m.p90, 1), fixed(m.p99, 1),
                  fixed(m.max, 1), fixed(static_cast<double>(row.batch()) * 1e6 / m.p50, 1), fixed(row.gflops(), 2),
                  std::isnan(row.leastSeconds) ? "-" : fixed(row.percentOfRoofline(), 1)});
  }
  return table;
}

void writeRoofline(JsonWriter &json, const Roofline &roofline) {
  writeMembers(json.beginObject(), roofline);
  json.endObject();
}

void writeMachine(JsonWriter &json, const std::vector<Roofline> &rooflines) {
  const heddle_host_info_t &host = *heddle_host_info();
  json.key("machine").beginObject().key("architecture").string(host.architecture).key("cpu").string(host.cpu_name);
  json.key("features").beginArray();
  for (size_t i = 0; i < host.feature_count; ++i)
    json.string(host.features[i]);
  json.endArray().key("l1d_bytes").number(host.l1d_bytes).key("l2_bytes").number(host.l2_bytes);
  json.key("l3_bytes").number(host.l3_bytes).key("threads").number(uint64_t(host.thread_count));
  json.key("roofline").beginArray();
  for (const Roofline &roofline : rooflines)
    writeRoofline(json, roofline);
  json.endArray().endObject();
}

std::string jsonOf(const std::vector<Row> &rows, const std::vector<Roofline> &rooflines) {
  JsonWriter json;
  json.beginObject().key("schema").string("heddle-bench-1");
  writeMachine(json, rooflines);
  json.key("rows").beginArray();
  for (const Row &row : rows) {
    const Measurement &m = row.measurement;
    json.beginObject().key("artifact").string(row.artifact).key("device").string(row.device);
    json.key("shapes").beginObject();
    for (const auto &[name, dims] : row.shapes) {
      json.key(name).beginArray();
      for (int64_t dim : dims)
        json.number(dim);
      json.endArray();
    }
    json.endObject().key("threads").number(uint64_t(row.threads)).key("runs").number(uint64_t(m.samples.size()));
    json.key("min_us").number(m.min).key("p50_us").number(m.p50).key("p90_us").number(m.p90);
    json.key("p99_us").number(m.p99).key("max_us").number(m.max).key("samples_us").beginArray();
    for (double sample : m.samples)
      json.number(sample);
    json.endArray().key("gflops").number(row.gflops());
    json.key("percent_of_roofline").number(row.percentOfRoofline()).endObject();
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
    std::vector<Row> rows;
    for (const std::string &artifact : artifacts) {
      LoadedProgram loaded = loadProgram(artifact, execution);
      for (const std::vector<std::string> &shapeRow : shapeRows(shapes))
        rows.push_back(measureRow(loaded, shapeRow));
    }
    std::string text = json ? jsonOf(rows, rooflines) : csv ? tableOf(rows).csv() : tableOf(rows).aligned();
    std::fputs(text.c_str(), stdout);
    return Exit::Fine;
  }

private:
  Row measureRow(const LoadedProgram &loaded, const std::vector<std::string> &shapeRow) {
    const heddle_entry_info_t &entry = loaded.entry();
    RunInputs run = prepareInputs(entry, inputs, shapeRow, Missing::Generate, defaultInputs(loaded));
    if (!run.generated.empty())
      note("generated inputs: " + join(run.generated, ", "));
    Row row{loaded.path, execution.device.empty() ? selectedDevice(loaded) : execution.device, {}, loaded.threads, {},
            std::nan("")};
    for (size_t i = 0; i < entry.input_count; ++i)
      row.shapes.emplace_back(entry.inputs[i].name, dimsOf(run.tensors[i].get()));
    row.measurement = measure(loaded, run.pointers(), seconds);
    // The roofline is that of the CPU.
    if (selectedDevice(loaded) == "cpu")
      row.leastSeconds = secondsAtRoofline(rooflineOf(loaded.threads), loaded, row.measurement);
    return row;
  }

  /// The limits of |threads| threads, measured once; those of a single thread stand beside them in the report.
  Roofline rooflineOf(unsigned threads) {
    Roofline found = {};
    for (unsigned count : {1u, threads}) {
      auto it = std::find_if(rooflines.begin(), rooflines.end(),
                             [&](const Roofline &roofline) { return roofline.threads == count; });
      found = it != rooflines.end() ? *it : rooflines.emplace_back(measureRoofline(count));
    }
    return found;
  }

  std::vector<std::string> artifacts, shapes, inputs;
  double seconds = 2;
  bool json = false, csv = false;
  std::vector<Roofline> rooflines; ///< of one thread, and of those that the rows use
  ExecutionOptions execution;
};

} // namespace

std::unique_ptr<Command> makeBenchCommand() { return std::make_unique<BenchCommand>(); }

} // namespace heddle::cli
