// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small text helpers that several commands share: lists, numbers for people, shapes, the nearest name.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

std::string join(const std::vector<std::string> &parts, std::string_view separator);

/// Pieces between |separator|s, empty ones included; one empty piece for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Lines without their line ends; a final line end starts no further line.
std::vector<std::string_view> splitLines(std::string_view text);

std::string_view trim(std::string_view text);

/// |text| with `?` for what a terminal would obey rather than show; line breaks stay. Names come from files.
std::string printable(std::string_view text);

std::string lowered(std::string_view text);
bool startsWith(std::string_view text, std::string_view prefix);
bool endsWith(std::string_view text, std::string_view suffix);

/// Number of insertions, deletions, substitutions and swaps of neighbours that turn |a| into |b|.
size_t editDistance(std::string_view a, std::string_view b);

/// The entry of |known| that |given| most probably meant, or an empty string. A guess must keep about two thirds of
/// the letters: a far-fetched one is worse than the list.
std::string nearestName(std::string_view given, const std::vector<std::string> &known);

/// A whole decimal number without sign or blanks; nothing for anything else or past 2^63 - 1.
std::optional<int64_t> parseCount(std::string_view text);

/// "17.4 MB" (powers of 1000), "512 bytes".
std::string formatBytes(uint64_t bytes);

/// Shortest of fixed and scientific notation with |digits| significant digits.
std::string formatNumber(double value, int digits);

/// |value| with |digits| behind the point; "-" for what isn't a number.
std::string formatFixed(double value, int digits);

/// "1x128", the form of --shape.
std::string formatShape(const std::vector<int64_t> &dims);

} // namespace heddle::cli
