// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both forms read the same activation, so that a place is charged with its own error alone, whatever the places before
// it do.

#include "compiler/transforms/quantization/Comparison.h"

#include "dialects/nn/NnDialect.h"
#include "dialects/nn/NnOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `nn.name` and `nn.dims` of a boundary tensor of static shape.
static DictionaryAttr describe(Builder builder, StringRef name, RankedTensorType type) {
  SmallVector<Attribute> dims;
  for (int64_t extent : type.getShape())
    dims.push_back(builder.getI64IntegerAttr(extent));
  return builder.getDictionaryAttr({builder.getNamedAttr(NnDialect::getNameAttrName(), builder.getStringAttr(name)),
                                    builder.getNamedAttr(NnDialect::getDimsAttrName(), builder.getArrayAttr(dims))});
}

Comparison::Comparison(func::FuncOp func, int64_t count) : func(func) {
  constexpr StringLiteral kName = "heddle.selection";
  Builder builder(func.getContext());
  unsigned index = func.getNumArguments();
  if (index > 0) {
    auto name = func.getArgAttrOfType<StringAttr>(index - 1, NnDialect::getNameAttrName());
    // Places of another pass come first.
    if (name && name.getValue() == kName)
      first = typeOf(func.getArgument(--index)).getDimSize(0);
  }
  auto type = RankedTensorType::get({first + count}, builder.getI1Type());
  if (index == func.getNumArguments())
    func.insertArgument(index, type, describe(builder, kName, type), func.getLoc());
  selection = func.getArgument(index);
  selection.setType(type);
  func.setArgAttrs(index, describe(builder, kName, type));
  func.setType(builder.getFunctionType(func.getBody().getArgumentTypes(), func.getResultTypes()));
}

void Comparison::addResult(StringRef kind, int64_t index, Value value) {
  results.emplace_back(("heddle." + kind + "." + llvm::Twine(index)).str(), value);
}

/// The sum of squares of all elements.
Value Comparison::reduceAll(OpBuilder &builder, Location loc, Value value) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  return builder.create<ReduceOp>(loc, ReduceKind::SumSquare, value, builder.getDenseI64ArrayAttr(axes),
                                  /*keepdims=*/false);
}

void Comparison::measure(OpBuilder &builder, int64_t index, Value plain, Value quantized, Value activation,
                         ArrayRef<int64_t> channels) {
  Location loc = plain.getLoc();
  index += first;
  Value difference = builder.create<BinaryOp>(loc, BinaryKind::Sub, quantized, plain);
  addResult("error", index, reduceAll(builder, loc, difference));
  addResult("signal", index, reduceAll(builder, loc, plain));
  if (!activation)
    return;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < typeOf(activation).getRank(); ++axis)
    if (!llvm::is_contained(channels, axis))
      axes.push_back(axis);
  Value sizes = builder.create<UnaryOp>(loc, UnaryKind::Abs, activation);
  addResult("channels", index,
            builder.create<ReduceOp>(loc, ReduceKind::Max, sizes, builder.getDenseI64ArrayAttr(axes), false));
}

void Comparison::measureKeys(OpBuilder &builder, int64_t index, Value keys, ArrayRef<int64_t> channels) {
  Location loc = keys.getLoc();
  SmallVector<int64_t> axes, all = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(keys).getRank()));
  llvm::copy_if(all, std::back_inserter(axes), [&](int64_t axis) { return !llvm::is_contained(channels, axis); });
  auto reduce = [&](StringRef name, ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
    addResult(name, first + index,
              builder.create<ReduceOp>(loc, kind, value, builder.getDenseI64ArrayAttr(axes), /*keepdims=*/false));
  };
  reduce("offset", ReduceKind::Mean, keys, axes);
  reduce("reach", ReduceKind::Max, builder.create<UnaryOp>(loc, UnaryKind::Abs, keys), all);
}

Value Comparison::choose(OpBuilder &builder, int64_t index, Value plain, Value quantized) {
  Location loc = plain.getLoc();
  index += first;
  auto vector = [&](int64_t value) {
    auto type = RankedTensorType::get({1}, builder.getI64Type());
    return builder.create<ConstantOp>(loc, DenseElementsAttr::get(type, builder.getI64IntegerAttr(value)));
  };
  auto flagType = RankedTensorType::get({1}, builder.getI1Type());
  Value flag = builder.create<SliceOp>(loc, flagType, selection, vector(index), vector(index + 1), Value(), Value());
  return builder.create<WhereOp>(loc, flag, quantized, plain);
}

Value Comparison::select(OpBuilder &builder, int64_t index, Value plain, Value quantized, Value activation) {
  measure(builder, index, plain, quantized, activation,
          activation ? SmallVector<int64_t>{typeOf(activation).getRank() - 1} : SmallVector<int64_t>());
  return choose(builder, index, plain, quantized);
}

void Comparison::finish() {
  Operation *end = func.getBody().front().getTerminator();
  Builder builder(func.getContext());
  for (auto &[name, value] : results) {
    unsigned index = func.getNumResults();
    func.insertResult(index, value.getType(), describe(builder, name, typeOf(value)));
    end->insertOperands(index, value);
  }
}
