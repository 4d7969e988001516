// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/ShaderPlan.h"

#include "compiler/targets/vulkan/Generators.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::vulkan {

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

DictionaryAttr Variant::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<StringRef> words(features.begin(), features.end());
  return b.getDictionaryAttr(
      {b.getNamedAttr("form", b.getStringAttr(form)), b.getNamedAttr("features", b.getStrArrayAttr(words)),
       b.getNamedAttr("workgroup", b.getDenseI64ArrayAttr(workgroup)),
       b.getNamedAttr("constants", b.getDenseI64ArrayAttr(constants)),
       b.getNamedAttr("tile", b.getDenseI64ArrayAttr(tile)), b.getNamedAttr("most", b.getDenseI64ArrayAttr(most)),
       b.getNamedAttr("shared_bytes", b.getI64IntegerAttr(sharedBytes))});
}

Variant Variant::fromAttr(DictionaryAttr attr) {
  Variant variant;
  variant.form = attr.getAs<StringAttr>("form").str();
  for (auto feature : attr.getAs<ArrayAttr>("features").getAsRange<StringAttr>())
    variant.features.push_back(feature.str());
  auto numbers = [&](StringRef key) { return attr.getAs<DenseI64ArrayAttr>(key).asArrayRef(); };
  auto triple = [&](StringRef key) {
    ArrayRef<int64_t> values = numbers(key);
    return std::array<int64_t, 3>{values[0], values[1], values[2]};
  };
  variant.workgroup = triple("workgroup");
  variant.constants = numbers("constants").vec();
  variant.tile = triple("tile");
  variant.most = triple("most");
  variant.sharedBytes = attr.getAs<IntegerAttr>("shared_bytes").getInt();
  return variant;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

int64_t getDeviceBytes(Type type) {
  if (type.isInteger(64))
    return 4;
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

RankedTensorType ShaderPlan::getOperandType(unsigned i) const {
  kernel::FuncOp function = func;
  unsigned numTensors = function.getNumInputs();
  return cast<RankedTensorType>(i < numTensors ? function.getArgumentTypes()[i]
                                               : function.getResultTypes()[i - numTensors]);
}

AffineExpr ShaderPlan::constantExpr(int64_t value) const {
  kernel::FuncOp function = func;
  return getAffineConstantExpr(value, function.getContext());
}

/// Every operand and every size is a push constant, and a device may have no more than 128 bytes of these.
static constexpr unsigned kMostWords = 32;
/// Which rows of a sliced table are bound.
static constexpr unsigned kTableWords = 2;

unsigned ShaderPlan::countPushConstants() const {
  kernel::FuncOp function = func;
  return kNumAxes + (slicedTable ? kTableWords : 0) + canFail + function.getNumInputs() + function.getNumResults() +
         function.getNumSizes();
}

LogicalResult ShaderPlan::checkTypes() {
  for (unsigned i = 0; i < func.getNumInputs() + func.getNumResults(); ++i)
    if (getOperandType(i).getElementType().isF64())
      return func.emitError("has operands of f64, which kernels for Vulkan don't take: few GPUs compute with it");
  return success();
}

/// lavapipe allows 65,535 rounds. What all loops that aren't axes have together, for each region that may be a pass of
/// its own, leaves half of that to loops over tiles, lanes and words, which are short.
bool ShaderPlan::mayLoopLong() const {
  constexpr int64_t kFew = 32768;
  Polynomial rounds(root->getNumRegions());
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop)
    if (llvm::none_of(axisLoops, [&](auto &loops) { return llvm::is_contained(loops, loop); }))
      rounds = rounds * nest.bounds[loop];
  // Of a scatter an invocation may also copy all places.
  if (isa<kernel::ScatterOp>(root))
    rounds = rounds + bindingElements[getResultBinding(0)];
  std::optional<int64_t> most = rounds.getConstant();
  return !most || *most > kFew;
}

LogicalResult ShaderPlan::checkPushConstants() {
  if (unsigned words = countPushConstants(); words > kMostWords)
    return func.emitError() << "needs " << words << " push constants of " << kMostWords
                            << " that every Vulkan device has: too many operands and sizes";
  return success();
}

void ShaderPlan::assignBindings() {
  bool hasFirst = false;
  for (unsigned i = 0; i < func.getNumInputs(); ++i) {
    if (func.isConstantInput(i)) {
      operandBindings.push_back(ShaderBinding::Constants);
      continue;
    }
    operandBindings.push_back(hasFirst ? ShaderBinding::Inputs : ShaderBinding::FirstInput);
    hasFirst = true;
  }
  operandBindings.append(func.getNumResults(), ShaderBinding::Results);
}

FailureOr<ShaderPlan> ShaderPlan::create(kernel::FuncOp func) {
  ShaderPlan plan(func);
  const Generator *generator = plan.root ? findGenerator(plan.root) : nullptr;
  if (!generator)
    return func.emitError("has no code generator for Vulkan");
  auto config = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  auto listed = config ? config.getEntries().getAs<ArrayAttr>(kVariantsKey) : ArrayAttr();
  if (!listed)
    return func.emitError("expects kernel.config with variants; run vulkan-select-lowering-config first");
  for (auto attr : listed.getAsRange<DictionaryAttr>())
    plan.variants.push_back(Variant::fromAttr(attr));
  if (failed(plan.readOperands()))
    return failure();
  if (failed(plan.checkTypes()))
    return failure();
  plan.assignBindings();
  plan.extents.fill(plan.constantExpr(1));
  std::array<AffineExpr, kNumAxes> whole;
  whole.fill(plan.constantExpr(0));
  plan.strides.assign(plan.getNumOperands(), whole);
  if (failed(generator->plan(plan)))
    return failure();
  plan.hasLongLoops = plan.mayLoopLong();
  plan.canFail |= plan.hasLongLoops;
  if (failed(plan.checkPushConstants()))
    return failure();
  return plan;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The loops along which |access| moves, innermost first, if each steps over all that the ones before it reach; else
/// nothing.
static std::optional<SmallVector<unsigned>> nestLoops(const LoopNest &nest, const Access &access) {
  SmallVector<unsigned> remaining, nested;
  for (unsigned loop = 0; loop < nest.getNumLoops(); ++loop)
    if (access.uses(loop))
      remaining.push_back(loop);
  Polynomial reach(1);
  auto stepsOver = [&](unsigned loop) {
    std::optional<int64_t> stride = access.strides[loop].getConstant(), least = reach.getConstant();
    return access.strides[loop] == reach || (stride && least && *stride >= *least);
  };
  while (!remaining.empty()) {
    // Of several candidates the one with the smallest step: the others may step over it as well.
    unsigned *next = nullptr;
    for (unsigned &loop : remaining)
      if (stepsOver(loop) && (!next || access.strides[loop].getConstant().value_or(INT64_MAX) <
                                           access.strides[*next].getConstant().value_or(INT64_MAX)))
        next = &loop;
    if (!next)
      return std::nullopt;
    reach = access.strides[*next] * nest.bounds[*next];
    nested.push_back(*next);
    remaining.erase(next);
  }
  return nested;
}

/// Elements per step of each axis where |access| can be cut along the axes; else nothing.
static std::optional<std::array<Polynomial, kNumAxes>> cutAccess(const ShaderPlan &plan, const Access &access) {
  if (!access.irregular.empty() || !access.offset.isZero())
    return std::nullopt;
  std::optional<SmallVector<unsigned>> nested = nestLoops(plan.nest, access);
  if (!nested)
    return std::nullopt;
  // A unit holds whole what the loops reach that no axis counts; axes below them don't cut.
  std::array<Polynomial, kNumAxes> steps;
  SmallVector<unsigned> above;
  for (unsigned loop : *nested) {
    bool isAxis = llvm::any_of(plan.axisLoops, [&](auto &loops) { return llvm::is_contained(loops, loop); });
    if (isAxis)
      above.push_back(loop);
    else
      above.clear();
  }
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    ArrayRef<unsigned> loops = plan.axisLoops[axis];
    auto isAbove = [&](unsigned loop) { return llvm::is_contained(above, loop); };
    if (!llvm::any_of(loops, isAbove))
      continue;
    // Loops of one axis are one only where their steps are.
    for (unsigned i = 0; i + 1 < loops.size(); ++i)
      if (access.strides[loops[i]] != access.strides[loops[i + 1]] * plan.nest.bounds[loops[i + 1]])
        return std::nullopt;
    steps[axis] = access.strides[loops.back()];
  }
  return steps;
}

void ShaderPlan::setAxes(ArrayRef<unsigned> x, ArrayRef<unsigned> y, ArrayRef<unsigned> z) {
  axisLoops = {SmallVector<unsigned>(x), SmallVector<unsigned>(y), SmallVector<unsigned>(z)};
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    Polynomial extent(1);
    for (unsigned loop : axisLoops[axis])
      extent = extent * nest.bounds[loop];
    extents[axis] = toExpr(extent);
  }
  // An operand that several maps or a table read walk is needed whole.
  SmallVector<unsigned> uses(getNumOperands(), 0);
  for (unsigned binding : bindings)
    ++uses[binding];
  root->walk([&](kernel::GatherOp op) { uses[cast<BlockArgument>(op.getTable()).getArgNumber()] = 2; });
  for (auto [i, access] : llvm::enumerate(nest.accesses)) {
    unsigned operand = bindings[i];
    auto steps = uses[operand] == 1 ? cutAccess(*this, access) : std::nullopt;
    if (!steps)
      continue;
    Polynomial bytes(getDeviceBytes(getOperandType(operand).getElementType()));
    for (unsigned axis = 0; axis < kNumAxes; ++axis)
      strides[operand][axis] = toExpr((*steps)[axis] * bytes);
  }
}

void ShaderPlan::setNeighbourAxes(ArrayRef<unsigned> loops) {
  SmallVector<unsigned> z(loops), x, y;
  auto isUnit = [&](unsigned loop) {
    return !getResult(0).isIrregularIn(loop) && getResult(0).strides[loop] == Polynomial(1);
  };
  if (!z.empty()) {
    auto unit = llvm::find_if(llvm::reverse(z), isUnit);
    x.push_back(unit == z.rend() ? z.back() : *unit);
    llvm::erase(z, x.front());
  }
  if (!z.empty())
    y.push_back(z.pop_back_val());
  setAxes(x, y, z);
}

void ShaderPlan::skipEmptyResults() {
  Polynomial elements;
  for (unsigned result = 0; result < root->getNumResults(); ++result)
    elements = elements + bindingElements[getResultBinding(result)];
  // 0 of 0 elements, else 1: no buffer holds as many as this.
  constexpr int64_t kMoreThanAny = int64_t(1) << 40;
  if (!elements.getConstant())
    extents[kX] = extents[kX] * toExpr(elements).ceilDiv(kMoreThanAny);
}

//===----------------------------------------------------------------------===//
// Sliced tables
//===----------------------------------------------------------------------===//

/// Whether |value|, of a region of the root, is integer arithmetic on constants, sizes, indices of loops and elements
/// of inputs, none of which changes along |row|.
static bool isDecidedByInputs(const ShaderPlan &plan, Value value, std::optional<unsigned> row,
                              llvm::DenseSet<Value> &known) {
  if (!known.insert(value).second)
    return true;
  if (!value.getType().isIntOrIndex())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner()->getParentOp() != plan.root)
      return true;
    return argument.getArgNumber() < plan.getNumInputs() && !(row && plan.getInput(argument.getArgNumber()).uses(*row));
  }
  Operation *op = value.getDefiningOp();
  if (auto index = dyn_cast<kernel::IndexOp>(op))
    return !row || plan.nest.findLoop(index.getLoop()) != row;
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isDecidedByInputs(plan, operand, row, known); });
}

/// Whether two values that inputs decide are computed alike, perhaps in different regions of |root|.
static bool isSameValue(Operation *root, Value left, Value right, llvm::DenseSet<std::pair<Value, Value>> &known) {
  if (left == right || !known.insert({left, right}).second)
    return true;
  if (auto argument = dyn_cast<BlockArgument>(left)) {
    auto other = dyn_cast<BlockArgument>(right);
    return other && argument.getOwner()->getParentOp() == root && other.getOwner()->getParentOp() == root &&
           argument.getArgNumber() == other.getArgNumber();
  }
  Operation *op = left.getDefiningOp(), *other = right.getDefiningOp();
  if (!other || op->getName() != other->getName() || op->getNumOperands() != other->getNumOperands() ||
      op->getAttrDictionary() != other->getAttrDictionary() || left.getType() != right.getType())
    return false;
  return llvm::all_of(llvm::zip(op->getOperands(), other->getOperands()),
                      [&](auto pair) { return isSameValue(root, std::get<0>(pair), std::get<1>(pair), known); });
}

/// The index of data that names the row in every read of |operand|; null if there is no such.
static Value findRowIndex(const ShaderPlan &plan, unsigned operand, std::optional<unsigned> row) {
  Value common;
  WalkResult walked = plan.root->walk([&](kernel::GatherOp op) {
    if (cast<BlockArgument>(op.getTable()).getArgNumber() != operand)
      return WalkResult::advance();
    Value index = op.getIndices().empty() ? Value() : op.getIndices().front();
    llvm::DenseSet<Value> decided;
    llvm::DenseSet<std::pair<Value, Value>> compared;
    if (!index || index.getType().isIndex() || !isDecidedByInputs(plan, index, row, decided) ||
        (common && !isSameValue(plan.root, common, index, compared)))
      return WalkResult::interrupt();
    if (!common)
      common = index;
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? Value() : common;
}

void ShaderPlan::findSlicedTable(std::optional<unsigned> row) {
  if (countPushConstants() + kTableWords > kMostWords)
    return;
  int64_t most = 0;
  for (unsigned i = 0; i < func.getNumInputs(); ++i) {
    RankedTensorType type = getOperandType(i);
    if (operandBindings[i] != ShaderBinding::Constants || llvm::is_contained(bindings, i) || !type.hasStaticShape() ||
        type.getRank() == 0)
      continue;
    int64_t bytes = type.getNumElements() * getDeviceBytes(type.getElementType());
    Value index = bytes > most ? findRowIndex(*this, i, row) : Value();
    if (!index)
      continue;
    most = bytes;
    slicedTable = {i, bytes / type.getDimSize(0), index};
  }
}

} // namespace heddle::vulkan
