// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching of node names, and the nearest ones for messages.

#include "compiler/transforms/quantization/NodePatterns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

/// Patterns of more alternatives than this ("{a,b}{c,d}...") are a mistake.
static constexpr size_t kMaxAlternatives = 1024;

NodePatterns::NodePatterns(ArrayRef<std::string> texts) {
  for (const std::string &text : texts) {
    Entry &entry = entries.emplace_back();
    entry.text = text;
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(entry.text, kMaxAlternatives);
    if (glob)
      entry.glob = std::move(*glob);
    else
      entry.fault = llvm::toString(glob.takeError());
  }
}

bool NodePatterns::matches(ArrayRef<StringRef> names) {
  bool any = false;
  // Every pattern is asked, so that none is called useless because another matched first.
  for (Entry &entry : entries)
    if (llvm::any_of(names,
                     [&](StringRef name) { return name == entry.text || (entry.glob && entry.glob->match(name)); })) {
      entry.hasMatched = true;
      any = true;
    }
  return any;
}

/// Up to three of |candidates|, by how little |text| without its wildcards is away from them.
static SmallVector<StringRef> findNearest(StringRef text, ArrayRef<StringRef> candidates) {
  constexpr size_t kShown = 3;
  std::string plain;
  llvm::copy_if(text, std::back_inserter(plain), [](char c) { return c != '*' && c != '?'; });
  llvm::SetVector<StringRef> unique(candidates.begin(), candidates.end());
  SmallVector<std::pair<unsigned, StringRef>> ranked;
  for (StringRef name : unique) {
    // A part of a name is nearer than its letters tell.
    bool isPart = !plain.empty() && name.contains_insensitive(plain);
    ranked.emplace_back(isPart ? 0 : StringRef(plain).edit_distance_insensitive(name), name);
  }
  llvm::sort(ranked);
  SmallVector<StringRef> nearest;
  for (auto &[distance, name] : ArrayRef(ranked).take_front(kShown))
    nearest.push_back(name);
  return nearest;
}

LogicalResult NodePatterns::checkAllMatched(ArrayRef<StringRef> candidates,
                                            llvm::function_ref<InFlightDiagnostic()> emitError) const {
  bool allMatched = true;
  for (const Entry &entry : entries) {
    if (entry.hasMatched)
      continue;
    allMatched = false;
    InFlightDiagnostic diagnostic = emitError();
    if (entry.glob)
      diagnostic << "the pattern '" << entry.text
                 << "' of --exclude matches no product, table or attention that could be quantised";
    else
      diagnostic << "--exclude expects a pattern for node names, got '" << entry.text << "': " << entry.fault;
    SmallVector<StringRef> nearest = findNearest(entry.text, candidates);
    if (!nearest.empty())
      diagnostic.attachNote() << "the nearest names are " << llvm::join(nearest, ", ");
  }
  return success(allMatched);
}
