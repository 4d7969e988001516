// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--bucket 32,64,128`: entry points of their own for some sizes of one dynamic dimension, most often the length.

#ifndef HEDDLE_COMPILER_PIPELINES_BUCKETS_H
#define HEDDLE_COMPILER_PIPELINES_BUCKETS_H

#include "compiler/support/Error.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace heddle {

/// The dimension and its sizes, ascending, each once. Without sizes there are no buckets.
struct Buckets {
  std::string dimension;
  std::vector<int64_t> sizes;

  /// "sequence=32,64,128", whatever way it was asked for.
  std::string str() const;
};

/// Reads |text|, "sequence=32,64,128", against the dynamic dimensions of @main's inputs. Without a name the dimension
/// is the only one that leads no input: the first is the batch.
mlir::FailureOr<Buckets> parseBuckets(mlir::ModuleOp module, llvm::StringRef text, ErrorList &errors);

/// Adds a copy of @main for each size, named after it, whose inputs have it. The types within stay as they are:
/// nn-infer-shapes makes them exact.
void addBuckets(mlir::ModuleOp module, const Buckets &buckets);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_BUCKETS_H
