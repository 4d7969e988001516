// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each kernel one dispatch, with as little of its grid as shows whole tiles and their ends.

#include "compiler/pipelines/AddSelfTests.h"

#include "compiler/pipelines/TrialShapes.h"
#include "compiler/reference/KernelCase.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/rt/RtDialect.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace mlir;
using namespace heddle;

static constexpr unsigned kNumAxes = 3;

/// Units along |axis| that are whole tiles of all variants of |shader|.
static int64_t getCommonTile(const Shader &shader, unsigned axis) {
  int64_t tile = 1;
  for (const ShaderVariant &variant : shader.variants)
    tile = std::min<int64_t>(std::lcm<int64_t>(tile, variant.tile[axis]), UINT32_MAX);
  return tile;
}

/// Leaves two tiles of an axis that has more than four: with so few all are run, and the end of the last one is seen.
static void cutAxes(const Shader &shader, unsigned inputCount, std::vector<uint32_t> &axes) {
  for (unsigned axis = 0; axis < kNumAxes; ++axis) {
    bool isCut = true;
    // A result that isn't cut along the axis wants all of it.
    for (unsigned i = inputCount; i < shader.operands.size(); ++i)
      isCut &= axes[kNumAxes + kNumAxes * i + axis] != 0;
    int64_t tile = getCommonTile(shader, axis);
    if (isCut && axes[axis] > 4 * tile)
      axes[axis] = 2 * tile;
  }
}

/// By how much results may differ: what f32 makes of some thousand terms, or the rounding of smaller floats.
static float getTolerance(const Shader &shader) {
  float tolerance = 1e-4F;
  auto allow = [&](float least) { tolerance = std::max(tolerance, least); };
  for (const ShaderVariant &variant : shader.variants)
    if (llvm::is_contained(variant.features, "float16"))
      allow(0x1p-8F);
  for (const ShaderOperand &operand : shader.operands)
    if (operand.binding == ShaderBinding::Results && operand.type.isF16())
      allow(0x1p-9F);
    else if (operand.binding == ShaderBinding::Results && operand.type.isBF16())
      allow(0x1p-6F);
  return tolerance;
}

/// A case for |dispatch|, if it does something under |shapes|.
static std::optional<SelfTest> makeCase(rt::DispatchOp dispatch, const TrialShapes &shapes, kernel::FuncOp func,
                                        const Shader &shader, unsigned target) {
  std::vector<uint32_t> axes;
  for (int64_t value : shapes.get(dispatch.getAxesOf(target))) {
    if (value < 0 || value > UINT32_MAX)
      return std::nullopt;
    axes.push_back(value);
  }
  if (axes.size() != kNumAxes + kNumAxes * shader.operands.size() || !axes[0] || !axes[1] || !axes[2])
    return std::nullopt;
  cutAxes(shader, func.getNumInputs(), axes);
  SmallVector<int64_t> sizes = shapes.get(dispatch.getSizes());
  return reference::makeKernelCase({func, sizes, axes, getTolerance(shader)});
}

namespace {
/// The shaders of one target and how kernels that dispatches name are found among them.
class CaseAdder {
public:
  CaseAdder(CompiledTarget &compiled, unsigned target)
      : image(compiled.image), target(target), functions(compiled.kernels->getOps<kernel::FuncOp>()) {
    for (auto [i, func] : llvm::enumerate(functions))
      numbers[func.getSymName()] = i;
  }

  void add(rt::FuncOp entry, const TrialShapes &shapes) {
    for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>())
      add(dispatch, shapes);
  }

  /// Cases for kernels that do nothing for most shapes, as those of parts of keys for few keys: under shapes of their
  /// own, where there are such.
  void addRare(rt::FuncOp entry) {
    for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>()) {
      auto found = numbers.find(dispatch.getKernel());
      if (found == numbers.end() || image.shaders[found->second].selfTest)
        continue;
      auto works = [&](const TrialShapes &shapes) {
        return llvm::all_of(shapes.get(dispatch.getAxesOf(target).take_front(kNumAxes)),
                            [](int64_t extent) { return extent > 0; });
      };
      if (std::optional<TrialShapes> shapes = TrialShapes::find(entry, works))
        add(dispatch, *shapes);
    }
  }

private:
  void add(rt::DispatchOp dispatch, const TrialShapes &shapes) {
    auto found = numbers.find(dispatch.getKernel());
    if (found == numbers.end())
      return;
    Shader &shader = image.shaders[found->second];
    if (!shader.selfTest)
      shader.selfTest = makeCase(dispatch, shapes, functions[found->second], shader, target);
  }

  KernelImage &image;
  unsigned target;
  SmallVector<kernel::FuncOp> functions;
  llvm::StringMap<unsigned> numbers;
};
} // namespace

void heddle::addSelfTests(ModuleOp module, MutableArrayRef<CompiledTarget> targets) {
  if (llvm::all_of(targets, [](const CompiledTarget &compiled) { return compiled.image.shaders.empty(); }))
    return;
  std::vector<std::pair<rt::FuncOp, TrialShapes>> entries;
  for (auto entry : module.getOps<rt::FuncOp>())
    if (std::optional<TrialShapes> shapes = TrialShapes::find(entry))
      entries.emplace_back(entry, std::move(*shapes));
  for (auto [i, compiled] : llvm::enumerate(targets)) {
    if (compiled.image.shaders.empty())
      continue;
    CaseAdder adder(compiled, i);
    for (const auto &[entry, shapes] : entries)
      adder.add(entry, shapes);
    for (const auto &[entry, shapes] : entries)
      adder.addRare(entry);
  }
}
