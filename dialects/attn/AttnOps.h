// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn's ops. See AttnSdpaOps.td for what attention computes.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNOPS_H
#define HEDDLE_DIALECTS_ATTN_ATTNOPS_H

#include "dialects/attn/AttnDialect.h"
#include "dialects/nn/NnOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle::attn {

/// The order of region and map dimensions: (b, n, q, kv, d), and (b, n, q, kv) for captures.
enum Dimension : unsigned { kBatch, kHead, kQuery, kKey, kHeadSize };

/// `(b, n, q, kv, d) -> (b, q, n, d)`, or with |sequence| kKey `-> (b, kv, n, d)`.
mlir::AffineMap getBsndMap(mlir::MLIRContext *context, Dimension sequence);

/// `(b, n, q, kv, d) -> (b, n, q, d)`, or with |sequence| kKey `-> (b, n, kv, d)`.
mlir::AffineMap getBnsdMap(mlir::MLIRContext *context, Dimension sequence);

} // namespace heddle::attn

#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.h.inc"

#endif // HEDDLE_DIALECTS_ATTN_ATTNOPS_H
