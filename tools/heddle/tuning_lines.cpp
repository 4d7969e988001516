// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading is forgiving line by line: a damaged one costs that one kernel's tuning.

#include "tools/heddle/tuning_lines.h"

#include "tools/heddle/files.h"
#include "tools/heddle/json.h"
#include "tools/heddle/text.h"

#include <cmath>

namespace heddle::cli {

static constexpr int64_t kVersion = 1;

std::string TuningEntry::line() const {
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject().key("heddle_tuning").number(kVersion);
  json.key("device").literal(device).key("signature").string(signature).key("rows").string(rows);
  json.key("config").literal(config).key("ratio").number(ratio).key("pairs").number(pairs);
  json.key("producer").string(producer).endObject();
  return json.take();
}

std::optional<TuningEntry> parseTuningLine(std::string_view line, std::string &reason) {
  std::optional<JsonValue> value = parseJson(line, reason);
  if (!value)
    return std::nullopt;
  const std::optional<int64_t> version = value->findInteger("heddle_tuning");
  const JsonValue *device = value->find("device"), *config = value->find("config");
  const std::optional<std::string> signature = value->findString("signature"), rows = value->findString("rows");
  if (!version)
    reason = "expects \"heddle_tuning\", the version";
  else if (*version != kVersion)
    reason = "it has version " + std::to_string(*version) + ", this command reads " + std::to_string(kVersion);
  else if (!device || !device->isObject())
    reason = "expects \"device\", an object";
  else if (!signature || signature->empty())
    reason = "expects \"signature\", a text";
  else if (!rows || rows->empty())
    reason = "expects \"rows\", a text";
  else if (!config || !config->isObject())
    reason = "expects \"config\", an object";
  else
    return TuningEntry{device->line(),
                       *signature,
                       *rows,
                       config->line(),
                       value->findNumber("ratio").value_or(std::nan("")),
                       value->findInteger("pairs").value_or(0),
                       value->findString("producer").value_or("")};
  return std::nullopt;
}

void TuningLines::read(const std::string &path, std::vector<std::string> &remarks) {
  const std::string bytes = readFile(path);
  size_t number = 0;
  for (std::string_view line : splitLines(bytes)) {
    ++number;
    if (trim(line).empty())
      continue;
    std::string reason;
    if (std::optional<TuningEntry> entry = parseTuningLine(line, reason))
      add(*entry);
    else
      remarks.push_back(std::string(path).append(":").append(std::to_string(number)).append(": line left out: ") +=
                        reason);
  }
}

void TuningLines::add(TuningEntry entry) {
  auto key = std::make_tuple(entry.device, entry.signature, entry.rows);
  entries.insert_or_assign(std::move(key), std::move(entry));
}

std::string TuningLines::text() const {
  std::string text;
  for (const auto &[key, entry] : entries)
    text += entry.line();
  return text;
}

void TuningLines::write(const std::string &path) const {
  OutputFile file(path);
  file.write(text());
  file.commit();
}

} // namespace heddle::cli
