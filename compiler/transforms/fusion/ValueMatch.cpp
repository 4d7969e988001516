// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single values and their producers, as raising looks at them.

#include "compiler/transforms/fusion/ValueMatch.h"

#include "compiler/transforms/fusion/ElementEmitter.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::nn {

std::optional<double> getNumber(Value value) {
  TypedAttr splat = attn::getSplat(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(splat))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(splat))
    return static_cast<double>(number.getInt());
  return std::nullopt;
}

/// True where combining |number| with |tensor| gives a result of the tensor's shape.
static bool keepsShape(Value number, Value tensor) {
  auto type = cast<RankedTensorType>(number.getType()), other = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() > other.getRank())
    return false;
  ArrayRef<int64_t> trailing = other.getShape().take_back(type.getRank());
  return llvm::all_of(llvm::zip_equal(type.getShape(), trailing), [](auto extents) {
    auto [mine, others] = extents;
    return mine == 1 || (mine == others && !ShapedType::isDynamic(mine));
  });
}

std::optional<NumberOperand> matchNumberOperand(BinaryOp op) {
  for (bool isOnRight : {true, false}) {
    Value constant = isOnRight ? op.getRhs() : op.getLhs(), tensor = isOnRight ? op.getLhs() : op.getRhs();
    std::optional<double> number = getNumber(constant);
    if (number && keepsShape(constant, tensor))
      return NumberOperand{tensor, *number, isOnRight};
  }
  return std::nullopt;
}

bool areSame(Value a, Value b, unsigned depth) {
  constexpr unsigned kMaxDepth = 5;
  if (a == b)
    return true;
  auto left = dyn_cast<OpResult>(a), right = dyn_cast<OpResult>(b);
  if (!left || !right || depth == kMaxDepth || a.getType() != b.getType() ||
      left.getResultNumber() != right.getResultNumber())
    return false;
  Operation *x = left.getOwner(), *y = right.getOwner();
  if (x->getName() != y->getName() || x->getNumOperands() != y->getNumOperands() || x->getNumRegions() != 0 ||
      !isPure(x) || x->getPropertiesAsAttribute() != y->getPropertiesAsAttribute())
    return false;
  return llvm::all_of(llvm::zip_equal(x->getOperands(), y->getOperands()),
                      [&](auto operands) { return areSame(std::get<0>(operands), std::get<1>(operands), depth + 1); });
}

static bool isFloatCast(CastOp op) {
  return op && isa<FloatType>(getElementTypeOrSelf(op.getInput().getType())) && isa<FloatType>(op.getTo());
}

Value stripCasts(Value value, SmallVectorImpl<Type> *types) {
  for (auto op = value.getDefiningOp<CastOp>(); isFloatCast(op); op = value.getDefiningOp<CastOp>()) {
    if (types)
      types->push_back(op.getTo());
    value = op.getInput();
  }
  return value;
}

Value stripExactCasts(Value value) {
  for (auto op = value.getDefiningOp<CastOp>(); isFloatCast(op); op = value.getDefiningOp<CastOp>()) {
    // f16 and bf16 hold each other's values neither way.
    if (getElementTypeOrSelf(op.getInput().getType()).getIntOrFloatBitWidth() >= op.getTo().getIntOrFloatBitWidth())
      break;
    value = op.getInput();
  }
  return value;
}

void noteRaised(ModuleOp module, ArrayRef<std::pair<StringRef, int64_t>> counts) {
  Builder builder(module.getContext());
  auto known = module->getAttrOfType<DictionaryAttr>(NnDialect::getRaisedAttrName());
  NamedAttrList entries(known);
  for (auto [name, count] : counts) {
    auto before = dyn_cast_or_null<IntegerAttr>(entries.get(name));
    if (count != 0)
      entries.set(name, builder.getI64IntegerAttr(count + (before ? before.getInt() : 0)));
  }
  if (!entries.empty())
    module->setAttr(NnDialect::getRaisedAttrName(), entries.getDictionary(module.getContext()));
}

void replaceOutput(Value output, Value replacement) {
  if (Attribute names = output.getDefiningOp()->getAttr(NnDialect::getOutputsAttrName()))
    replacement.getDefiningOp()->setAttr(NnDialect::getOutputsAttrName(), names);
  output.replaceAllUsesWith(replacement);
}

} // namespace heddle::nn
