// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated definitions of attn's ops, the default maps, and the ops around attention.

#include "dialects/attn/AttnOps.h"

#include "dialects/nn/ShapeInference.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace heddle::attn;
using heddle::nn::formatList;
using heddle::nn::getTensorType;
using heddle::nn::kDynamic;
using heddle::nn::mayEqual;

static AffineMap getMap(MLIRContext *context, ArrayRef<unsigned> dimensions) {
  return AffineMap::getMultiDimMapWithTargets(kHeadSize + 1, dimensions, context);
}

AffineMap heddle::attn::getBsndMap(MLIRContext *context, Dimension sequence) {
  return getMap(context, {kBatch, sequence, kHead, kHeadSize});
}

AffineMap heddle::attn::getBnsdMap(MLIRContext *context, Dimension sequence) {
  return getMap(context, {kBatch, kHead, sequence, kHeadSize});
}

/// True where shapes could be equal at run time.
static bool mayEqualShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return mayEqual(std::get<0>(pair), std::get<1>(pair)); });
}

//===------------------------------------------------------------------------------------------------------------===//
// attn.qkv_projection
//===------------------------------------------------------------------------------------------------------------===//

/// The number of columns of the weight; nothing where counts and sizes aren't positive or too large.
static std::optional<int64_t> countColumns(QkvProjectionOp::Adaptor adaptor) {
  int64_t queryHeads = adaptor.getQNumHeads(), keyHeads = adaptor.getKvNumHeads();
  int64_t size = adaptor.getHeadSize(), valueSize = adaptor.getVHeadSize();
  constexpr int64_t kMost = int64_t(1) << 30; // products of two stay far below 2^63
  for (int64_t number : {queryHeads, keyHeads, size, valueSize})
    if (number < 1 || number > kMost)
      return std::nullopt;
  return queryHeads * size + keyHeads * (size + valueSize);
}

LogicalResult QkvProjectionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  RankedTensorType input = getTensorType(adaptor.getInput()), weight = getTensorType(adaptor.getWeight());
  if (input.getRank() != 3)
    return emitOptionalError(location, "expects an input of shape (B, S, D), got ", formatList(input.getShape()));
  std::optional<int64_t> columns = countColumns(adaptor);
  if (!columns)
    return emitOptionalError(location, "expects head counts and sizes within [1, 2^30]");
  int64_t expected[] = {input.getDimSize(2), *columns};
  if (!mayEqualShapes(weight.getShape(), expected))
    return emitOptionalError(location, "expects a weight of shape ", formatList(expected), ", got ",
                             formatList(weight.getShape()));
  SmallVector<Value> parameters{adaptor.getWeight()};
  if (Value bias = adaptor.getBias()) {
    parameters.push_back(bias);
    if (!mayEqualShapes(getTensorType(bias).getShape(), *columns))
      return emitOptionalError(location, "expects a bias of shape ", formatList(*columns), ", got ",
                               formatList(getTensorType(bias).getShape()));
  }
  for (Value parameter : parameters)
    if (failed(heddle::nn::checkSameElementType(location, adaptor.getInput(), parameter)))
      return failure();
  auto heads = [&](int64_t count, int64_t size) {
    return RankedTensorType::get({input.getDimSize(0), input.getDimSize(1), count, size}, input.getElementType());
  };
  int64_t keyHeads = adaptor.getKvNumHeads(), size = adaptor.getHeadSize();
  types.push_back(heads(adaptor.getQNumHeads(), size));
  types.push_back(heads(keyHeads, size));
  types.push_back(heads(keyHeads, adaptor.getVHeadSize()));
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// attn.rope
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  RankedTensorType input = getTensorType(getInput()), cache = getTensorType(getCos());
  if (input.getRank() != 4)
    return emitOpError("expects an input of rank 4, got ") << input.getRank();
  if (cache.getElementType() != input.getElementType())
    return emitOpError("expects cos and sin of type ") << input.getElementType() << ", got " << cache.getElementType();
  int64_t width = getRotaryEmbeddingDim(), size = input.getDimSize(3);
  if (width < 2 || width % 2 != 0 || (size != kDynamic && width > size))
    return emitOpError("expects an even rotary_embedding_dim within [2, ") << size << "], got " << width;
  int64_t batch = input.getDimSize(0), sequence = input.getDimSize(getLayout() == Layout::Bsnd ? 1 : 2);
  if (getPositionIds()) {
    ArrayRef<int64_t> positions = getTensorType(getPositionIds()).getShape();
    if (!mayEqualShapes(positions, {batch, sequence}))
      return emitOpError("expects position_ids of shape ")
             << formatList({batch, sequence}) << ", got " << formatList(positions);
    int64_t expected[] = {kDynamic, width / 2};
    if (!mayEqualShapes(cache.getShape(), expected))
      return emitOpError("expects cos and sin of shape ")
             << formatList(expected) << ", got " << formatList(cache.getShape());
    return success();
  }
  int64_t expected[] = {batch, sequence, width / 2};
  bool fits = cache.getRank() == 3 && mayEqualShapes(cache.getShape().drop_front(), {sequence, width / 2}) &&
              (cache.getDimSize(0) == 1 || mayEqual(cache.getDimSize(0), batch));
  if (!fits)
    return emitOpError("expects cos and sin of shape ")
           << formatList(expected) << " without position_ids, got " << formatList(cache.getShape());
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// attn.kv_cache_update
//===------------------------------------------------------------------------------------------------------------===//

LogicalResult KvCacheUpdateOp::verify() {
  RankedTensorType cache = getTensorType(getCache()), update = getTensorType(getUpdate());
  int64_t axis = getAxis();
  if (axis < 1 || axis >= cache.getRank())
    return emitOpError("expects axis within [1, ") << cache.getRank() << "), got " << axis;
  if (update.getElementType() != cache.getElementType())
    return emitOpError("expects an update of type ") << cache.getElementType() << ", got " << update.getElementType();
  SmallVector<int64_t> expected(cache.getShape());
  expected[axis] = kDynamic;
  if (!mayEqualShapes(update.getShape(), expected))
    return emitOpError("expects an update of shape ")
           << formatList(expected) << ", got " << formatList(update.getShape());
  int64_t length = cache.getDimSize(axis), rows = update.getDimSize(axis);
  if (length != kDynamic && rows != kDynamic && rows > length)
    return emitOpError("expects at most ") << length << " new rows, got " << rows;
  if (!getWriteIndices())
    return success();
  ArrayRef<int64_t> indices = getTensorType(getWriteIndices()).getShape();
  if (!mayEqualShapes(indices, cache.getDimSize(0)))
    return emitOpError("expects write_indices of shape ")
           << formatList(cache.getDimSize(0)) << ", got " << formatList(indices);
  return success();
}

//===------------------------------------------------------------------------------------------------------------===//
// attn.online_sdpa prints a state's two types once: those of maximum and sum, and of the results, are the same. (A
// trait can't say so: what ODS generates from it takes operand numbers for positions, and optional operands come
// before.)
//===------------------------------------------------------------------------------------------------------------===//

static ParseResult parseStateTypes(OpAsmParser &parser, Type &accumulator, Type &maximum, Type &sum,
                                   Type &outAccumulator, Type &outMaximum, Type &outSum) {
  if (parser.parseType(accumulator) || parser.parseComma() || parser.parseType(maximum))
    return failure();
  outAccumulator = accumulator;
  sum = outMaximum = outSum = maximum;
  return success();
}

static void printStateTypes(OpAsmPrinter &printer, Operation *, Type accumulator, Type maximum, Type, Type, Type,
                            Type) {
  printer << accumulator << ", " << maximum;
}

#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.cpp.inc"
