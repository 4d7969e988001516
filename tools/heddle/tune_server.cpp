// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests are "check ROW CANDIDATE" and "measure ROW CANDIDATE FIRST"; answers are what the bench returns, as text.

#include "tools/heddle/tune_server.h"

#include "tools/heddle/text.h"

#include <cstdlib>
#include <sstream>

namespace heddle::cli {

/// Far more than a check or a pair takes; what runs longer never ends.
static constexpr double kPatience = 120;

static void serve(const Channel &channel, PairBench &bench) {
  channel.send("ready");
  for (Message message = channel.receive(); message.kind == Message::Kind::Text; message = channel.receive()) {
    std::istringstream request(message.text);
    std::string verb;
    size_t row = 0, candidate = 0;
    bool baselineFirst = false;
    request >> verb >> row >> candidate >> baselineFirst;
    if (verb == "check") {
      channel.send(bench.check(row, candidate));
      continue;
    }
    std::ostringstream answer;
    answer.precision(17);
    answer << bench.measure(row, candidate, baselineFirst);
    channel.send(answer.str());
  }
}

void PairServer::start() {
  if (child)
    return;
  child.emplace([this](const Channel &channel) { serve(channel, *makeBench()); });
  if (child->receive(kPatience))
    return;
  const std::string reason = child->end();
  child.reset();
  fail(Exit::Device, "H0420", "the process that measures can't start: " + reason);
}

std::optional<std::string> PairServer::ask(const std::string &request, std::string &failure) {
  start();
  try {
    if (child->send(request))
      if (std::optional<std::string> answer = child->receive(kPatience))
        return answer;
    failure = child->end().empty() ? "ended its process" : child->end();
  } catch (const CommandError &error) {
    failure = splitLines(error.text).empty() ? "failed" : std::string(splitLines(error.text)[0]);
  }
  child.reset();
  return std::nullopt;
}

std::optional<std::string> PairServer::check(size_t row, size_t candidate) {
  std::string failure;
  std::optional<std::string> difference =
      ask("check " + std::to_string(row) + " " + std::to_string(candidate), failure);
  if (!difference)
    return failure;
  return difference->empty() ? std::nullopt : difference;
}

std::optional<double> PairServer::measure(size_t row, size_t candidate, bool baselineFirst, std::string &failure) {
  std::optional<std::string> answer =
      ask("measure " + std::to_string(row) + " " + std::to_string(candidate) + (baselineFirst ? " 1" : " 0"), failure);
  return answer ? std::optional(std::strtod(answer->c_str(), nullptr)) : std::nullopt;
}

} // namespace heddle::cli
