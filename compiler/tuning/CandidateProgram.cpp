// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group's entry points have the same inputs: the kernel's sizes, then flat tensors for all that is no constant. One
// run dispatches the kernel several times, on copies of its weights that no cache holds together, as a model's layers
// would; all of them write the same outputs, so what is left are those of the last copy.

#include "compiler/tuning/CandidateProgram.h"

#include "compiler/reference/KernelCase.h"
#include "compiler/reference/KernelInterpreter.h"
#include "compiler/targets/ConfigJson.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <heddle/artifact_format.h>

using namespace mlir;
using namespace heddle;

/// Weights of one run that together are in no cache.
static constexpr uint64_t kColdBytes = 64 << 20;
static constexpr uint32_t kMostCopies = 8;
/// A run that takes much longer gives too few pairs in a minute: a kernel's part of it has hundreds of them.
static constexpr double kRunSeconds = 0.02;

CandidateProgram::CandidateProgram(const Target &target, MLIRContext &context)
    : module(ModuleOp::create(UnknownLoc::get(&context))), kernels(ModuleOp::create(UnknownLoc::get(&context))),
      target(target), builder(&context) {}

static RankedTensorType getTensor(kernel::FuncOp func, unsigned input) {
  return cast<RankedTensorType>(func.getArgumentTypes()[input]);
}

static int64_t getHostBytes(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

/// Elements of a tensor of |dims|, or more than any candidate has where that is no number.
static uint64_t countElements(ArrayRef<int64_t> dims) {
  uint64_t count = 1;
  for (int64_t dim : dims)
    count = llvm::SaturatingMultiply<uint64_t>(count, std::max<int64_t>(dim, 0));
  return count;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// What stands for integers in a measurement, where chance would make little work of much: all keys are there, and no
/// mask hides one.
static std::optional<int64_t> getTimedFill(const KernelUse &use, unsigned input) {
  kernel::FuncOp func = use.func;
  auto attention = dyn_cast<kernel::AttentionOp>(*func.getRoot());
  Type element = getTensor(func, input).getElementType();
  if (!attention || isa<FloatType>(element) || element.isInteger(8))
    return std::nullopt;
  auto isInput = [&](unsigned number) {
    return cast<BlockArgument>(attention.getInputs()[number]).getArgNumber() == input;
  };
  if (std::optional<unsigned> lengths = attention.getKvLenInput(); lengths && isInput(*lengths)) {
    reference::Dims key =
        reference::getInputDims(func, cast<BlockArgument>(attention.getKey()).getArgNumber(), use.sizes);
    AffineMap map = attention.getRootMaps()[1];
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (expr == getAffineDimExpr(kernel::AttentionOp::Key, func.getContext()))
        return key[i];
  }
  return 1;
}

/// The inputs of |use| with |sizes| that are no constants.
static CandidateCase makeInputs(const KernelUse &use, ArrayRef<int64_t> sizes, ArrayRef<SelfTestInput> recipes,
                                bool isTimed) {
  CandidateCase made;
  made.sizes.assign(sizes.begin(), sizes.end());
  for (unsigned i = 0; i < recipes.size(); ++i)
    if (!use.constants[i]) {
      uint64_t elements = countElements(reference::getInputDims(use.func, i, sizes));
      made.inputs.push_back(
          {elements, recipes[i].seed, recipes[i].limit, isTimed ? getTimedFill(use, i) : std::optional<int64_t>()});
    }
  return made;
}

/// A small case with its results, if there is one.
static std::optional<SelfTest> makeKnownCase(const KernelUse &use) {
  kernel::FuncOp func = use.func;
  if (use.smallSizes.size() != use.sizes.size())
    return std::nullopt;
  // The kernel runs as a whole, whatever its target calls a unit.
  std::vector<uint32_t> axes(3 + 3 * (func.getNumInputs() + func.getNumResults()), 0);
  std::fill_n(axes.begin(), 3, 1);
  float tolerance = 1e-4F;
  for (Type type : func.getResultTypes())
    if (Type element = cast<RankedTensorType>(type).getElementType(); element.isF16() || element.isBF16())
      tolerance = std::max(tolerance, element.isF16() ? 0x1p-9F : 0x1p-6F);
  // Weights of bf16 round the left side as well.
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    if (getTensor(func, i).getElementType().isBF16())
      tolerance = 0x1p-6F;
  constexpr int64_t kReads = 1 << 18;
  return reference::makeKernelCase({func, use.smallSizes, axes, tolerance, kReads});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static std::string nameConstant(size_t group, uint32_t copy, unsigned input) {
  return llvm::formatv("g{0}_copy{1}_in{2}", group, copy, input);
}

void CandidateProgram::addConstants(const KernelUse &use, ArrayRef<SelfTestInput> recipes, uint32_t copies) {
  builder.setInsertionPointToEnd(module->getBody());
  for (uint32_t copy = 0; copy < copies; ++copy)
    for (unsigned i = 0; i < recipes.size(); ++i) {
      if (!use.constants[i])
        continue;
      const SelfTestInput &recipe = recipes[i];
      // The last copy is the one that results are known of.
      uint32_t seed = recipe.seed + (copies - 1 - copy) * 1000;
      SmallVector<NamedAttribute> source;
      for (auto [key, number] : {std::pair("seed", seed),
                                 {"limit", recipe.limit},
                                 {"columns", recipe.columns},
                                 {"depth", recipe.depth},
                                 {"width", recipe.width},
                                 {"group", recipe.group}})
        source.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(number)));
      RankedTensorType type = getTensor(use.func, i);
      builder.create<rt::ConstantOp>(module->getLoc(), nameConstant(groups.size(), copy, i),
                                     builder.getDictionaryAttr(source), type, builder.getArrayAttr({}), type);
    }
}

std::string CandidateProgram::addKernel(const KernelUse &use, DictionaryAttr config, KernelOrigin origin) {
  OwningOpRef<kernel::FuncOp> func(cast<kernel::FuncOp>(use.func->clone()));
  func.get()->setAttr(kernel::kConfigAttrName, kernel::LoweringConfigAttr::get(builder.getContext(), config));
  std::string name = target.getKernelName(*func);
  func->setName(name);
  // Two buckets may have one config.
  if (!kernelNames.insert(name).second)
    return name;
  origins.push_back(origin);
  kernels->push_back(func->clone());
  module->push_back(func.release());
  return name;
}

namespace {

/// The shape function of an entry point: the kernel's sizes are elements of input 0, counts of elements follow from
/// them.
class SizeFunction {
public:
  SizeFunction(OpBuilder &builder, Location loc) : outer(builder), loc(loc), block(new Block), b(builder.getContext()) {
    b.setInsertionPointToEnd(block.get());
  }

  unsigned addSize(unsigned i) { return yield(b.create<rt::InputValueOp>(loc, b.getIndexType(), 0, i)); }
  unsigned addConstant(int64_t value) { return yield(constant(value)); }
  /// The elements of |type|, whose dynamic dimensions are the sizes |dims|.
  unsigned addCount(RankedTensorType type, ArrayRef<int64_t> dims) { return yield(count(type, dims)); }
  /// Input |input| must have so many.
  void checkCount(unsigned input, RankedTensorType type, ArrayRef<int64_t> dims) {
    Value given = b.create<rt::InputDimOp>(loc, b.getIndexType(), input, 0);
    b.create<rt::CheckOp>(loc, rt::CheckKind::Equal, given, count(type, dims), "candidate",
                          "expects an input of {b} elements, got {a}");
  }
  rt::ShapeFuncOp finish() {
    b.create<rt::YieldOp>(loc, results);
    auto op = outer.create<rt::ShapeFuncOp>(loc, SmallVector<Type>(results.size(), b.getIndexType()));
    op.getBody().push_back(block.release());
    return op;
  }

private:
  unsigned yield(Value value) {
    results.push_back(value);
    return results.size() - 1;
  }
  Value constant(int64_t value) { return b.create<rt::ShapeConstantOp>(loc, b.getIndexType(), value); }
  Value count(RankedTensorType type, ArrayRef<int64_t> dims) {
    Value product = constant(1);
    unsigned dynamic = 0;
    for (int64_t dim : type.getShape()) {
      Value factor = ShapedType::isDynamic(dim) ? results[dims[dynamic++]] : constant(dim);
      product = b.create<rt::ShapeArithOp>(loc, b.getIndexType(), rt::ShapeKind::Mul, product, factor);
    }
    return product;
  }

  OpBuilder &outer;
  Location loc;
  std::unique_ptr<Block> block;
  OpBuilder b;
  SmallVector<Value> results;
};

} // namespace

/// A flat tensor of the entry point's signature.
static Attribute describeTensor(OpBuilder &b, const Twine &name, Type element) {
  StringAttr text = b.getStringAttr(name);
  return b.getDictionaryAttr({b.getNamedAttr("name", text), b.getNamedAttr("type", TypeAttr::get(element)),
                              b.getNamedAttr("dims", b.getArrayAttr({text}))});
}

void CandidateProgram::addEntry(const KernelUse &use, StringRef name, StringRef kernel, uint32_t copies) {
  kernel::FuncOp func = use.func;
  rt::DispatchOp dispatch = use.dispatch;
  Location loc = module->getLoc();
  SmallVector<Attribute> inputs = {describeTensor(builder, "sizes", builder.getI64Type())}, outputs, infos;
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    if (!use.constants[i])
      inputs.push_back(describeTensor(builder, "in" + Twine(i), getTensor(func, i).getElementType()));
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    Type element = cast<RankedTensorType>(type).getElementType();
    outputs.push_back(describeTensor(builder, "out" + Twine(i), element));
    infos.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", builder.getStringAttr("")), builder.getNamedAttr("type", TypeAttr::get(element)),
         builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr({0}))}));
  }
  builder.setInsertionPointToEnd(module->getBody());
  auto entry = builder.create<rt::FuncOp>(loc, name, builder.getArrayAttr(inputs), builder.getArrayAttr(outputs),
                                          FlatSymbolRefAttr());
  builder.setInsertionPointToEnd(&entry.getBody().emplaceBlock());

  SizeFunction sizes(builder, loc);
  for (unsigned i = 0; i < func.getNumSizes(); ++i)
    sizes.addSize(i);
  unsigned number = 1;
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    if (!use.constants[i])
      sizes.checkCount(number++, getTensor(func, i), func.getInputDims(i));
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    sizes.addCount(cast<RankedTensorType>(type), func.getResultDims(i));
  rt::ShapeFuncOp shape = sizes.finish();
  ValueRange sizeValues = shape.getResults().take_front(func.getNumSizes());
  ValueRange counts = shape.getResults().drop_front(func.getNumSizes());

  Type buffer = rt::BufferType::get(builder.getContext());
  SmallVector<Value> given(func.getNumInputs()), results;
  number = 1;
  for (unsigned i = 0; i < func.getNumInputs(); ++i)
    if (!use.constants[i])
      given[i] = builder.create<rt::InputOp>(loc, buffer, number++);
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    results.push_back(builder.create<rt::OutputOp>(loc, buffer, i, counts[i]));
  for (uint32_t copy = 0; copy < copies; ++copy) {
    for (unsigned i = 0; i < func.getNumInputs(); ++i)
      if (use.constants[i])
        given[i] = builder.create<rt::ConstantBufferOp>(loc, buffer, nameConstant(groups.size(), copy, i));
    builder.create<rt::DispatchOp>(loc, FlatSymbolRefAttr::get(builder.getContext(), kernel), given, results,
                                   sizeValues, counts, Value(), Value(), ValueRange(), ValueRange(), ValueRange(),
                                   ValueRange(), DenseI64ArrayAttr(), dispatch.getNodes(), dispatch.getPathsAttr(),
                                   builder.getArrayAttr(infos), dispatch.getErrorSitesAttr());
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// How often a run dispatches the kernel.
static uint32_t chooseCopies(const KernelUse &use) {
  uint64_t bytes = 0;
  for (auto [i, isConstant] : llvm::enumerate(use.constants))
    if (isConstant) {
      RankedTensorType type = getTensor(use.func, i);
      bytes += countElements(type.getShape()) * getHostBytes(type.getElementType());
    }
  double most = kRunSeconds / std::max(use.seconds / static_cast<double>(use.dispatches), 1e-9);
  uint64_t cold = llvm::divideCeil(kColdBytes, std::max<uint64_t>(bytes, 1));
  return std::clamp<double>(std::min<double>(cold, most), 1, kMostCopies);
}

static bool fits(const CandidateCase &made, const KernelUse &use) {
  uint64_t bytes = 0, i = 0;
  for (auto [number, isConstant] : llvm::enumerate(use.constants))
    if (!isConstant)
      bytes = llvm::SaturatingMultiplyAdd<uint64_t>(made.inputs[i++].elements,
                                                    getHostBytes(getTensor(use.func, number).getElementType()), bytes);
  return bytes <= HEDDLE_MAX_CANDIDATE_BYTES;
}

bool CandidateProgram::add(const KernelUse &use) {
  std::optional<SelfTest> known = makeKnownCase(use);
  std::vector<SelfTestInput> recipes =
      known ? known->inputs : reference::makeInputRecipes(use.func, use.sizes, /*limit=*/1);
  CandidateGroup group;
  group.signature = use.signature;
  group.rows = use.rows;
  group.kernel = kernel::FuncOp(use.func).getSymName();
  group.nodes = use.nodes;
  group.share = use.share;
  group.dispatches = chooseCopies(use);
  group.timing = makeInputs(use, use.sizes, recipes, /*isTimed=*/true);
  if (!fits(group.timing, use))
    return false;
  if (known) {
    group.check = makeInputs(use, use.smallSizes, recipes, /*isTimed=*/false);
    group.check->outputs = known->outputs;
  }
  addConstants(use, recipes, group.dispatches);
  for (auto [i, candidate] : llvm::enumerate(use.candidates)) {
    std::string name = llvm::formatv("g{0}_c{1}", groups.size(), i);
    std::string kernel = addKernel(use, candidate.lowering, {groups.size(), i});
    addEntry(use, name, kernel, group.dispatches);
    float seconds = candidate.seconds * group.dispatches;
    group.candidates.push_back({name, formatConfig(candidate.config), std::isfinite(seconds) ? seconds : 0});
  }
  groups.push_back(std::move(group));
  return true;
}
