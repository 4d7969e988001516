// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Appends each dispatch's work arithmetic to the entry's shape function.

#include "compiler/pipelines/AddWorkShapes.h"

#include "dialects/kernel/KernelOps.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle;

namespace {
/// A shape function that gets more results: arithmetic is added at its end, and finish() replaces it by one that also
/// yields what was added.
class ShapeFuncExtender {
public:
  explicit ShapeFuncExtender(rt::ShapeFuncOp op)
      : op(op), yield(cast<rt::YieldOp>(op.getBody().front().getTerminator())), builder(yield) {}

  /// |map| (one result, no dimensions) with |symbols|, results of the shape function, as a new result.
  unsigned add(AffineMap map, ValueRange symbols) {
    SmallVector<Value> inner;
    for (Value symbol : symbols)
      inner.push_back(yield.getOperand(cast<OpResult>(symbol).getResultNumber()));
    Value value = evaluate(map.getResult(0), inner);
    auto [it, isNew] = numbers.try_emplace(value, op.getNumResults() + added.size());
    if (isNew)
      added.push_back(value);
    return it->second;
  }

  rt::ShapeFuncOp finish() {
    yield->insertOperands(yield->getNumOperands(), added);
    OpBuilder outer(op);
    SmallVector<Type> types(yield->getNumOperands(), outer.getIndexType());
    auto extended = outer.create<rt::ShapeFuncOp>(op.getLoc(), types);
    extended.getBody().takeBody(op.getBody());
    op->replaceAllUsesWith(extended->getResults().take_front(op.getNumResults()));
    op.erase();
    return extended;
  }

private:
  Value constant(int64_t value) {
    Value &known = constants[value];
    if (!known)
      known = builder.create<rt::ShapeConstantOp>(op.getLoc(), builder.getIndexType(), value);
    return known;
  }

  Value evaluate(AffineExpr expr, ArrayRef<Value> symbols) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr))
      return constant(number.getValue());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return symbols[symbol.getPosition()];
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = evaluate(binary.getLHS(), symbols), rhs = evaluate(binary.getRHS(), symbols);
    // Tiles and strides of different dispatches have much in common.
    Value &known = results[{static_cast<unsigned>(binary.getKind()), {lhs, rhs}}];
    if (!known)
      known = builder.create<rt::ShapeArithOp>(op.getLoc(), builder.getIndexType(), kindOf(binary.getKind()), lhs, rhs);
    return known;
  }

  static rt::ShapeKind kindOf(AffineExprKind kind) {
    switch (kind) {
    case AffineExprKind::Add:
      return rt::ShapeKind::Add;
    case AffineExprKind::Mul:
      return rt::ShapeKind::Mul;
    case AffineExprKind::FloorDiv:
      return rt::ShapeKind::FloorDiv;
    case AffineExprKind::CeilDiv:
      return rt::ShapeKind::CeilDiv;
    default:
      return rt::ShapeKind::Mod;
    }
  }

  rt::ShapeFuncOp op;
  rt::YieldOp yield;
  OpBuilder builder;
  SmallVector<Value> added;
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::DenseMap<int64_t, Value> constants;
  llvm::DenseMap<std::pair<unsigned, std::pair<Value, Value>>, Value> results;
};

/// Result numbers of one dispatch's work arithmetic, one a target, and of |axes| |axesCounts| a target.
struct WorkNumbers {
  SmallVector<unsigned> grids, grains, scratch, axes;
  SmallVector<int64_t> axesCounts;
};
} // namespace

static LogicalResult addToEntry(rt::FuncOp entry, ArrayRef<CompiledTarget> targets) {
  auto shapeFunc = *entry.getBody().getOps<rt::ShapeFuncOp>().begin();
  ShapeFuncExtender extender(shapeFunc);
  std::vector<std::pair<rt::DispatchOp, WorkNumbers>> work;
  for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>()) {
    WorkNumbers numbers;
    for (const CompiledTarget &compiled : targets) {
      auto func = compiled.kernels.get().lookupSymbol<kernel::FuncOp>(dispatch.getKernel());
      FailureOr<WorkShape> shape = compiled.target->getWorkShape(func);
      if (failed(shape))
        return failure();
      numbers.grids.push_back(extender.add(shape->grid, dispatch.getSizes()));
      numbers.grains.push_back(extender.add(shape->grain, dispatch.getSizes()));
      numbers.scratch.push_back(extender.add(shape->scratch, dispatch.getSizes()));
      for (AffineMap axis : shape->axes)
        numbers.axes.push_back(extender.add(axis, dispatch.getSizes()));
      numbers.axesCounts.push_back(shape->axes.size());
    }
    work.emplace_back(dispatch, numbers);
  }
  rt::ShapeFuncOp extended = extender.finish();
  auto results = [&](ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(numbers, [&](unsigned number) -> Value { return extended.getResult(number); });
  };
  for (auto &[dispatch, numbers] : work) {
    dispatch.getGridsMutable().assign(results(numbers.grids));
    dispatch.getGrainsMutable().assign(results(numbers.grains));
    dispatch.getScratchMutable().assign(results(numbers.scratch));
    dispatch.getAxesMutable().assign(results(numbers.axes));
    // Without shaders a program stays as short as it can be.
    if (!numbers.axes.empty())
      dispatch.setAxesCounts(numbers.axesCounts);
  }
  return success();
}

LogicalResult heddle::addWorkShapes(ModuleOp module, ArrayRef<CompiledTarget> targets) {
  SmallVector<StringRef> names;
  for (const CompiledTarget &compiled : targets)
    names.push_back(compiled.target->getName());
  module->setAttr(rt::kTargetsAttrName, Builder(module.getContext()).getStrArrayAttr(names));
  for (auto entry : module.getOps<rt::FuncOp>())
    if (failed(addToEntry(entry, targets)))
      return failure();
  return success();
}

void heddle::markConstantInputs(ModuleOp module, ModuleOp kernels) {
  // A kernel may be dispatched by several nodes: an input that is a constant for one and not for another isn't marked.
  llvm::StringMap<llvm::BitVector> constants;
  for (auto entry : module.getOps<rt::FuncOp>())
    for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>()) {
      llvm::BitVector here(dispatch.getInputs().size());
      for (auto [i, input] : llvm::enumerate(dispatch.getInputs()))
        here[i] = isa_and_nonnull<rt::ConstantBufferOp>(input.getDefiningOp());
      auto [known, isNew] = constants.try_emplace(dispatch.getKernel(), here);
      if (!isNew)
        known->second &= here;
    }
  for (auto func : kernels.getOps<kernel::FuncOp>())
    if (auto found = constants.find(func.getSymName()); found != constants.end())
      for (unsigned i : found->second.set_bits())
        func.setArgAttr(i, kernel::kConstantAttrName, UnitAttr::get(func.getContext()));
}

void heddle::nameKernels(ModuleOp module, CompiledTarget &target) {
  for (auto func : llvm::make_early_inc_range(module.getOps<kernel::FuncOp>())) {
    auto configured = target.kernels.get().lookupSymbol<kernel::FuncOp>(func.getSymName());
    auto name = StringAttr::get(module.getContext(), target.target->getKernelName(configured));
    for (auto entry : module.getOps<rt::FuncOp>())
      for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>())
        if (dispatch.getKernel() == func.getSymName())
          dispatch.setKernel(name.getValue());
    func.setSymNameAttr(name);
    configured.setSymNameAttr(name);
  }
}
