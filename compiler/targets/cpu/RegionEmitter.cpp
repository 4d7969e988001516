// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar regions on vectors. A table read whose row is the same in all lanes and whose column counts up with them is
// one vector load, checked once: that is how embeddings are looked up.

#include "compiler/targets/cpu/RegionEmitter.h"

#include "compiler/targets/cpu/FloatMath.h"
#include "compiler/targets/cpu/MathExpansion.h"
#include "heddle/executable_abi.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle::cpu {

static Type withShapeOf(Type type, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), type) : type;
}

/// Whether |op| reads and gives no bf16, which are f32 as values.
static bool isPlain(Operation *op) {
  return !op->getOperand(0).getType().isBF16() && !op->getResult(0).getType().isBF16();
}

static bool isVector(Value value) { return isa<VectorType>(value.getType()); }

FailureOr<SmallVector<Value>> RegionEmitter::emit(Region &region, ArrayRef<Value> arguments) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op)))
      return failure();
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(lookup(value));
  return yielded;
}

Value RegionEmitter::lookup(Value value) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  // The kernel's size arguments are all that a region may see from outside.
  kernel::FuncOp func = emitter.plan.func;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &func.getBody().front() || argument.getArgNumber() < func.getNumInputs())
    return nullptr;
  return emitter.getSize(argument.getArgNumber() - func.getNumInputs());
}

LogicalResult RegionEmitter::emitOp(Operation *op) {
  // 1. Reads of indices and tables.
  if (auto index = dyn_cast<kernel::IndexOp>(op)) {
    values[index.getResult()] = emitIndex(index);
    return success();
  }
  SmallVector<Value> operands;
  bool isGather = isa<kernel::GatherOp>(op);
  for (Value operand : llvm::drop_begin(op->getOperands(), isGather ? 1 : 0)) {
    operands.push_back(lookup(operand));
    if (!operands.back())
      return op->emitOpError("expects operands from its region or the kernel's size arguments");
  }
  if (isGather) {
    values[op->getResult(0)] = emitGather(cast<kernel::GatherOp>(op));
    return success();
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return op->emitOpError("has no form in a CPU kernel's scalar region");

  // 2. What would trap or call a library.
  Value result;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp>(op)) {
    result = emitDivision(op, operands[0], operands[1]);
  } else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) {
    result = emitFloatToInteger(op, operands[0]);
  } else if (isa<arith::BitcastOp>(op) && !isPlain(op)) {
    return op->emitOpError("has no form in a CPU kernel's scalar region for bf16");
  } else if (isa<arith::ExtFOp>(op) &&
             operands[0].getType() == withShapeOf(op->getResult(0).getType(), operands[0].getType())) {
    result = operands[0]; // from bf16
  } else if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op)) {
    FailureOr<Value> expanded = expandMath(emitter.b, op, operands);
    if (failed(expanded))
      return failure();
    result = *expanded;
  } else if (isa<arith::ArithDialect>(op->getDialect())) {
    // 3. All the rest is the same op on vectors.
    result = emitElementwise(op, operands);
  } else {
    return op->emitOpError("has no form in a CPU kernel's scalar region");
  }
  // Whatever gives bf16 has computed in f32; what only chooses among such numbers has nothing to round.
  if (op->getResult(0).getType().isBF16() && !isa<arith::SelectOp, arith::ConstantOp>(op))
    result = emitRoundToBf16(result);
  values[op->getResult(0)] = result;
  return success();
}

Value RegionEmitter::emitElementwise(Operation *op, ArrayRef<Value> operands) {
  bool vectorize = llvm::any_of(operands, isVector);
  SmallVector<Value> used;
  for (Value operand : operands)
    used.push_back(vectorize ? emitter.broadcast(operand, lanes.width) : operand);
  Type type = getValueType(op->getResult(0).getType());
  if (vectorize)
    type = VectorType::get({lanes.width}, type);
  // 1. In f32 already, from which bf16 is rounded.
  if (isa<arith::TruncFOp>(op) && used[0].getType() == type)
    return used[0];
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && constant.getType().isBF16())
    return emitter.b.create<arith::ConstantOp>(
        emitter.loc, emitter.b.getF32FloatAttr(cast<FloatAttr>(constant.getValue()).getValue().convertToFloat()));
  // 2. The same op.
  OperationState state(emitter.loc, op->getName(), used, {type}, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value result = emitter.b.create(state)->getResult(0);

  // Moving a counting index by what is equal in all lanes leaves it counting.
  if (isa<arith::AddIOp>(op) && vectorize && getElementTypeOrSelf(result.getType()).isIndex()) {
    for (auto [counting, offset] : {std::pair(operands[0], operands[1]), std::pair(operands[1], operands[0])}) {
      auto base = unitStrideBase.find(counting);
      if (base == unitStrideBase.end() || isVector(offset))
        continue;
      Value moved = emitter.add(base->second, offset);
      unitStrideBase[result] = moved;
      break;
    }
  }
  return result;
}

Value RegionEmitter::emitIndex(kernel::IndexOp op) {
  std::optional<unsigned> loop = emitter.plan.nest.findLoop(op.getLoop());
  // A loop of a kernel without any has the only index 0.
  Value current = loop ? loops[*loop] : emitter.index(0);
  if (lanes.width == 1 || !loop || *loop != lanes.loop)
    return current;
  Value counting = emitter.iota(current);
  unitStrideBase[counting] = current;
  return counting;
}

//===----------------------------------------------------------------------===//
// Table reads
//===----------------------------------------------------------------------===//

void RegionEmitter::failWhere(Value failed, int32_t code, int64_t site, Value value, Value limit) {
  OpBuilder &b = emitter.b;
  if (!isVector(failed)) {
    emitter.failIf(failed, code, site, value, limit);
    return;
  }
  // Lanes that don't exist can't fail.
  if (lanes.mask)
    failed = b.create<arith::AndIOp>(emitter.loc, failed, lanes.mask);
  Value any = b.create<vector::ReductionOp>(emitter.loc, vector::CombiningKind::OR, failed);
  emitter.ifThen(any, [&] {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      Value isBad = b.create<vector::ExtractOp>(emitter.loc, failed, lane);
      Value offender = isVector(value) ? b.create<vector::ExtractOp>(emitter.loc, value, lane).getResult() : value;
      emitter.failIf(isBad, code, site, offender, limit);
    }
  });
}

Value RegionEmitter::checkIndex(Value index, Value extent, int64_t site, Value &valid) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  Type element = getElementTypeOrSelf(index.getType());
  auto constant = [&](int64_t value) {
    return b
        .create<arith::ConstantOp>(loc, isVector(index)
                                            ? cast<TypedAttr>(DenseElementsAttr::get(cast<ShapedType>(index.getType()),
                                                                                     b.getI64IntegerAttr(value)))
                                            : b.getI64IntegerAttr(value))
        .getResult();
  };
  Type wide = withShapeOf(b.getI64Type(), index.getType());
  if (element.getIntOrFloatBitWidth() < 64)
    index = b.create<arith::ExtSIOp>(loc, wide, index);
  Value limit = b.create<arith::IndexCastOp>(loc, b.getI64Type(), extent);
  Value limits = isVector(index) ? emitter.broadcast(limit, lanes.width) : limit;
  // Negative indices count from the end; as an unsigned number whatever is outside is too large.
  Value isNegative = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, constant(0));
  Value wrapped = b.create<arith::AddIOp>(loc, index, limits);
  Value position = b.create<arith::SelectOp>(loc, isNegative, wrapped, index);
  Value inside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, position, limits);
  Value outside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, position, limits);
  failWhere(outside, HEDDLE_KERNEL_INDEX_OUT_OF_RANGE, site, index, limit);
  if (valid && isVector(valid) != isVector(inside)) {
    valid = emitter.broadcast(valid, lanes.width);
    inside = emitter.broadcast(inside, lanes.width);
  }
  valid = valid ? b.create<arith::AndIOp>(loc, valid, inside).getResult() : inside;
  return b.create<arith::IndexCastOp>(loc, withShapeOf(b.getIndexType(), index.getType()), position);
}

Value RegionEmitter::loadGuarded(Value memory, Type elementType, Value address, Value valid) {
  OpBuilder &b = emitter.b;
  Type type = getValueType(elementType);
  auto guarded = b.create<scf::IfOp>(emitter.loc, type, valid, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  b.create<scf::YieldOp>(emitter.loc, emitter.loadScalar(memory, elementType, address));
  b.setInsertionPointToStart(guarded.elseBlock());
  b.create<scf::YieldOp>(emitter.loc, emitter.zero(type));
  return guarded.getResult(0);
}

Value RegionEmitter::emitGather(kernel::GatherOp op) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  auto table = cast<RankedTensorType>(op.getTable().getType());
  kernel::FuncOp func = emitter.plan.func;
  unsigned number = cast<BlockArgument>(op.getTable()).getArgNumber();
  int64_t site = op.getSite().value_or(0);

  // 1. Each index checked, and the sum of the addresses of the uniform ones, of the counting one and of the others.
  Value valid, uniform = emitter.index(0), varying, counting;
  // Even a trusted index may not be read where the table is empty: select reads both sides of a concatenation.
  if (table.getNumDynamicDims() > 0)
    valid = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, emitter.size(emitter.plan.bindingElements[number]),
                                    emitter.index(0));
  Polynomial stride(1);
  for (int64_t i = table.getRank() - 1; i >= 0; --i) {
    Polynomial dimension = table.isDynamicDim(i)
                               ? Polynomial::atom(func.getInputDims(number)[table.getDynamicDimIndex(i)])
                               : Polynomial(table.getDimSize(i));
    Value position = lookup(op.getIndices()[i]);
    if (!op.getIndices()[i].getType().isIndex())
      position = checkIndex(position, emitter.size(dimension), site, valid);
    Value step = emitter.size(stride);
    auto base = unitStrideBase.find(position);
    if (!isVector(position)) {
      uniform = emitter.add(uniform, emitter.mul(position, step));
    } else if (base != unitStrideBase.end() && stride == Polynomial(1) && !counting) {
      counting = base->second;
    } else {
      Value term = emitter.mul(position, emitter.broadcast(step, kLanes));
      varying = varying ? emitter.add(varying, term) : term;
    }
    stride = stride * dimension;
  }

  // 2. Nothing is read outside the table: an invalid lane, or all of them, gives 0.
  Lanes access = lanes;
  if (valid && (isVector(valid) || varying || counting)) {
    Value mask = emitter.broadcast(valid, kLanes);
    access.mask = lanes.mask ? b.create<arith::AndIOp>(loc, mask, lanes.mask).getResult() : mask;
  }
  Value memory = emitter.getBinding(number);
  Type elementType = table.getElementType();
  if (varying) {
    if (counting)
      uniform = emitter.add(uniform, counting);
    Value start = emitter.broadcast(uniform, kLanes);
    Value addresses = emitter.add(start, counting ? emitter.add(varying, emitter.iota(emitter.index(0))) : varying);
    return emitter.loadLanes(memory, elementType, addresses, access);
  }
  if (counting)
    return emitter.loadUnit(memory, elementType, emitter.add(uniform, counting), access);
  return valid ? loadGuarded(memory, elementType, uniform, valid) : emitter.loadScalar(memory, elementType, uniform);
}

//===----------------------------------------------------------------------===//
// What would trap
//===----------------------------------------------------------------------===//

Value RegionEmitter::emitDivision(Operation *op, Value left, Value right) {
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  if (isVector(left) || isVector(right)) {
    left = emitter.broadcast(left, lanes.width);
    right = emitter.broadcast(right, lanes.width);
  }
  Type type = left.getType();
  auto constant = [&](int64_t value) -> Value {
    Attribute attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vector, attr));
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(attr));
  };
  // 1. Division by zero ends the kernel; until it does, the divisor is 1.
  Value isZero = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, right, constant(0));
  auto siteAttr = op->getAttrOfType<IntegerAttr>("site");
  Value nought = b.create<arith::ConstantIntOp>(loc, 0, 64);
  failWhere(isZero, HEDDLE_KERNEL_DIVISION_BY_ZERO, siteAttr ? siteAttr.getInt() : 0, nought, nought);
  Value divisor = b.create<arith::SelectOp>(loc, isZero, constant(1), right);

  // 2. The smallest number divided by -1 doesn't fit and traps: negate instead, which wraps.
  bool isSigned = !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  if (!isSigned)
    return emitElementwise(op, {left, divisor});
  Value isMinusOne = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, divisor, constant(-1));
  divisor = b.create<arith::SelectOp>(loc, isMinusOne, constant(1), divisor);
  Value result = emitElementwise(op, {left, divisor});
  Value special = isa<arith::RemSIOp>(op) ? constant(0) : b.create<arith::SubIOp>(loc, constant(0), left).getResult();
  return b.create<arith::SelectOp>(loc, isMinusOne, special, result);
}

Value RegionEmitter::emitRoundToBf16(Value value) {
  // To nearest, ties to even, on the bits: half of the last kept bit, less one where that bit is 0, carries into it. A
  // NaN keeps its first bits and becomes a quiet one.
  constexpr int64_t kBits = 16, kHalf = 0x7FFF, kQuiet = 0x400000, kKept = ~INT64_C(0xFFFF);
  OpBuilder &b = emitter.b;
  FloatMath m(b, emitter.loc, value.getType());
  Value bits = m.toBits(value), isOdd = m.andBits(m.shiftRight(bits, kBits), m.integer(1));
  Value rounded = m.addBits(bits, m.addBits(isOdd, m.integer(kHalf)));
  Value quiet = b.create<arith::OrIOp>(emitter.loc, bits, m.integer(kQuiet));
  Value isNaN = m.compare(arith::CmpFPredicate::UNO, value, value);
  Value chosen = b.create<arith::SelectOp>(emitter.loc, isNaN, quiet, rounded);
  return m.fromBits(m.andBits(chosen, m.integer(kKept)));
}

Value RegionEmitter::emitFloatToInteger(Operation *op, Value value) {
  // Saturating, NaN gives 0: the same on every CPU, where the plain conversion is undefined outside the range.
  OpBuilder &b = emitter.b;
  Location loc = emitter.loc;
  auto source = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  Type target = op->getResult(0).getType();
  unsigned width = target.getIntOrFloatBitWidth();
  bool isSigned = isa<arith::FPToSIOp>(op);
  auto constant = [&](Type element, Attribute attr) -> Value {
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      return b.create<arith::ConstantOp>(loc,
                                         DenseElementsAttr::get(VectorType::get(vector.getShape(), element), attr));
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(attr));
  };
  auto real = [&](double number) { return constant(source, b.getFloatAttr(source, number)); };
  APInt lowest = isSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width);
  APInt highest = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  double below = isSigned ? -std::ldexp(1.0, width - 1) : 0.0;
  double above = std::ldexp(1.0, isSigned ? width - 1 : width);

  auto compare = [&](arith::CmpFPredicate predicate, Value right) {
    return b.create<arith::CmpFOp>(loc, predicate, value, right);
  };
  Value tooHigh = compare(arith::CmpFPredicate::OGE, real(above));
  Value tooLow = compare(arith::CmpFPredicate::OLT, real(below));
  Value inside = b.create<arith::AndIOp>(loc, compare(arith::CmpFPredicate::OGE, real(below)),
                                         compare(arith::CmpFPredicate::OLT, real(above)));
  Value safe = b.create<arith::SelectOp>(loc, inside, value, real(0.0));
  Value result = emitElementwise(op, {safe});
  result = b.create<arith::SelectOp>(loc, tooLow, constant(target, b.getIntegerAttr(target, lowest)), result);
  return b.create<arith::SelectOp>(loc, tooHigh, constant(target, b.getIntegerAttr(target, highest)), result);
}

} // namespace heddle::cpu
