// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass over the protobuf wire form of a model that parts graph and weights: what is small goes through protobuf, the
// tensors' data stay where they are in the file. This is what lets files beyond protobuf's 2 GB work, and what keeps
// weights from being copied. Format: https://protobuf.dev/programming-guides/encoding.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_WIRESCAN_H
#define HEDDLE_COMPILER_IMPORT_ONNX_WIRESCAN_H

#include "compiler/support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle::importer {

/// The data of one TensorProto.
struct Payload {
  /// The field of TensorProto that holds it: kRawData, or one of the typed ones.
  unsigned field = 0;
  /// Where in the file it lies. Typed data are the bytes of protobuf's packed form.
  uint64_t offset = 0;
  uint64_t length = 0;
  /// The packed form where the file has it in pieces: then |offset| and |length| mean nothing.
  std::string pieces;
};

/// Field numbers of TensorProto's data.
enum PayloadField : unsigned {
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
};

struct WireScan {
  /// The model without any tensor's data, without documentation and without metadata but for the modules of nodes
  /// (ModulePath.h). A tensor that has data carries in raw_data an index into |payloads| instead, eight bytes,
  /// little-endian.
  std::string skeleton;
  std::vector<Payload> payloads;
};

/// Scans |bytes|, a ModelProto. Nested at most 64 messages deep, at most 1,000,000 nodes, and a skeleton of at most 128
/// MiB (H0518); memory is bounded by the file's size. H0513 where the bytes are no protobuf message.
mlir::FailureOr<WireScan> scanModel(llvm::StringRef bytes, llvm::StringRef file, ErrorList &errors);

/// The index that |rawData| of a tensor in the skeleton holds; nothing for a tensor without data.
std::optional<uint64_t> getPayloadIndex(llvm::StringRef rawData);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_WIRESCAN_H
