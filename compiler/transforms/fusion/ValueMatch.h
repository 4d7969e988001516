// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What raising asks of single values: is it a number, is it the same as another one, what lies behind its casts.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_VALUEMATCH_H
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_VALUEMATCH_H

#include "dialects/nn/NnOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace heddle::nn {

/// The number that all elements of |value| are; nothing where they may differ or it isn't constant.
std::optional<double> getNumber(mlir::Value value);

/// Takes |op| apart where it combines a tensor with one number and keeps the tensor's type: the tensor and the number.
struct NumberOperand {
  mlir::Value tensor;
  double number;
  bool isOnRight;
};
std::optional<NumberOperand> matchNumberOperand(BinaryOp op);

/// True where |a| and |b| have the same elements because they are computed alike. Importers note a name on each result,
/// so that equal nodes aren't merged before. Looks a few ops deep.
bool areSame(mlir::Value a, mlir::Value b, unsigned depth = 0);

/// |value| before conversions between float types. The types that were converted to go into |types|.
mlir::Value stripCasts(mlir::Value value, llvm::SmallVectorImpl<mlir::Type> *types = nullptr);

/// |value| before conversions to a float type that holds every value of the one before.
mlir::Value stripExactCasts(mlir::Value value);

/// Adds |counts| to the module's attribute nn.raised; nothing where all are 0.
void noteRaised(mlir::ModuleOp module, llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> counts);

/// Puts |replacement| into the place of |output|, whose name in the model file it takes over.
void replaceOutput(mlir::Value output, mlir::Value replacement);

} // namespace heddle::nn

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_VALUEMATCH_H
