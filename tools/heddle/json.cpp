// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON writer.

#include "tools/heddle/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace heddle::cli {

/// Length of the UTF-8 sequence that |text| starts with, or 0 if it is not well formed (RFC 3629: no overlong forms,
/// no surrogates, nothing past U+10FFFF).
static size_t utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    bool allowed = lead == 0xE0 ? byte(1) >= 0xA0 : lead != 0xED || byte(1) <= 0x9F;
    return allowed && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bool allowed = lead == 0xF0 ? byte(1) >= 0x90 : lead != 0xF4 || byte(1) <= 0x8F;
    return allowed && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

static void appendEscaped(std::string &out, std::string_view value) {
  while (!value.empty()) {
    size_t length = utf8Length(value);
    unsigned char c = static_cast<unsigned char>(value[0]);
    if (length == 0) {
      out += "\\ufffd";
      length = 1;
    } else if (c == '"' || c == '\\') {
      out += {'\\', value[0]};
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += value.substr(0, length);
    }
    value.remove_prefix(length);
  }
}

void JsonWriter::startValue() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (counts.empty())
    return;
  if (counts.back()++)
    out += ',';
  startLine();
}

void JsonWriter::startLine() {
  if (layout == Layout::Line)
    return;
  out += '\n';
  out.append(2 * counts.size(), ' ');
}

JsonWriter &JsonWriter::open(char bracket) {
  startValue();
  out += bracket;
  counts.push_back(0);
  return *this;
}

JsonWriter &JsonWriter::close(char bracket) {
  bool empty = counts.back() == 0;
  counts.pop_back();
  if (!empty)
    startLine();
  out += bracket;
  return *this;
}

JsonWriter &JsonWriter::raw(std::string_view text) {
  startValue();
  out += text;
  return *this;
}

JsonWriter &JsonWriter::key(std::string_view name) {
  string(name);
  out += layout == Layout::Line ? ":" : ": ";
  afterKey = true;
  return *this;
}

JsonWriter &JsonWriter::string(std::string_view value) {
  startValue();
  out += '"';
  appendEscaped(out, value);
  out += '"';
  return *this;
}

JsonWriter &JsonWriter::number(double value) {
  if (!std::isfinite(value))
    return null();
  char text[40];
  return raw({text, static_cast<size_t>(std::to_chars(text, text + sizeof text, value).ptr - text)});
}

JsonWriter &JsonWriter::strings(const std::vector<std::string> &values) {
  beginArray();
  for (const std::string &value : values)
    string(value);
  return endArray();
}

std::string JsonWriter::take() { return std::move(out) + "\n"; }

} // namespace heddle::cli
