// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing an einsum equation and inferring its result's shape.

#include "dialects/nn/EinsumEquation.h"

#include "dialects/nn/ShapeInference.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>

using namespace heddle::nn;

static bool fail(std::string &fault, const llvm::Twine &reason) {
  fault = reason.str();
  return false;
}

/// Reads one term: letters, and "..." once at most.
static bool parseTerm(llvm::StringRef text, std::string &term, std::string &fault) {
  while (!text.empty()) {
    if (text.consume_front(" "))
      continue;
    if (text.consume_front("...")) {
      if (llvm::StringRef(term).contains('.'))
        return fail(fault, "expects one ellipsis a term at most");
      term += '.';
    } else if (llvm::isAlpha(text.front())) {
      term += text.front();
      text = text.drop_front();
    } else {
      return fail(fault, llvm::Twine("expects letters, '...', ',' and '->' in the equation, got '") +
                             llvm::Twine(text.front()) + "'");
    }
  }
  return true;
}

std::optional<EinsumEquation> EinsumEquation::parse(llvm::StringRef text, std::string &fault) {
  EinsumEquation equation;
  size_t arrow = text.find("->");
  if (arrow == llvm::StringRef::npos) {
    fault = "expects '->' and the result's letters in the equation";
    return std::nullopt;
  }
  llvm::SmallVector<llvm::StringRef> terms;
  text.take_front(arrow).split(terms, ',');
  std::string letters;
  for (llvm::StringRef term : terms) {
    equation.inputs.emplace_back();
    if (!parseTerm(term, equation.inputs.back(), fault))
      return std::nullopt;
    letters += equation.inputs.back();
  }
  if (!parseTerm(text.drop_front(arrow + 2), equation.output, fault))
    return std::nullopt;
  for (char letter : equation.output) {
    if (llvm::StringRef(equation.output).count(letter) > 1) {
      fault = (llvm::Twine("expects distinct letters in the result, got '") + llvm::Twine(letter) + "' twice").str();
      return std::nullopt;
    }
    if (letter != '.' && !llvm::StringRef(letters).contains(letter)) {
      fault = (llvm::Twine("expects letter '") + llvm::Twine(letter) + "' of the result in an input").str();
      return std::nullopt;
    }
  }
  return equation;
}

/// Notes the extents of one input's letters; its ellipsis takes the dimensions that are left.
static bool collectExtents(llvm::StringRef term, size_t index, llvm::ArrayRef<int64_t> shape,
                           std::map<char, int64_t> &extents, Extents &ellipsis, std::string &fault) {
  bool hasEllipsis = term.contains('.');
  size_t letters = term.size() - hasEllipsis;
  if (hasEllipsis ? letters > shape.size() : letters != shape.size())
    return fail(fault, "expects " + llvm::Twine(shape.size()) + " letters for input " + llvm::Twine(index) +
                           " of rank " + llvm::Twine(shape.size()) + ", got " + llvm::Twine(letters));
  for (char letter : term) {
    if (letter == '.') {
      llvm::ArrayRef<int64_t> covered = shape.take_front(shape.size() - letters);
      Extents joined;
      shape = shape.drop_front(covered.size());
      if (failed(broadcast(std::nullopt, ellipsis, covered, joined)))
        return fail(fault, "expects dimensions under '...' that broadcast, got " + formatList(ellipsis) + " and " +
                               formatList(covered));
      ellipsis = joined;
      continue;
    }
    int64_t extent = shape.front();
    shape = shape.drop_front();
    auto [known, isNew] = extents.try_emplace(letter, extent);
    if (!mayEqual(known->second, extent))
      return fail(fault, llvm::Twine("expects one extent for letter '") + llvm::Twine(letter) + "', got " +
                             llvm::Twine(known->second) + " and " + llvm::Twine(extent));
    known->second = meet(known->second, extent);
    --letters;
  }
  return true;
}

bool EinsumEquation::inferShape(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes, llvm::SmallVectorImpl<int64_t> &result,
                                std::string &fault) const {
  if (shapes.size() != inputs.size())
    return fail(fault, "expects " + llvm::Twine(inputs.size()) + " inputs, got " + llvm::Twine(shapes.size()));
  std::map<char, int64_t> extents;
  Extents ellipsis;
  for (size_t i = 0; i < shapes.size(); ++i)
    if (!collectExtents(inputs[i], i, shapes[i], extents, ellipsis, fault))
      return false;
  for (char letter : output) {
    if (letter == '.')
      result.append(ellipsis.begin(), ellipsis.end());
    else
      result.push_back(extents.at(letter));
  }
  return true;
}
