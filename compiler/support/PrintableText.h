// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names come from files and reach terminals: what a terminal would obey is taken out of them.

#ifndef HEDDLE_COMPILER_SUPPORT_PRINTABLETEXT_H
#define HEDDLE_COMPILER_SUPPORT_PRINTABLETEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle {

/// |text| with `?` for each control character, line breaks but for |keepsLines| included. Thread-safe.
inline std::string makePrintable(llvm::StringRef text, bool keepsLines) {
  std::string printable = text.str();
  for (char &c : printable)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = c == '\n' && keepsLines ? c : '?';
  return printable;
}

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_PRINTABLETEXT_H
