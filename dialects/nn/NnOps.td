// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of nn's ops, one file a family.

#ifndef HEDDLE_DIALECTS_NN_NNOPS_TD
#define HEDDLE_DIALECTS_NN_NNOPS_TD

include "dialects/nn/NnConstantOps.td"
include "dialects/nn/NnElementwiseOps.td"
include "dialects/nn/NnReductionOps.td"
include "dialects/nn/NnContractionOps.td"
include "dialects/nn/NnShapeOps.td"
include "dialects/nn/NnIndexingOps.td"
include "dialects/nn/NnQuantizationOps.td"
include "dialects/nn/NnResamplingOps.td"

#endif // HEDDLE_DIALECTS_NN_NNOPS_TD
