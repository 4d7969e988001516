// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of attn's ops: attention itself, and what surrounds it.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNOPS_TD
#define HEDDLE_DIALECTS_ATTN_ATTNOPS_TD

include "dialects/attn/AttnSdpaOps.td"
include "dialects/attn/AttnSurroundOps.td"

#endif // HEDDLE_DIALECTS_ATTN_ATTNOPS_TD
