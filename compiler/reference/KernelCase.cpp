// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that a kernel accepts, a choice of its work that doesn't take long, and what of the outcome is certain.

#include "compiler/reference/KernelCase.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <heddle/self_test.h>

#include "compiler/reference/CaseMemory.h"
#include "compiler/reference/KernelLoops.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace heddle::reference {

namespace {

constexpr unsigned kNumAxes = 3;
/// Updates of a scatter, which is run as a whole.
constexpr int64_t kMostUpdates = 16384;
constexpr int64_t kLeastTasks = 4, kMostTasks = 1024;
/// Tasks of a kernel that are all looked at to find those of the case.
constexpr int64_t kMostScanned = 65536;

/// Of integers: indices of tables, masks and lengths want small numbers, and as many of them as the tables allow.
constexpr uint32_t kLimits[] = {61, 7, 2, 1};

/// The part of a kernel's results that the case's units compute.
class Region {
public:
  explicit Region(const KernelCaseRequest &request) : axes(request.axes) {
    kernel::FuncOp func = request.func;
    firstResult = func.getNumInputs();
    for (Type type : func.getResultTypes())
      bytes.push_back(getDeviceBytes(cast<RankedTensorType>(type).getElementType()));
  }

  bool contains(unsigned output, int64_t position) const {
    return heddle_self_test_reaches(position * bytes[output], axes.data(), getStrides(output)) != 0;
  }
  /// At most how many elements of the first result that is cut there are; 0: unknown.
  int64_t count() const {
    for (unsigned output = 0; output < bytes.size(); ++output) {
      int64_t units = 1, least = 0;
      for (unsigned axis = 0; axis < kNumAxes; ++axis) {
        units *= axes[axis];
        int64_t stride = getStrides(output)[axis];
        least = stride != 0 && (least == 0 || stride < least) ? stride : least;
      }
      if (least != 0)
        return units * (least / bytes[output]);
    }
    return 0;
  }

private:
  const uint32_t *getStrides(unsigned output) const {
    return axes.data() + kNumAxes + kNumAxes * (firstResult + output);
  }

  ArrayRef<uint32_t> axes;
  unsigned firstResult = 0;
  SmallVector<int64_t> bytes;
};

/// Finds the tasks of a region without running them.
class TaskFinder final : public KernelTasks {
public:
  TaskFinder(const Region &region, int64_t mostReads) : region(region), mostReads(mostReads) {}

  void begin(ArrayRef<int64_t> extents, int64_t cost) override {
    bounds.assign(extents.begin(), extents.end());
    most = std::clamp(mostReads / cost, kLeastTasks, kMostTasks);
    total = 1;
    for (int64_t bound : bounds)
      total = std::min(total * bound, int64_t(1) << 40);
    tries = total <= kMostScanned ? total : kMostScanned / 16;
  }

  bool next(MutableArrayRef<int64_t> indices) override {
    if (tried == tries || (region.count() != 0 && static_cast<int64_t>(found.size()) >= region.count()))
      return false;
    int64_t number = tried++;
    current.assign(bounds.size(), 0);
    for (unsigned i = bounds.size(); i-- > 0;) {
      current[i] = total <= kMostScanned ? number % bounds[i] : pick(number, i);
      number = total <= kMostScanned ? number / bounds[i] : number;
    }
    llvm::copy(current, indices.begin());
    return true;
  }

  bool accepts(ArrayRef<int64_t> positions) override {
    for (auto [output, position] : llvm::enumerate(positions))
      if (!region.contains(output, position))
        return false;
    found.push_back(current);
    return false;
  }

  /// Some of them, spread over all, and whether there are no others.
  std::vector<SmallVector<int64_t>> choose(bool *isAll) {
    *isAll = total <= kMostScanned && static_cast<int64_t>(found.size()) <= most;
    if (static_cast<int64_t>(found.size()) <= most)
      return found;
    std::vector<SmallVector<int64_t>> chosen;
    for (int64_t i = 0; i < most; ++i)
      chosen.push_back(found[i * (found.size() - 1) / (most - 1)]);
    return chosen;
  }

private:
  /// Of many tasks those at the front are the likelier ones to be in the region.
  int64_t pick(int64_t number, unsigned loop) const {
    uint32_t bits = heddle_self_test_bits(loop, number);
    int64_t bound = bits % 3 == 0 ? 1 : bits % 3 == 1 ? std::min<int64_t>(bounds[loop], 64) : bounds[loop];
    return (bits / 3) % bound;
  }

  const Region &region;
  int64_t mostReads;
  SmallVector<int64_t> bounds, current;
  int64_t most = kLeastTasks, total = 0, tries = 0, tried = 0;
  std::vector<SmallVector<int64_t>> found;
};

/// Runs given tasks.
class ChosenTasks final : public KernelTasks {
public:
  explicit ChosenTasks(ArrayRef<SmallVector<int64_t>> tasks) : tasks(tasks) {}
  void begin(ArrayRef<int64_t>, int64_t) override {}
  bool next(MutableArrayRef<int64_t> indices) override {
    if (tasks.empty())
      return false;
    llvm::copy(tasks.front(), indices.begin());
    tasks = tasks.drop_front();
    return true;
  }
  bool accepts(ArrayRef<int64_t>) override { return true; }

private:
  ArrayRef<SmallVector<int64_t>> tasks;
};

class CaseMaker {
public:
  explicit CaseMaker(const KernelCaseRequest &request) : request(request), func(request.func), region(request) {}
  std::optional<SelfTest> make();

private:
  Type getElement(unsigned operand) const;
  int64_t countParts(kernel::AttentionOp op) const;
  bool canRun();
  bool findTasks();
  bool run(CaseMemory &memory);
  bool sizeOperands(const CaseMemory &memory);
  int64_t getSpan(unsigned operand, int64_t count) const;
  bool make(uint32_t limit);
  void addOutput(unsigned output, ArrayRef<const CaseMemory *> runs);
  bool isCertain(unsigned output, int64_t position, ArrayRef<const CaseMemory *> runs, double largest) const;

  const KernelCaseRequest &request;
  kernel::FuncOp func;
  Region region;
  std::vector<SmallVector<int64_t>> tasks;
  bool isWhole = false; ///< all tasks of the region are run
  SelfTest test;
  int64_t seen = 0, compared = 0; ///< elements of results
};

} // namespace

int64_t getDeviceBytes(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return isa<IntegerType>(element) && width == 64 ? 4 : std::max(1u, width / 8);
}

static int64_t getHostBytes(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

static int64_t countElements(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

Type CaseMaker::getElement(unsigned operand) const {
  kernel::FuncOp function = func;
  unsigned inputs = function.getNumInputs();
  Type type = operand < inputs ? function.getArgumentTypes()[operand] : function.getResultTypes()[operand - inputs];
  return cast<RankedTensorType>(type).getElementType();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Says where packed weights end: what lies beyond is zero, and kernels rely on it.
static void packWeights(kernel::FuncOp func, ArrayRef<int64_t> sizes, std::vector<SelfTestInput> &inputs) {
  auto contract = dyn_cast<kernel::ContractOp>(*func.getRoot());
  if (!contract || !contract.getPackedRhs())
    return;
  auto pack = [&](Value value, int64_t depth) {
    if (depth == 0)
      return; // without depth there are no weights
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    Dims dims = getInputDims(func, number, sizes);
    SelfTestInput &input = inputs[number];
    input.columns = *contract.getPackedRhs();
    input.width = dims[2];
    input.group = dims.size() == 4 ? dims[3] : 1;
    input.depth = depth;
  };
  // So small that two of them by any bytes fit 16 bits: what is promised of pairs holds.
  constexpr uint32_t kPairSafe = 64;
  if (contract.getPairSafe())
    inputs[cast<BlockArgument>(contract.getRhs()).getArgNumber()].limit = kPairSafe;
  // The last loop's bound, which is a number wherever weights are.
  auto bound = dyn_cast<AffineConstantExpr>(contract.getBounds().getResults().back());
  Dims dims = getInputDims(func, cast<BlockArgument>(contract.getRhs()).getArgNumber(), sizes);
  bool areHalfBytes = contract.getForm() == kernel::ContractOp::Form::HalfBytesOfWeights;
  pack(contract.getRhs(), bound && !areHalfBytes ? bound.getValue() : dims[1] * (dims.size() == 4 ? dims[3] : 1));
  if (std::optional<unsigned> scales = contract.getScalesInput())
    pack(contract.getInputs()[*scales],
         getInputDims(func, cast<BlockArgument>(contract.getInputs()[*scales]).getArgNumber(), sizes)[1]);
}

std::vector<SelfTestInput> makeInputRecipes(kernel::FuncOp func, ArrayRef<int64_t> sizes, uint32_t limit) {
  std::vector<SelfTestInput> inputs(func.getNumInputs());
  for (auto [i, input] : llvm::enumerate(inputs)) {
    input.seed = i + 1;
    Type element = cast<RankedTensorType>(func.getArgumentTypes()[i]).getElementType();
    // Bytes are codes, and all of them mean something.
    input.limit = isa<FloatType>(element) || element.isInteger(8) ? 0 : limit;
  }
  // What masks read is 0 or 1: (1 - 2) * lowest, which exporters' regions would compute, is infinite in f32 alone.
  if (auto attention = dyn_cast<kernel::AttentionOp>(*func.getRoot()))
    for (Value capture : attention.getCaptures())
      if (uint32_t &most = inputs[cast<BlockArgument>(capture).getArgNumber()].limit)
        most = std::min(most, 2U);
  packWeights(func, sizes, inputs);
  return inputs;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// How many states there are of each row.
int64_t CaseMaker::countParts(kernel::AttentionOp op) const {
  auto states = cast<BlockArgument>(op.getInputs()[*op.getPartsInput()]);
  return getInputDims(func, states.getArgNumber(), request.sizes).front();
}

/// Whether the kernel has a meaning of its own, and is small if it has to be run as a whole.
bool CaseMaker::canRun() {
  Operation *root = func.getRoot();
  if (auto attention = dyn_cast<kernel::AttentionOp>(root))
    return !attention.getTakesParts() || countParts(attention) == 0;
  if (!isa<kernel::ScatterOp>(root))
    return true;
  CaseMemory memory(func, request.sizes, {}, CaseMemory::Noise::None);
  KernelLoops loops(func, request.sizes, memory, nullptr);
  Dims bounds;
  for (unsigned loop : loops.getLoops())
    bounds.push_back(loops.getBound(loop));
  int64_t updates = countElements(bounds), elements = countElements(getResultDims(func, 0, request.sizes));
  return updates >= 0 && elements >= 0 && updates <= kMostUpdates && elements <= 8 * kMostUpdates;
}

bool CaseMaker::findTasks() {
  CaseMemory memory(func, request.sizes, test.inputs, CaseMemory::Noise::None);
  TaskFinder finder(region, request.mostReads);
  if (llvm::Error error = interpretKernel(func, request.sizes, memory, &finder)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  tasks = finder.choose(&isWhole);
  return !tasks.empty() || isa<kernel::ScatterOp>(*func.getRoot());
}

bool CaseMaker::run(CaseMemory &memory) {
  ChosenTasks chosen(tasks);
  llvm::consumeError(interpretKernel(func, request.sizes, memory, &chosen));
  return memory.isFine();
}

/// Elements of an operand, one of |count|, that the case's units reach.
int64_t CaseMaker::getSpan(unsigned operand, int64_t count) const {
  const uint32_t *strides = request.axes.data() + kNumAxes + kNumAxes * operand;
  int64_t reach = 0, unit = 0;
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    int64_t stride = strides[axis];
    reach += (request.axes[axis] - 1) * stride;
    unit = stride != 0 && (unit == 0 || stride < unit) ? stride : unit;
  }
  return unit == 0 ? count : std::min(count, (reach + unit) / getDeviceBytes(getElement(operand)));
}

/// Says how long the operands are; false if that is too much.
bool CaseMaker::sizeOperands(const CaseMemory &memory) {
  llvm::BitVector tables(func.getNumInputs());
  func.getRoot()->walk([&](kernel::GatherOp op) { tables.set(cast<BlockArgument>(op.getTable()).getArgNumber()); });
  uint64_t total = 0;
  for (unsigned i = 0; i < func.getNumInputs() + func.getResultTypes().size(); ++i) {
    bool isInput = i < func.getNumInputs();
    unsigned output = i - func.getNumInputs();
    int64_t count =
        countElements(isInput ? getInputDims(func, i, request.sizes) : getResultDims(func, output, request.sizes));
    if (count < 0)
      return false;
    int64_t span = getSpan(i, count);
    // Of a table only that much is read, if it is known what is.
    if (isInput && tables[i] && isWhole && span == count)
      span = memory.getReach(i);
    uint64_t bytes = span * getHostBytes(getElement(i));
    if (bytes > HEDDLE_SELF_TEST_MAX_BYTES || (total += bytes) > HEDDLE_SELF_TEST_MAX_BYTES)
      return false;
    (isInput ? test.inputs[i].bytes : test.outputs.emplace_back().bytes) = bytes;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Whether every right computation gives this element, within the tolerance.
bool CaseMaker::isCertain(unsigned output, int64_t position, ArrayRef<const CaseMemory *> runs, double largest) const {
  Type element = getElement(test.inputs.size() + output);
  Scalar exact = runs[0]->getOutput(output).lookup(position);
  for (const CaseMemory *run : runs.drop_front()) {
    auto found = run->getOutput(output).find(position);
    if (found == run->getOutput(output).end())
      return false;
    if (isa<IntegerType>(element) && found->second.integer != exact.integer)
      return false;
    if (isa<FloatType>(element) && !(std::abs(found->second.number - exact.number) <= request.tolerance * largest / 4))
      return false;
  }
  // Devices compute with 32 bits.
  if (element.isInteger(64))
    return exact.integer == static_cast<int32_t>(exact.integer);
  return isa<IntegerType>(element) || std::isfinite(static_cast<float>(exact.number));
}

static void appendElement(std::vector<uint8_t> &bytes, Type element, Scalar value) {
  auto append = [&](auto stored) {
    const auto *first = reinterpret_cast<const uint8_t *>(&stored);
    bytes.insert(bytes.end(), first, first + sizeof(stored));
  };
  if (element.isF64())
    return append(value.number);
  if (element.isF32())
    return append(static_cast<float>(value.number));
  if (isa<FloatType>(element))
    return append(encodeHalf(value.number, element));
  switch (getHostBytes(element)) {
  case 1:
    return append(static_cast<uint8_t>(value.integer));
  case 2:
    return append(static_cast<uint16_t>(value.integer));
  case 4:
    return append(static_cast<uint32_t>(value.integer));
  default:
    return append(value.integer);
  }
}

/// Takes what |runs| agree on, and counts how many elements that are and how many there were.
void CaseMaker::addOutput(unsigned output, ArrayRef<const CaseMemory *> runs) {
  Type element = getElement(test.inputs.size() + output);
  SelfTestOutput &made = test.outputs[output];
  made.tolerance = isa<FloatType>(element) ? request.tolerance : 0;
  std::vector<int64_t> positions;
  double largest = 0;
  for (const auto &[position, value] : runs[0]->getOutput(output)) {
    if (!region.contains(output, position))
      continue;
    positions.push_back(position);
    if (isa<FloatType>(element) && std::isfinite(value.number))
      largest = std::max(largest, std::abs(value.number));
  }
  llvm::sort(positions);
  seen += positions.size();
  for (int64_t position : positions) {
    if (!isCertain(output, position, runs, largest))
      continue;
    if (!made.runs.empty() && made.runs.end()[-2] + made.runs.back() == position)
      ++made.runs.back();
    else
      made.runs.insert(made.runs.end(), {static_cast<uint32_t>(position), 1});
    ++compared;
    appendElement(made.values, element, runs[0]->getOutput(output).lookup(position));
  }
}

/// A case with integers below |limit|; false if the kernel doesn't accept them.
bool CaseMaker::make(uint32_t limit) {
  using Noise = CaseMemory::Noise;
  test.inputs = makeInputRecipes(func, request.sizes, limit);
  test.outputs.clear();
  seen = compared = 0;
  CaseMemory exact(func, request.sizes, test.inputs, Noise::None);
  CaseMemory up(func, request.sizes, test.inputs, Noise::Some);
  CaseMemory down(func, request.sizes, test.inputs, Noise::Opposite);
  if (!run(exact) || !run(up) || !run(down) || !sizeOperands(exact))
    return false;
  for (unsigned output = 0; output < test.outputs.size(); ++output)
    addOutput(output, {&exact, &up, &down});
  return compared != 0;
}

std::optional<SelfTest> CaseMaker::make() {
  test.sizes.assign(request.sizes.begin(), request.sizes.end());
  test.axes.assign(request.axes.begin(), request.axes.end());
  if (!canRun())
    return std::nullopt;
  test.inputs = makeInputRecipes(func, request.sizes, kLimits[0]);
  if (!findTasks())
    return std::nullopt;
  std::optional<SelfTest> best;
  int64_t most = 0;
  for (uint32_t limit : kLimits) {
    if (!make(limit) || compared <= most)
      continue;
    best = test;
    most = compared;
    // A large number may make infinities of masked scores, and little is certain then; smaller ones are masks.
    if (2 * compared >= seen)
      break;
  }
  return best;
}

std::optional<SelfTest> makeKernelCase(const KernelCaseRequest &request) { return CaseMaker(request).make(); }

} // namespace heddle::reference
