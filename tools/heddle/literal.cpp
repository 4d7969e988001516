// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser of literals: recursive lists whose shape is fixed by the first element of each level.

#include "tools/heddle/literal.h"

#include "tools/heddle/element.h"
#include "tools/heddle/text.h"

#include <algorithm>
#include <charconv>

namespace heddle::cli {

namespace {

class LiteralParser {
public:
  LiteralParser(std::string_view text, heddle_element_type_t type)
      : whole(trim(text)), text(whole), type(type), elementSize(heddle_element_type_size(type)) {}

  TensorPtr parse(size_t scalarRank) {
    if (peek() == '[') {
      parseList(0);
    } else {
      // 1,2,3 stands for [1,2,3].
      int64_t count = 1;
      for (parseElement(); accept(','); ++count)
        parseElement();
      if (count > 1 || scalarRank > 0)
        dims.push_back(count);
    }
    if (peek() != '\0')
      failWith("unexpected '" + std::string(1, peek()) + "'");
    TensorPtr tensor = createTensor(type, dims);
    std::copy(elements.begin(), elements.end(), static_cast<char *>(heddle_tensor_data(tensor.get())));
    return tensor;
  }

private:
  [[noreturn]] void failWith(const std::string &reason) {
    size_t place = whole.size() - text.size();
    std::string shown(whole.substr(place > 20 ? place - 20 : 0, 40));
    fail(Exit::Usage, "H0325", "cannot read '" + shown + "' as " + heddle_element_type_name(type) + ": " + reason, {},
         "write numbers as 1,2,3 or [[1,2],[3,4]]");
  }

  char peek() {
    text = trim(text);
    return text.empty() ? '\0' : text.front();
  }

  bool accept(char c) {
    if (peek() != c)
      return false;
    text.remove_prefix(1);
    return true;
  }

  void parseList(size_t depth) {
    accept('[');
    if (depth == HEDDLE_MAX_RANK)
      failWith("more than " + std::to_string(HEDDLE_MAX_RANK) + " dimensions");
    if (dims.size() == depth)
      dims.push_back(-1); // known once this list is closed
    int64_t count = 0;
    if (peek() != ']') {
      do {
        parseItem(depth + 1);
        ++count;
      } while (accept(','));
    }
    if (!accept(']'))
      failWith(peek() ? "expects ',' or ']'" : "a ']' is missing");
    if (dims[depth] == -1)
      dims[depth] = count;
    else if (dims[depth] != count)
      failWith("lists of one level have " + std::to_string(dims[depth]) + " and " + std::to_string(count) +
               " elements");
  }

  /// Something inside |depth| brackets: all of one depth are lists, or all are elements.
  void parseItem(size_t depth) {
    bool isList = peek() == '[';
    if (isList && (elements.empty() || dims.size() > depth))
      return parseList(depth);
    if (isList || dims.size() > depth)
      failWith("lists and numbers are mixed");
    parseElement();
  }

  void parseElement() {
    peek();
    size_t end = std::min(text.find_first_of(",[] \t\r\n"), text.size());
    std::string word = lowered(text.substr(0, end));
    if (word.empty())
      failWith("a number is missing");
    elements.resize(elements.size() + elementSize);
    char *element = elements.data() + elements.size() - elementSize;
    if (isFloat(type))
      parseFloat(word, element);
    else
      parseInteger(word, element);
    text.remove_prefix(end);
  }

  void parseFloat(const std::string &word, char *element) {
    const char *begin = word.data() + (word[0] == '+' ? 1 : 0), *end = word.data() + word.size();
    double value = 0;
    auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end)
      failWith("'" + word + "' is no number");
    storeFloat(type, element, value);
  }

  void parseInteger(const std::string &word, char *element) {
    bool isBool = type == HEDDLE_ELEMENT_BOOL;
    bool negative = word[0] == '-';
    const char *begin = word.data() + (negative || word[0] == '+' ? 1 : 0), *end = word.data() + word.size();
    uint64_t magnitude = isBool && word == "true" ? 1 : 0;
    if (!isBool || (word != "true" && word != "false")) {
      auto [stop, error] = std::from_chars(begin, end, magnitude);
      bool isWhole = error == std::errc() && stop == end;
      if (!isWhole && error != std::errc::result_out_of_range)
        failWith("'" + word + "' is no " + (isBool ? "boolean" : "whole number"));
      if (!isWhole)
        failWith("'" + word + "' is out of range");
    }
    if (!storeInteger(type, element, magnitude, negative))
      failWith("'" + word + "' is out of range");
  }

  std::string_view whole, text;
  heddle_element_type_t type;
  size_t elementSize;
  std::vector<int64_t> dims;
  std::string elements;
};

} // namespace

TensorPtr parseLiteral(std::string_view text, heddle_element_type_t type, size_t scalarRank) {
  return LiteralParser(text, type).parse(scalarRank);
}

} // namespace heddle::cli
