// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roots but attention, each as dialects/kernel defines it.

#include "compiler/reference/KernelInterpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/reference/KernelLoops.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::reference {

using Scalars = KernelLoops::Scalars;

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

static double getMaximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
static double getMinimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

static Scalar getNeutral(kernel::Combiner combiner, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool isFloat = isa<FloatType>(type);
  IntFormat format =
      isFloat ? IntFormat() : IntFormat{type.isIndex() ? 64 : type.getIntOrFloatBitWidth(), type.isInteger(1)};
  auto pick = [&](double number, int64_t integer) { return isFloat ? makeScalar(number) : makeScalar(integer); };
  switch (combiner) {
  case kernel::Combiner::Sum:
    return pick(0, 0);
  case kernel::Combiner::Product:
    return pick(1, 1);
  case kernel::Combiner::Maximum:
    return pick(-infinity, format.least());
  case kernel::Combiner::Minimum:
    return pick(infinity, format.greatest());
  }
  return {};
}

/// Integers wrap when they are written; until then they have 64 bits.
static Scalar combine(kernel::Combiner combiner, Type type, Scalar a, Scalar b) {
  bool isFloat = isa<FloatType>(type);
  auto x = static_cast<uint64_t>(a.integer), y = static_cast<uint64_t>(b.integer);
  switch (combiner) {
  case kernel::Combiner::Sum:
    return isFloat ? makeScalar(a.number + b.number) : makeScalar(static_cast<int64_t>(x + y));
  case kernel::Combiner::Product:
    return isFloat ? makeScalar(a.number * b.number) : makeScalar(static_cast<int64_t>(x * y));
  case kernel::Combiner::Maximum:
    return isFloat ? makeScalar(getMaximum(a.number, b.number)) : makeScalar(std::max(a.integer, b.integer));
  case kernel::Combiner::Minimum:
    return isFloat ? makeScalar(getMinimum(a.number, b.number)) : makeScalar(std::min(a.integer, b.integer));
  }
  return {};
}

namespace {
/// The value of one reduction: what is combined, and of which type.
class Reduction {
public:
  Reduction(kernel::Combiner combiner, Type type) : combiner(combiner), type(type), value(getNeutral(combiner, type)) {}

  void add(Scalar term) { value = combine(combiner, type, value, term); }
  Scalar get() const { return value; }
  /// As it may come out of a sum of rounded terms.
  Scalar getRounded(KernelLoops &loops) const {
    bool rounds = isa<FloatType>(type) && (combiner == kernel::Combiner::Sum || combiner == kernel::Combiner::Product);
    return rounds ? makeScalar(loops.roundSum(value.number)) : value;
  }

private:
  kernel::Combiner combiner;
  Type type;
  Scalar value;
};
} // namespace

static Type getYieldedType(Region &region, unsigned i = 0) {
  return region.front().getTerminator()->getOperand(i).getType();
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

static void interpretMap(kernel::MapOp op, KernelLoops &loops) {
  loops.forEachTask(loops.getLoops(),
                    [&] { loops.writeAll(loops.run(op.getBody(), loops.readInputs(0, op.getInputs().size()))); });
}

static void interpretRowwise(kernel::RowwiseOp op, KernelLoops &loops) {
  SmallVector<unsigned> outer = loops.getLoops();
  unsigned row = outer.pop_back_val();
  loops.forEachTask(outer, [&] {
    Scalars stats;
    auto readWithStats = [&] {
      Scalars given = loops.readInputs(0, op.getInputs().size());
      given.append(stats);
      return given;
    };
    for (auto [i, attr] : llvm::enumerate(op.getCombiners().getAsRange<kernel::CombinerAttr>())) {
      Region &stage = op.getStages()[i];
      Reduction reduction(attr.getValue(), getYieldedType(stage));
      loops.forEach({row}, [&] { reduction.add(loops.run(stage, readWithStats())[0]); });
      stats.push_back(reduction.getRounded(loops));
    }
    loops.forEach({row}, [&] { loops.writeAll(loops.run(op.getFinish(), readWithStats())); });
  });
}

static void interpretReduce(kernel::ReduceOp op, KernelLoops &loops) {
  SmallVector<unsigned> parallel, reduced;
  for (unsigned loop : loops.getLoops())
    (llvm::is_contained(op.getReductionLoops(), loop) ? reduced : parallel).push_back(loop);
  unsigned count = op.getInputCount();
  loops.forEachTask(parallel, [&] {
    SmallVector<Reduction> reductions;
    for (auto [i, attr] : llvm::enumerate(op.getCombiners().getAsRange<kernel::CombinerAttr>()))
      reductions.emplace_back(attr.getValue(), getYieldedType(op.getBody(), i));
    loops.forEach(reduced, [&] {
      Scalars terms = loops.run(op.getBody(), loops.readInputs(0, count));
      for (auto [reduction, term] : llvm::zip(reductions, terms))
        reduction.add(term);
    });
    for (unsigned loop : reduced)
      loops.at(loop) = 0;
    Scalars given;
    for (const Reduction &reduction : reductions)
      given.push_back(reduction.getRounded(loops));
    given.append(loops.readInputs(count, op.getInputs().size()));
    loops.writeAll(loops.run(op.getFinish(), given));
  });
}

static void interpretScan(kernel::ScanOp op, KernelLoops &loops) {
  SmallVector<unsigned> outer = loops.getLoops();
  unsigned last = outer.pop_back_val(), count = op.getInputCount();
  loops.forEachTask(outer, [&] {
    Reduction reduction(op.getCombiner(), getYieldedType(op.getBody()));
    loops.forEach({last}, [&] {
      Scalar before = reduction.getRounded(loops);
      reduction.add(loops.run(op.getBody(), loops.readInputs(0, count))[0]);
      Scalars given = {op.getExclusive() ? before : reduction.getRounded(loops)};
      given.append(loops.readInputs(count, op.getInputs().size()));
      loops.writeAll(loops.run(op.getFinish(), given));
    });
  });
}

/// The place that |update| chooses in the result; nothing where it lies outside.
static std::optional<int64_t> findPlace(kernel::ScatterOp op, KernelLoops &loops, ArrayRef<Scalar> update) {
  const Dims &dims = loops.getResultDims(0);
  Dims indices = loops.getResultIndices(0);
  for (auto [i, dim] : llvm::enumerate(op.getScatteredDims())) {
    Type type = getYieldedType(op.getBody(), 1 + i);
    std::optional<int64_t> index = loops.resolve(update[1 + i].integer, type, dims[dim]);
    if (!index)
      return std::nullopt;
    indices[dim] = *index;
  }
  int64_t place = 0;
  for (auto [index, dim] : llvm::zip(indices, dims))
    place = place * dim + index;
  return place;
}

static void interpretScatter(kernel::ScatterOp op, KernelLoops &loops) {
  int64_t elements = 1;
  for (int64_t dim : loops.getResultDims(0))
    elements *= dim;
  for (int64_t i = 0; i < elements; ++i)
    loops.writeAt(0, i, loops.readTensor(0, i));
  loops.forEach(loops.getLoops(), [&] {
    Scalars update = loops.run(op.getBody(), loops.readInputs(1, op.getInputs().size()));
    if (update.front().integer == 0)
      return;
    if (std::optional<int64_t> place = findPlace(op, loops, update))
      loops.writeAt(0, *place, loops.run(op.getCombine(), {loops.readBack(0, *place), update.back()})[0]);
  });
}

static void interpretTopK(kernel::TopKOp op, KernelLoops &loops) {
  SmallVector<unsigned> outer = loops.getLoops();
  unsigned rank = outer.pop_back_val(), row = outer.pop_back_val();
  loops.forEachTask(outer, [&] {
    Scalars elements;
    loops.forEach({row},
                  [&] { elements.push_back(loops.run(op.getBody(), loops.readInputs(0, op.getInputs().size()))[0]); });
    SmallVector<int64_t> order(elements.size());
    std::iota(order.begin(), order.end(), 0);
    // Equals stay in order.
    auto precedes = [&](int64_t a, int64_t b) {
      return loops.run(op.getPrecedes(), {elements[a], elements[b]})[0].integer != 0;
    };
    llvm::sort(order, [&](int64_t a, int64_t b) { return precedes(a, b) || (!precedes(b, a) && a < b); });
    loops.forEach({rank}, [&] {
      loops.write(0, elements[order[loops.at(rank)]]);
      loops.write(1, makeScalar(order[loops.at(rank)]));
    });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The element (k, n) of packed weights, input |number|, of which |group| neighbours of k lie side by side.
static Scalar readPacked(KernelLoops &loops, unsigned number, int64_t k, int64_t n, int64_t group) {
  const Dims &dims = loops.getDims(number);
  int64_t width = dims[2], place = ((n / width) * dims[1] + k / group) * width + n % width;
  return loops.readTensor(number, dims.size() == 4 ? place * group + k % group : place);
}

/// The product at the current indices: of Form::Integer an integer, else a number.
static Scalar multiply(kernel::ContractOp op, KernelLoops &loops, int64_t k, int64_t n) {
  using Form = kernel::ContractOp::Form;
  Scalar left = loops.readInput(0);
  double scale = op.getBlockSize() ? readPacked(loops, 2, k, n, *op.getBlockSize()).number : 1;
  switch (op.getForm()) {
  case Form::Plain:
    return makeScalar(left.number * (op.getPackedRhs() ? readPacked(loops, 1, k, n, 1) : loops.readInput(1)).number);
  case Form::PairsOfBf16: {
    double rounded = roundToType(left.number, BFloat16Type::get(op.getContext()));
    return makeScalar(rounded * readPacked(loops, 1, k, n, 2).number);
  }
  case Form::Integer: {
    // A signed byte with its highest bit flipped is 128 more.
    int64_t code = op.getSignedLhs() ? left.integer + 128 : left.integer & 255;
    return makeScalar(code * readPacked(loops, 1, k, n, 4).integer);
  }
  case Form::BytesOfWeights:
    return makeScalar(left.number * scale * static_cast<double>(readPacked(loops, 1, k, n, 1).integer));
  case Form::HalfBytesOfWeights: {
    int64_t code = readPacked(loops, 1, k, n, 2).integer >> (k % 2 * 4) & 15;
    return makeScalar(left.number * scale * static_cast<double>(code - 8));
  }
  }
  return {};
}

static void interpretContract(kernel::ContractOp op, KernelLoops &loops) {
  SmallVector<unsigned> outer = loops.getLoops();
  unsigned k = outer.pop_back_val(), n = k - 1;
  bool isInteger = op.getForm() == kernel::ContractOp::Form::Integer;
  loops.forEachTask(outer, [&] {
    double sum = 0;
    int64_t integer = 0;
    loops.forEach({k}, [&] {
      Scalar term = multiply(op, loops, loops.at(k), loops.at(n));
      if (isInteger)
        integer += term.integer;
      else
        sum += term.number;
    });
    loops.at(k) = 0;
    // Modulo 2^32.
    Scalars given = {isInteger ? makeScalar(int64_t(static_cast<int32_t>(integer))) : makeScalar(loops.roundSum(sum))};
    given.append(loops.readInputs(op.getFirstCapture(), op.getInputs().size()));
    loops.writeAll(loops.run(op.getEpilogue(), given));
  });
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

llvm::Error interpretKernel(kernel::FuncOp func, ArrayRef<int64_t> sizes, KernelMemory &memory, KernelTasks *tasks) {
  KernelLoops loops(func, sizes, memory, tasks);
  if (llvm::Error error = loops.prepare())
    return error;
  llvm::TypeSwitch<Operation *>(loops.getRoot())
      .Case([&](kernel::MapOp op) { interpretMap(op, loops); })
      .Case([&](kernel::RowwiseOp op) { interpretRowwise(op, loops); })
      .Case([&](kernel::ReduceOp op) { interpretReduce(op, loops); })
      .Case([&](kernel::ScanOp op) { interpretScan(op, loops); })
      .Case([&](kernel::ScatterOp op) { interpretScatter(op, loops); })
      .Case([&](kernel::TopKOp op) { interpretTopK(op, loops); })
      .Case([&](kernel::ContractOp op) { interpretContract(op, loops); })
      .Case([&](kernel::AttentionOp op) { interpretAttention(op, loops); });
  return llvm::Error::success();
}

} // namespace heddle::reference
