// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers, parsers and accessors of the kernel dialect's ops but kernel.func.

#include "dialects/kernel/KernelOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/KernelOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

static SmallVector<AffineMap> toMaps(ArrayAttr attr) {
  return llvm::map_to_vector(attr.getAsRange<AffineMapAttr>(), [](AffineMapAttr map) { return map.getValue(); });
}

#define HEDDLE_ROOT_ACCESSORS(Op)                                                                                      \
  OperandRange Op::getRootInputs() { return getInputs(); }                                                             \
  OperandRange Op::getRootSizes() { return getSizes(); }                                                               \
  AffineMap Op::getRootBounds() { return getBounds(); }                                                                \
  SmallVector<AffineMap> Op::getRootMaps() { return toMaps(getIndexingMaps()); }
HEDDLE_ROOT_ACCESSORS(MapOp)
HEDDLE_ROOT_ACCESSORS(ReduceOp)
HEDDLE_ROOT_ACCESSORS(RowwiseOp)
HEDDLE_ROOT_ACCESSORS(ScanOp)
HEDDLE_ROOT_ACCESSORS(ScatterOp)
HEDDLE_ROOT_ACCESSORS(TopKOp)
HEDDLE_ROOT_ACCESSORS(ContractOp)
HEDDLE_ROOT_ACCESSORS(AttentionOp)
#undef HEDDLE_ROOT_ACCESSORS

LogicalResult heddle::kernel::detail::verifyRoot(Operation *op) {
  auto root = cast<RootOpInterface>(op);
  AffineMap bounds = root.getRootBounds();
  unsigned sizes = root.getRootSizes().size();
  if (bounds.getNumDims() != 0 || bounds.getNumSymbols() != sizes)
    return op->emitOpError() << "expects bounds without dimensions and with " << sizes << " symbols, got "
                             << AffineMapAttr::get(bounds);
  SmallVector<Type> types(root.getRootInputs().getTypes());
  llvm::append_range(types, op->getResultTypes());
  SmallVector<AffineMap> maps = root.getRootMaps();
  if (maps.size() != types.size())
    return op->emitOpError() << "expects " << types.size() << " indexing maps, got " << maps.size();
  for (auto [map, type] : llvm::zip(maps, types)) {
    if (map.getNumDims() != bounds.getNumResults() || map.getNumSymbols() != sizes)
      return op->emitOpError() << "expects indexing maps of " << bounds.getNumResults() << " dimensions and " << sizes
                               << " symbols, got " << AffineMapAttr::get(map);
    if (map.getNumResults() != cast<RankedTensorType>(type).getRank())
      return op->emitOpError() << "expects an indexing map with one result per dimension of " << type << ", got "
                               << AffineMapAttr::get(map);
  }
  return success();
}

/// The region takes exactly |types| and ends in kernel.yield of |yields|.
static LogicalResult verifyRegion(Operation *op, Region &region, StringRef name, ArrayRef<Type> types,
                                  ArrayRef<Type> yields) {
  if (region.getArgumentTypes() != TypeRange(types))
    return op->emitOpError() << "expects region '" << name << "' to take (" << TypeRange(types) << "), got ("
                             << region.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getOperandTypes() != TypeRange(yields))
    return op->emitOpError() << "expects region '" << name << "' to yield (" << TypeRange(yields) << ")";
  return success();
}

static SmallVector<Type> elementTypes(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) { return getElementTypeOrSelf(type); });
}

/// Types that the region's terminator hands out; empty if it has none.
static SmallVector<Type> yieldedTypes(Region &region) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  return yield ? SmallVector<Type>(yield.getOperandTypes()) : SmallVector<Type>();
}

LogicalResult MapOp::verify() {
  return verifyRegion(*this, getBody(), "body", elementTypes(getInputs().getTypes()),
                      elementTypes(getResults().getTypes()));
}

LogicalResult ReduceOp::verify() {
  unsigned loops = getBounds().getNumResults();
  for (int64_t loop : getReductionLoops())
    if (loop < 0 || loop >= loops)
      return emitOpError() << "expects reduction loops below " << loops << ", got " << loop;
  int64_t count = getInputCount();
  if (count < 0 || count > static_cast<int64_t>(getInputs().size()))
    return emitOpError() << "expects input_count from 0 to " << getInputs().size() << ", got " << count;
  SmallVector<AffineMap> maps = toMaps(getIndexingMaps());
  for (AffineMap map : ArrayRef(maps).drop_front(count))
    for (int64_t loop : getReductionLoops())
      if (map.isFunctionOfDim(loop))
        return emitOpError() << "expects captures and results not to depend on reduction loop " << loop << ", got "
                             << AffineMapAttr::get(map);
  SmallVector<Type> accumulators = yieldedTypes(getBody());
  if (accumulators.size() != getCombiners().size())
    return emitOpError() << "expects region 'body' to yield " << getCombiners().size() << " values, got "
                         << accumulators.size();
  SmallVector<Type> types = elementTypes(getInputs().getTypes());
  if (failed(verifyRegion(*this, getBody(), "body", ArrayRef(types).take_front(count), accumulators)))
    return failure();
  llvm::append_range(accumulators, ArrayRef(types).drop_front(count));
  return verifyRegion(*this, getFinish(), "finish", accumulators, elementTypes(getResults().getTypes()));
}

LogicalResult RowwiseOp::verify() {
  if (getBounds().getNumResults() == 0)
    return emitOpError() << "expects at least one loop, the row";
  if (getStages().size() != getCombiners().size() + 1)
    return emitOpError() << "expects " << getCombiners().size() + 1 << " regions, got " << getStages().size();
  SmallVector<Type> types = elementTypes(getInputs().getTypes());
  for (unsigned i = 0, e = getCombiners().size(); i < e; ++i) {
    SmallVector<Type> stat = yieldedTypes(getStages()[i]);
    if (stat.size() != 1)
      return emitOpError() << "expects stage " << i << " to yield one value, got " << stat.size();
    if (failed(verifyRegion(*this, getStages()[i], "stage", types, stat)))
      return failure();
    types.push_back(stat.front());
  }
  return verifyRegion(*this, getFinish(), "finish", types, elementTypes(getResults().getTypes()));
}

LogicalResult ScanOp::verify() {
  if (getBounds().getNumResults() == 0)
    return emitOpError() << "expects at least one loop, the scan's";
  int64_t count = getInputCount();
  if (count < 0 || count > static_cast<int64_t>(getInputs().size()))
    return emitOpError() << "expects input_count from 0 to " << getInputs().size() << ", got " << count;
  SmallVector<Type> sums = yieldedTypes(getBody());
  if (sums.size() != 1)
    return emitOpError() << "expects region 'body' to yield one value, got " << sums.size();
  SmallVector<Type> types = elementTypes(getInputs().getTypes());
  if (failed(verifyRegion(*this, getBody(), "body", ArrayRef(types).take_front(count), sums)))
    return failure();
  llvm::append_range(sums, ArrayRef(types).drop_front(count));
  return verifyRegion(*this, getFinish(), "finish", sums, elementTypes(getResults().getTypes()));
}

LogicalResult ScatterOp::verify() {
  unsigned loops = getBounds().getNumResults();
  int64_t parallel = getNumParallel();
  auto type = cast<RankedTensorType>(getResult().getType());
  if (getInputs().empty() || getInputs()[0].getType() != type)
    return emitOpError() << "expects the data that is changed as first input, of type " << type;
  if (parallel < 0 || parallel > loops)
    return emitOpError() << "expects num_parallel from 0 to " << loops << ", got " << parallel;
  AffineMap map = toMaps(getIndexingMaps()).back();
  for (unsigned loop = parallel; loop < loops; ++loop)
    if (map.isFunctionOfDim(loop))
      return emitOpError() << "expects the result not to depend on loop " << loop << ", got "
                           << AffineMapAttr::get(map);
  for (int64_t dim : getScatteredDims())
    if (dim < 0 || dim >= type.getRank() || map.getResult(dim) != getAffineConstantExpr(0, getContext()))
      return emitOpError() << "expects scattered dimensions of the result at which its map is 0, got " << dim;
  Builder builder(getContext());
  SmallVector<Type> types = elementTypes(getInputs().getTypes()), yields = yieldedTypes(getBody());
  if (yields.size() != getScatteredDims().size() + 2)
    return emitOpError() << "expects region 'body' to yield " << getScatteredDims().size() + 2 << " values, got "
                         << yields.size();
  for (Type place : ArrayRef(yields).drop_front().drop_back())
    if (!place.isSignlessInteger() && !place.isIndex())
      return emitOpError() << "expects places of type index or integer, got " << place;
  yields.front() = builder.getI1Type();
  yields.back() = type.getElementType();
  if (failed(verifyRegion(*this, getBody(), "body", ArrayRef(types).drop_front(), yields)))
    return failure();
  return verifyRegion(*this, getCombine(), "combine", {yields.back(), yields.back()}, yields.back());
}

LogicalResult TopKOp::verify() {
  unsigned loops = getBounds().getNumResults();
  if (loops < 2)
    return emitOpError() << "expects the loops of row and rank at least, got " << loops;
  SmallVector<AffineMap> maps = toMaps(getIndexingMaps());
  for (auto [i, map] : llvm::enumerate(maps)) {
    unsigned other = i < getInputs().size() ? loops - 1 : loops - 2;
    if (map.isFunctionOfDim(other))
      return emitOpError() << "expects inputs not to depend on the rank and results not on the place in the row, got "
                           << AffineMapAttr::get(map);
  }
  Builder builder(getContext());
  if (!getElementTypeOrSelf(getIndices().getType()).isSignlessInteger(64))
    return emitOpError() << "expects indices of type i64, got " << getIndices().getType();
  SmallVector<Type> types = elementTypes(getInputs().getTypes());
  Type value = getElementTypeOrSelf(getValues().getType());
  if (failed(verifyRegion(*this, getBody(), "body", types, value)))
    return failure();
  return verifyRegion(*this, getPrecedes(), "precedes", {value, value}, builder.getI1Type());
}

ContractOp::Form ContractOp::getForm() {
  Type lhs = getElementTypeOrSelf(getLhs().getType()), rhs = getElementTypeOrSelf(getRhs().getType());
  if (!getPackedRhs())
    return Form::Plain;
  if (rhs.isBF16())
    return Form::PairsOfBf16;
  if (!rhs.isInteger(8))
    return Form::Plain;
  if (lhs.isInteger(8))
    return Form::Integer;
  // A group of one says that blocks have a byte for each code.
  bool hasGroups = cast<RankedTensorType>(getRhs().getType()).getRank() == 4;
  return getBlockSize() && !hasGroups ? Form::HalfBytesOfWeights : Form::BytesOfWeights;
}

/// |type| is a static tensor of panels by steps of k by columns, and by |groupSize| neighbours of k unless that is 0.
static LogicalResult verifyPanels(ContractOp op, Type type, int64_t groupSize, StringRef name, StringRef shape) {
  auto tensor = cast<RankedTensorType>(type);
  bool isGrouped = groupSize != 0;
  if (!tensor.hasStaticShape() || tensor.getRank() != (isGrouped ? 4 : 3) ||
      (isGrouped && tensor.getDimSize(3) != groupSize))
    return op.emitOpError() << "expects " << name << " " << shape << ", got " << tensor;
  return success();
}

static LogicalResult verifyBlocks(ContractOp op) {
  using Form = ContractOp::Form;
  int64_t size = *op.getBlockSize();
  if (op.getForm() != Form::HalfBytesOfWeights && op.getForm() != Form::BytesOfWeights)
    return op.emitOpError() << "expects block_size with a packed rhs of i8 and an lhs of floats only, got "
                            << op.getRhs().getType() << " and " << op.getLhs().getType();
  if (op.getForm() == Form::HalfBytesOfWeights && (size < 2 || size % 2 != 0))
    return op.emitOpError() << "expects block_size to be even and at least 2, got " << size;
  if (size < 1)
    return op.emitOpError() << "expects block_size to be at least 1, got " << size;
  if (op.getInputs().size() < 3 || !getElementTypeOrSelf(op.getInputs()[2].getType()).isF32())
    return op.emitOpError() << "expects the scales of blocks, of f32, as third input";
  return verifyPanels(op, op.getInputs()[2].getType(), 0, "scales", "of static shape panels x blocks x columns");
}

/// Element types, shapes and attributes of the factors say the same form.
static LogicalResult verifyForm(ContractOp op) {
  using Form = ContractOp::Form;
  Form form = op.getForm();
  if ((op.getSignedLhs() || op.getPairSafe()) && form != Form::Integer)
    return op.emitOpError() << "expects signed_lhs and pair_safe with an lhs and a packed rhs of i8 only, got "
                            << op.getLhs().getType() << " and " << op.getRhs().getType();
  if (op.getBlockSize() && failed(verifyBlocks(op)))
    return failure();
  if (!op.getPackedRhs())
    return success();
  Type rhs = op.getRhs().getType();
  switch (form) {
  case Form::PairsOfBf16:
    return verifyPanels(op, rhs, 2, "a packed rhs of bf16", "to have the shape panels x k / 2 x columns x 2");
  case Form::Integer:
    return verifyPanels(op, rhs, 4, "a packed rhs of i8", "to have the shape panels x k / 4 x columns x 4");
  case Form::HalfBytesOfWeights:
    return verifyPanels(op, rhs, 0, "a packed rhs of half bytes", "of static shape panels x k / 2 x columns");
  case Form::BytesOfWeights:
    if (op.getBlockSize())
      return verifyPanels(op, rhs, 1, "a packed rhs of blocks of bytes", "to have the shape panels x k x columns x 1");
    [[fallthrough]];
  default:
    return verifyPanels(op, rhs, 0, "a packed rhs", "of static shape panels x k x columns");
  }
}

LogicalResult ContractOp::verify() {
  if (getInputs().size() < 2)
    return emitOpError() << "expects lhs and rhs, got " << getInputs().size() << " inputs";
  if (getBounds().getNumResults() < 3)
    return emitOpError() << "expects the loops m, n and k at least, got " << getBounds().getNumResults();
  SmallVector<AffineMap> maps = toMaps(getIndexingMaps());
  unsigned n = getBounds().getNumResults() - 2;
  if (maps[0].isFunctionOfDim(n) || maps[1].isFunctionOfDim(n - 1))
    return emitOpError() << "expects lhs not to depend on n and rhs not on m";
  for (AffineMap map : ArrayRef(maps).drop_front(2))
    if (map.isFunctionOfDim(n + 1))
      return emitOpError() << "expects captures and results not to depend on k, got " << AffineMapAttr::get(map);
  if (failed(verifyForm(*this)))
    return failure();
  SmallVector<Type> types = elementTypes(getCaptures().getTypes());
  Type accumulator = Float32Type::get(getContext());
  if (getForm() == Form::Integer)
    accumulator = IntegerType::get(getContext(), 32);
  else if (getForm() == Form::Plain && getEpilogue().getNumArguments() != 0)
    accumulator = getEpilogue().getArgument(0).getType();
  types.insert(types.begin(), accumulator);
  return verifyRegion(*this, getEpilogue(), "epilogue", types, elementTypes(getResults().getTypes()));
}

/// Results of a kernel.attention and the loops that their maps may depend on.
static LogicalResult verifyAttentionMaps(AttentionOp op, ArrayRef<AffineMap> maps) {
  auto avoids = [&](AffineMap map, ArrayRef<unsigned> loops) {
    return llvm::none_of(loops, [&](unsigned loop) { return map.isFunctionOfDim(loop); });
  };
  using Loops = AttentionOp;
  if (!avoids(maps[0], {Loops::Key, Loops::ValueSize}) ||
      !avoids(maps[1], {Loops::QueryHead, Loops::Row, Loops::ValueSize}) ||
      !avoids(maps[2], {Loops::QueryHead, Loops::Row, Loops::HeadSize}))
    return op.emitOpError() << "expects query, key and value to depend on their own loops only";
  for (auto [i, map] : llvm::enumerate(maps.drop_back(op.getNumResults())))
    if (i >= 3 && i != op.getPartsInput() && i != op.getValueScaleInput() &&
        !avoids(map, {Loops::HeadSize, Loops::ValueSize}))
      return op.emitOpError() << "expects captures not to depend on the head sizes, got " << AffineMapAttr::get(map);
  if (!op.getGivesParts() && !avoids(maps[op.getInputs().size()], {Loops::Key, Loops::HeadSize}))
    return op.emitOpError() << "expects the output not to depend on keys and the query's head size";
  return success();
}

/// States of parts: what they say about each other.
static LogicalResult verifyParts(AttentionOp op) {
  if (!op.getGivesParts() && !op.getTakesParts())
    return success();
  if (!op.getProbability().empty())
    return op.emitOpError() << "expects no parts with a probability region, which needs the sum of all keys first";
  if (op.getGivesParts() && (op.getTakesParts() || op.getHasLse() || op.getHasProbabilities()))
    return op.emitOpError() << "expects gives_parts without takes_parts and further results";
  if (!op.getPartSize() || *op.getPartSize() < 1)
    return op.emitOpError() << "expects part_size to be at least 1 where there are parts";
  Type states = op.getGivesParts() ? op.getResult(0).getType() : op.getInputs()[*op.getPartsInput()].getType();
  auto type = cast<RankedTensorType>(states);
  AffineMap map = toMaps(op.getIndexingMaps())[op.getGivesParts() ? op.getInputs().size() : *op.getPartsInput()];
  if (!type.getElementType().isF32() || type.getRank() == 0 ||
      map.getResult(0) != getAffineDimExpr(AttentionOp::Key, op.getContext()))
    return op.emitOpError() << "expects states of f32 whose first dimension counts parts, got " << type << " by "
                            << AffineMapAttr::get(map);
  return success();
}

/// 8-bit scores: floats to quantise, and sums that f32 holds.
static LogicalResult verifyQkInt8(AttentionOp op) {
  if (!op.getQkInt8())
    return success();
  constexpr int64_t kMaxHeadSize = 1024;
  auto size = dyn_cast<AffineConstantExpr>(op.getBounds().getResult(AttentionOp::HeadSize));
  if (!size || size.getValue() > kMaxHeadSize)
    return op.emitOpError() << "expects a constant head size of at most " << kMaxHeadSize << " with qk_int8";
  Type query = getElementTypeOrSelf(op.getQuery()), key = getElementTypeOrSelf(op.getKey());
  if (!query.isF32() || !key.isF32())
    return op.emitOpError() << "expects query and key of f32 with qk_int8, got " << query << " and " << key;
  return success();
}

/// Values of 8 bits: floats to quantise, a scale a channel, and sums that f32 holds.
static LogicalResult verifyPvInt8(AttentionOp op, ArrayRef<AffineMap> maps) {
  std::optional<uint64_t> block = op.getPvInt8Block();
  if (!block)
    return success();
  constexpr uint64_t kMaxBlock = 1024;
  if (*block < 1 || *block > kMaxBlock)
    return op.emitOpError() << "expects pv_int8_block from 1 to " << kMaxBlock << ", got " << int64_t(*block);
  if (op.getPartSize() && *op.getPartSize() != *block)
    return op.emitOpError() << "expects parts of pv_int8_block keys, got " << *op.getPartSize() << " and " << *block;
  Type value = getElementTypeOrSelf(op.getValue()),
       scale = getElementTypeOrSelf(op.getInputs()[*op.getValueScaleInput()]);
  if (!value.isF32() || !scale.isF32())
    return op.emitOpError() << "expects values and their scales of f32 with pv_int8_block, got " << value << " and "
                            << scale;
  AffineMap map = maps[*op.getValueScaleInput()];
  for (unsigned loop = 0; loop < AttentionOp::NumLoops; ++loop)
    if (loop != AttentionOp::KeyHead && loop != AttentionOp::ValueSize && map.isFunctionOfDim(loop))
      return op.emitOpError() << "expects a scale for each key head and column of the value, got "
                              << AffineMapAttr::get(map);
  if (op.getHasLse() || op.getHasProbabilities() || !op.getProbability().empty())
    return op.emitOpError() << "expects neither lse nor probabilities nor what changes them with pv_int8_block";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (getBounds().getNumResults() != NumLoops)
    return emitOpError() << "expects " << unsigned(NumLoops) << " loops, got " << getBounds().getNumResults();
  if (getInputs().size() < getFirstCapture())
    return emitOpError() << "expects at least " << getFirstCapture() << " inputs, got " << getInputs().size();
  if (getScale().has_value() == getHasScaleInput())
    return emitOpError() << "expects the scale as exactly one of attribute and input";
  if (!llvm::is_contained({"literal", "zero", "nan"}, getFullyMasked()))
    return emitOpError() << "expects fully_masked to be literal, zero or nan, got '" << getFullyMasked() << "'";
  if (getNumResults() != 1u + getHasLse() + getHasProbabilities())
    return emitOpError() << "expects " << 1 + getHasLse() + getHasProbabilities() << " results, got "
                         << getNumResults();
  if (failed(verifyAttentionMaps(*this, toMaps(getIndexingMaps()))) || failed(verifyParts(*this)) ||
      failed(verifyQkInt8(*this)) || failed(verifyPvInt8(*this, toMaps(getIndexingMaps()))))
    return failure();
  Builder builder(getContext());
  SmallVector<Type> captures = elementTypes(getCaptures().getTypes());
  if (failed(verifyRegion(*this, getMask(), "mask", captures, builder.getI1Type())))
    return failure();
  captures.insert(captures.begin(), builder.getF32Type());
  if (failed(verifyRegion(*this, getScore(), "score", captures, builder.getF32Type())))
    return failure();
  return getProbability().empty()
             ? success()
             : verifyRegion(*this, getProbability(), "probability", captures, builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// Inside regions
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  auto root = (*this)->getParentOfType<RootOpInterface>();
  if (!root)
    return emitOpError() << "expects to be inside a structured root";
  if (getLoop() >= root.getNumLoops())
    return emitOpError() << "expects a loop below " << root.getNumLoops() << ", got " << getLoop();
  return success();
}

LogicalResult GatherOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType());
  if (static_cast<int64_t>(getIndices().size()) != table.getRank())
    return emitOpError() << "expects " << table.getRank() << " indices, got " << getIndices().size();
  if (getResult().getType() != table.getElementType())
    return emitOpError() << "expects a result of type " << table.getElementType() << ", got " << getResult().getType();
  bool checked = llvm::any_of(getIndices().getTypes(), [](Type type) { return !type.isIndex(); });
  if (checked && !getSite())
    return emitOpError() << "expects an error site, since an index comes from data";
  return success();
}
