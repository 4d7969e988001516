// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of the rt dialect.

#ifndef HEDDLE_DIALECTS_RT_RTTYPES_TD
#define HEDDLE_DIALECTS_RT_RTTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/rt/RtDialect.td"

def Rt_BufferType : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "device memory: an input, an output, a constant or a part of the arena";
}

#endif // HEDDLE_DIALECTS_RT_RTTYPES_TD
