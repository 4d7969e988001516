// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An artifact loaded into the runtime, for the compiler's own measurements, and the way between the runtime's tensors
// and the reference evaluator's.

#ifndef HEDDLE_COMPILER_MEASURE_RUNTIMESESSION_H
#define HEDDLE_COMPILER_MEASURE_RUNTIMESESSION_H

#include "compiler/reference/HostTensor.h"
#include "compiler/support/Error.h"

#include <heddle/heddle.h>
#include <memory>
#include <vector>

namespace heddle {

struct TensorRelease {
  void operator()(heddle_tensor_t *tensor) const { heddle_tensor_release(tensor); }
};
using TensorPtr = std::unique_ptr<heddle_tensor_t, TensorRelease>;

/// One program with its pool and session. Not for use by several threads at once.
class RuntimeSession {
public:
  RuntimeSession() = default;
  RuntimeSession(const RuntimeSession &) = delete;
  RuntimeSession &operator=(const RuntimeSession &) = delete;
  ~RuntimeSession();

  /// Maps the artifact at |path|, which may be deleted afterwards, for |device| ("": its default). Call it once.
  mlir::LogicalResult load(llvm::StringRef path, llvm::StringRef device, unsigned threads, ErrorList &errors);

  /// What the artifact says of itself; lives as long as the session.
  const heddle_program_info_t &getInfo() const { return *heddle_program_info(program); }
  /// The general entry point.
  const heddle_entry_info_t &getEntry() const { return getInfo().entries[0]; }
  /// Whether a run may leave input |index| of it out.
  bool hasDefault(size_t index) const { return heddle_program_default_input(program, nullptr, index) != nullptr; }
  heddle_session_t *get() const { return session; }

  /// One run of the general entry point; |inputs| are in its order, null where a default stands for them.
  mlir::FailureOr<std::vector<TensorPtr>> run(llvm::ArrayRef<const heddle_tensor_t *> inputs, ErrorList &errors);

private:
  heddle_thread_pool_t *pool = nullptr;
  heddle_program_t *program = nullptr;
  heddle_session_t *session = nullptr;
};

/// The error that |status| stands for; releases it.
mlir::LogicalResult addStatus(ErrorList &errors, ErrorCode code, heddle_status_t status);

/// The element type of artifact.fbs as MLIR's.
mlir::Type toType(mlir::MLIRContext *context, int elementType);

/// A tensor of the runtime with |host|'s elements; null where memory is short.
TensorPtr makeTensor(const reference::HostTensor &host, ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_MEASURE_RUNTIMESESSION_H
