// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rt dialect and its type. See README.md for the idea.

#ifndef HEDDLE_DIALECTS_RT_RTDIALECT_TD
#define HEDDLE_DIALECTS_RT_RTDIALECT_TD

include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::heddle::rt";
  let summary = "What the runtime does, op for op";
  let description = [{
    A module holds `rt.constant`s, `kernel.func`s and one `rt.func` per entry point. An `rt.func` first computes all
    sizes (`rt.shape_func`), then names its memory, then runs dispatches. Each op is one record of the artifact
    (runtime/include/heddle/artifact.fbs), so that writing the artifact holds no logic.
  }];
  let useDefaultTypePrinterParser = 1;
}

#endif // HEDDLE_DIALECTS_RT_RTDIALECT_TD
