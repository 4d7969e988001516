// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata are Python's text of a list, from the whole program to the node:
//
//     ['', 'encoder', 'encoder.layer.0', 'encoder.layer.0.attention', 'linear_3']

#include "compiler/import/onnx/ModulePath.h"

#include "llvm/ADT/SmallVector.h"

namespace heddle::importer {

namespace {

constexpr llvm::StringLiteral kKey = "pkg.torch.onnx.name_scopes";
/// Ten modules deep, each with a name of a hundred letters: what is longer is no path that helps anybody.
constexpr size_t kMaxEntry = 1024;

/// The strings of a list in Python's notation; none if |text| isn't one, or has strings with escapes.
llvm::SmallVector<llvm::StringRef> readList(llvm::StringRef text) {
  if (!text.consume_front("[") || !text.consume_back("]") || text.contains('\\'))
    return {};
  llvm::SmallVector<llvm::StringRef> strings;
  while (!text.empty()) {
    if (!strings.empty() && !text.consume_front(", "))
      return {};
    char quote = text.empty() ? '\0' : text.front();
    size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : llvm::StringRef::npos;
    if (end == llvm::StringRef::npos)
      return {};
    strings.push_back(text.slice(1, end));
    text = text.drop_front(end + 1);
  }
  return strings;
}

std::string joinScopes(llvm::ArrayRef<llvm::StringRef> scopes) {
  std::string path;
  llvm::StringRef outer;
  for (llvm::StringRef scope : scopes) {
    // The program itself has no name.
    if (scope.empty())
      continue;
    llvm::StringRef inner = scope;
    if (inner.consume_front(outer) && !outer.empty() && !inner.consume_front("."))
      inner = scope;
    path += (path.empty() ? "" : "/") + inner.str();
    outer = scope;
  }
  return path;
}

} // namespace

bool namesModules(llvm::StringRef entry) {
  // Field 1, a string: the key, which every writer puts first.
  constexpr char kTag = 1 << 3 | 2;
  return entry.size() <= kMaxEntry && entry.size() > kKey.size() + 2 && entry[0] == kTag &&
         entry[1] == static_cast<char>(kKey.size()) && entry.substr(2).starts_with(kKey);
}

std::string getModulePath(const ::onnx::NodeProto &node) {
  for (const ::onnx::StringStringEntryProto &entry : node.metadata_props())
    if (entry.key() == kKey)
      return joinScopes(readList(entry.value()));
  return {};
}

} // namespace heddle::importer
