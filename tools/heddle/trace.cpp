// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chrome's trace events: "M" names tracks, "X" is a span with its begin and length in microseconds.

#include "tools/heddle/trace.h"

#include "tools/heddle/json.h"

#include <set>

namespace heddle::cli {

namespace {

constexpr uint64_t kProcess = 1;
constexpr uint64_t kCaller = 0;

void nameTrack(JsonWriter &json, const char *what, uint64_t track, const std::string &name) {
  json.beginObject().key("ph").string("M").key("name").string(what).key("pid").number(kProcess);
  json.key("tid").number(track).key("args").beginObject().key("name").string(name).endObject().endObject();
}

JsonWriter &beginSpan(JsonWriter &json, uint64_t track, const std::string &name, int64_t begin, int64_t end) {
  json.beginObject().key("ph").string("X").key("name").string(name).key("pid").number(kProcess);
  json.key("tid").number(track).key("ts").number(static_cast<double>(begin) * 1e-3);
  return json.key("dur").number(static_cast<double>(end - begin) * 1e-3);
}

/// "/layer.0/MatMul and 2 more": names are long, and all of them are among the arguments.
std::string nameOf(const DispatchCost &cost) {
  if (cost.nodes.empty())
    return cost.kernel;
  return cost.nodes[0] + (cost.nodes.size() > 1 ? " and " + std::to_string(cost.nodes.size() - 1) + " more" : "");
}

void writeDispatch(JsonWriter &json, const DispatchCost &cost, const heddle_span_t &span, uint64_t track,
                   int64_t origin) {
  beginSpan(json, track, nameOf(cost), span.begin_nanoseconds - origin, span.end_nanoseconds - origin);
  json.key("cat").string(cost.root).key("args").beginObject();
  json.key("kernel").string(cost.kernel).key("dispatch").number(uint64_t(span.dispatch));
  json.key("nodes").beginArray();
  for (const std::string &node : cost.nodes)
    json.string(node);
  json.endArray().key("items").number(span.items);
  json.key("first_item").number(span.first_item).key("end_item").number(span.end_item);
  json.key("flops").number(cost.flops).key("bytes").number(cost.bytes).endObject().endObject();
}

} // namespace

std::string traceJson(const Profile &profile, const std::string &title, const std::string &device) {
  bool isCpu = device == "cpu";
  const TracedRun &run = profile.traced;
  JsonWriter json;
  json.beginObject().key("displayTimeUnit").string("ns").key("traceEvents").beginArray();
  nameTrack(json, "process_name", kCaller, title);
  nameTrack(json, "thread_name", kCaller, "caller");
  // The device's track stands below the caller's: its spans lie beside what the caller does meanwhile.
  auto trackOf = [&](const heddle_span_t &span) { return uint64_t(span.thread) + (isCpu ? 0 : 1); };
  std::set<uint64_t> tracks = {kCaller};
  for (const heddle_span_t &span : run.spans)
    if (tracks.insert(trackOf(span)).second)
      nameTrack(json, "thread_name", trackOf(span), isCpu ? "heddle-" + std::to_string(span.thread) : device);
  beginSpan(json, kCaller, "run", 0, run.end - run.begin).endObject();
  for (const heddle_span_t &span : run.spans)
    writeDispatch(json, profile.dispatches[span.dispatch], span, trackOf(span), run.begin);
  json.endArray().endObject();
  return json.take();
}

} // namespace heddle::cli
