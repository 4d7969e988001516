// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a run.

#include "tools/heddle/memory.h"

#include "tools/heddle/inputs.h"
#include "tools/heddle/text.h"

namespace heddle::cli {

namespace {

std::string bytes(int64_t count) { return formatBytes(static_cast<uint64_t>(count)); }

/// "  arena    2.1 MB".
std::string line(const char *what, const std::string &text) {
  std::string title = what;
  return "  " + title + std::string(title.size() < 9 ? 9 - title.size() : 1, ' ') + text + "\n";
}

std::string describeHost(const MemoryReport &report) {
  const heddle_memory_info_t &memory = report.memory;
  std::string out;
  if (memory.weight_bytes)
    out += line("weights",
                bytes(memory.weight_bytes) + (memory.table_bytes ? ", and up to " + bytes(memory.table_bytes) +
                                                                       " of tables: indices decide which rows are read"
                                                                 : ""));
  if (memory.arena_bytes)
    out += line("arena", bytes(memory.arena_bytes) + " a session");
  if (memory.scratch_bytes)
    out += line("scratch", bytes(memory.scratch_bytes) + " for " + std::to_string(report.threads) +
                               (report.threads == 1 ? " thread" : " threads"));
  if (memory.transfer_bytes)
    out += line("transfer", bytes(memory.transfer_bytes) + " for inputs and outputs on their way");
  out += line("inputs", bytes(memory.input_bytes)) + line("outputs", bytes(memory.output_bytes));
  if (memory.code_bytes)
    out += line("code", bytes(memory.code_bytes));
  out += line("tables", bytes(memory.program_bytes) + " of the artifact");
  return out + line("total", bytes(report.hostBytes()) + ", beyond the process and its libraries");
}

std::string describeDevice(const heddle_memory_info_t &memory) {
  return line("on device", bytes(memory.device_weight_bytes) + " of weights, " + bytes(memory.device_arena_bytes) +
                               " for inputs, outputs and what is between");
}

} // namespace

int64_t MemoryReport::hostBytes() const {
  return memory.weight_bytes + memory.code_bytes + memory.program_bytes + memory.arena_bytes + memory.scratch_bytes +
         memory.transfer_bytes + memory.input_bytes + memory.output_bytes;
}

MemoryReport memoryOf(const LoadedProgram &loaded, const std::vector<std::string> &shapes) {
  const heddle_entry_info_t &entry = loaded.entry();
  RunInputs inputs = prepareInputs(entry, {}, shapes, Missing::Generate, defaultInputs(loaded));
  std::vector<const heddle_tensor_t *> pointers = inputs.pointers();
  MemoryReport report;
  std::vector<std::string> parts;
  for (const auto &[name, dims] : shapesOf(entry, inputs))
    parts.push_back(name + "=" + formatShape(dims));
  report.shapes = join(parts, ",");
  report.threads = loaded.threads;
  check(heddle_program_plan(loaded.program.get(), nullptr, pointers.data(), pointers.size(), &report.plan),
        loaded.context());
  if (!loaded.canRun)
    return report;
  report.device = selectedDevice(loaded);
  check(heddle_program_memory(loaded.program.get(), nullptr, pointers.data(), pointers.size(), &report.memory),
        loaded.context());
  return report;
}

std::string describeMemory(const MemoryReport &report) {
  std::string out = "one run with " + report.shapes;
  if (report.device.empty())
    out += ", which no device here can do\n" + line("arena", bytes(report.plan.arena_bytes) + " a session");
  else
    out += " on " + report.device + "\n" + describeHost(report);
  if (report.deviceBytes())
    out += describeDevice(report.memory);
  return out + line("work", formatNumber(static_cast<double>(report.plan.flops) / 1e9, 4) + " GFLOP in " +
                                std::to_string(report.plan.dispatch_count) + " dispatches that move " +
                                bytes(report.plan.bytes));
}

void writeMemory(JsonWriter &json, const MemoryReport &report) {
  const heddle_memory_info_t &memory = report.memory;
  json.key("memory").beginObject().key("shapes").string(report.shapes);
  json.key("arena_bytes").number(report.plan.arena_bytes).key("scratch_bytes").number(report.plan.scratch_bytes);
  json.key("flops").number(report.plan.flops).key("bytes").number(report.plan.bytes);
  json.key("dispatch_count").number(uint64_t(report.plan.dispatch_count)).key("device");
  if (report.device.empty()) {
    json.null().endObject();
    return;
  }
  json.string(report.device).key("threads").number(uint64_t(report.threads));
  json.key("weight_bytes").number(memory.weight_bytes).key("table_bytes").number(memory.table_bytes);
  json.key("code_bytes").number(memory.code_bytes).key("program_bytes").number(memory.program_bytes);
  json.key("held_arena_bytes").number(memory.arena_bytes).key("held_scratch_bytes").number(memory.scratch_bytes);
  json.key("input_bytes").number(memory.input_bytes).key("output_bytes").number(memory.output_bytes);
  json.key("transfer_bytes").number(memory.transfer_bytes).key("host_bytes").number(report.hostBytes());
  json.key("device_weight_bytes").number(memory.device_weight_bytes);
  json.key("device_arena_bytes").number(memory.device_arena_bytes).endObject();
}

} // namespace heddle::cli
