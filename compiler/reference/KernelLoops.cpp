// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, elements and regions of a kernel that is interpreted.

#include "compiler/reference/KernelLoops.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::reference {

static Dims getDims(Type type, ArrayRef<int64_t> numbers, ArrayRef<int64_t> sizes) {
  auto tensor = cast<RankedTensorType>(type);
  Dims dims;
  for (int64_t i = 0; i < tensor.getRank(); ++i)
    dims.push_back(tensor.isDynamicDim(i) ? sizes[numbers[tensor.getDynamicDimIndex(i)]] : tensor.getDimSize(i));
  return dims;
}

Dims getInputDims(kernel::FuncOp func, unsigned i, ArrayRef<int64_t> sizes) {
  return getDims(func.getArgumentTypes()[i], func.getInputDims(i), sizes);
}

Dims getResultDims(kernel::FuncOp func, unsigned i, ArrayRef<int64_t> sizes) {
  return getDims(func.getResultTypes()[i], func.getResultDims(i), sizes);
}

KernelLoops::KernelLoops(kernel::FuncOp func, ArrayRef<int64_t> sizes, KernelMemory &memory, KernelTasks *tasks)
    : func(func), root(func.getRoot()), memory(memory), tasks(tasks), maps(root.getRootMaps()), sizes(sizes) {
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    inputDims.push_back(reference::getInputDims(func, i, sizes));
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
    outputDims.push_back(reference::getResultDims(func, i, sizes));
  for (Value input : root.getRootInputs())
    arguments.push_back(cast<BlockArgument>(input).getArgNumber());
  // Results may be returned in another order than the root's.
  auto returned = func.getBody().front().getTerminator()->getOperands();
  for (Value result : root->getResults())
    outputs.push_back(llvm::find(returned, result) - returned.begin());
  for (Value size : root.getRootSizes())
    symbols.push_back(sizes[cast<BlockArgument>(size).getArgNumber() - func.getNumInputs()]);
  for (AffineExpr bound : root.getRootBounds().getResults())
    bounds.push_back(evaluate(bound));
  dims.assign(bounds.size(), 0);
}

llvm::Error KernelLoops::prepare() {
  for (Region &region : root->getRegions()) {
    if (region.empty())
      continue;
    auto sizeArguments = func.getArguments().drop_front(func.getNumInputs());
    auto translated = ScalarRegion::create(region.front(), ValueRange(sizeArguments), "kernel");
    if (!translated)
      return translated.takeError();
    auto body = std::make_unique<Body>(Body{std::move(*translated), {}, region.front().getNumArguments()});
    body->slots = body->region.makeSlots();
    for (auto [i, size] : llvm::enumerate(sizes))
      body->slots[body->argumentCount + i] = makeScalar(size);
    bodies[&region] = std::move(body);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<unsigned> KernelLoops::getLoops() const {
  return llvm::to_vector(llvm::seq<unsigned>(0, static_cast<unsigned>(bounds.size())));
}

void KernelLoops::forEach(ArrayRef<unsigned> loops, llvm::function_ref<void()> action) {
  if (loops.empty())
    return action();
  for (int64_t i = 0; i < bounds[loops.front()]; ++i) {
    dims[loops.front()] = i;
    forEach(loops.drop_front(), action);
  }
}

void KernelLoops::forEachTask(ArrayRef<unsigned> loops, llvm::function_ref<void()> action, int64_t cost) {
  auto runTask = [&] {
    for (unsigned loop : getLoops())
      if (!llvm::is_contained(loops, loop))
        dims[loop] = 0;
    action();
  };
  if (!tasks)
    return forEach(loops, runTask);
  SmallVector<int64_t> extents, indices(loops.size(), 0), positions(outputs.size());
  if (cost == 0) {
    cost = 1;
    for (unsigned loop : getLoops())
      if (!llvm::is_contained(loops, loop))
        cost = std::min<int64_t>(cost * std::max<int64_t>(bounds[loop], 1), int64_t(1) << 30);
  }
  for (unsigned loop : loops)
    extents.push_back(bounds[loop]);
  tasks->begin(extents, cost);
  while (tasks->next(indices)) {
    dims.assign(dims.size(), 0);
    for (auto [loop, index] : llvm::zip(loops, indices))
      dims[loop] = index;
    for (auto [result, output] : llvm::enumerate(outputs))
      positions[output] = getPosition(maps[arguments.size() + result], outputDims[output]);
    if (tasks->accepts(positions))
      action();
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

int64_t KernelLoops::evaluate(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = evaluate(binary.getLHS()), right = evaluate(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(left, right);
  default:
    return llvm::mod(left, right);
  }
}

int64_t KernelLoops::getPosition(AffineMap map, ArrayRef<int64_t> shape) const {
  int64_t linear = 0;
  for (auto [expr, dim] : llvm::zip(map.getResults(), shape))
    linear = linear * dim + evaluate(expr);
  return linear;
}

Scalar KernelLoops::readTensor(unsigned number, int64_t position) { return memory.read(arguments[number], position); }

KernelLoops::Scalars KernelLoops::readInputs(unsigned begin, unsigned end) {
  Scalars result;
  for (unsigned i = begin; i < end; ++i)
    result.push_back(readTensor(i, getPosition(maps[i], getDims(i))));
  return result;
}

void KernelLoops::write(unsigned result, Scalar value) {
  unsigned output = outputs[result];
  memory.write(output, getPosition(maps[arguments.size() + result], outputDims[output]), value);
}

void KernelLoops::writeAll(ArrayRef<Scalar> values) {
  for (auto [result, value] : llvm::enumerate(values))
    write(result, value);
}

Dims KernelLoops::getResultIndices(unsigned result) {
  Dims indices;
  for (AffineExpr expr : maps[arguments.size() + result].getResults())
    indices.push_back(evaluate(expr));
  return indices;
}

std::optional<int64_t> KernelLoops::resolve(int64_t index, Type type, int64_t dim) {
  if (type.isIndex())
    return index;
  int64_t wrapped = index < 0 ? index + dim : index;
  if (wrapped >= 0 && wrapped < dim)
    return wrapped;
  memory.report(KernelFault::IndexOutOfRange, index, dim);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Scalar KernelLoops::evaluate(Operation *op, ArrayRef<Scalar> operands) {
  if (auto index = dyn_cast<kernel::IndexOp>(op))
    return makeScalar(dims[index.getLoop()]);
  auto gather = cast<kernel::GatherOp>(op);
  unsigned table = cast<BlockArgument>(gather.getTable()).getArgNumber();
  int64_t linear = 0;
  for (auto [index, operand, dim] : llvm::zip(gather.getIndices(), operands, inputDims[table])) {
    std::optional<int64_t> place = resolve(operand.integer, index.getType(), dim);
    if (!place)
      return makeScalar(int64_t(0)); // which is 0.0 too
    linear = linear * dim + *place;
  }
  return memory.read(table, linear);
}

KernelLoops::Scalars KernelLoops::run(Region &region, ArrayRef<Scalar> given) {
  Body &body = *bodies[&region];
  llvm::copy(given, body.slots.begin());
  body.region.run(body.slots, *this);
  Scalars yielded;
  for (size_t i = 0; i < body.region.getNumResults(); ++i)
    yielded.push_back(body.region.getResult(body.slots, i));
  return yielded;
}

} // namespace heddle::reference
