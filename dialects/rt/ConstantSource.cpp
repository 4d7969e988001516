// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rt.constant takes its bytes from the same kinds of attributes as nn.constant.

#include "dialects/rt/ConstantSource.h"

mlir::FailureOr<heddle::nn::ConstantData> heddle::rt::readSource(ConstantOp constant, mlir::Attribute source,
                                                                 mlir::RankedTensorType type) {
  return nn::ConstantData::get(source, type, [&] { return constant.emitOpError(); });
}
