// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first line says what run the journal is of, each other line holds one ratio or one failure.

#include "tools/heddle/tune_journal.h"

#include "tools/heddle/error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/json.h"
#include "tools/heddle/json_value.h"
#include "tools/heddle/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <tuple>
#include <unistd.h>

namespace heddle::cli {

static constexpr int64_t kVersion = 1;

bool Trial::operator<(const Trial &other) const {
  return std::tie(signature, rows, config) < std::tie(other.signature, other.rows, other.config);
}

static std::string headerLine(const std::string &run) {
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject().key("heddle_tune_journal").number(kVersion).key("run").string(run).endObject();
  return json.take();
}

static JsonWriter beginLine(const Trial &trial) {
  JsonWriter json(JsonWriter::Layout::Line);
  json.beginObject().key("signature").string(trial.signature).key("rows").string(trial.rows);
  json.key("config").literal(trial.config);
  return json;
}

TuneJournal::TuneJournal(std::string journalPath, const std::string &run, std::vector<std::string> &remarks)
    : path(std::move(journalPath)) {
  const std::string kept = load(run, remarks);
  wasThere = !kept.empty();
  // Written anew whole: what was dropped must not stand before what comes.
  OutputFile output(path);
  output.write(kept.empty() ? headerLine(run) : kept);
  output.commit();
  file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0)
    failToWrite();
}

TuneJournal::~TuneJournal() {
  if (file >= 0)
    close(file);
}

/// Reads what an earlier run left, and returns its bytes as far as they count.
std::string TuneJournal::load(const std::string &run, std::vector<std::string> &remarks) {
  if (access(path.c_str(), F_OK) != 0)
    return {};
  std::string bytes = readFile(path);
  const size_t whole = bytes.rfind('\n') + 1; // 0 where there is none
  if (whole != bytes.size())
    remarks.push_back(path + ": dropped the last line, which is half-written");
  bytes.resize(whole);
  const std::string header = headerLine(run);
  if (bytes.substr(0, header.size()) != header) {
    if (!bytes.empty())
      remarks.push_back(path + ": it is of another model, device, shape or version: starting anew");
    return {};
  }
  for (std::string_view line : splitLines(std::string_view(bytes).substr(header.size())))
    readLine(line, remarks);
  return bytes;
}

void TuneJournal::readLine(std::string_view line, std::vector<std::string> &remarks) {
  std::string reason;
  const std::optional<JsonValue> value = parseJson(line, reason);
  const JsonValue *config = value ? value->find("config") : nullptr;
  if (!config) {
    remarks.push_back(path + ": dropped a damaged line");
    return;
  }
  const Trial trial{value->findString("signature").value_or(""), value->findString("rows").value_or(""),
                    config->line()};
  if (std::optional<std::string> failure = value->findString("failure")) {
    reasons[trial] = *failure;
    return;
  }
  const std::optional<double> ratio = value->findNumber("ratio");
  const JsonValue *baseline = value->find("baseline");
  if (!ratio || !(*ratio > 0) || !baseline) {
    remarks.push_back(path + ": dropped a damaged line");
    return;
  }
  ratios[{trial, baseline->line()}].push_back(*ratio);
  ++resumed;
}

std::optional<double> TuneJournal::takeRatio(const Trial &trial, const std::string &baseline) {
  auto found = ratios.find({trial, baseline});
  if (found == ratios.end() || found->second.empty())
    return std::nullopt;
  const double ratio = found->second.front();
  found->second.pop_front();
  return ratio;
}

const std::string *TuneJournal::findFailure(const Trial &trial) const {
  auto found = reasons.find(trial);
  return found == reasons.end() ? nullptr : &found->second;
}

void TuneJournal::addRatio(const Trial &trial, const std::string &baseline, double ratio) {
  append(beginLine(trial).key("baseline").literal(baseline).key("ratio").number(ratio).endObject().take());
}

void TuneJournal::addFailure(const Trial &trial, const std::string &reason) {
  reasons[trial] = reason;
  append(beginLine(trial).key("failure").string(reason).endObject().take());
}

void TuneJournal::append(const std::string &line) {
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = write(file, line.data() + done, line.size() - done);
    if (count < 0 && errno != EINTR)
      failToWrite();
    done += count > 0 ? static_cast<size_t>(count) : 0;
  }
  if (fdatasync(file) != 0 && errno != EINVAL) // what is no file on a disk can't be synchronised
    failToWrite();
}

void TuneJournal::failToWrite() const {
  fail(Exit::File, "H0521", "cannot write '" + path + "': " + std::strerror(errno));
}

} // namespace heddle::cli
