// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The journal of a tuning run: every measurement is there before the next one begins, so that a run that is killed
// loses at most one, and the next run goes on from there.

#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

/// A configuration of a kernel for a bucket of rows; |config| is JSON in its one text.
struct Trial {
  std::string signature, rows, config;

  bool operator<(const Trial &other) const;
};

/// A file of lines, open for appending. One thread uses it.
class TuneJournal {
public:
  /// Opens the journal at |path|, or makes it. What is there counts if it is of the same |run|, a text with all that
  /// measurements depend on; else it starts anew. A last line without its end is dropped. |remarks| receives a sentence
  /// for all that was dropped. Throws if the file can't be read or written.
  TuneJournal(std::string path, const std::string &run, std::vector<std::string> &remarks);
  ~TuneJournal();
  TuneJournal(const TuneJournal &) = delete;
  TuneJournal &operator=(const TuneJournal &) = delete;

  /// The next ratio of |trial| to the configuration |baseline| that an earlier run measured; each is handed out once.
  std::optional<double> takeRatio(const Trial &trial, const std::string &baseline);
  /// Why |trial| can't be used, as this or an earlier run found.
  const std::string *findFailure(const Trial &trial) const;
  const std::map<Trial, std::string> &failures() const { return reasons; }

  /// On return the line is on the disk.
  void addRatio(const Trial &trial, const std::string &baseline, double ratio);
  void addFailure(const Trial &trial, const std::string &reason);

  /// Whether it was there, and is of this run.
  bool isResumed() const { return wasThere; }
  /// Ratios that were there when the journal was opened.
  size_t resumedCount() const { return resumed; }

private:
  std::string load(const std::string &run, std::vector<std::string> &remarks);
  void readLine(std::string_view line, std::vector<std::string> &remarks);
  void append(const std::string &line);
  [[noreturn]] void failToWrite() const;

  std::string path;
  int file = -1;
  std::map<std::pair<Trial, std::string>, std::deque<double>> ratios;
  std::map<Trial, std::string> reasons;
  bool wasThere = false;
  size_t resumed = 0;
};

} // namespace heddle::cli
