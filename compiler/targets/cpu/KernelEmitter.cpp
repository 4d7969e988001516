// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a kernel, index arithmetic and control flow. Loads and stores are in LaneMemory.cpp.

#include "compiler/targets/cpu/KernelEmitter.h"

#include "heddle/executable_abi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

Type getStorageType(Type type) {
  unsigned bits = type.isInteger(1) ? 8 : type.isBF16() ? 16 : 0;
  return bits == 0 ? type : IntegerType::get(type.getContext(), bits);
}

Type getValueType(Type type) { return type.isBF16() ? Float32Type::get(type.getContext()) : type; }

KernelEmitter::KernelEmitter(OpBuilder &builder, const KernelPlan &plan)
    : b(builder), loc(UnknownLoc::get(builder.getContext())), plan(plan) {
  createFunction();
}

void KernelEmitter::createFunction() {
  kernel::FuncOp kernel = plan.func;
  // Bare pointers need static shapes; the true extent comes back by reinterpret_cast, so that no access is out of it.
  SmallVector<Type> arguments, elements;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      elements.push_back(getStorageType(tensor.getElementType()));
  for (Type element : elements)
    arguments.push_back(MemRefType::get({1}, element));
  arguments.append(kernel.getNumSizes(), b.getIndexType());
  arguments.append(2, b.getIndexType());
  arguments.push_back(MemRefType::get({1}, b.getF32Type()));
  arguments.push_back(MemRefType::get({3}, b.getI64Type()));

  b.setInsertionPoint(kernel);
  function = b.create<func::FuncOp>(loc, kernel.getName(), b.getFunctionType(arguments, {b.getI32Type()}));
  function->setAttr(kKernelAttrName, b.getUnitAttr());
  for (auto [i, type] : llvm::enumerate(arguments))
    if (isa<MemRefType>(type))
      function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);

  unsigned numSizes = kernel.getNumSizes(), numBindings = elements.size();
  for (unsigned i = 0; i < numSizes; ++i)
    sizes.push_back(entry->getArgument(numBindings + i));
  begin = entry->getArgument(numBindings + numSizes);
  end = entry->getArgument(numBindings + numSizes + 1);
  errorRecord = entry->getArgument(numBindings + numSizes + 3);
  prologue = b.create<arith::ConstantIndexOp>(loc, 0);

  auto flat = [&](Value memory, Value extent) -> Value {
    auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(memory.getType()).getElementType());
    return b.create<memref::ReinterpretCastOp>(loc, type, memory, OpFoldResult(b.getIndexAttr(0)),
                                               ArrayRef<OpFoldResult>{extent},
                                               ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  };
  for (unsigned i = 0; i < numBindings; ++i)
    bindings.push_back(flat(entry->getArgument(i), size(plan.bindingElements[i])));
  if (plan.canFail) {
    // One scalar; the optimiser keeps it in a register.
    status = b.create<memref::AllocaOp>(loc, MemRefType::get({}, b.getI32Type()));
    b.create<memref::StoreOp>(loc, b.create<arith::ConstantIntOp>(loc, HEDDLE_KERNEL_OK, 32), status);
  }
  constexpr int64_t kFloatBytes = 4;
  Value scratchElements = size(plan.items.scratchBytes.floorDiv(kFloatBytes));
  scratch = flat(entry->getArgument(numBindings + numSizes + 2), scratchElements);
}

void KernelEmitter::finish() {
  Value result = b.create<arith::ConstantIntOp>(loc, HEDDLE_KERNEL_OK, 32);
  if (status)
    result = b.create<memref::LoadOp>(loc, status);
  b.create<func::ReturnOp>(loc, result);
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value KernelEmitter::index(int64_t value) { return b.create<arith::ConstantIndexOp>(loc, value); }

static bool isConstant(Value value, int64_t expected) {
  auto constant = value.getDefiningOp<arith::ConstantIndexOp>();
  return constant && constant.value() == expected;
}

Value KernelEmitter::add(Value left, Value right) {
  if (isConstant(left, 0))
    return right;
  return isConstant(right, 0) ? left : b.create<arith::AddIOp>(loc, left, right).getResult();
}

Value KernelEmitter::mul(Value left, Value right) {
  if (isConstant(left, 1) || isConstant(right, 0))
    return right;
  return isConstant(right, 1) || isConstant(left, 0) ? left : b.create<arith::MulIOp>(loc, left, right).getResult();
}

Value KernelEmitter::sub(Value left, Value right) { return b.create<arith::SubIOp>(loc, left, right); }
Value KernelEmitter::min(Value left, Value right) { return b.create<arith::MinUIOp>(loc, left, right); }
Value KernelEmitter::floorDiv(Value left, int64_t right) { return b.create<arith::DivUIOp>(loc, left, index(right)); }
Value KernelEmitter::less(Value left, Value right) {
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, left, right);
}

Value KernelEmitter::atPrologue(llvm::function_ref<Value()> make) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologue);
  return make();
}

Value KernelEmitter::size(const Polynomial &polynomial) {
  if (std::optional<int64_t> constant = polynomial.getConstant())
    return index(*constant);
  std::vector<std::pair<Polynomial::Monomial, int64_t>> key(polynomial.getTerms().begin(), polynomial.getTerms().end());
  Value &value = polynomials[key];
  if (!value)
    value = size(polynomial.toExpr(plan.space));
  return value;
}

Value KernelEmitter::size(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return index(constant.getValue());
  Value &value = expressions[expr];
  if (!value)
    value = atPrologue([&] { return evaluate(expr, {}); });
  return value;
}

/// True if no value of |expr| is negative: indices and sizes never are.
static bool isNonNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || expr.getKind() == AffineExprKind::Mod ||
         (isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS()));
}

Value KernelEmitter::combine(AffineExprKind kind, Value left, Value right, bool isNonNegative) {
  switch (kind) {
  case AffineExprKind::Add:
    return add(left, right);
  case AffineExprKind::Mul:
    return mul(left, right);
  case AffineExprKind::FloorDiv:
    return isNonNegative ? b.create<arith::DivUIOp>(loc, left, right).getResult()
                         : b.create<arith::FloorDivSIOp>(loc, left, right).getResult();
  case AffineExprKind::CeilDiv:
    return isNonNegative ? b.create<arith::CeilDivUIOp>(loc, left, right).getResult()
                         : b.create<arith::CeilDivSIOp>(loc, left, right).getResult();
  default: // Mod: what floorDiv leaves
    if (isNonNegative)
      return b.create<arith::RemUIOp>(loc, left, right);
    return sub(left, mul(b.create<arith::FloorDivSIOp>(loc, left, right), right));
  }
}

Value KernelEmitter::evaluate(AffineExpr expr, ArrayRef<Value> loops) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return index(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sizes[symbol.getPosition()];
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = evaluate(binary.getLHS(), loops), right = evaluate(binary.getRHS(), loops);
  if (isa<VectorType>(left.getType()) != isa<VectorType>(right.getType())) {
    left = broadcast(left, kLanes);
    right = broadcast(right, kLanes);
  }
  return combine(expr.getKind(), left, right, isNonNegative(expr));
}

Value KernelEmitter::address(const Access &access, ArrayRef<Value> loops) {
  Value sum = size(access.offset);
  for (auto [loop, stride] : llvm::enumerate(access.strides))
    if (!stride.isZero() && loops[loop])
      sum = add(sum, mul(loops[loop], size(stride)));
  for (const Access::Irregular &part : access.irregular)
    sum = add(sum, mul(evaluate(part.expr, loops), size(part.stride)));
  return sum;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelEmitter::forEachItem(llvm::function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> bounds;
  for (AffineExpr digit : plan.items.digits)
    bounds.push_back(size(digit));
  // Divisions happen once, at the first item; later items count on like an odometer.
  SmallVector<Value> first(bounds.size());
  Value rest = begin, one = index(1), nought = index(0);
  for (int64_t i = static_cast<int64_t>(bounds.size()) - 1; i >= 0; --i) {
    Value divisor = b.create<arith::MaxUIOp>(loc, bounds[i], one);
    first[i] = i == 0 ? rest : b.create<arith::RemUIOp>(loc, rest, divisor).getResult();
    if (i != 0)
      rest = b.create<arith::DivUIOp>(loc, rest, divisor);
  }
  forLoop(begin, end, 1, first, [&](Value, ValueRange digits) {
    SmallVector<Value> item(digits.begin(), digits.end());
    if (status) {
      // After an error the items that are left do nothing.
      Value code = b.create<memref::LoadOp>(loc, status);
      Value ok = b.create<arith::ConstantIntOp>(loc, HEDDLE_KERNEL_OK, 32);
      ifThen(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, code, ok), [&] { body(item); });
    } else {
      body(item);
    }
    SmallVector<Value> next(digits.begin(), digits.end());
    Value carry;
    for (int64_t i = static_cast<int64_t>(bounds.size()) - 1; i >= 0; --i) {
      Value more = b.create<arith::AddIOp>(loc, next[i], one);
      Value stepped = carry ? b.create<arith::SelectOp>(loc, carry, more, next[i]).getResult() : more;
      if (i == 0) {
        next[i] = stepped;
        break;
      }
      Value wraps = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, stepped, bounds[i]);
      next[i] = b.create<arith::SelectOp>(loc, wraps, nought, stepped);
      carry = wraps;
    }
    return next;
  });
}

void KernelEmitter::forLoop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
  forLoop(begin, end, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> KernelEmitter::forLoop(Value begin, Value end, int64_t step, ValueRange init,
                                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = b.create<scf::ForOp>(loc, begin, end, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  if (init.empty())
    loop.getBody()->getTerminator()->erase();
  b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  b.create<scf::YieldOp>(loc, next);
  return SmallVector<Value>(loop.getResults());
}

void KernelEmitter::ifThen(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise) {
  auto branch = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

void KernelEmitter::forVectors(unsigned loop, Value begin, Value end,
                               llvm::function_ref<void(Value, const Lanes &)> body) {
  std::optional<int64_t> bound = plan.nest.bounds[loop].getConstant();
  Value length = sub(end, begin);
  Value whole = add(begin, mul(floorDiv(length, kLanes), index(kLanes)));
  // A loop shorter than a vector has its tail only.
  if (!bound || *bound >= kLanes)
    forLoop(begin, whole, kLanes, [&](Value i) { body(i, Lanes{kLanes, loop, nullptr}); });
  if (plan.nest.bounds[loop].isMultipleOf(kLanes))
    return;
  ifThen(less(whole, end), [&] { body(whole, Lanes{kLanes, loop, maskBelow(sub(end, whole))}); });
}

Value KernelEmitter::maskBelow(Value count) {
  return b.create<vector::CreateMaskOp>(loc, VectorType::get({kLanes}, b.getI1Type()), count);
}

void KernelEmitter::failIf(Value failed, int32_t code, int64_t site, Value value, Value limit) {
  ifThen(failed, [&] {
    Value fields[] = {b.create<arith::ConstantIntOp>(loc, site, 64), value, limit};
    for (auto [i, field] : llvm::enumerate(fields))
      b.create<memref::StoreOp>(loc, field, errorRecord, index(i));
    b.create<memref::StoreOp>(loc, b.create<arith::ConstantIntOp>(loc, code, 32), status);
  });
}

} // namespace heddle::cpu
