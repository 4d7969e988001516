// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of a model, in every form that a TensorProto can have them: raw bytes, typed fields, files beside the
// model.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_TENSORDATA_H
#define HEDDLE_COMPILER_IMPORT_ONNX_TENSORDATA_H

#include "compiler/import/onnx/ExternalFiles.h"
#include "compiler/import/onnx/ModelFile.h"
#include "compiler/import/onnx/WireScan.h"
#include "compiler/import/onnx/onnx-ml.pb.h"
#include "mlir/IR/BuiltinTypes.h"

namespace heddle::importer {

/// The greatest number of dimensions that a tensor may have.
constexpr int kMaxRank = 8;

/// The MLIR type of a TensorProto::DataType; null where Heddle doesn't compute with it (strings, complex, 8-bit
/// floats).
mlir::Type getElementType(int dataType, mlir::MLIRContext *context);

/// The name of a TensorProto::DataType in lower case, "float16".
std::string getDataTypeName(int dataType);

/// A constant as nn.constant takes it.
struct Constant {
  mlir::RankedTensorType type;
  mlir::Attribute value;
};

/// The attribute for a constant whose bytes, laid out as raw_data, lie in no file: a literal up to 4 KiB, beyond that a
/// resource called |name|.
mlir::Attribute makeConstantValue(mlir::RankedTensorType type, llvm::ArrayRef<char> raw, llvm::StringRef name);

/// Reads tensors of one model. Everything they claim is checked against what the file has before it is used.
class TensorReader {
public:
  /// |file| and |payloads| must outlive it.
  TensorReader(mlir::MLIRContext *context, const ModelFile &file, llvm::ArrayRef<Payload> payloads, ErrorList &errors)
      : context(context), file(file), payloads(payloads), externalFiles(file.getFolder()), errors(errors) {}

  /// The constant that |tensor| is: a literal up to 4 KiB, beyond that a range of a file where the bytes lie there as
  /// they are, else a resource. |what| names it in errors: "tensor 'weight'", "node 'Constant_3'".
  mlir::FailureOr<Constant> read(const ::onnx::TensorProto &tensor, llvm::StringRef what);

private:
  mlir::FailureOr<mlir::RankedTensorType> readType(const ::onnx::TensorProto &tensor, llvm::StringRef what);
  mlir::FailureOr<mlir::Attribute> readExternal(const ::onnx::TensorProto &tensor, mlir::RankedTensorType type,
                                                llvm::StringRef what);
  mlir::FailureOr<mlir::Attribute> readPayload(const ::onnx::TensorProto &tensor, mlir::RankedTensorType type,
                                               llvm::StringRef what);
  mlir::LogicalResult fail(ErrorCode code, const llvm::Twine &message, llvm::StringRef help = "");

  mlir::MLIRContext *context;
  const ModelFile &file;
  llvm::ArrayRef<Payload> payloads;
  ExternalFiles externalFiles;
  ErrorList &errors;
};

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_TENSORDATA_H
