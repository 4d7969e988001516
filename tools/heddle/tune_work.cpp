// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files and devices of tuning runs.

#include "tools/heddle/tune_work.h"

#include "tools/heddle/child_process.h"
#include "tools/heddle/error.h"
#include "tools/heddle/fingerprint.h"

#include <filesystem>

namespace heddle::cli {

namespace fs = std::filesystem;

WorkFolder::WorkFolder(const std::string &output) : path(output + ".work") {
  std::error_code error;
  fs::create_directory(path, error);
  if (error)
    fail(Exit::File, "H0521", "cannot create the folder '" + path + "': " + error.message(), {},
         "the folder above it must be there and writable");
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove(path, ignored); // if there is nothing in it
}

void WorkFolder::remove() const {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void tell(const std::vector<std::string> &remarks) {
  for (const std::string &remark : remarks)
    note(remark);
}

TuningLines readOutput(const std::string &path) {
  TuningLines lines;
  std::vector<std::string> remarks;
  if (fs::exists(path))
    lines.read(path, remarks);
  tell(remarks);
  return lines;
}

std::string surveyDevice(const ExecutionOptions &execution) {
  const unsigned threads = execution.threads ? execution.threads : heddle_default_thread_count();
  return runInChild([&] { return fingerprintOf(execution.device, threads); }, "asking for devices");
}

std::string countLines(size_t count) { return std::to_string(count) + (count == 1 ? " line" : " lines"); }

} // namespace heddle::cli
