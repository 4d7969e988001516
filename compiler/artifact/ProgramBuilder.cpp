// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One record of artifact.fbs per op of rt.

#include "compiler/artifact/ProgramBuilder.h"

#include "compiler/support/Version.h"

#include "dialects/kernel/KernelOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace heddle;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// "none" wherever an index is optional.
static constexpr uint32_t kNone = 0xFFFFFFFF;

fb::ElementType heddle::toElementType(Type type) {
  if (type.isF32())
    return fb::ElementType::f32;
  if (type.isF64())
    return fb::ElementType::f64;
  if (type.isF16())
    return fb::ElementType::f16;
  if (type.isBF16())
    return fb::ElementType::bf16;
  if (type.isInteger(1))
    return fb::ElementType::boolean;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return isUnsigned ? fb::ElementType::u8 : fb::ElementType::i8;
  case 16:
    return isUnsigned ? fb::ElementType::u16 : fb::ElementType::i16;
  case 32:
    return isUnsigned ? fb::ElementType::u32 : fb::ElementType::i32;
  default:
    return isUnsigned ? fb::ElementType::u64 : fb::ElementType::i64;
  }
}

namespace {
using Strings = Offset<flatbuffers::Vector<Offset<flatbuffers::String>>>;

/// Writes the tables of one module.
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, ArrayRef<TargetImage> targets, const ArtifactOptions &options,
                 const FileLayout &layout)
      : module(module), targets(targets), options(options), layout(layout) {
    // Zeros are written too, so that the size is the same before and after offsets are known.
    builder.ForceDefaults(true);
    for (ConstantPlace place : layout.constants)
      constantNumbers.try_emplace(place.op.getSymNameAttr(), constantNumbers.size());
    for (auto [i, func] : llvm::enumerate(module.getOps<kernel::FuncOp>()))
      kernelNumbers[func.getSymNameAttr()] = i;
  }

  flatbuffers::DetachedBuffer build();

private:
  Offset<flatbuffers::String> string(StringRef text) { return builder.CreateString(text.data(), text.size()); }
  Strings strings(ArrayAttr texts);
  template <typename T> Offset<flatbuffers::Vector<Offset<T>>> vector(const std::vector<Offset<T>> &items) {
    return builder.CreateVector(items);
  }

  std::vector<Offset<fb::Section>> buildSections();
  std::vector<Offset<fb::Target>> buildTargets();
  std::vector<Offset<fb::Kernel>> buildKernels();
  Offset<fb::Entry> buildEntry(rt::FuncOp entry);
  Offset<flatbuffers::Vector<Offset<fb::Dimension>>> buildDims(ArrayAttr dims);
  void buildShapeProgram(rt::ShapeFuncOp op);
  void addShapeOp(Operation *op);
  void collectBuffers(rt::FuncOp entry);
  Offset<fb::Step> buildStep(Operation *op);
  Offset<fb::Dispatch> buildDispatch(rt::DispatchOp op);
  Offset<fb::ResultInfo> buildResultInfo(DictionaryAttr info, ValueRange sizes);

  uint32_t slot(Value value) const { return value ? slots.lookup(value) : kNone; }
  std::vector<uint32_t> slotList(ValueRange values) const {
    std::vector<uint32_t> list;
    for (Value value : values)
      list.push_back(slot(value));
    return list;
  }
  fb::Binding binding(Value buffer) const;

  ModuleOp module;
  ArrayRef<TargetImage> targets;
  const ArtifactOptions &options;
  const FileLayout &layout;
  FlatBufferBuilder builder;
  llvm::DenseMap<StringAttr, uint32_t> constantNumbers, kernelNumbers;

  // Of the entry being built.
  llvm::DenseMap<Value, uint32_t> slots;
  std::vector<fb::ShapeInstruction> instructions;
  std::vector<Offset<fb::ShapeCheck>> checks;
  llvm::DenseMap<Value, uint32_t> bufferNumbers;
  std::vector<Offset<fb::Buffer>> buffers;
};
} // namespace

Strings ProgramBuilder::strings(ArrayAttr texts) {
  std::vector<Offset<flatbuffers::String>> items;
  for (auto text : texts.getAsRange<StringAttr>())
    items.push_back(string(text.getValue()));
  return builder.CreateVector(items);
}

std::vector<Offset<fb::Section>> ProgramBuilder::buildSections() {
  std::vector<Offset<fb::Section>> items;
  for (const SectionPlace &place : layout.sections)
    items.push_back(fb::CreateSection(builder, place.kind, place.offset, place.length, place.checksum));
  return items;
}

std::vector<Offset<fb::Target>> ProgramBuilder::buildTargets() {
  std::vector<Offset<fb::Target>> items;
  for (auto [i, target] : llvm::enumerate(targets)) {
    std::vector<uint64_t> addresses(kernelNumbers.size());
    for (const auto &[name, address] : target.addresses)
      addresses[kernelNumbers.lookup(StringAttr::get(module.getContext(), name))] = address;
    std::vector<Offset<flatbuffers::String>> features;
    for (const std::string &feature : target.features)
      features.push_back(string(feature));
    items.push_back(fb::CreateTarget(builder, string(target.name), builder.CreateVector(features), i,
                                     builder.CreateVector(addresses)));
  }
  return items;
}

std::vector<Offset<fb::Kernel>> ProgramBuilder::buildKernels() {
  std::vector<Offset<fb::Kernel>> items;
  for (auto func : module.getOps<kernel::FuncOp>())
    items.push_back(fb::CreateKernel(builder, string(func.getSymName()),
                                     string(func.getRoot()->getName().stripDialect()),
                                     func.getNumInputs() + func.getNumResults(), func.getNumSizes()));
  return items;
}

//===----------------------------------------------------------------------===//
// Shape program
//===----------------------------------------------------------------------===//

void ProgramBuilder::addShapeOp(Operation *op) {
  fb::ShapeInstruction instruction(0, 0, 0, 0, fb::ShapeOpcode::constant);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rt::ShapeConstantOp constant) {
        instruction = {static_cast<int64_t>(constant.getValue()), 0, 0, 0, fb::ShapeOpcode::constant};
      })
      .Case([&](rt::InputDimOp dim) {
        instruction = {0, static_cast<uint32_t>(dim.getInput()), static_cast<uint32_t>(dim.getDim()), 0,
                       fb::ShapeOpcode::input_dim};
      })
      .Case([&](rt::InputValueOp value) {
        instruction = {0, static_cast<uint32_t>(value.getInput()), static_cast<uint32_t>(value.getElement()), 0,
                       fb::ShapeOpcode::input_value};
      })
      .Case([&](rt::ShapeArithOp arith) {
        // The enum's values are the opcodes.
        instruction = {0, slot(arith.getLhs()), slot(arith.getRhs()), 0, static_cast<fb::ShapeOpcode>(arith.getKind())};
      })
      .Case([&](rt::ShapeSelectOp select) {
        instruction = {0, slot(select.getCondition()), slot(select.getOnTrue()), slot(select.getOnFalse()),
                       fb::ShapeOpcode::select};
      });
  slots[op->getResult(0)] = instructions.size();
  instructions.push_back(instruction);
}

void ProgramBuilder::buildShapeProgram(rt::ShapeFuncOp op) {
  for (Operation &inner : op.getBody().front()) {
    if (auto check = dyn_cast<rt::CheckOp>(inner))
      checks.push_back(fb::CreateShapeCheck(builder, static_cast<fb::CheckKind>(check.getKind()), slot(check.getLhs()),
                                            slot(check.getRhs()), string(check.getNode()), string(check.getMessage())));
    else if (auto yield = dyn_cast<rt::YieldOp>(inner))
      for (auto [result, operand] : llvm::zip(op.getResults(), yield.getOperands()))
        slots[result] = slot(operand);
    else
      addShapeOp(&inner);
  }
}

//===----------------------------------------------------------------------===//
// Memory and steps
//===----------------------------------------------------------------------===//

static bool isStep(Operation *op) { return isa<rt::DispatchOp, rt::StoreSlotsOp, rt::CopyOp>(op); }

void ProgramBuilder::collectBuffers(rt::FuncOp entry) {
  llvm::DenseMap<Operation *, uint32_t> steps;
  for (Operation &op : entry.getBody().front())
    if (isStep(&op))
      steps.try_emplace(&op, steps.size());
  for (auto buffer : entry.getBody().getOps<rt::BufferOp>()) {
    uint32_t first = kNone, last = 0;
    for (Operation *user : buffer->getUsers()) {
      first = std::min(first, steps.lookup(user));
      last = std::max(last, steps.lookup(user));
    }
    if (first == kNone)
      first = 0; // memory that nothing uses
    bufferNumbers[buffer.getResult()] = buffers.size();
    buffers.push_back(fb::CreateBuffer(builder, slot(buffer.getBytes()), first, last));
  }
}

fb::Binding ProgramBuilder::binding(Value buffer) const {
  Operation *op = buffer.getDefiningOp();
  if (auto input = dyn_cast<rt::InputOp>(op))
    return {static_cast<uint32_t>(input.getIndex()), fb::BindingKind::input};
  if (auto output = dyn_cast<rt::OutputOp>(op))
    return {static_cast<uint32_t>(output.getIndex()), fb::BindingKind::output};
  if (auto constant = dyn_cast<rt::ConstantBufferOp>(op))
    return {constantNumbers.lookup(constant.getConstantAttr().getAttr()), fb::BindingKind::constant};
  return {bufferNumbers.lookup(buffer), fb::BindingKind::buffer};
}

Offset<fb::ResultInfo> ProgramBuilder::buildResultInfo(DictionaryAttr info, ValueRange sizes) {
  std::vector<uint8_t> permutation;
  for (int64_t dim : info.getAs<DenseI64ArrayAttr>("permutation").asArrayRef())
    permutation.push_back(static_cast<uint8_t>(dim));
  return fb::CreateResultInfo(builder, string(info.getAs<StringAttr>("name").getValue()),
                              toElementType(info.getAs<TypeAttr>("type").getValue()),
                              builder.CreateVector(slotList(sizes)), builder.CreateVector(permutation));
}

Offset<fb::Dispatch> ProgramBuilder::buildDispatch(rt::DispatchOp op) {
  std::vector<fb::Binding> bindings;
  for (Value buffer : op.getInputs())
    bindings.push_back(binding(buffer));
  for (Value buffer : op.getOutputs())
    bindings.push_back(binding(buffer));
  std::vector<Offset<fb::TargetDispatch>> work;
  for (auto [grid, grain, scratch] : llvm::zip(op.getGrids(), op.getGrains(), op.getScratch()))
    work.push_back(fb::CreateTargetDispatch(builder, slot(grid), slot(grain), slot(scratch)));
  std::vector<Offset<fb::ResultInfo>> results;
  size_t begin = 0;
  for (auto info : op.getResultsInfo().getAsRange<DictionaryAttr>()) {
    size_t rank = info.getAs<DenseI64ArrayAttr>("permutation").size();
    results.push_back(buildResultInfo(info, op.getResultSizes().slice(begin, rank)));
    begin += rank;
  }
  std::vector<Offset<fb::ErrorSite>> sites;
  for (Attribute site : op.getErrorSitesAttr() ? op.getErrorSitesAttr() : ArrayAttr::get(op.getContext(), {})) {
    auto texts = llvm::to_vector(cast<ArrayAttr>(site).getAsRange<StringAttr>());
    sites.push_back(fb::CreateErrorSite(builder, string(texts[0].getValue()), string(texts[1].getValue()),
                                        string(texts[2].getValue())));
  }
  uint32_t kernelNumber = kernelNumbers.lookup(op.getKernelAttr().getAttr());
  return fb::CreateDispatch(builder, kernelNumber, builder.CreateVectorOfStructs(bindings),
                            builder.CreateVector(slotList(op.getSizes())), vector(work), strings(op.getNodes()),
                            vector(results), vector(sites), slot(op.getFlops()), slot(op.getBytes()));
}

Offset<fb::Step> ProgramBuilder::buildStep(Operation *op) {
  if (auto dispatch = dyn_cast<rt::DispatchOp>(op))
    return fb::CreateStep(builder, fb::Instruction::Dispatch, buildDispatch(dispatch).Union());
  if (auto store = dyn_cast<rt::StoreSlotsOp>(op)) {
    fb::Binding target = binding(store.getTarget());
    return fb::CreateStep(builder, fb::Instruction::StoreSlots,
                          fb::CreateStoreSlots(builder, &target, toElementType(store.getElementType()),
                                               builder.CreateVector(slotList(store.getSlots())))
                              .Union());
  }
  auto copy = cast<rt::CopyOp>(op);
  fb::Binding source = binding(copy.getSource()), target = binding(copy.getTarget());
  return fb::CreateStep(builder, fb::Instruction::Copy,
                        fb::CreateCopy(builder, &source, &target, slot(copy.getBytes())).Union());
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

Offset<flatbuffers::Vector<Offset<fb::Dimension>>> ProgramBuilder::buildDims(ArrayAttr dims) {
  std::vector<Offset<fb::Dimension>> items;
  for (Attribute dim : dims) {
    auto symbol = dyn_cast<StringAttr>(dim);
    items.push_back(fb::CreateDimension(builder, string(symbol ? symbol.getValue() : ""),
                                        symbol ? -1 : cast<IntegerAttr>(dim).getInt()));
  }
  return vector(items);
}

Offset<fb::Entry> ProgramBuilder::buildEntry(rt::FuncOp entry) {
  slots.clear(), instructions.clear(), checks.clear(), bufferNumbers.clear(), buffers.clear();
  for (auto op : entry.getBody().getOps<rt::ShapeFuncOp>())
    buildShapeProgram(op);
  collectBuffers(entry);

  llvm::DenseMap<int64_t, std::vector<uint32_t>> outputSlots;
  for (auto op : entry.getBody().getOps<rt::OutputOp>())
    outputSlots[op.getIndex()] = slotList(op.getSizes());
  auto name = [](DictionaryAttr tensor) { return tensor.getAs<StringAttr>("name").getValue(); };
  auto type = [](DictionaryAttr tensor) { return toElementType(tensor.getAs<TypeAttr>("type").getValue()); };
  std::vector<Offset<fb::Input>> inputs;
  for (auto tensor : entry.getInputs().getAsRange<DictionaryAttr>())
    inputs.push_back(
        fb::CreateInput(builder, string(name(tensor)), type(tensor), buildDims(tensor.getAs<ArrayAttr>("dims"))));
  std::vector<Offset<fb::Output>> outputs;
  for (auto [i, attr] : llvm::enumerate(entry.getOutputs())) {
    auto tensor = cast<DictionaryAttr>(attr);
    outputs.push_back(fb::CreateOutput(builder, string(name(tensor)), type(tensor),
                                       buildDims(tensor.getAs<ArrayAttr>("dims")),
                                       builder.CreateVector(outputSlots[i])));
  }
  std::vector<Offset<fb::Step>> steps;
  for (Operation &op : entry.getBody().front())
    if (isStep(&op))
      steps.push_back(buildStep(&op));
  return fb::CreateEntry(builder, string(entry.getSymName()), vector(inputs), vector(outputs),
                         builder.CreateVectorOfStructs(instructions), vector(checks), vector(buffers), vector(steps));
}

flatbuffers::DetachedBuffer ProgramBuilder::build() {
  std::vector<Offset<fb::Option>> optionItems;
  for (const auto &[key, value] : options.options)
    optionItems.push_back(fb::CreateOption(builder, string(key), string(value)));
  std::vector<Offset<fb::Constant>> constants;
  for (const ConstantPlace &place : layout.constants)
    constants.push_back(fb::CreateConstant(builder, targets.size(), place.offset, place.length));
  std::vector<Offset<fb::Entry>> entries;
  for (auto entry : module.getOps<rt::FuncOp>())
    entries.push_back(buildEntry(entry));
  auto producer = string("heddle " HEDDLE_VERSION_STRING " (LLVM " LLVM_VERSION_STRING ")");
  builder.Finish(fb::CreateProgram(builder, producer, string(options.model), vector(optionItems),
                                   vector(buildSections()), vector(buildTargets()), vector(constants),
                                   vector(buildKernels()), vector(entries)),
                 fb::ProgramIdentifier());
  return builder.Release();
}

flatbuffers::DetachedBuffer heddle::buildProgram(ModuleOp module, ArrayRef<TargetImage> targets,
                                                 const ArtifactOptions &options, const FileLayout &layout) {
  return ProgramBuilder(module, targets, options, layout).build();
}
