// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn's attributes: its enums in attribute form are all there are, index maps being upstream's affine maps.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNATTRIBUTES_TD
#define HEDDLE_DIALECTS_ATTN_ATTNATTRIBUTES_TD

include "dialects/attn/AttnEnums.td"

#endif // HEDDLE_DIALECTS_ATTN_ATTNATTRIBUTES_TD
