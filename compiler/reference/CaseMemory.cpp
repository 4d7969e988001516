// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements by heddle/self_test.h, as the runtime makes them.

#include "compiler/reference/CaseMemory.h"

#include <cmath>
#include <limits>

#include <heddle/self_test.h>

using namespace mlir;

namespace heddle::reference {

/// More than f32 arithmetic and our polynomials err, less than what anyone would call wrong.
static constexpr double kNoise = 0x1p-19;

static int64_t countElements(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

CaseMemory::CaseMemory(kernel::FuncOp func, ArrayRef<int64_t> sizes, ArrayRef<SelfTestInput> inputs, Noise noise)
    : recipes(inputs), reaches(inputs.size(), 0), outputs(func.getResultTypes().size()), noise(noise) {
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    inputTensors.push_back({cast<RankedTensorType>(func.getArgumentTypes()[i]).getElementType(),
                            countElements(getInputDims(func, i, sizes))});
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
    outputTensors.push_back({cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                             countElements(getResultDims(func, i, sizes))});
}

Scalar CaseMemory::read(unsigned input, int64_t position) {
  const SelfTestInput &recipe = recipes[input];
  const Tensor &tensor = inputTensors[input];
  isSound &= position >= 0 && position < tensor.count;
  reaches[input] = std::max(reaches[input], position + 1);
  auto place = static_cast<uint64_t>(position);
  bool isZero = recipe.columns != 0 &&
                heddle_self_test_is_padding(place, recipe.columns, recipe.depth, recipe.width, recipe.group);
  if (isa<FloatType>(tensor.element)) {
    unsigned bits = tensor.element.getIntOrFloatBitWidth() == 16 ? 8 : 16;
    return makeScalar(isZero ? 0.0 : std::ldexp(heddle_self_test_fraction(recipe.seed, place, bits), -int(bits)));
  }
  bool isBool = tensor.element.isInteger(1);
  uint32_t value = isZero ? 0 : heddle_self_test_integer(recipe.seed, place, isBool ? 2 : recipe.limit);
  return makeScalar(IntFormat::of(tensor.element).wrap(value));
}

void CaseMemory::write(unsigned output, int64_t position, Scalar value) {
  const Tensor &tensor = outputTensors[output];
  isSound &= position >= 0 && position < tensor.count;
  if (auto integer = dyn_cast<IntegerType>(tensor.element))
    value = makeScalar(IntFormat::of(integer).wrap(value.integer));
  else
    value = makeScalar(roundToType(value.number, tensor.element));
  outputs[output][position] = value;
}

double CaseMemory::round(double exact, bool isCorrect) {
  // What f32 doesn't reach is infinite there.
  if (noise != Noise::None && std::abs(exact) > std::numeric_limits<float>::max())
    return std::copysign(INFINITY, exact);
  // A sum or product that f32 has comes out just so.
  if (noise == Noise::None || (isCorrect && static_cast<double>(static_cast<float>(exact)) == exact))
    return exact;
  bool isUp = (heddle_self_test_bits(1, roundings++) & 1) == (noise == Noise::Some);
  return exact * (isUp ? 1 + kNoise : 1 - kNoise);
}

} // namespace heddle::reference
