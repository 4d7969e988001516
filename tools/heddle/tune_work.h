// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forms of `heddle tune` share: the device, the file that is written, what a killed run leaves.

#pragma once

#include "tools/heddle/program.h"
#include "tools/heddle/tuning_lines.h"

#include <string>
#include <vector>

namespace heddle::cli {

/// A folder with what a run leaves for the next one, should it be killed: |output|.work. It stays until remove(), if
/// there is something in it.
class WorkFolder {
public:
  explicit WorkFolder(const std::string &output);
  ~WorkFolder();
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;

  std::string file(const char *name) const { return path + "/" + name; }
  void remove() const;

private:
  std::string path;
};

/// Tells what was left out of files.
void tell(const std::vector<std::string> &remarks);

/// The lines of the file that is to be written, if it is there: they stay, and tuning starts from them.
TuningLines readOutput(const std::string &path);

/// The fingerprint of the device, which a child asks for: a driver may end its process.
std::string surveyDevice(const ExecutionOptions &execution);

/// "1 line", "3 lines".
std::string countLines(size_t count);

} // namespace heddle::cli
