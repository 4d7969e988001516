// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What attn.sdpa and attn.online_sdpa have in common.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNINTERFACES_TD
#define HEDDLE_DIALECTS_ATTN_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_AttentionInterface : OpInterface<"AttentionInterface"> {
  let cppNamespace = "::heddle::attn";
  let description = [{
    Query, key, value and the regions of an attention, whether it is whole or in running form. Maps are over (b,
    n, q, kv, d) and have their default, BSND, where the attribute is absent; capture maps are over (b, n, q,
    kv).
  }];
  let methods = [
    InterfaceMethod<[{The query tensor.}], "::mlir::Value", "getQuery">,
    InterfaceMethod<[{The key tensor.}], "::mlir::Value", "getKey">,
    InterfaceMethod<[{The value tensor.}], "::mlir::Value", "getValue">,
    InterfaceMethod<[{Scale as an f32 scalar tensor; null where it is the attribute.}], "::mlir::Value",
                    "getScaleOperand">,
    InterfaceMethod<[{Absolute position of row 0 minus that of key 0, a scalar or one a batch; null for 0.}],
                    "::mlir::Value", "getQOffset">,
    InterfaceMethod<[{Number of valid keys a batch; null for all.}], "::mlir::Value", "getKvLen">,
    InterfaceMethod<[{Tensors that the score region reads, in the order of its arguments.}], "::mlir::OperandRange",
                    "getScoreCaptures">,
    InterfaceMethod<[{Tensors that the mask region reads, in the order of its arguments.}], "::mlir::OperandRange",
                    "getMaskCaptures">,
    InterfaceMethod<[{Scale of an integer query; null where query is a float.}], "::mlir::Value", "getQueryScale">,
    InterfaceMethod<[{Zero point of an integer query; null for 0.}], "::mlir::Value", "getQueryZeroPoint">,
    InterfaceMethod<[{Scale of an integer key; null where key is a float.}], "::mlir::Value", "getKeyScale">,
    InterfaceMethod<[{Zero point of an integer key; null for 0.}], "::mlir::Value", "getKeyZeroPoint">,
    InterfaceMethod<[{Scale of an integer value; null where value is a float.}], "::mlir::Value", "getValueScale">,
    InterfaceMethod<[{Zero point of an integer value; null for 0.}], "::mlir::Value", "getValueZeroPoint">,
    InterfaceMethod<[{Scale where it is the attribute.}], "::std::optional<::llvm::APFloat>", "getScale">,
    InterfaceMethod<[{Step of quantised weights; nothing where they are floats.}],
                    "::std::optional<::llvm::APFloat>", "getProbabilityScale">,
    InterfaceMethod<[{What a row gives whose keys are all masked.}], "::heddle::attn::FullyMasked",
                    "getFullyMasked">,
    InterfaceMethod<[{Changes one score; may be empty.}], "::mlir::Region &", "getScore">,
    InterfaceMethod<[{Tells whether a query sees a key; may be empty.}], "::mlir::Region &", "getMask">,
    InterfaceMethod<[{Number of query heads.}], "uint64_t", "getQNumHeads">,
    InterfaceMethod<[{Number of key and value heads.}], "uint64_t", "getKvNumHeads">,
    InterfaceMethod<[{Where the elements of query are.}], "::mlir::AffineMap", "getQueryMapOrDefault">,
    InterfaceMethod<[{Where the elements of key are.}], "::mlir::AffineMap", "getKeyMapOrDefault">,
    InterfaceMethod<[{Where the elements of value are.}], "::mlir::AffineMap", "getValueMapOrDefault">,
    InterfaceMethod<[{Where the elements of the output, or of the accumulator, are.}], "::mlir::AffineMap",
                    "getOutputMapOrDefault">,
    InterfaceMethod<[{One map a score capture.}], "::llvm::SmallVector<::mlir::AffineMap>",
                    "getScoreCaptureMapList">,
    InterfaceMethod<[{One map a mask capture.}], "::llvm::SmallVector<::mlir::AffineMap>", "getMaskCaptureMapList">,
  ];
}

#endif // HEDDLE_DIALECTS_ATTN_ATTNINTERFACES_TD
