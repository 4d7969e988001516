// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes as text and as exit codes, the printed form, and the way from MLIR's diagnostics.

#include "compiler/support/Error.h"

#include "compiler/support/PrintableText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

llvm::StringRef stringifyErrorCode(ErrorCode code) {
  switch (code) {
#define HEDDLE_CASE(code, summary, explanation)                                                                        \
  case ErrorCode::code:                                                                                                \
    return #code;
    HEDDLE_COMPILER_ERROR_CODES(HEDDLE_CASE)
#undef HEDDLE_CASE
  }
  return "H0902";
}

int exitCodeOf(ErrorCode code) {
  // The third character is the class, see ErrorCodes.h.
  switch (stringifyErrorCode(code)[2]) {
  case '1':
  case '3':
    return 2;
  case '2':
    return 3;
  case '4':
    return 4;
  case '5':
    return 5;
  case '6':
    return 1;
  default:
    return 70;
  }
}

/// Prints |text| with two spaces before each line, |label| before the first.
static void printIndented(llvm::raw_ostream &os, llvm::StringRef label, llvm::StringRef text) {
  if (text.empty())
    return;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  os << "  " << label << lines.front() << "\n";
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front())
    os << "  " << line << "\n";
}

void ErrorList::print(llvm::raw_ostream &os) const {
  for (const Error &error : errors) {
    os << "error[" << stringifyErrorCode(error.code) << "]: " << makePrintable(error.message, /*keepsLines=*/false)
       << "\n";
    printIndented(os, "", makePrintable(error.context, /*keepsLines=*/true));
    printIndented(os, "help: ", makePrintable(error.help, /*keepsLines=*/true));
  }
}

std::string ErrorList::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

/// The message without the `'nn.matmul' op ` that emitOpError puts in front: users know nodes, not our ops.
static llvm::StringRef withoutOpName(llvm::StringRef message) {
  if (!message.starts_with("'"))
    return message;
  auto [name, rest] = message.drop_front().split("' op ");
  return rest.empty() || name.contains(' ') ? message : rest;
}

Error makeError(Diagnostic &diagnostic, ErrorCode code, llvm::StringRef file, const LocationDescriber &describe) {
  LocationText where = describe(diagnostic.getLocation());
  std::string text = diagnostic.str();
  Error error{code, withoutOpName(text).str(), "", ""};
  if (!where.node.empty())
    error.message = "node '" + where.node + "': " + error.message;
  if (!file.empty())
    error.context = "in " + file.str();
  if (!where.description.empty())
    error.context += (error.context.empty() ? "" : ", ") + where.description;
  // Notes name other places or what to do about it: one line each.
  llvm::SmallVector<std::string> notes;
  for (Diagnostic &note : diagnostic.getNotes())
    notes.push_back(note.str());
  error.help = llvm::join(notes, "\n");
  return error;
}

DiagnosticCapture::DiagnosticCapture(MLIRContext *context, ErrorList &errors, ErrorCode code, llvm::StringRef file,
                                     LocationDescriber describe)
    : ScopedDiagnosticHandler(context) {
  setHandler([&errors, code, file = file.str(), describe = std::move(describe)](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    (void)errors.add(makeError(diagnostic, code, file, describe));
    return success();
  });
}

} // namespace heddle
