// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads JSON that others may have written: files of tuning and their journals. A value has one text, so that two of
// them are the same exactly if their texts are.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// A value of JSON. The members of an object are sorted by their keys, each key once: a later one wins.
struct JsonValue {
  enum class Kind { Null, Boolean, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  std::string text; ///< of a string, without escapes; of a number, as it was written
  std::vector<std::string> keys;
  std::vector<JsonValue> elements; ///< of an array, or of an object in the order of |keys|

  bool isObject() const { return kind == Kind::Object; }
  /// The member of an object, or null.
  const JsonValue *find(std::string_view key) const;
  /// The member if it is a string; nothing otherwise.
  std::optional<std::string> findString(std::string_view key) const;
  std::optional<int64_t> findInteger(std::string_view key) const;
  std::optional<double> findNumber(std::string_view key) const;

  /// Without blanks and line ends, members sorted.
  std::string line() const;
};

/// The value that |text| is, blanks around it aside. Nothing, and in |error| what is wrong and where, if it is none or
/// nested deeper than 64 levels.
std::optional<JsonValue> parseJson(std::string_view text, std::string &error);

} // namespace heddle::cli
