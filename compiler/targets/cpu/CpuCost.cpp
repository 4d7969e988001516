// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiply-adds by how well a tile keeps the multipliers busy, bytes by the cache that they come from, items by how
// evenly threads share them. The model knows ports, latency, registers and cache sizes; what it doesn't know, such as a
// prefetcher's mood, is what measurements are for.

#include "compiler/targets/cpu/CpuCost.h"

#include "compiler/targets/common/EvaluateSizes.h"
#include "compiler/targets/cpu/RowTiles.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace heddle::cpu {

namespace {

/// A thread that sleeps starts so much later.
constexpr double kWakeSeconds = 1e-6;
/// An item's own start: its digits, its addresses.
constexpr double kItemSeconds = 60e-9;

class Estimate {
public:
  Estimate(const KernelPlan &plan, ArrayRef<int64_t> sizes, const VectorRegisters &registers,
           const DeviceLimits &limits)
      : plan(plan), sizes(sizes), registers(registers), limits(limits) {}

  double contract() const;
  double attention() const;
  double streaming() const;

private:
  double at(AffineExpr expr) const { return evaluateSizes(expr, sizes); }
  double bound(unsigned loop) const { return at(plan.toExpr(plan.nest.bounds[loop])); }
  /// What all items take, |item| seconds each, on the threads that get some.
  double share(double item) const;
  double efficiency(int64_t rows, int64_t vectors) const;
  double tileRows(int64_t rows, int64_t height, int64_t vectors) const;
  /// Bytes a second that one thread reads of |bytes| that it reads again and again.
  double bandwidth(double bytes) const;

  const KernelPlan &plan;
  ArrayRef<int64_t> sizes;
  const VectorRegisters &registers;
  const DeviceLimits &limits;
};

} // namespace

double Estimate::share(double item) const {
  double items = 1;
  for (AffineExpr digit : plan.items.digits)
    items *= at(digit);
  double grain = std::ceil(plan.config.getInteger(config::kGrainWork) / (at(plan.items.workPerItem) + 1));
  double threads = std::clamp(std::floor(items / std::max(grain, 1.0)), 1.0, static_cast<double>(limits.threads));
  // The last round leaves threads idle.
  return (item + kItemSeconds) * std::ceil(items / threads) + (threads > 1 ? kWakeSeconds : 0);
}

/// How busy a tile keeps the multipliers: two multiply-adds and two loads start in a cycle, and an accumulator waits
/// four cycles for itself.
double Estimate::efficiency(int64_t rows, int64_t vectors) const {
  double products = rows * vectors * registers.perVector, loads = vectors * registers.perVector + rows;
  double cycles = std::max({products / 2, loads / 2, 4.0});
  constexpr double kSpilled = 0.4;
  return products / 2 / cycles * (registers.hold(rows, vectors) ? 1 : kSpilled);
}

/// |rows| in tiles of |height|, as rows of a tile that wastes nothing.
double Estimate::tileRows(int64_t rows, int64_t height, int64_t vectors) const {
  int64_t whole = rows / height, rest = rows % height;
  SmallVector<int64_t> pieces;
  RowTiles tiles{height, plan.config.getInteger(config::kSplitRowTail) != 0, rest};
  if (rest != 0 && rest <= tiles.getMostShared() && whole > 0) {
    --whole;
    pieces = {(rest + height + 1) / 2, (rest + height) / 2};
  } else if (rest != 0) {
    pieces = {rest};
  }
  double sum = whole * height / efficiency(height, vectors);
  for (int64_t piece : pieces)
    sum += piece / efficiency(piece, vectors);
  return sum;
}

double Estimate::bandwidth(double bytes) const {
  double all = bytes <= limits.l1Bytes / 2   ? limits.l1
               : bytes <= limits.l2Bytes / 2 ? limits.l2
               : bytes <= limits.l3Bytes / 2 ? limits.l3
                                             : limits.memory;
  return all / limits.threads;
}

double Estimate::contract() const {
  const ContractPlan &contract = plan.contract;
  auto [m, n, k] = contract.panelLoops;
  double rows = bound(m), columns = bound(n), depth = bound(k);
  bool isInteger = contract.multiplier == Multiplier::ByteDots || contract.multiplier == Multiplier::SafePairs ||
                   contract.multiplier == Multiplier::Words;
  double elementBytes = !contract.packedRhs                                     ? 4
                        : contract.multiplier == Multiplier::Floats             ? 4
                        : contract.multiplier == Multiplier::PairsOfBf16        ? 2
                        : contract.multiplier == Multiplier::HalfBytesOfWeights ? 0.5
                                                                                : 1;
  bool isFew = contract.fewRows != 0 && rows <= contract.fewRows;
  int64_t itemRows =
      std::min<int64_t>(getEvenShare(rows, contract.rowsPerItem, contract.rowTile), std::max<double>(rows, 1));
  int64_t vectors = isFew ? contract.fewRowVectors : contract.columnVectors;
  int64_t height = isFew ? std::max<int64_t>(rows, 1) : contract.rowTile;
  double panels = std::ceil(columns / kLanes);
  double itemPanels = std::min(panels, double(vectors * (isFew ? 1 : contract.groupsPerItem)));

  double peak = (isInteger ? limits.byteOps : limits.flops) / limits.threads;
  // Few rows take as many panels at a time as registers hold.
  int64_t tileVectors = std::min<int64_t>(vectors, panels);
  while (isFew && tileVectors > 1 && !registers.hold(height, tileVectors))
    --tileVectors;
  double multiply = tileRows(itemRows, height, tileVectors) * itemPanels * kLanes * depth * 2 / peak;
  // Each tile of rows reads the group of panels again, each group the rows.
  double groupBytes = vectors * kLanes * depth * elementBytes, rowBytes = itemRows * depth * (isInteger ? 1 : 4);
  double tiles = std::ceil(double(itemRows) / height), groups = itemPanels / vectors;
  double cached = (tiles - 1) * groupBytes * groups / bandwidth(groupBytes + height * depth * 4) +
                  groups * rowBytes / bandwidth(rowBytes);
  // The first tile reads them from where they are: weights from memory, unless another block of rows was there before.
  double blocks = std::max(std::ceil(rows / itemRows), 1.0);
  double first = itemPanels * kLanes * depth * elementBytes * (1 / limits.memory + (blocks - 1) / limits.l3) / blocks *
                 limits.threads;
  bool fetches = (contract.prefetchRows != 0 && rows >= contract.prefetchRows) || (isFew && contract.prefetchesFewRows);
  constexpr double kHidden = 0.5; // of what is read, by the processor's own prefetching
  double item = std::max(multiply, cached) + (fetches ? std::max(0.0, first - multiply) : kHidden * first);
  if (contract.lhsCopy != LhsCopy::None || !contract.packedRhs)
    item += (rowBytes + (contract.packedRhs ? 0 : groupBytes)) / (limits.l3 / limits.threads);
  return share(item);
}

double Estimate::attention() const {
  const AttentionPlan &attention = plan.attention;
  using Loops = kernel::AttentionOp;
  double queries = bound(Loops::Row), keys = bound(Loops::Key), depth = bound(Loops::HeadSize);
  double width = bound(Loops::ValueSize);
  int64_t itemQueries = getEvenShare(queries, attention.blockQ, attention.getUnit());
  int64_t rows = attention.heads * std::min<int64_t>(itemQueries, std::max<double>(queries, 1));
  double peak = limits.flops / limits.threads;
  double multiply = tileRows(rows, attention.rowTile, attention.columnVectors) * keys * (depth + width) * 2 / peak;
  // Weights: about ten cycles for sixteen of them, at two multiply-adds of a vector a cycle.
  double weights = rows * keys * 10 / kLanes / (peak / (4.0 * kLanes / registers.perVector));
  double pack = keys * depth * 4 / (limits.l2 / limits.threads) * 2;
  // Each tile of rows reads a block of keys and values again.
  double blockBytes = attention.blockKv * (depth + width) * 4;
  double cached = std::ceil(double(rows) / attention.rowTile) * keys * (depth + width) * 4 / bandwidth(blockBytes);
  return share(std::max(multiply + weights, cached) + pack);
}

double Estimate::streaming() const {
  double bytes = 0, items = 1;
  for (unsigned i = 0; i < plan.bindings.size(); ++i)
    bytes += at(plan.toExpr(plan.bindingElements[plan.bindings[i]])) * 4;
  for (AffineExpr digit : plan.items.digits)
    items *= at(digit);
  return share(bytes / std::max(items, 1.0) / bandwidth(bytes / limits.threads));
}

double estimateSeconds(const KernelPlan &plan, ArrayRef<int64_t> sizes, const VectorRegisters &registers,
                       const DeviceLimits &limits) {
  Estimate estimate(plan, sizes, registers, limits);
  if (isa<kernel::ContractOp>(plan.root))
    return estimate.contract();
  return isa<kernel::AttentionOp>(plan.root) ? estimate.attention() : estimate.streaming();
}

} // namespace heddle::cpu
