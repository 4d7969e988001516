// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parser by recursive descent after RFC 8259.

#include "tools/heddle/json_value.h"

#include "tools/heddle/json.h"

#include <algorithm>
#include <charconv>

namespace heddle::cli {

namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::optional<JsonValue> parse(std::string &error) {
    JsonValue value;
    bool isFine = parseValue(value, 0);
    skipBlanks();
    if (isFine && at != text.size())
      isFine = fail("expects the end");
    if (isFine)
      return value;
    error = problem;
    return std::nullopt;
  }

private:
  static constexpr int kDeepest = 64;

  bool fail(const char *expected) {
    problem = std::string(expected) + " at character " + std::to_string(at + 1);
    return false;
  }

  void skipBlanks() {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
      ++at;
  }

  /// Takes |token| if it is next.
  bool take(std::string_view token) {
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }

  bool parseValue(JsonValue &value, int depth) {
    if (depth > kDeepest)
      return fail("expects less nesting");
    skipBlanks();
    if (take("{"))
      return parseObject(value, depth);
    if (take("["))
      return parseArray(value, depth);
    if (take("\"")) {
      value.kind = JsonValue::Kind::String;
      return parseString(value.text);
    }
    if (take("null"))
      return true;
    value.boolean = text.substr(at, 4) == "true";
    value.kind = JsonValue::Kind::Boolean;
    return take("true") || take("false") || parseNumber(value);
  }

  bool parseObject(JsonValue &value, int depth) {
    value.kind = JsonValue::Kind::Object;
    skipBlanks();
    if (take("}"))
      return true;
    do {
      skipBlanks();
      std::string key;
      JsonValue member;
      if (!take("\""))
        return fail("expects a name in quotes");
      if (!parseString(key))
        return false;
      skipBlanks();
      if (!take(":"))
        return fail("expects ':'");
      if (!parseValue(member, depth + 1))
        return false;
      insert(value, std::move(key), std::move(member));
      skipBlanks();
    } while (take(","));
    return take("}") || fail("expects ',' or '}'");
  }

  static void insert(JsonValue &object, std::string key, JsonValue member) {
    auto place = std::lower_bound(object.keys.begin(), object.keys.end(), key);
    const auto offset = place - object.keys.begin();
    if (place != object.keys.end() && *place == key) {
      object.elements[static_cast<size_t>(offset)] = std::move(member);
      return;
    }
    object.keys.insert(place, std::move(key));
    object.elements.insert(object.elements.begin() + offset, std::move(member));
  }

  bool parseArray(JsonValue &value, int depth) {
    value.kind = JsonValue::Kind::Array;
    skipBlanks();
    if (take("]"))
      return true;
    do {
      value.elements.emplace_back();
      if (!parseValue(value.elements.back(), depth + 1))
        return false;
      skipBlanks();
    } while (take(","));
    return take("]") || fail("expects ',' or ']'");
  }

  /// What follows the opening quote, up to and with the closing one.
  bool parseString(std::string &out) {
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '"') {
        ++at;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("expects no control character in a string");
      if (c != '\\')
        out += c;
      else if (!parseEscape(out))
        return false;
    }
    return fail("expects a closing quote");
  }

  /// From a backslash to the last character of its escape.
  bool parseEscape(std::string &out) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    ++at;
    const char letter = at < text.size() ? text[at] : '\0';
    if (size_t i = letters.find(letter); letter && i != std::string_view::npos) {
      out += meanings[i];
      return true;
    }
    uint32_t code = 0;
    if (letter != 'u' || !parseHex(code))
      return fail("expects an escape");
    if (code >= 0xD800 && code < 0xDC00) { // the first half of a pair
      uint32_t low = 0;
      if (text.substr(at + 1, 2) != "\\u")
        return fail("expects the second half of a surrogate pair");
      at += 2;
      if (!parseHex(low) || low < 0xDC00 || low > 0xDFFF)
        return fail("expects the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
      return fail("expects the first half of a surrogate pair");
    }
    appendUtf8(out, code);
    return true;
  }

  /// The four digits behind a 'u'; stays at the last of them.
  bool parseHex(uint32_t &code) {
    const std::string_view digits = text.substr(at + 1, 4);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
      return false;
    at += 4;
    return true;
  }

  static void appendUtf8(std::string &out, uint32_t code) {
    auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
      return;
    }
    if (code < 0x800) {
      add(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        add(0xE0 | code >> 12);
      } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
      }
      add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }

  size_t countDigits() const {
    size_t count = 0;
    while (at + count < text.size() && text[at + count] >= '0' && text[at + count] <= '9')
      ++count;
    return count;
  }

  bool takeDigits() {
    const size_t count = countDigits();
    at += count;
    return count > 0;
  }

  bool parseNumber(JsonValue &value) {
    const size_t begin = at;
    value.kind = JsonValue::Kind::Number;
    take("-");
    if (countDigits() > 1 && text[at] == '0')
      return fail("expects no leading zero");
    if (!takeDigits())
      return fail("expects a value");
    if (take(".") && !takeDigits())
      return fail("expects digits");
    if (take("e") || take("E")) {
      if (!take("+"))
        take("-");
      if (!takeDigits())
        return fail("expects digits");
    }
    value.text = text.substr(begin, at - begin);
    return true;
  }

  std::string_view text;
  size_t at = 0;
  std::string problem;
};

void write(const JsonValue &value, JsonWriter &json) {
  switch (value.kind) {
  case JsonValue::Kind::Null:
    json.null();
    return;
  case JsonValue::Kind::Boolean:
    json.boolean(value.boolean);
    return;
  case JsonValue::Kind::Number:
    json.literal(value.text);
    return;
  case JsonValue::Kind::String:
    json.string(value.text);
    return;
  case JsonValue::Kind::Array:
    json.beginArray();
    for (const JsonValue &element : value.elements)
      write(element, json);
    json.endArray();
    return;
  case JsonValue::Kind::Object:
    json.beginObject();
    for (size_t i = 0; i < value.keys.size(); ++i)
      write(value.elements[i], json.key(value.keys[i]));
    json.endObject();
    return;
  }
}

} // namespace

const JsonValue *JsonValue::find(std::string_view key) const {
  auto place = std::lower_bound(keys.begin(), keys.end(), key);
  return place != keys.end() && *place == key ? &elements[static_cast<size_t>(place - keys.begin())] : nullptr;
}

std::optional<std::string> JsonValue::findString(std::string_view key) const {
  const JsonValue *value = find(key);
  return value && value->kind == Kind::String ? std::optional(value->text) : std::nullopt;
}

template <typename Number> static std::optional<Number> parse(const JsonValue *value) {
  Number number = 0;
  if (!value || value->kind != JsonValue::Kind::Number)
    return std::nullopt;
  const char *last = value->text.data() + value->text.size();
  auto [end, error] = std::from_chars(value->text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> JsonValue::findInteger(std::string_view key) const { return parse<int64_t>(find(key)); }
std::optional<double> JsonValue::findNumber(std::string_view key) const { return parse<double>(find(key)); }

std::string JsonValue::line() const {
  JsonWriter json(JsonWriter::Layout::Line);
  write(*this, json);
  std::string text = json.take();
  text.pop_back();
  return text;
}

std::optional<JsonValue> parseJson(std::string_view text, std::string &error) { return Parser(text).parse(error); }

} // namespace heddle::cli
