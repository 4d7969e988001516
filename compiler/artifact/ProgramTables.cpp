// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks each rt.func once: shape function, memory, steps. Enums have the format's values already.

#include "compiler/artifact/ProgramTables.h"

#include "dialects/rt/RtDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/include/heddle/artifact_generated.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace heddle;
using namespace mlir;

std::optional<fb::ElementType> heddle::getElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return fb::ElementType::boolean;
    case 8:
      return isUnsigned ? fb::ElementType::u8 : fb::ElementType::i8;
    case 16:
      return isUnsigned ? fb::ElementType::u16 : fb::ElementType::i16;
    case 32:
      return isUnsigned ? fb::ElementType::u32 : fb::ElementType::i32;
    case 64:
      return isUnsigned ? fb::ElementType::u64 : fb::ElementType::i64;
    default:
      return std::nullopt;
    }
  }
  if (type.isF32())
    return fb::ElementType::f32;
  if (type.isF64())
    return fb::ElementType::f64;
  if (type.isF16())
    return fb::ElementType::f16;
  if (type.isBF16())
    return fb::ElementType::bf16;
  return std::nullopt;
}

namespace {

/// One entry point's tables.
class EntryTables {
public:
  EntryTables(rt::FuncOp func, const llvm::StringMap<uint32_t> &constants, const llvm::StringMap<uint32_t> &kernels,
              size_t targetCount)
      : func(func), constants(constants), kernels(kernels), targetCount(targetCount), entry(new fb::EntryT) {}

  LogicalResult build();
  std::unique_ptr<fb::EntryT> take() { return std::move(entry); }

private:
  LogicalResult addInputs();
  LogicalResult addDefault(DictionaryAttr attr, fb::InputT &input);
  LogicalResult addOutputs();
  LogicalResult addDims(DictionaryAttr tensor, std::vector<std::unique_ptr<fb::DimensionT>> &dims);
  FailureOr<fb::ElementType> readType(Operation *op, Attribute type);

  LogicalResult addShapeFunc(rt::ShapeFuncOp op);
  LogicalResult addInstruction(Operation *op);
  uint32_t append(fb::ShapeOpcode opcode, int64_t value, uint32_t a, uint32_t b, uint32_t c);
  std::vector<uint32_t> getSlots(ValueRange values);
  /// The slot of an optional size, which is 0 where absent.
  uint32_t getSlotOrZero(Value value);

  LogicalResult addMemory(Operation *op);
  LogicalResult addStep(Operation *op);
  LogicalResult addDispatch(rt::DispatchOp op);
  LogicalResult addResults(rt::DispatchOp op, fb::DispatchT &dispatch);
  LogicalResult addErrorSites(rt::DispatchOp op, fb::DispatchT &dispatch);
  /// Where |memory| lies, for the step that is being added; a buffer's life reaches at least until then.
  fb::Binding bind(Value memory);

  rt::FuncOp func;
  const llvm::StringMap<uint32_t> &constants;
  const llvm::StringMap<uint32_t> &kernels;
  size_t targetCount;
  std::unique_ptr<fb::EntryT> entry;
  llvm::DenseMap<Value, uint32_t> slots;
  llvm::DenseMap<Value, fb::Binding> memory;
  /// rt.buffers by value; numbered when first used, since one that isn't needs no memory.
  llvm::DenseMap<Value, uint32_t> buffers;
  std::optional<uint32_t> zero;
};

} // namespace

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

FailureOr<fb::ElementType> EntryTables::readType(Operation *op, Attribute type) {
  auto typeAttr = dyn_cast_or_null<TypeAttr>(type);
  std::optional<fb::ElementType> result = typeAttr ? getElementType(typeAttr.getValue()) : std::nullopt;
  if (!result)
    return op->emitOpError() << "expects an element type that artifacts have, got " << type;
  return *result;
}

LogicalResult EntryTables::addDims(DictionaryAttr tensor, std::vector<std::unique_ptr<fb::DimensionT>> &dims) {
  auto attrs = tensor.getAs<ArrayAttr>("dims");
  if (!attrs)
    return func.emitOpError() << "expects 'dims' of an input or output, got " << tensor;
  for (Attribute attr : attrs) {
    auto dim = std::make_unique<fb::DimensionT>();
    auto symbol = dyn_cast<StringAttr>(attr);
    auto size = dyn_cast<IntegerAttr>(attr);
    if (!symbol && !size)
      return func.emitOpError() << "expects a dimension that is an integer or a symbol, got " << attr;
    dim->symbol = symbol ? symbol.str() : "";
    dim->value = size ? size.getInt() : -1;
    dims.push_back(std::move(dim));
  }
  return success();
}

/// The constant that stands for |input| where a run leaves it out, if it has one.
LogicalResult EntryTables::addDefault(DictionaryAttr attr, fb::InputT &input) {
  auto name = attr.getAs<FlatSymbolRefAttr>("default");
  if (!name)
    return success();
  auto index = constants.find(name.getValue());
  auto constant = SymbolTable::lookupNearestSymbolFrom<rt::ConstantOp>(func, name);
  if (!constant || index == constants.end())
    return func.emitOpError() << "expects an rt.constant named '" << name.getValue() << "'";
  input.default_constant = index->second;
  ArrayRef<int64_t> dims = cast<RankedTensorType>(constant.getType()).getShape();
  input.default_dims.assign(dims.begin(), dims.end());
  return success();
}

LogicalResult EntryTables::addInputs() {
  for (auto attr : func.getInputs().getAsRange<DictionaryAttr>()) {
    auto input = std::make_unique<fb::InputT>();
    auto name = attr.getAs<StringAttr>("name");
    FailureOr<fb::ElementType> type = readType(func, attr.get("type"));
    if (!name || failed(type) || failed(addDims(attr, input->dims)))
      return name ? failure() : func.emitOpError("expects a name for each input");
    input->name = name.str();
    input->type = *type;
    if (failed(addDefault(attr, *input)))
      return failure();
    entry->inputs.push_back(std::move(input));
  }
  return success();
}

LogicalResult EntryTables::addOutputs() {
  for (auto attr : func.getOutputs().getAsRange<DictionaryAttr>()) {
    auto output = std::make_unique<fb::OutputT>();
    auto name = attr.getAs<StringAttr>("name");
    FailureOr<fb::ElementType> type = readType(func, attr.get("type"));
    if (!name || failed(type) || failed(addDims(attr, output->dims)))
      return name ? failure() : func.emitOpError("expects a name for each output");
    output->name = name.str();
    output->type = *type;
    entry->outputs.push_back(std::move(output));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shape program
//===----------------------------------------------------------------------===//

uint32_t EntryTables::append(fb::ShapeOpcode opcode, int64_t value, uint32_t a, uint32_t b, uint32_t c) {
  entry->shape_program.emplace_back(value, a, b, c, opcode);
  return entry->shape_program.size() - 1;
}

std::vector<uint32_t> EntryTables::getSlots(ValueRange values) {
  std::vector<uint32_t> result;
  for (Value value : values)
    result.push_back(slots.lookup(value));
  return result;
}

uint32_t EntryTables::getSlotOrZero(Value value) {
  if (value)
    return slots.lookup(value);
  if (!zero)
    zero = append(fb::ShapeOpcode::constant, 0, 0, 0, 0);
  return *zero;
}

LogicalResult EntryTables::addInstruction(Operation *op) {
  auto slot = [&](Value value) { return slots.lookup(value); };
  if (auto constant = dyn_cast<rt::ShapeConstantOp>(op)) {
    slots[op->getResult(0)] = append(fb::ShapeOpcode::constant, constant.getValue(), 0, 0, 0);
  } else if (auto dim = dyn_cast<rt::InputDimOp>(op)) {
    slots[op->getResult(0)] = append(fb::ShapeOpcode::input_dim, 0, dim.getInput(), dim.getDim(), 0);
  } else if (auto value = dyn_cast<rt::InputValueOp>(op)) {
    slots[op->getResult(0)] = append(fb::ShapeOpcode::input_value, 0, value.getInput(), value.getElement(), 0);
  } else if (auto arith = dyn_cast<rt::ShapeArithOp>(op)) {
    auto opcode = static_cast<fb::ShapeOpcode>(arith.getKind());
    slots[op->getResult(0)] = append(opcode, 0, slot(arith.getLhs()), slot(arith.getRhs()), 0);
  } else if (auto select = dyn_cast<rt::ShapeSelectOp>(op)) {
    slots[op->getResult(0)] = append(fb::ShapeOpcode::select, 0, slot(select.getCondition()), slot(select.getOnTrue()),
                                     slot(select.getOnFalse()));
  } else if (auto check = dyn_cast<rt::CheckOp>(op)) {
    auto table = std::make_unique<fb::ShapeCheckT>();
    table->kind = static_cast<fb::CheckKind>(check.getKind());
    table->a = slot(check.getLhs());
    table->b = slot(check.getRhs());
    table->node = check.getNode().str();
    table->message = check.getMessage().str();
    entry->checks.push_back(std::move(table));
  } else {
    return op->emitOpError("has no record in an artifact's shape program");
  }
  return success();
}

LogicalResult EntryTables::addShapeFunc(rt::ShapeFuncOp op) {
  Block &body = op.getBody().front();
  for (Operation &inner : body.without_terminator())
    if (failed(addInstruction(&inner)))
      return failure();
  for (auto [result, yielded] : llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    slots[result] = slots.lookup(yielded);
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult EntryTables::addMemory(Operation *op) {
  Value result = op->getResult(0);
  if (auto input = dyn_cast<rt::InputOp>(op)) {
    if (input.getIndex() >= entry->inputs.size())
      return op->emitOpError() << "expects an input below " << entry->inputs.size() << ", got " << input.getIndex();
    memory[result] = fb::Binding(input.getIndex(), fb::BindingKind::input);
  } else if (auto output = dyn_cast<rt::OutputOp>(op)) {
    if (output.getIndex() >= entry->outputs.size())
      return op->emitOpError() << "expects an output below " << entry->outputs.size() << ", got " << output.getIndex();
    memory[result] = fb::Binding(output.getIndex(), fb::BindingKind::output);
    entry->outputs[output.getIndex()]->slots = getSlots(output.getSizes());
  } else if (auto constant = dyn_cast<rt::ConstantBufferOp>(op)) {
    auto found = constants.find(constant.getConstant());
    if (found == constants.end())
      return op->emitOpError() << "expects an rt.constant named '" << constant.getConstant() << "'";
    memory[result] = fb::Binding(found->second, fb::BindingKind::constant);
  } else if (auto buffer = dyn_cast<rt::BufferOp>(op)) {
    buffers[result] = slots.lookup(buffer.getBytes());
  }
  return success();
}

fb::Binding EntryTables::bind(Value value) {
  uint32_t step = entry->steps.size();
  auto buffer = buffers.find(value);
  if (buffer == buffers.end())
    return memory.lookup(value);
  auto [found, isFirst] = memory.try_emplace(value, fb::Binding(entry->buffers.size(), fb::BindingKind::buffer));
  if (isFirst) {
    auto table = std::make_unique<fb::BufferT>();
    table->bytes = buffer->second;
    table->first = step;
    entry->buffers.push_back(std::move(table));
  }
  entry->buffers[found->second.index()]->last = step;
  return found->second;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult EntryTables::addResults(rt::DispatchOp op, fb::DispatchT &dispatch) {
  ValueRange sizes = op.getResultSizes();
  for (auto info : op.getResultsInfo().getAsRange<DictionaryAttr>()) {
    auto result = std::make_unique<fb::ResultInfoT>();
    FailureOr<fb::ElementType> type = readType(op, info.get("type"));
    if (failed(type))
      return failure();
    auto name = info.getAs<StringAttr>("name");
    auto permutation = info.getAs<DenseI64ArrayAttr>("permutation");
    if (!name || !permutation || permutation.size() > static_cast<int64_t>(sizes.size()))
      return op.emitOpError() << "expects name, permutation and sizes of each result, got " << info << " and "
                              << op.getResultSizes().size() << " sizes in all";
    result->name = name.str();
    result->type = *type;
    result->slots = getSlots(sizes.take_front(permutation.size()));
    result->permutation.assign(permutation.asArrayRef().begin(), permutation.asArrayRef().end());
    sizes = sizes.drop_front(permutation.size());
    dispatch.results.push_back(std::move(result));
  }
  return success();
}

LogicalResult EntryTables::addErrorSites(rt::DispatchOp op, fb::DispatchT &dispatch) {
  ArrayAttr sites = op.getErrorSitesAttr();
  if (!sites)
    return success();
  for (Attribute attr : sites) {
    auto texts = dyn_cast<ArrayAttr>(attr);
    if (!texts || texts.size() != 3 || !llvm::all_of(texts, llvm::IsaPred<StringAttr>))
      return op.emitOpError() << "expects error sites of [node, op, what], got " << attr;
    auto site = std::make_unique<fb::ErrorSiteT>();
    site->node = cast<StringAttr>(texts[0]).str();
    site->op = cast<StringAttr>(texts[1]).str();
    site->what = cast<StringAttr>(texts[2]).str();
    dispatch.error_sites.push_back(std::move(site));
  }
  return success();
}

LogicalResult EntryTables::addDispatch(rt::DispatchOp op) {
  fb::DispatchT dispatch;
  auto kernel = kernels.find(op.getKernel());
  if (kernel == kernels.end())
    return op.emitOpError() << "expects a kernel named '" << op.getKernel() << "'";
  if (op.getGrids().size() != targetCount)
    return op.emitOpError() << "expects work sizes for " << targetCount << " targets, got " << op.getGrids().size();
  dispatch.kernel = kernel->second;
  for (Value binding : llvm::concat<Value>(llvm::to_vector(op.getInputs()), llvm::to_vector(op.getOutputs())))
    dispatch.bindings.push_back(bind(binding));
  dispatch.sizes = getSlots(op.getSizes());
  for (auto [i, grid, grain, scratch] : llvm::enumerate(op.getGrids(), op.getGrains(), op.getScratch())) {
    auto target = std::make_unique<fb::TargetDispatchT>();
    target->axes = getSlots(op.getAxesOf(i));
    target->grid = slots.lookup(grid);
    target->grain = slots.lookup(grain);
    target->scratch = slots.lookup(scratch);
    dispatch.targets.push_back(std::move(target));
  }
  for (auto node : op.getNodes().getAsValueRange<StringAttr>())
    dispatch.nodes.push_back(node.str());
  if (std::optional<ArrayAttr> paths = op.getPaths())
    for (auto path : paths->getAsValueRange<StringAttr>())
      dispatch.paths.push_back(path.str());
  if (failed(addResults(op, dispatch)) || failed(addErrorSites(op, dispatch)))
    return failure();
  dispatch.flops = getSlotOrZero(op.getFlops());
  dispatch.bytes = getSlotOrZero(op.getBytes());
  auto step = std::make_unique<fb::StepT>();
  step->instruction.Set(std::move(dispatch));
  entry->steps.push_back(std::move(step));
  return success();
}

LogicalResult EntryTables::addStep(Operation *op) {
  if (auto dispatch = dyn_cast<rt::DispatchOp>(op))
    return addDispatch(dispatch);
  auto step = std::make_unique<fb::StepT>();
  if (auto store = dyn_cast<rt::StoreSlotsOp>(op)) {
    fb::StoreSlotsT table;
    FailureOr<fb::ElementType> type = readType(op, store.getElementTypeAttr());
    if (failed(type))
      return failure();
    table.target = std::make_unique<fb::Binding>(bind(store.getTarget()));
    table.type = *type;
    table.slots = getSlots(store.getSlots());
    step->instruction.Set(std::move(table));
  } else if (auto copy = dyn_cast<rt::CopyOp>(op)) {
    fb::CopyT table;
    table.source = std::make_unique<fb::Binding>(bind(copy.getSource()));
    table.target = std::make_unique<fb::Binding>(bind(copy.getTarget()));
    table.bytes = slots.lookup(copy.getBytes());
    step->instruction.Set(std::move(table));
  } else {
    return op->emitOpError("has no record in an artifact's entry");
  }
  entry->steps.push_back(std::move(step));
  return success();
}

LogicalResult EntryTables::build() {
  entry->name = func.getSymName().str();
  if (failed(addInputs()) || failed(addOutputs()))
    return failure();
  for (Operation &op : func.getBody().front()) {
    LogicalResult added = TypeSwitch<Operation *, LogicalResult>(&op)
                              .Case([&](rt::ShapeFuncOp shapeFunc) { return addShapeFunc(shapeFunc); })
                              .Case<rt::InputOp, rt::OutputOp, rt::ConstantBufferOp, rt::BufferOp>(
                                  [&](Operation *o) { return addMemory(o); })
                              .Default([&](Operation *o) { return addStep(o); });
    if (failed(added))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The kind of structured root, the kernel's only op with regions: "contract".
static std::string getRootKind(FunctionOpInterface kernel) {
  if (kernel.isExternal())
    return "";
  for (Operation &op : kernel.getFunctionBody().front())
    if (op.getNumRegions() != 0)
      return op.getName().stripDialect().str();
  return "";
}

static std::unique_ptr<fb::KernelT> makeKernel(FunctionOpInterface kernel) {
  auto table = std::make_unique<fb::KernelT>();
  table->name = kernel.getName().str();
  table->root = getRootKind(kernel);
  auto isSize = [](Type type) { return type.isIndex(); };
  table->size_count = llvm::count_if(kernel.getArgumentTypes(), isSize);
  table->binding_count = kernel.getNumArguments() - table->size_count + kernel.getNumResults();
  return table;
}

LogicalResult heddle::buildProgramTables(ModuleOp module, size_t targetCount, fb::ProgramT &program) {
  llvm::StringMap<uint32_t> constants, kernels;
  for (auto constant : module.getOps<rt::ConstantOp>())
    constants.try_emplace(constant.getSymName(), constants.size());
  for (auto kernel : module.getOps<FunctionOpInterface>()) {
    kernels.try_emplace(kernel.getName(), kernels.size());
    program.kernels.push_back(makeKernel(kernel));
  }
  llvm::StringMap<int32_t> entries;
  for (auto func : module.getOps<rt::FuncOp>()) {
    EntryTables tables(func, constants, kernels, targetCount);
    if (failed(tables.build()))
      return failure();
    std::unique_ptr<fb::EntryT> entry = tables.take();
    if (FlatSymbolRefAttr general = func.getSpecializesAttr()) {
      auto it = entries.find(general.getValue());
      if (it == entries.end())
        return func.emitOpError() << "expects an rt.func named '" << general.getValue() << "' before it";
      entry->specializes = it->second;
    }
    entries.try_emplace(func.getSymName(), entries.size());
    program.entries.push_back(std::move(entry));
  }
  return success();
}
