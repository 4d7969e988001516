// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that an rt.constant is made from, and the arithmetic of its recipe, which is that of nn.quantize_weight.

#ifndef HEDDLE_DIALECTS_RT_CONSTANTSOURCE_H
#define HEDDLE_DIALECTS_RT_CONSTANTSOURCE_H

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/WeightQuantization.h"
#include "dialects/rt/RtDialect.h"

namespace heddle::rt {

/// A view of |source|, one of |constant|'s, as a tensor of |type|; on a fault (no such file, range outside it, missing
/// resource) a diagnostic at |constant|. The dialect nn must be loaded: it keeps the mapped files.
mlir::FailureOr<nn::ConstantData> readSource(ConstantOp constant, mlir::Attribute source, mlir::RankedTensorType type);

} // namespace heddle::rt

#endif // HEDDLE_DIALECTS_RT_CONSTANTSOURCE_H
