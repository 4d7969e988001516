// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.top_k: for each rank one pass over the row finds the first of the elements that come after the last rank's.
// The lanes of a workgroup go along a row; a row of a few elements has an invocation. `precedes` and then the index put
// all elements in one order, so it doesn't matter who compares whom.

#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/targets/vulkan/ShaderReduction.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace heddle::vulkan {

LogicalResult planTopK(ShaderPlan &plan) {
  // Rows merge, but neither with their own elements nor with the ranks.
  unsigned numLoops = plan.nest.getNumLoops();
  SmallVector<bool> canMerge(numLoops, false);
  for (unsigned loop = 0; loop + 3 < numLoops; ++loop)
    canMerge[loop] = true;
  mergeLoops(plan.nest, canMerge, plan.findUsedIndices());
  plan.setNeighbourAxes(llvm::to_vector(llvm::seq<unsigned>(0, plan.nest.getNumLoops() - 2)));
  plan.skipEmptyResults();
  return success();
}

namespace {

/// Names of an element and its index; an index below 0 is none's.
struct Candidate {
  std::string value, index;
};

class TopKGenerator {
public:
  TopKGenerator(ShaderEmitter &emitter, LaneForm form)
      : emitter(emitter), plan(emitter.plan), op(cast<kernel::TopKOp>(plan.root)), loops(plan.nest.getNumLoops()),
        row(loops.size() - 2), rank(loops.size() - 1),
        type(op.getBody().front().getTerminator()->getOperand(0).getType()), merger(emitter, form) {}

  LogicalResult emit() {
    bool isSingle = merger.form() == LaneForm::Single;
    std::string exists = merger.nameRow(loops);
    if (isSingle)
      emitter.open("if (" + exists + ")");
    Candidate last = makeCandidate("last");
    loops[rank] = emitter.openLoop("0", emitter.bound(rank), "1", "rank");
    Candidate best = makeCandidate("best");
    if (failed(emitPass(last, best)) || (!isSingle && failed(emitMerge(best))))
      return failure();
    if (!isSingle)
      emitter.open("if (" + exists + " && " + merger.lane() + " == 0)");
    emitter.storeResult(0, loops, best.value);
    emitter.storeResult(1, loops, best.index);
    if (!isSingle)
      emitter.close();
    assign(last, best);
    emitter.close();
    if (isSingle)
      emitter.close();
    return success();
  }

private:
  Candidate makeCandidate(StringRef stem) {
    return {emitter.let(ShaderEmitter::glslType(type), ShaderEmitter::zero(type), stem),
            emitter.let("int", "-1", "index")};
  }

  void assign(const Candidate &to, const Candidate &from) {
    emitter.line(to.value + " = " + from.value + ";");
    emitter.line(to.index + " = " + from.index + ";");
  }

  /// Whether |a| comes before |b|.
  FailureOr<std::string> emitBefore(const Candidate &a, const Candidate &b) {
    auto forth = RegionPrinter(emitter, loops).print(op.getPrecedes(), {a.value, b.value});
    auto back = RegionPrinter(emitter, loops).print(op.getPrecedes(), {b.value, a.value});
    if (failed(forth) || failed(back))
      return failure();
    return emitter.let("bool", forth->front() + " || (!" + back->front() + " && " + a.index + " < " + b.index + ")",
                       "before");
  }

  /// Makes |best| the first of this lane's elements after |last|.
  LogicalResult emitPass(const Candidate &last, const Candidate &best) {
    unsigned level = emitter.level();
    loops[row] = emitter.openLongLoop(merger.lane(), emitter.bound(row), merger.lanes(), plan.nest.bounds[row], "e");
    SmallVector<std::string> elements;
    for (unsigned input = 0; input < plan.getNumInputs(); ++input)
      elements.push_back(emitter.letInput(input, loops));
    auto value = RegionPrinter(emitter, loops).print(op.getBody(), elements);
    if (failed(value))
      return failure();
    Candidate element = {value->front(), loops[row]};
    auto isAfter = emitBefore(last, element);
    auto isBetter = failed(isAfter) ? isAfter : emitBefore(element, best);
    if (failed(isBetter))
      return failure();
    emitter.open("if ((" + last.index + " < 0 || " + *isAfter + ") && (" + best.index + " < 0 || " + *isBetter + "))");
    assign(best, element);
    emitter.closeTo(level);
    loops[row].clear();
    return success();
  }

  /// Makes |best| the first of all lanes', in each of them.
  LogicalResult emitMerge(const Candidate &best) {
    emitter.declare("shared uint partial[" + llvm::Twine(2 * kReductionInvocations) + "];");
    std::string first = ShaderEmitter::invocation(kY) + " * " + merger.lanes();
    std::string indices = std::to_string(kReductionInvocations) + " + ";
    auto publish = [&] {
      emitter.line("partial[" + first + " + " + merger.lane() + "] = " + toWord(type, best.value) + ";");
      emitter.line("partial[" + indices + first + " + " + merger.lane() + "] = uint(" + best.index + ");");
      emitter.line("barrier();");
    };
    auto read = [&](const std::string &place) {
      return Candidate{
          emitter.let(ShaderEmitter::glslType(type), fromWord(type, "partial[" + first + place + "]"), "other"),
          emitter.let("int", "int(partial[" + indices + first + place + "])", "index")};
    };
    emitter.open("for (int o = " + merger.lanes() + " / 2; o > 0; o /= 2)");
    publish();
    Candidate other = read(" + (" + merger.lane() + " ^ o)");
    auto isBetter = emitBefore(other, best);
    if (failed(isBetter))
      return failure();
    emitter.open("if (" + other.index + " >= 0 && (" + best.index + " < 0 || " + *isBetter + "))");
    assign(best, other);
    emitter.close();
    emitter.line("barrier();");
    emitter.close();
    return success();
  }

  ShaderEmitter &emitter;
  const ShaderPlan &plan;
  kernel::TopKOp op;
  SmallVector<std::string> loops;
  unsigned row, rank;
  Type type; // of the elements
  LaneMerger merger;
};

} // namespace

LogicalResult emitTopK(ShaderEmitter &emitter, StringRef form) {
  return TopKGenerator(emitter, parseLaneForm(form)).emit();
}

} // namespace heddle::vulkan
