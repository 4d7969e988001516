// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands before and beside attention: the merged projection, rotary positions, the cache.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNSURROUNDOPS_TD
#define HEDDLE_DIALECTS_ATTN_ATTNSURROUNDOPS_TD

include "dialects/attn/AttnSdpaOps.td"
include "dialects/nn/NnOpBase.td"

def Attn_QkvProjectionOp : Op<Attn_Dialect, "qkv_projection", [Pure, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "One product giving query, key and value";
  let description = [{
    `x (B, S, D) @ weight (D, columns) + bias (columns)`, whose columns are the query heads, then the key heads,
    then the value heads: `columns = q_num_heads * head_size + kv_num_heads * (head_size + v_head_size)`. The
    results are BSND: query (B, S, q_num_heads, head_size), key and value (B, S, kv_num_heads, head_size or
    v_head_size). They are views of one tensor.

    Example:

    ```mlir
    %q, %k, %v = attn.qkv_projection %x, %w, %b
        {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, head_size = 32 : i64, v_head_size = 32 : i64}
       : (tensor<?x?x384xf32>, tensor<384x1152xf32>, tensor<1152xf32>)
       -> (tensor<?x?x12x32xf32>, tensor<?x?x12x32xf32>, tensor<?x?x12x32xf32>)
    ```

    Errors: `expects a weight of shape [384, 1152], got [384, 1024]`; `expects a bias of shape [1152], got [1024]`.
  }];
  let arguments = (ins Attn_FloatTensor:$input, Attn_FloatTensor:$weight, Optional<Attn_FloatTensor>:$bias,
                       I64Attr:$q_num_heads, I64Attr:$kv_num_heads, I64Attr:$head_size, I64Attr:$v_head_size);
  let results = (outs Attn_FloatTensor:$query, Attn_FloatTensor:$key, Attn_FloatTensor:$value);
  let hasVerifier = 1;
  let extraClassDefinition = Nn_InferTypesDefinition;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Attn_RopeOp : Op<Attn_Dialect, "rope", [Pure, AllTypesMatch<["input", "output"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "Rotates pairs of channels by the position";
  let description = [{
    The first R = `rotary_embedding_dim` channels of each head are R/2 pairs, (k, k + R/2), or (2k, 2k + 1) with
    `interleaved`; channels from R on are copied:

        y[first]  = cos[k] * x[first] - sin[k] * x[second]
        y[second] = sin[k] * x[first] + cos[k] * x[second]

    cos and sin are (positions, R/2), read at `position_ids` (B, S), or without these (B, S, R/2) with B
    possibly 1. They hold the angles of every scaling scheme, so the op knows none. The input's `layout` is bsnd
    or bnsd.

    Example:

    ```mlir
    func.func @rotate(%q: tensor<?x?x12x64xf32>, %cos: tensor<2048x16xf32>, %sin: tensor<2048x16xf32>,
                      %positions: tensor<?x?xi64>) -> tensor<?x?x12x64xf32> {
      %y = attn.rope bsnd %q, %cos, %sin, %positions {rotary_embedding_dim = 32 : i64}
         : tensor<?x?x12x64xf32>, tensor<2048x16xf32>, tensor<?x?xi64>
      return %y : tensor<?x?x12x64xf32>
    }
    ```

    Errors: `expects an even rotary_embedding_dim within [2, 64], got 65`; `expects cos and sin of shape [?,
    16], got [2048, 32]`.
  }];
  let arguments = (ins Attn_LayoutAttr:$layout, Attn_FloatTensor:$input, Attn_FloatTensor:$cos, Attn_FloatTensor:$sin,
                       Optional<Attn_LengthTensor>:$position_ids, I64Attr:$rotary_embedding_dim,
                       UnitAttr:$interleaved);
  let results = (outs Attn_FloatTensor:$output);
  let assemblyFormat = [{
    `` $layout $input `,` $cos `,` $sin (`,` $position_ids^)? attr-dict
    `:` type($input) `,` type($cos) (`,` type($position_ids)^)?
  }];
  let hasVerifier = 1;
}

def Attn_KvCacheUpdateOp : Op<Attn_Dialect, "kv_cache_update", [Pure, AllTypesMatch<["cache", "output"]>]> {
  let summary = "Writes new keys or values into a cache";
  let description = [{
    The cache, with `update` in the rows `write_indices[b] + i` along `axis` of batch b (dimension 0; from row 0
    where absent). Mode `linear`: the rows must fit, or it is an error when the program runs; `circular`: row
    numbers are taken modulo the cache's length. A functional form of a write in place: the outliner lets the
    result share the cache's memory.

    Example:

    ```mlir
    func.func @append(%cache: tensor<?x4x2048x64xf32>, %k: tensor<?x4x?x64xf32>, %at: tensor<?xi64>)
        -> tensor<?x4x2048x64xf32> {
      %new = attn.kv_cache_update linear %cache, %k, %at {axis = 2 : i64}
         : tensor<?x4x2048x64xf32>, tensor<?x4x?x64xf32>, tensor<?xi64>
      return %new : tensor<?x4x2048x64xf32>
    }
    ```

    Errors: `expects axis within [1, 4), got 0`; `expects an update of shape [?, 4, ?, 64], got [?, 5, ?, 64]`.
  }];
  let arguments = (ins Attn_CacheModeAttr:$mode, AnyRankedTensor:$cache, AnyRankedTensor:$update,
                       Optional<Attn_LengthTensor>:$write_indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    `` $mode $cache `,` $update (`,` $write_indices^)? attr-dict
    `:` type($cache) `,` type($update) (`,` type($write_indices)^)?
  }];
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECTS_ATTN_ATTNSURROUNDOPS_TD
