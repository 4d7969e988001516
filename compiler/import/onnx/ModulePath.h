// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which module of the exported program a node comes from. PyTorch's exporter names nodes after operators
// ("node_linear_3") and puts the modules into the node's metadata.

#ifndef HEDDLE_COMPILER_IMPORT_ONNX_MODULEPATH_H
#define HEDDLE_COMPILER_IMPORT_ONNX_MODULEPATH_H

#include "compiler/import/onnx/onnx-ml.pb.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::importer {

/// Whether |entry|, an entry of metadata_props as it lies in the file, is the one that getModulePath reads. The scan
/// drops all others: stack traces are a kilobyte a node.
bool namesModules(llvm::StringRef entry);

/// "encoder/layer.0/attention/linear_3": the modules around |node|, each relative to the one before, then what it is
/// there. "" where the file doesn't tell.
std::string getModulePath(const ::onnx::NodeProto &node);

} // namespace heddle::importer

#endif // HEDDLE_COMPILER_IMPORT_ONNX_MODULEPATH_H
