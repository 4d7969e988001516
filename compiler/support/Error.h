// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The errors that users see, as every room of the compiler reports them: code, message, one line of context, one of
// help (interface.md). A function that can fail returns a LogicalResult and adds to an ErrorList; MLIR's diagnostics
// are turned into the same form by DiagnosticCapture.

#ifndef HEDDLE_COMPILER_SUPPORT_ERROR_H
#define HEDDLE_COMPILER_SUPPORT_ERROR_H

#include "compiler/support/ErrorCodes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <vector>

namespace heddle {

enum class ErrorCode {
#define HEDDLE_CASE(code, summary, explanation) code,
  HEDDLE_COMPILER_ERROR_CODES(HEDDLE_CASE)
#undef HEDDLE_CASE
};

/// "H0204".
llvm::StringRef stringifyErrorCode(ErrorCode code);

/// The process's exit code for an error of this code: 2 usage, 3 model not supported, 4 device, 5 file, 1 a missed
/// bound, 70 bug.
int exitCodeOf(ErrorCode code);

/// One message. The texts hold no line breaks at their ends; |context| and |help| may be empty, and a line break
/// within them starts another indented line.
struct Error {
  ErrorCode code;
  std::string message; ///< "node 'encoder/MatMul_2': inputs [?,12] and [13,?] do not multiply"
  std::string context; ///< "in model.onnx, op MatMul (opset 17)"
  std::string help;    ///< "the last dimension of A must equal the second-to-last of B"
};

/// The errors of one call, in the order of discovery. Not for use by several threads at once.
class ErrorList {
public:
  /// Adds |error|; returns failure, so that a caller can leave with it.
  mlir::LogicalResult add(Error error) {
    errors.push_back(std::move(error));
    return mlir::failure();
  }

  bool empty() const { return errors.empty(); }
  llvm::ArrayRef<Error> getErrors() const { return errors; }

  /// The exit code of the first error, 0 where there is none.
  int exitCode() const { return errors.empty() ? 0 : exitCodeOf(errors.front().code); }

  /// Prints all in the form of interface.md: `error[Hxxxx]: message`, context, `help: ...`.
  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  std::vector<Error> errors;
};

/// What a location means to the user: the model's node, and what it is ("op MatMul (opset 17)"). Either may be empty.
struct LocationText {
  std::string node;
  std::string description;
};
using LocationDescriber = std::function<LocationText(mlir::Location)>;

/// Turns MLIR's errors into the house's form while it lives: errors of |context|'s diagnostics engine become errors of
/// |code| in |errors|, their notes the help line. Warnings and remarks go on to the next handler. |errors| must outlive
/// it.
class DiagnosticCapture : public mlir::ScopedDiagnosticHandler {
public:
  /// |file| is the model file's name for the context line; |describe| tells the node at a location.
  DiagnosticCapture(mlir::MLIRContext *context, ErrorList &errors, ErrorCode code, llvm::StringRef file,
                    LocationDescriber describe);
};

/// The error that |diagnostic| is, as DiagnosticCapture makes it.
Error makeError(mlir::Diagnostic &diagnostic, ErrorCode code, llvm::StringRef file, const LocationDescriber &describe);

} // namespace heddle

#endif // HEDDLE_COMPILER_SUPPORT_ERROR_H
