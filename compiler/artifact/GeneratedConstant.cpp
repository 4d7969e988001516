// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/artifact/GeneratedConstant.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

#include <heddle/self_test.h>

using namespace heddle;
using namespace mlir;

namespace {

struct Recipe {
  uint32_t seed, limit, columns, depth, width, group;

  bool isZero(uint64_t i) const {
    return columns != 0 && heddle_self_test_is_padding(i, columns, depth, width, group) != 0;
  }
};

} // namespace

static FailureOr<Recipe> readRecipe(rt::ConstantOp constant, DictionaryAttr made) {
  SmallVector<uint32_t> numbers;
  for (StringRef key : {"seed", "limit", "columns", "depth", "width", "group"}) {
    auto number = made.getAs<IntegerAttr>(key);
    if (!number || number.getInt() < 0 || number.getInt() > UINT32_MAX)
      return constant.emitOpError() << "expects a number '" << key << "' of a source that is made up, got " << made;
    numbers.push_back(number.getInt());
  }
  Recipe recipe = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
  if (recipe.columns != 0 && (recipe.width == 0 || recipe.group == 0))
    return constant.emitOpError() << "expects panels of a width and a group, got " << made;
  return recipe;
}

/// Element |i|, a float of |type|, as its bits.
static uint64_t makeFloat(const Recipe &recipe, uint64_t i, FloatType type) {
  if (recipe.isZero(i))
    return 0;
  unsigned bits = type.getWidth() == 16 ? 8 : 16;
  llvm::APFloat value(std::ldexp(double(heddle_self_test_fraction(recipe.seed, i, bits)), -int(bits)));
  bool losesInfo = false; // it doesn't: such fractions are exact
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

/// f32 is what nearly all weights are; conversions would take most of the time.
static uint64_t makeF32(const Recipe &recipe, uint64_t i) {
  float value = recipe.isZero(i) ? 0.0F : float(heddle_self_test_fraction(recipe.seed, i, 16)) * 0x1p-16F;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

LogicalResult heddle::streamGenerated(rt::ConstantOp constant, DictionaryAttr made, ByteSink sink) {
  auto tensor = cast<RankedTensorType>(constant.getType());
  Type element = tensor.getElementType();
  FailureOr<Recipe> recipe = readRecipe(constant, made);
  if (failed(recipe))
    return failure();
  if (!element.isIntOrFloat() || (element.getIntOrFloatBitWidth() % 8 != 0 && !element.isInteger(1)))
    return constant.emitOpError() << "expects elements of whole bytes, got " << element;
  auto make = [&](uint64_t i) -> uint64_t {
    if (element.isF32())
      return makeF32(*recipe, i);
    if (auto type = dyn_cast<FloatType>(element))
      return makeFloat(*recipe, i, type);
    uint32_t limit = element.isInteger(1) ? 2 : recipe->limit;
    return recipe->isZero(i) ? 0 : heddle_self_test_integer(recipe->seed, i, limit);
  };
  size_t size = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  constexpr size_t kBlock = 1 << 16;
  std::vector<uint8_t> block;
  block.reserve(kBlock);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint64_t bits = make(i); // little-endian, as artifacts are
    const auto *first = reinterpret_cast<const uint8_t *>(&bits);
    block.insert(block.end(), first, first + size);
    if (block.size() == kBlock) {
      sink(block);
      block.clear();
    }
  }
  if (!block.empty())
    sink(block);
  return success();
}
