// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads calibration data. Of JSON a line holds either a list of ids or an object of such lists under the inputs' names.

#include "tools/heddle/calibration.h"

#include "tools/heddle/error.h"
#include "tools/heddle/files.h"
#include "tools/heddle/literal.h"
#include "tools/heddle/npz.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <filesystem>

namespace heddle::cli {

static bool endsWith(const std::string &text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Calibration::Calibration(const std::vector<std::string> &paths) {
  namespace fs = std::filesystem;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      addFile(path);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry &entry : fs::directory_iterator(path, error))
      if (endsWith(entry.path().string(), ".npz"))
        found.push_back(entry.path().string());
    if (error || found.empty())
      fail(Exit::Usage, "H0140", "folder '" + path + "' holds no .npz files", "in --calibrate " + path);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
}

void Calibration::addFile(const std::string &path) {
  if (!endsWith(path, ".npz") && !endsWith(path, ".jsonl"))
    fail(Exit::Usage, "H0140", "'" + path + "' is no calibration data", "in --calibrate " + path,
         "expects .npz files with arrays under the inputs' names, a folder of them, or .jsonl with ids on each line");
  if (!std::filesystem::exists(path))
    fail(Exit::File, "H0520", "cannot read '" + path + "': no such file", "in --calibrate " + path);
  files.push_back(path);
}

void Calibration::check() {
  for (size_t index = 0; read(index);)
    ++index;
}

void Calibration::attach(heddle_compile_options_t &options) {
  if (empty())
    return;
  options.samples = &Calibration::next;
  options.samples_user = this;
}

void Calibration::rethrow() const {
  if (failure)
    std::rethrow_exception(failure);
}

/// Exceptions don't cross the compiler's interface: they wait here until it has returned.
int Calibration::next(void *user, size_t index, heddle_compiler_sample_t *out_sample) {
  auto &self = *static_cast<Calibration *>(user);
  try {
    if (!self.read(index))
      return 0;
    self.describe(*out_sample);
    return 1;
  } catch (...) {
    self.failure = std::current_exception();
    return -1;
  }
}

bool Calibration::read(size_t index) {
  if (index == 0) {
    current = 0;
    lines.close();
  }
  for (; current < files.size(); ++current) {
    const std::string &path = files[current];
    if (endsWith(path, ".npz")) {
      readArchive(path);
      ++current;
      return true;
    }
    if (!lines.is_open()) {
      line = 0;
      lines.clear();
      lines.open(path);
      if (!lines)
        fail(Exit::File, "H0520", "cannot read '" + path + "'");
    }
    if (readLine())
      return true;
    lines.close();
  }
  return false;
}

void Calibration::readArchive(const std::string &path) {
  name = path;
  arrays.clear();
  NpzReader archive(readFile(path), path);
  for (const std::string &key : archive.keys())
    arrays.emplace_back(key, archive.read(key));
}

/// The next line that holds something; false at the end of the file.
bool Calibration::readLine() {
  std::string text;
  while (std::getline(lines, text)) {
    ++line;
    name = files[current] + ", line " + std::to_string(line);
    if (trim(text).empty())
      continue;
    arrays.clear();
    parseLine(trim(text));
    return true;
  }
  return false;
}

void Calibration::addIds(const std::string &key, std::string_view text) {
  // One sequence is a batch of one.
  bool isBatch = text.size() > 1 && !trim(text.substr(1)).empty() && trim(text.substr(1)).front() == '[';
  std::string batch = isBatch ? std::string(text) : "[" + std::string(text) + "]";
  auto refuse = [&] {
    fail(Exit::Usage, "H0140", "expects a list of ids, got " + std::string(text.substr(0, 60)), "in " + name,
         "as in [101, 2023, 102]; sequences of one batch are of one length");
  };
  if (text.front() != '[')
    refuse();
  try {
    arrays.emplace_back(key, parseLiteral(batch, HEDDLE_ELEMENT_I64, 0));
  } catch (const CommandError &) {
    refuse();
  }
  // Without ids there is nothing to compare, and the loss would be called none.
  if (heddle_tensor_element_count(arrays.back().second.get()) == 0)
    refuse();
}

void Calibration::parseLine(std::string_view text) {
  if (text.front() == '[')
    return addIds("", text);
  auto refuse = [&] {
    fail(Exit::Usage, "H0140", "expects a list of ids or an object of lists", "in " + name,
         "as in [101, 2023, 102] or {\"input_ids\": [101, 102], \"attention_mask\": [1, 1]}");
  };
  auto skip = [&](char expected) {
    text = trim(text);
    if (text.empty() || text.front() != expected)
      refuse();
    text.remove_prefix(1);
  };
  skip('{');
  for (bool isFirst = true; trim(text) != "}"; isFirst = false) {
    if (!isFirst)
      skip(',');
    skip('"');
    size_t end = text.find('"');
    if (end == text.npos)
      refuse();
    std::string key(text.substr(0, end));
    text.remove_prefix(end + 1);
    skip(':');
    text = trim(text);
    // Lists hold numbers and lists alone: the value ends where its brackets do.
    size_t length = 0, depth = 0;
    do {
      if (length == text.size())
        refuse();
      depth += text[length] == '[' ? 1 : text[length] == ']' && depth > 0 ? -1 : 0;
      ++length;
    } while (depth > 0);
    addIds(key, text.substr(0, length));
    text.remove_prefix(length);
  }
}

void Calibration::describe(heddle_compiler_sample_t &sample) {
  static_assert(sizeof(long long) == sizeof(int64_t), "dimensions are passed on as they are");
  tensors.clear();
  for (const auto &[key, tensor] : arrays)
    tensors.push_back({key.c_str(), heddle_tensor_type(tensor.get()), heddle_tensor_rank(tensor.get()),
                       reinterpret_cast<const long long *>(heddle_tensor_dims(tensor.get())),
                       heddle_tensor_data(tensor.get())});
  sample = {name.c_str(), tensors.data(), tensors.size()};
}

} // namespace heddle::cli
