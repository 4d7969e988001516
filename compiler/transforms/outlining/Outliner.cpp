// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a function's ops that turns them into dispatches, and the memory that they read and write.

#include "compiler/transforms/outlining/Outliner.h"

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

static Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

Outliner::Outliner(func::FuncOp func, ShapeAnalysis &analysis, OutlinePlan &plan, ModuleOp module,
                   ProgramLibrary &library, bool narrowsWeights)
    : func(func), analysis(analysis), plan(plan), module(module), symbols(func.getContext()), library(library),
      narrowsWeights(narrowsWeights), builder(func.getContext()) {}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// "inputs" or "outputs" of an rt.func: name, type and dims of each argument or result.
static ArrayAttr describeInterface(Builder &builder, TypeRange types,
                                   function_ref<Attribute(unsigned, StringRef)> get) {
  SmallVector<Attribute> entries;
  for (auto [i, type] : llvm::enumerate(types)) {
    NamedAttrList entry;
    entry.set("name", get(i, nn::NnDialect::getNameAttrName()));
    entry.set("type", TypeAttr::get(cast<RankedTensorType>(type).getElementType()));
    entry.set("dims", get(i, nn::NnDialect::getDimsAttrName()));
    entries.push_back(entry.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(entries);
}

/// Adds to |inputs| the constants that stand for those which a run may leave out.
ArrayAttr Outliner::addDefaults(ArrayAttr inputs) {
  SmallVector<Attribute> entries(inputs.getValue());
  OpBuilder atModule(module.getBody(), module.getBody()->begin());
  for (auto [i, entry] : llvm::enumerate(entries)) {
    auto constant = func.getArgAttrOfType<DictionaryAttr>(i, nn::NnDialect::getDefaultAttrName());
    if (!constant)
      continue;
    auto type = cast<RankedTensorType>(constant.getAs<TypeAttr>("type").getValue());
    // Signless as all data of a program; the input's own type says how to read it.
    auto plain = cast<RankedTensorType>(type.clone(kernelElementType(type.getElementType())));
    StringAttr &name = library.defaults[{i, constant}];
    if (!name) {
      std::string number = std::to_string(i);
      if (module.lookupSymbol("default" + number))
        number += "_" + func.getSymName().str();
      name = builder.getStringAttr("default" + number);
      atModule.create<rt::ConstantOp>(func.getLoc(), name.getValue(), constant.get("value"), type,
                                      atModule.getArrayAttr({}), plain);
    }
    NamedAttrList attributes(cast<DictionaryAttr>(entry));
    attributes.set("default", FlatSymbolRefAttr::get(name));
    entry = attributes.getDictionary(getContext());
  }
  return builder.getArrayAttr(entries);
}

void Outliner::createEntry() {
  ArrayAttr inputs = addDefaults(describeInterface(
      builder, func.getArgumentTypes(), [&](unsigned i, StringRef name) { return func.getArgAttr(i, name); }));
  ArrayAttr outputs = describeInterface(builder, func.getResultTypes(),
                                        [&](unsigned i, StringRef name) { return func.getResultAttr(i, name); });
  builder.setInsertionPointToEnd(module.getBody());
  entry = builder.create<rt::FuncOp>(func.getLoc(), func.getSymName(), inputs, outputs,
                                     func->getAttrOfType<FlatSymbolRefAttr>(nn::NnDialect::getSpecializesAttrName()));
  // For the report: what the model lets callers set and the program doesn't.
  if (Attribute names = func->getAttr(nn::NnDialect::getConstantInputsAttrName()))
    entry->setAttr(nn::NnDialect::getConstantInputsAttrName(), names);
  builder.setInsertionPointToEnd(&entry.getBody().emplaceBlock());
  shapeFunc.emplace(&entry.getBody().front(), func.getLoc());
  for (const ShapeCheck &check : analysis.getChecks())
    shapeFunc->check(check);
}

void Outliner::run() {
  createEntry();
  auto returnOp = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  for (OpOperand &operand : llvm::reverse(returnOp->getOpOperands()))
    directOutputs[operand.get()] = operand.getOperandNumber();
  for (BlockArgument argument : func.getArguments()) {
    Value buffer = builder.create<rt::InputOp>(func.getLoc(), bufferType(), argument.getArgNumber());
    views[argument] = TensorView::contiguous(buffer, elementTypeOf(argument), analysis.getDims(argument));
  }
  for (Operation &op : func.getBody().front().without_terminator())
    outline(&op);
  for (OpOperand &operand : returnOp->getOpOperands())
    returnValue(operand.get(), operand.getOperandNumber());
  shapeFunc->finish();
}

void Outliner::outline(Operation *op) {
  if (Operation *root = plan.getRootEndingAt(op))
    return outlineRoot(root, op);
  if (plan.isAbsorbed(op) || analysis.getElements(op->getResult(0)))
    return;
  if (getOutlineRole(op) == OutlineRole::View)
    for (OpResult result : op->getResults())
      outlineView(result);
  if (plan.isMaterialized(op->getResult(0)))
    materialize(op->getResult(0));
}

void Outliner::outlineRoot(Operation *root, Operation *end) {
  if (isa<nn::MatMulOp, nn::GemmOp>(root))
    return outlineContraction(*this, root, end);
  if (auto sdpa = dyn_cast<attn::SdpaOp>(root))
    return outlineAttention(*this, sdpa);
  if (auto scan = dyn_cast<nn::CumSumOp>(root))
    return outlineScan(*this, scan, end);
  if (isa<nn::ScatterElementsOp, nn::ScatterNdOp>(root))
    return outlineScatter(*this, root);
  if (auto pool = dyn_cast<nn::PoolOp>(root))
    return outlinePool(*this, pool, end);
  if (auto conv = dyn_cast<nn::ConvTransposeOp>(root))
    return outlineConvTranspose(*this, conv, end);
  if (auto topK = dyn_cast<nn::TopKOp>(root))
    return outlineTopK(*this, topK);
  if (auto einsum = dyn_cast<nn::EinsumOp>(root))
    return outlineEinsum(*this, einsum, end);
  if (auto quantize = dyn_cast<nn::DynamicQuantizeLinearOp>(root)) {
    outlineQuantizationRange(*this, quantize);
    materialize(quantize.getOutput());
    return;
  }
  if (auto product = dyn_cast<nn::MatMulIntegerOp>(root))
    return outlineMatMulInteger(*this, product, end);
  if (auto conv = dyn_cast<nn::ConvOp>(root))
    return outlineConv(*this, conv, end);
  if (auto reduce = dyn_cast<nn::ReduceOp>(root); reduce && reduce.getKind() != nn::ReduceKind::LogSumExp)
    return outlineReduce(*this, reduce, end);
  outlineRowwise(*this, root, end);
}

void Outliner::outlineView(OpResult result) {
  const TensorView *operand = findView(result.getOwner()->getOperand(0));
  if (!operand)
    return; // computed where it is read
  AffineIndex index =
      viewOperandIndex(*this, analysis, result, identityIndex(analysis.getDims(result).size(), getContext()));
  TensorView view = *operand;
  view.indices = compose(operand->indices, index);
  simplifyBase(view.baseDims, view.indices, symbols, getShapes());
  if (llvm::all_of(view.indices, isStrided))
    views[result] = view;
  else
    materialize(result);
}

const TensorView *Outliner::findView(Value value) {
  if (auto it = views.find(value); it != views.end())
    return &it->second;
  if (value.getDefiningOp<nn::ConstantOp>() || value.getDefiningOp<nn::QuantizeWeightOp>() ||
      makesConstant(value.getDefiningOp()))
    return &(views[value] = *constantView(value));
  if (analysis.getElements(value))
    return &(views[value] = storeElements(value));
  return nullptr;
}

/// kernel.map for KernelBuilder::finish().
static Operation *makeMap(OpBuilder &builder, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                          AffineMap bounds, ArrayAttr maps) {
  return builder.create<kernel::MapOp>(loc, results, inputs, sizes, bounds, maps);
}

const TensorView &Outliner::materialize(Value value) {
  ShapeDims dims = getDims(value);
  AffineIndex loops = identityIndex(dims.size(), getContext());
  KernelBuilder kernelBuilder(getContext(), symbols, getShapes());
  KernelScope scope{kernelBuilder, {}};
  unsigned region = kernelBuilder.addRegion({}, /*firstInput=*/0, {});
  kernelBuilder.yield(region, ScalarEmitter(*this, scope, region).emit(value, loops));
  int64_t opCount = kernelBuilder.getRegion(region).front().getOperations().size() - 1;
  ShapeExpr flops = getShapes().mul(getShapes().product(dims), getShapes().constant(opCount));
  finishKernel(scope, {{value, loops}}, dims, flops, makeMap);
  return views[value];
}

TensorView Outliner::storeTemporary(Operation *op, Type elementType, ArrayRef<ShapeExpr> dims,
                                    function_ref<Value(ScalarEmitter &)> emitElement) {
  KernelBuilder kernelBuilder(getContext(), symbols, getShapes());
  KernelScope scope{kernelBuilder, {}};
  unsigned region = kernelBuilder.addRegion({}, /*firstInput=*/0, {});
  ScalarEmitter emitter(*this, scope, region);
  kernelBuilder.yield(region, emitElement(emitter));
  KernelResult result{elementType, ShapeDims(dims), identityIndex(dims.size(), getContext())};
  return storeTemporary(scope, op, result, dims, getShapes().constant(0), makeMap);
}

TensorView Outliner::storeTemporary(KernelScope &scope, Operation *op, const KernelResult &result,
                                    ArrayRef<ShapeExpr> bounds, ShapeExpr flops, KernelBuilder::RootFactory makeRoot) {
  scope.ops.insert(op);
  kernel::FuncOp kernelFunc = scope.builder.finish(library.kernels, bounds, result, makeRoot);
  Value buffer = builder.create<rt::BufferOp>(op->getLoc(), bufferType(),
                                              shapeFunc->slot(byteSize(result.dims, result.elementType)));
  auto inOrder = llvm::to_vector(llvm::seq<int64_t>(0, result.dims.size()));
  createDispatch(scope, kernelFunc, op->getLoc(),
                 {{buffer, result.dims, describeResult("", result.elementType, inOrder)}}, flops);
  return TensorView::contiguous(buffer, result.elementType, result.dims);
}

/// True if |view| is a whole buffer of |dims| in the model's order.
static bool isWhole(const TensorView &view, ArrayRef<ShapeExpr> dims) {
  return ArrayRef(view.baseDims) == dims &&
         TensorView::contiguous(view.buffer, view.elementType, dims).indices == view.indices;
}

TensorView Outliner::storeWhole(Value value) {
  const TensorView *view = findView(value);
  return view && isWhole(*view, getDims(value)) ? *view : materialize(value);
}

void Outliner::returnValue(Value value, unsigned output) {
  auto direct = directOutputs.find(value);
  const TensorView *view = findView(value);
  if (view && direct != directOutputs.end() && direct->second == output && view->buffer.getDefiningOp<rt::OutputOp>() &&
      view->buffer.getDefiningOp<rt::OutputOp>().getIndex() == output)
    return;
  ShapeDims dims = getDims(value);
  if (!view || !isWhole(*view, dims)) {
    // Seen through other indices: copied in the model's order, straight into the output where that is still free.
    view = &materialize(value);
    if (auto stored = view->buffer.getDefiningOp<rt::OutputOp>(); stored && stored.getIndex() == output)
      return;
  }
  Value target = builder.create<rt::OutputOp>(func.getLoc(), bufferType(), output, shapeFunc->slots(dims));
  builder.create<rt::CopyOp>(func.getLoc(), view->buffer, target, shapeFunc->slot(byteSize(dims, view->elementType)));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ShapeExpr Outliner::byteSize(ArrayRef<ShapeExpr> dims, Type elementType) {
  int64_t width = (elementType.getIntOrFloatBitWidth() + 7) / 8; // a bool is one byte
  return getShapes().mul(getShapes().product(dims), getShapes().constant(width));
}

Value Outliner::createBuffer(Value value, ArrayRef<ShapeExpr> stored, bool inOrder) {
  auto direct = directOutputs.find(value);
  if (inOrder && direct != directOutputs.end())
    return builder.create<rt::OutputOp>(func.getLoc(), bufferType(), direct->second, shapeFunc->slots(stored));
  return builder.create<rt::BufferOp>(func.getLoc(), bufferType(),
                                      shapeFunc->slot(byteSize(stored, elementTypeOf(value))));
}

Value Outliner::constantBuffer(const ConstantRecipe &recipe) {
  ArrayAttr steps = builder.getArrayAttr(recipe.steps);
  auto key = ArrayAttr::get(getContext(), {recipe.source, TypeAttr::get(recipe.sourceType), steps});
  Value &buffer = constants[key];
  if (buffer)
    return buffer;
  StringAttr &name = library.constants[key];
  if (!name) {
    name = builder.getStringAttr("w" + std::to_string(library.constants.size() - 1));
    OpBuilder atModule(module.getBody(), module.getBody()->begin());
    atModule.create<rt::ConstantOp>(func.getLoc(), name.getValue(), recipe.source, recipe.sourceType, steps,
                                    recipe.type);
  }
  // At the start, before every step that may read it.
  OpBuilder atEntry(&entry.getBody().front(), entry.getBody().front().begin());
  buffer = atEntry.create<rt::ConstantBufferOp>(func.getLoc(), bufferType(), name.getValue());
  return buffer;
}

std::optional<TensorView> Outliner::constantView(Value value) {
  std::optional<ConstantRecipe> recipe = findConstantRecipe(value);
  if (!recipe)
    return std::nullopt;
  return TensorView::contiguous(constantBuffer(*recipe), elementTypeOf(value), analysis.getDims(value));
}

/// The recipe of the constant matrix that |value| is or is made of by moves; the dimensions behind the first of a
/// convolution's weight are one.
static std::optional<ConstantRecipe> findMatrixRecipe(Value value) {
  std::optional<ConstantRecipe> recipe = findConstantRecipe(value);
  if (!recipe || !recipe->type.getElementType().isF32() || !recipe->flatten())
    return std::nullopt;
  return recipe;
}

std::optional<Outliner::PackedConstant> Outliner::getPackedConstant(Value value, bool transposed) {
  // Panels are 16 columns wide for every CPU target, so that targets share them; wider tiles read neighbours.
  constexpr int64_t kPanel = 16;
  std::optional<ConstantRecipe> recipe = findMatrixRecipe(value);
  if (!recipe)
    return std::nullopt;
  if (transposed)
    recipe->transpose({1, 0});
  int64_t columns = recipe->type.getDimSize(1);
  if (narrowsWeights)
    recipe->packPairs(kPanel);
  else
    recipe->pack(kPanel);
  return PackedConstant{*recipe, columns};
}

std::optional<TensorView> Outliner::getTransposedConstant(Value value) {
  std::optional<ConstantRecipe> recipe = findMatrixRecipe(value);
  if (!recipe)
    return std::nullopt;
  recipe->transpose({1, 0});
  return getConstant(*recipe);
}

TensorView Outliner::getConstant(const ConstantRecipe &recipe) {
  ShapeDims dims =
      llvm::map_to_vector<4>(recipe.type.getShape(), [&](int64_t dim) { return getShapes().constant(dim); });
  return TensorView::contiguous(constantBuffer(recipe), recipe.type.getElementType(), dims);
}

TensorView Outliner::storeElements(Value value) {
  if (auto it = views.find(value); it != views.end())
    return it->second;
  ShapeDims dims = getDims(value);
  Value buffer =
      builder.create<rt::BufferOp>(func.getLoc(), bufferType(), shapeFunc->slot(byteSize(dims, elementTypeOf(value))));
  ArrayRef<ShapeExpr> elements = *analysis.getElements(value);
  builder.create<rt::StoreSlotsOp>(func.getLoc(), buffer, shapeFunc->slots(elements), elementTypeOf(value));
  return views[value] = TensorView::contiguous(buffer, elementTypeOf(value), dims);
}

//===----------------------------------------------------------------------===//
// Dispatches
//===----------------------------------------------------------------------===//

DictionaryAttr Outliner::describeResult(StringRef name, Type type, ArrayRef<int64_t> order) {
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                    builder.getNamedAttr("type", TypeAttr::get(type)),
                                    builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(order))});
}

/// The dimensions of a result in the order in which the kernel's loops meet them.
static SmallVector<int64_t> loopOrder(ArrayRef<AffineExpr> loops) {
  auto firstLoop = [&](int64_t dim) {
    unsigned first = std::numeric_limits<unsigned>::max();
    loops[dim].walk([&](AffineExpr part) {
      if (auto loop = dyn_cast<AffineDimExpr>(part))
        first = std::min(first, loop.getPosition());
    });
    return first;
  };
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, loops.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return std::pair(firstLoop(a), a) < std::pair(firstLoop(b), b); });
  return order;
}

Outliner::StoredResult Outliner::orderResult(ArrayRef<ShapeExpr> dims, ArrayRef<AffineExpr> loops,
                                             ArrayRef<int64_t> order) {
  StoredResult result;
  result.order.assign(order.begin(), order.end());
  for (int64_t dim : order) {
    result.stored.push_back(dims[dim]);
    result.walkedIndex.push_back(loops[dim]);
    result.viewIndex.push_back(getAffineDimExpr(dim, getContext()));
  }
  // Memory as the kernel walks it: what its loops collapse is one dimension there.
  result.walked = result.stored;
  simplifyBase(result.walked, result.walkedIndex, symbols, getShapes());
  return result;
}

void Outliner::finishKernel(KernelScope &scope, ArrayRef<ComputedValue> values, ArrayRef<ShapeExpr> bounds,
                            ShapeExpr flops, KernelBuilder::RootFactory makeRoot) {
  SmallVector<StoredResult> stored;
  std::vector<KernelResult> results;
  for (const auto &[value, loops, keepsDims] : values) {
    ShapeDims dims = getDims(value);
    auto inOrder = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
    if (keepsDims) {
      results.push_back({elementTypeOf(value), dims, loops});
      stored.push_back({inOrder, dims, dims, loops, identityIndex(dims.size(), getContext())});
      continue;
    }
    SmallVector<int64_t> wanted = plan.getStoredOrder(value);
    StoredResult result = orderResult(dims, loops, wanted.empty() ? inOrder : wanted);
    if (!llvm::all_of(result.walkedIndex, isStrided))
      result = orderResult(dims, loops, loopOrder(loops));
    results.push_back({elementTypeOf(value), result.walked, result.walkedIndex});
    stored.push_back(std::move(result));
  }
  kernel::FuncOp kernelFunc = scope.builder.finish(library.kernels, bounds, results, makeRoot);
  SmallVector<DispatchOutput> outputs;
  for (auto [computed, result] : llvm::zip(values, stored)) {
    Value value = computed.value;
    Value buffer = createBuffer(value, result.stored, llvm::is_sorted(result.order));
    outputs.push_back(
        {buffer, result.stored, describeResult(nn::getOutputName(value), elementTypeOf(value), result.order)});
    views[value] = {buffer, elementTypeOf(value), result.stored, result.viewIndex};
    scope.ops.insert(value.getDefiningOp());
  }
  createDispatch(scope, kernelFunc, values.front().value.getLoc(), outputs, flops);
}

namespace {

/// The attributes of an rt.dispatch that say where it comes from.
struct NodeLists {
  ArrayAttr names;
  ArrayAttr paths; ///< null where no node has one
};

} // namespace

/// The model's nodes that |ops| are of, each once.
static NodeLists listNodes(ArrayRef<Operation *> ops, Builder &builder) {
  llvm::SetVector<StringRef> names;
  SmallVector<StringRef> paths;
  for (Operation *op : ops)
    for (const nn::OnnxNode &node : nn::findOnnxNodes(op->getLoc()))
      if (names.insert(node.name))
        paths.push_back(node.path);
  bool hasPath = llvm::any_of(paths, [](StringRef path) { return !path.empty(); });
  return {builder.getStrArrayAttr(names.getArrayRef()), hasPath ? builder.getStrArrayAttr(paths) : ArrayAttr()};
}

void Outliner::createDispatch(KernelScope &scope, kernel::FuncOp kernelFunc, Location loc,
                              ArrayRef<DispatchOutput> outputs, ShapeExpr flops) {
  SmallVector<Operation *> ops(scope.ops.getArrayRef());
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  NodeLists nodes = listNodes(ops, builder);
  ShapeExpr bytes = scope.builder.getInputBytes();
  SmallVector<Value> buffers, sizes;
  SmallVector<Attribute> infos;
  for (const DispatchOutput &output : outputs) {
    bytes = getShapes().add(bytes, byteSize(output.stored, cast<TypeAttr>(output.info.get("type")).getValue()));
    buffers.push_back(output.buffer);
    llvm::append_range(sizes, shapeFunc->slots(output.stored));
    infos.push_back(output.info);
  }
  ArrayRef<Attribute> sites = scope.builder.getErrorSites();
  builder.create<rt::DispatchOp>(loc, FlatSymbolRefAttr::get(kernelFunc), scope.builder.getBindings(), buffers,
                                 shapeFunc->slots(scope.builder.getSizes()), sizes, shapeFunc->slot(flops),
                                 shapeFunc->slot(bytes), ValueRange(), ValueRange(), ValueRange(), ValueRange(),
                                 DenseI64ArrayAttr(), nodes.names, nodes.paths, builder.getArrayAttr(infos),
                                 sites.empty() ? ArrayAttr() : builder.getArrayAttr(sites));
}
