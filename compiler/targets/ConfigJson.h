// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of #kernel.lowering_config as JSON and back: integers, strings, lists and objects. This is how tuning files
// and lists of candidates hold them.

#ifndef HEDDLE_COMPILER_TARGETS_CONFIGJSON_H
#define HEDDLE_COMPILER_TARGETS_CONFIGJSON_H

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/JSON.h"

namespace heddle {

/// |config| as a JSON object. Its attributes must be those that parseConfig makes.
llvm::json::Object configToJson(mlir::DictionaryAttr config);
/// The same as text without blanks, keys sorted: equal configs have equal texts.
std::string formatConfig(mlir::DictionaryAttr config);

/// |config| as attributes: numbers are i64, lists of nothing but numbers, and at least one, array<i64>, all others
/// lists of attributes. Null where it holds something else (a fraction, true, null) or is nested too deeply for any
/// config.
mlir::DictionaryAttr parseConfig(const llvm::json::Object &config, mlir::MLIRContext *context);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_CONFIGJSON_H
