// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and dimension names of a model's inputs and outputs.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_ENTRYTYPES_H
#define HEDDLE_COMPILER_IMPORT_ONNX_ENTRYTYPES_H

#include "compiler/import/onnx/onnx-ml.pb.h"
#include "compiler/support/Error.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace heddle::importer {

/// The type of an input or output, and the name that the file gives to each dimension; empty where it gives none.
struct EntryType {
  mlir::RankedTensorType type;
  std::vector<std::string> dims;
};

/// The type that |input| declares. H0205 where its rank is unknown, H0206 for elements that aren't supported, H0207
/// where it is no tensor.
mlir::FailureOr<EntryType> readEntryType(const ::onnx::ValueInfoProto &input, mlir::MLIRContext *context,
                                         llvm::StringRef file, ErrorList &errors);

/// The type of |value| with the names of |output|'s declaration. Files often declare outputs wrongly, so of their
/// shapes only names are taken, and these only where the rank is right; H0204 where the element type differs.
mlir::FailureOr<EntryType> readResultType(const ::onnx::ValueInfoProto &output, mlir::Value value, llvm::StringRef file,
                                          ErrorList &errors);

/// Makes the attributes nn.name and nn.dims. A `?` that the file has no name for gets one that occurs nowhere else.
class DimensionNames {
public:
  /// Names in use in the file, which invented ones must differ from.
  explicit DimensionNames(const std::vector<const ::onnx::ValueInfoProto *> &inputs,
                          const std::vector<const ::onnx::ValueInfoProto *> &outputs);

  mlir::DictionaryAttr makeAttributes(llvm::StringRef name, const EntryType &type, mlir::Builder &builder);

private:
  llvm::StringSet<> used;
};

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_ENTRYTYPES_H
