// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calibration data: the files that --calibrate names, handed to the compiler one sample at a time.

#pragma once

#include "compiler/driver/heddle_compiler.h"
#include "tools/heddle/handles.h"

#include <exception>
#include <fstream>
#include <string>
#include <vector>

namespace heddle::cli {

/// A stream of samples that can start anew: a .npz file is one, a line of a .jsonl file is one. Only one is in memory.
class Calibration {
public:
  /// |paths| are .npz or .jsonl files, or folders, whose .npz files are taken in the order of their names. Throws for a
  /// path that is none of these.
  explicit Calibration(const std::vector<std::string> &paths);
  Calibration(const Calibration &) = delete;
  Calibration &operator=(const Calibration &) = delete;

  bool empty() const { return files.empty(); }
  /// Reads all samples once, and throws for one that is none: before the compiler has worked for nothing.
  void check();
  /// Lets |options| read from here; this must outlive the compilation.
  void attach(heddle_compile_options_t &options);
  /// Throws what kept a sample from being read, if something did.
  void rethrow() const;

private:
  static int next(void *user, size_t index, heddle_compiler_sample_t *out_sample);
  void addFile(const std::string &path);
  bool read(size_t index);
  bool readLine();
  void readArchive(const std::string &path);
  void parseLine(std::string_view line);
  void addIds(const std::string &key, std::string_view text);
  void describe(heddle_compiler_sample_t &sample);

  std::vector<std::string> files;
  size_t current = 0; ///< file that is read, and the line within it
  size_t line = 0;
  std::ifstream lines; ///< open while |current| is a .jsonl file that has been started
  std::string name;    ///< of the sample, for messages
  std::vector<std::pair<std::string, TensorPtr>> arrays;
  std::vector<heddle_compiler_tensor_t> tensors;
  std::exception_ptr failure;
};

} // namespace heddle::cli
