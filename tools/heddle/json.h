// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes JSON: the caller opens and closes objects and arrays in order, the writer puts commas, line ends and
// escapes. json_value.h reads JSON.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// One thread uses it. Output is valid JSON once every open has its close; bytes of strings that aren't UTF-8 become
/// the replacement character, so that a strange name can't break a reader.
class JsonWriter {
public:
  /// Indented for people, or all on one line without blanks.
  enum class Layout { Indented, Line };

  explicit JsonWriter(Layout layout = Layout::Indented) : layout(layout) {}

  JsonWriter &beginObject() { return open('{'); }
  JsonWriter &endObject() { return close('}'); }
  JsonWriter &beginArray() { return open('['); }
  JsonWriter &endArray() { return close(']'); }

  /// Names the next value of the object that is open.
  JsonWriter &key(std::string_view name);

  JsonWriter &string(std::string_view value);
  JsonWriter &number(int64_t value) { return raw(std::to_string(value)); }
  JsonWriter &number(uint64_t value) { return raw(std::to_string(value)); }
  /// Shortest text that reads back as the same double; null for what JSON has no number for.
  JsonWriter &number(double value);
  JsonWriter &boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter &null() { return raw("null"); }
  /// |json| is a whole value.
  JsonWriter &literal(std::string_view json) { return raw(json); }
  /// An array.
  JsonWriter &strings(const std::vector<std::string> &values);

  /// The text so far, with a final line end.
  std::string take();

private:
  JsonWriter &open(char bracket);
  JsonWriter &close(char bracket);
  JsonWriter &raw(std::string_view text);
  void startValue();
  void startLine();

  Layout layout;
  std::string out;
  /// Number of values in each open bracket.
  std::vector<size_t> counts;
  bool afterKey = false;
};

} // namespace heddle::cli
