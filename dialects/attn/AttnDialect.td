// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect attn: what model files mean by attention.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNDIALECT_TD
#define HEDDLE_DIALECTS_ATTN_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::heddle::attn";
  let summary = "What model files mean: attention over all heads, with scalar score and mask regions";
  let description = [{
    One op holds a whole attention: the layouts of its tensors are index maps, its biases and masks are regions on
    scalars. So no transpose is materialised, and every variant is the same op to tile, fuse and generate.

    Dimensions are named (b, n, q, kv, d): batch, head, query, key and head size. Where a map belongs to keys or
    values, n counts their heads, and query head h reads key head h floordiv (q_num_heads / kv_num_heads). Where it
    belongs to values or the output, d counts the value head size, which may differ from that of queries and keys.

    The default layout is BSND, `(b, n, q, kv, d) -> (b, q, n, d)`; BNSD is `(b, n, q, kv, d) -> (b, n, q, d)`.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif // HEDDLE_DIALECTS_ATTN_ATTNDIALECT_TD
