// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the program's shape function at each shape and puts dispatches of one kernel and one bucket together.

#include "compiler/tuning/KernelUse.h"

#include "compiler/pipelines/SpecializeShapes.h"
#include "compiler/pipelines/TrialShapes.h"
#include "compiler/targets/RowBucket.h"
#include "compiler/targets/common/EvaluateSizes.h"
#include "compiler/targets/common/KernelSignature.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace heddle;

namespace {

class UseFinder {
public:
  UseFinder(CompiledModel &model, const CandidateOptions &options, ErrorList &errors)
      : options(options), target(model.targets.front()), entry(*model.module->getOps<rt::FuncOp>().begin()),
        errors(errors), smallShapes(TrialShapes::find(entry)) {}

  FailureOr<std::vector<KernelUse>> run();

private:
  LogicalResult addShape(StringRef shape);
  LogicalResult addDispatch(rt::DispatchOp dispatch, const TrialShapes &shapes);
  FailureOr<std::string> findRows(kernel::FuncOp func, ArrayRef<int64_t> sizes);
  void weigh();

  const CandidateOptions &options;
  CompiledTarget &target;
  rt::FuncOp entry;
  ErrorList &errors;
  std::optional<TrialShapes> smallShapes;
  std::vector<KernelUse> uses;
  std::map<std::pair<std::string, std::string>, size_t> numbers; ///< of signature and bucket
};

} // namespace

/// The sizes of |shape|, "a=1x128,b=1x128", by symbol.
static FailureOr<llvm::StringMap<int64_t>> parseShape(rt::FuncOp entry, StringRef shape, ErrorList &errors) {
  SmallVector<StringRef> names, parts;
  SmallVector<ArrayAttr> dims;
  for (auto input : entry.getInputs().getAsRange<DictionaryAttr>()) {
    names.push_back(input.getAs<StringAttr>("name").getValue());
    dims.push_back(input.getAs<ArrayAttr>("dims"));
  }
  shape.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::vector<std::string> shapes;
  for (StringRef part : parts)
    shapes.push_back(part.str());
  llvm::StringMap<int64_t> symbols;
  if (failed(bindShapes(names, dims, shapes, symbols, errors)))
    return failure();
  return symbols;
}

LogicalResult UseFinder::addShape(StringRef shape) {
  FailureOr<llvm::StringMap<int64_t>> symbols = parseShape(entry, shape, errors);
  if (failed(symbols))
    return failure();
  std::optional<TrialShapes> shapes = TrialShapes::at(entry, *symbols);
  if (!shapes)
    return errors.add({ErrorCode::H0111, "the model can't run with --shape " + shape.str(), "",
                       "give sizes that fit each other and the model's tables"});
  for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>())
    if (failed(addDispatch(dispatch, *shapes)))
      return failure();
  return success();
}

FailureOr<std::string> UseFinder::findRows(kernel::FuncOp func, ArrayRef<int64_t> sizes) {
  FailureOr<AffineMap> rows = getKernelRows(func);
  if (failed(rows))
    return failure();
  if (!*rows)
    return kAnyRows.str();
  return findRowBucket(evaluateSizes(rows->getResult(0), sizes)).name.str();
}

/// Whether each input is a constant wherever the kernel is dispatched. Targets that see constants depend on it.
static SmallVector<bool> findConstants(const Target &target, kernel::FuncOp func, rt::DispatchOp dispatch) {
  SmallVector<bool> constants;
  for (auto [i, input] : llvm::enumerate(dispatch.getInputs())) {
    bool isStatic = cast<RankedTensorType>(func.getArgumentTypes()[i]).hasStaticShape();
    constants.push_back(isStatic &&
                        (target.seesConstants() ? func.isConstantInput(i)
                                                : isa_and_nonnull<rt::ConstantBufferOp>(input.getDefiningOp())));
  }
  return constants;
}

LogicalResult UseFinder::addDispatch(rt::DispatchOp dispatch, const TrialShapes &shapes) {
  auto func = target.kernels->lookupSymbol<kernel::FuncOp>(dispatch.getKernel());
  KernelUse use;
  use.sizes = shapes.get(dispatch.getSizes());
  SmallVector<int64_t> grids = shapes.get(dispatch.getGrids());
  if (grids.front() == 0)
    return success(); // nothing to do
  FailureOr<std::string> rows = findRows(func, use.sizes);
  if (failed(rows))
    return failure();
  use.dispatch = dispatch;
  use.func = func;
  use.signature = getKernelSignature(func);
  use.rows = std::move(*rows);
  auto [found, isNew] = numbers.try_emplace({use.signature, use.rows}, uses.size());
  if (isNew) {
    if (smallShapes)
      use.smallSizes = smallShapes->get(dispatch.getSizes());
    use.constants = findConstants(*target.target, func, dispatch);
    use.candidates = target.target->enumerateConfigs(func, use.sizes, options.limits);
    uses.push_back(std::move(use));
  }
  KernelUse &known = uses[found->second];
  known.seconds += known.candidates.front().seconds;
  ++known.dispatches;
  for (auto node : dispatch.getNodes().getAsRange<StringAttr>())
    if (!llvm::is_contained(known.nodes, node.str()))
      known.nodes.push_back(node.str());
  return success();
}

/// Takes measured seconds where there are some: a kernel's are shared by its buckets as they were estimated.
void UseFinder::weigh() {
  std::map<std::string, double> estimates;
  for (KernelUse &use : uses)
    estimates[use.func.getSymName().str()] += use.seconds;
  if (!options.seconds.empty())
    for (KernelUse &use : uses) {
      std::string name = use.func.getSymName().str();
      auto measured = options.seconds.find(name);
      double all = measured == options.seconds.end() ? 0 : measured->second;
      use.seconds = estimates[name] > 0 ? all * use.seconds / estimates[name] : 0;
    }
  double total = 0;
  for (const KernelUse &use : uses)
    total += use.seconds;
  for (KernelUse &use : uses)
    use.share = total > 0 ? use.seconds / total : 0;
  llvm::sort(uses, [](const KernelUse &a, const KernelUse &b) {
    return std::tuple(-a.share, a.signature, a.rows) < std::tuple(-b.share, b.signature, b.rows);
  });
}

FailureOr<std::vector<KernelUse>> UseFinder::run() {
  if (options.shapes.empty() && failed(addShape("")))
    return failure();
  for (const std::string &shape : options.shapes)
    if (failed(addShape(shape)))
      return failure();
  weigh();
  return std::move(uses);
}

FailureOr<std::vector<KernelUse>> heddle::findKernelUses(CompiledModel &model, const CandidateOptions &options,
                                                         ErrorList &errors) {
  return UseFinder(model, options, errors).run();
}
