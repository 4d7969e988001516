// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.rowwise: the lanes of a workgroup go along one row, or along several short ones; rows of a few elements have
// an invocation each. Every stage is a pass over the row, which it shares with those behind it that don't ask for its
// statistic; the last one writes.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "compiler/targets/vulkan/WordWriter.h"

using namespace mlir;

namespace heddle::vulkan {

/// The first stage from |first| on that needs a statistic of a pass that starts there.
static unsigned findPassEnd(kernel::RowwiseOp op, unsigned first) {
  unsigned end = first + 1;
  auto needsPass = [&](unsigned stage) {
    return llvm::any_of(op.getStages()[stage].getArguments().drop_front(op.getInputs().size() + first),
                        [](BlockArgument stat) { return !stat.use_empty(); });
  };
  while (end < op.getCombiners().size() && !needsPass(end))
    ++end;
  return end;
}

unsigned countPassReductions(kernel::RowwiseOp op) {
  unsigned most = 0;
  for (unsigned first = 0, end = 0; first < op.getCombiners().size(); first = end) {
    end = findPassEnd(op, first);
    most = std::max(most, end - first);
  }
  return most;
}

LogicalResult planRowwise(ShaderPlan &plan) {
  SmallVector<bool> canMerge(plan.nest.getNumLoops(), true);
  // The row stays a loop of its own.
  if (plan.nest.getNumLoops() >= 2)
    canMerge[plan.nest.getNumLoops() - 2] = false;
  mergeLoops(plan.nest, canMerge, plan.findUsedIndices());
  SmallVector<unsigned> rest, x, y;
  for (unsigned loop = 0; loop + 1 < plan.nest.getNumLoops(); ++loop)
    rest.push_back(loop);
  if (!rest.empty())
    x.push_back(rest.pop_back_val());
  if (!rest.empty())
    y.push_back(rest.pop_back_val());
  plan.setAxes(x, y, rest);
  plan.skipEmptyResults();
  plan.findSlicedTable(plan.nest.getNumLoops() - 1);
  return success();
}

namespace {

class RowwiseGenerator {
public:
  RowwiseGenerator(ShaderEmitter &emitter, LaneForm form)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::RowwiseOp>(plan.root)), loops(plan.nest.getNumLoops()),
        row(plan.nest.getNumLoops() - 1), chunk(getWordElements(plan, row)), merger(emitter, form),
        mostReductions(countPassReductions(op)) {}

  LogicalResult emit() {
    std::string exists = merger.nameRow(loops);
    if (plan.slicedTable && failed(skipOthersRows(exists)))
      return failure();
    if (merger.form() == LaneForm::Single)
      emitter.open("if (" + exists + ")");
    for (unsigned end = op.getCombiners().size(); stats.size() < end;)
      if (failed(emitPass(findPassEnd(op, stats.size()))))
        return failure();
    if (merger.form() != LaneForm::Single)
      emitter.open("if (" + exists + ")");
    if (failed(emitFinish()))
      return failure();
    emitter.close();
    return success();
  }

private:
  /// A row is that dispatch's which has its row of the sliced table: for others it doesn't exist. Lanes meet at
  /// barriers, so a workgroup can leave only where all of it is one row.
  LogicalResult skipOthersRows(std::string &exists) {
    SmallVector<std::string> arguments;
    Block *block = Value(plan.slicedTable->index).getParentBlock();
    for (unsigned input = 0; input < plan.getNumInputs(); ++input) {
      // What changes along the row isn't what the index is made of.
      bool isKnown = !block->getArgument(input).use_empty() && !plan.getInput(input).uses(row);
      arguments.push_back(isKnown ? emitter.letInput(input, loops) : "");
    }
    auto hasRow = RegionPrinter(emitter, loops).printHasRow(arguments);
    if (failed(hasRow))
      return failure();
    if (merger.form() != LaneForm::Single)
      emitter.line("if (gl_WorkGroupSize.y == 1u && !" + *hasRow + ") return;");
    exists = emitter.let("bool", exists + " && " + *hasRow, "exists");
    return success();
  }

  /// Opens the loop over this lane's elements: |chunk| neighbours at a time, so that bytes are written as whole words.
  void openElements() {
    std::string width = std::to_string(chunk);
    std::string first = chunk == 1 ? merger.lane() : merger.lane() + " * " + width;
    std::string step = chunk == 1 ? merger.lanes() : merger.lanes() + " * " + width;
    chunkBegin = loops[row] = emitter.openLoop(first, emitter.bound(row), step, "j");
  }
  void openChunk() {
    if (chunk == 1)
      return;
    std::string end = "min(" + emitter.bound(row) + ", " + chunkBegin + " + " + std::to_string(chunk) + ")";
    loops[row] = emitter.openLoop(chunkBegin, end, "1", "e");
  }
  void closeChunk() {
    if (chunk != 1)
      emitter.close();
  }

  /// Values of |region| at the current element; statistics that no argument uses aren't named.
  FailureOr<SmallVector<std::string>> emitRegion(RegionPrinter &printer, Region &region) {
    SmallVector<std::string> arguments;
    for (unsigned input = 0; input < plan.getNumInputs(); ++input) {
      bool isUsed = !region.getArgument(input).use_empty();
      arguments.push_back(isUsed ? emitter.letInput(input, loops) : "0");
    }
    llvm::append_range(arguments, stats);
    return printer.print(region, arguments);
  }

  /// A printer that has printed before the loop what statistics alone decide.
  FailureOr<RegionPrinter> hoist(Region &region, ArrayRef<std::string> known) {
    RegionPrinter printer(emitter, loops);
    SmallVector<std::string> arguments(plan.getNumInputs());
    llvm::append_range(arguments, known);
    if (failed(printer.hoist(region, arguments)))
      return failure();
    return printer;
  }

  /// The stages from the first without a statistic to |end|, whose statistics join the others.
  LogicalResult emitPass(unsigned end) {
    unsigned first = stats.size();
    SmallVector<Reduced> reduced;
    SmallVector<std::string> sums;
    SmallVector<RegionPrinter> printers;
    for (unsigned stage = first; stage < end; ++stage) {
      Region &region = op.getStages()[stage];
      auto printer = hoist(region, stats);
      if (failed(printer))
        return failure();
      printers.push_back(std::move(*printer));
      reduced.push_back({cast<kernel::CombinerAttr>(op.getCombiners()[stage]).getValue(),
                         region.front().getTerminator()->getOperand(0).getType()});
      sums.push_back(emitter.let(ShaderEmitter::glslType(reduced.back().type), neutralLiteral(reduced.back()), "sum"));
    }
    openElements();
    openChunk();
    for (unsigned i = 0; i < sums.size(); ++i) {
      auto term = emitRegion(printers[i], op.getStages()[first + i]);
      if (failed(term))
        return failure();
      emitter.line(sums[i] + " = " + combineTerms(reduced[i], sums[i], term->front()) + ";");
    }
    closeChunk();
    emitter.close();
    llvm::append_range(stats, merger.merge(reduced, sums, mostReductions));
    return success();
  }

  bool isRowResult(unsigned result) { return !plan.getResult(result).uses(row); }

  LogicalResult emitFinish() {
    auto results = llvm::seq<unsigned>(0, op.getNumResults());
    if (llvm::any_of(results, [&](unsigned result) { return !isRowResult(result); }))
      if (failed(emitElementResults()))
        return failure();
    if (llvm::any_of(results, [&](unsigned result) { return isRowResult(result); }))
      return emitRowResults();
    return success();
  }

  LogicalResult emitElementResults() {
    auto printer = hoist(op.getFinish(), stats);
    if (failed(printer))
      return failure();
    openElements();
    WordWriter writer(emitter, loops, row, chunk, chunkBegin);
    for (unsigned result = 0; result < op.getNumResults(); ++result)
      if (!isRowResult(result))
        writer.begin(result);
    openChunk();
    auto values = emitRegion(*printer, op.getFinish());
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::enumerate(*values))
      if (!isRowResult(result))
        writer.store(result, value);
    closeChunk();
    writer.end();
    emitter.close();
    return success();
  }

  /// Results of one value per row depend on the statistics alone, so an empty row has them too: no input is read. But
  /// where rows have one element each, its result may be written without that loop, and depends on it.
  LogicalResult emitRowResults() {
    loops[row] = "0";
    bool hasElement = plan.nest.bounds[row].getConstant() == 1;
    SmallVector<std::string> arguments;
    if (merger.form() != LaneForm::Single)
      emitter.open("if (" + merger.lane() + " == 0)");
    for (auto [number, input] : llvm::enumerate(op.getInputs())) {
      Type type = cast<RankedTensorType>(input.getType()).getElementType();
      arguments.push_back(hasElement ? emitter.letInput(number, loops) : ShaderEmitter::zero(type));
    }
    llvm::append_range(arguments, stats);
    auto values = RegionPrinter(emitter, loops).print(op.getFinish(), arguments);
    if (failed(values))
      return failure();
    for (auto [result, value] : llvm::enumerate(*values))
      if (isRowResult(result))
        emitter.storeResult(result, loops, value);
    if (merger.form() != LaneForm::Single)
      emitter.close();
    return success();
  }

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  kernel::RowwiseOp op;
  SmallVector<std::string> loops, stats;
  unsigned row;
  int64_t chunk;
  LaneMerger merger;
  unsigned mostReductions;
  std::string chunkBegin;
};

} // namespace

LogicalResult emitRowwise(ShaderEmitter &emitter, StringRef form) {
  return RowwiseGenerator(emitter, parseLaneForm(form)).emit();
}

} // namespace heddle::vulkan
