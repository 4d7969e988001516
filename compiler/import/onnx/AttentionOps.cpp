// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention as one operator: the standard one of opset 23 and later becomes attn.sdpa, with its masks as regions.

#include "compiler/import/onnx/NodeContext.h"
#include "compiler/import/onnx/OpTable.h"

#include "dialects/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;

namespace heddle::importer {

namespace {

/// The operator's inputs, in order.
enum Input : unsigned { kQueryIn, kKeyIn, kValueIn, kMaskIn, kPastKeyIn, kPastValueIn, kValidLengthIn };

/// A tensor of heads: how many, how wide, and how they lie.
struct Heads {
  Value tensor;
  int64_t count = 0;
  int64_t size = 0;
  bool isBnsd = true; ///< else BSND

  unsigned sequenceAxis() const { return isBnsd ? 2 : 1; }
  AffineMap map(attn::Dimension sequence) const {
    MLIRContext *context = tensor.getContext();
    return isBnsd ? attn::getBnsdMap(context, sequence) : attn::getBsndMap(context, sequence);
  }
};

/// Builds attn.sdpa from one node.
class AttentionImporter {
public:
  explicit AttentionImporter(NodeContext &node) : node(node), builder(node.getBuilder()), loc(node.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult checkNode();
  LogicalResult readHeads(unsigned index, llvm::StringRef countName, Heads &heads);
  LogicalResult readTensors();
  LogicalResult readMask();
  LogicalResult readWindow();
  Value toBnsd(const Heads &heads);
  Value appendToPast(Heads &heads, unsigned pastIndex);
  Value extentOf(Value tensor, unsigned axis);
  void padMask();
  Value makeOffset();
  RankedTensorType getOutputType() const;
  RankedTensorType getProbabilitiesType() const;
  void buildScore(attn::SdpaOp op, double softcap);
  void buildMask(attn::SdpaOp op);
  FailureOr<attn::SdpaOp> buildSdpa();

  bool hasPast() const { return node.getInput(kPastKeyIn) != Value(); }
  bool isBias() const { return mask && !cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1); }
  bool wantsProbabilities() const { return qkMode == 3 && node.getNode().outputs.size() > 3; }
  bool hasPositions() const { return isCausal || left >= 0 || right >= 0; }
  Type floatType() const { return node.getElementType(kQueryIn); }
  Type scoreType() const { return floatType().isF64() ? floatType() : builder.getF32Type(); }

  NodeContext &node;
  OpBuilder &builder;
  Location loc;
  Heads query, key, value;
  Value presentKey, presentValue;
  Value mask; ///< of i1, or of the query's type
  AffineMap maskMap;
  bool isCausal = false;
  int64_t left = -1, right = -1; ///< bounds of the window, -1 for none
  int64_t qkMode = 0;
};

/// What the definition rules out, and what our op can't do as exactly.
LogicalResult AttentionImporter::checkNode() {
  if (!isa<FloatType>(floatType()))
    return node.malformed("query must be a tensor of floats");
  if (hasPast() != (node.getInput(kPastValueIn) != Value()))
    return node.malformed("a past key needs a past value, and the reverse");
  if (node.getInput(kValidLengthIn) && node.getOpset() < 24)
    return node.malformed("input nonpad_kv_seqlen is not known before opset 24");
  if (node.getInput(kValidLengthIn) && hasPast())
    return node.unsupported("nonpad_kv_seqlen together with a past is not supported",
                            "give either the whole cache with its length or a past that is concatenated");
  // The op's softmax is f32, or f64 for f64: never less exact than a narrower type that is asked for.
  int64_t precision = node.getInt("softmax_precision", ::onnx::TensorProto::FLOAT);
  if (precision == ::onnx::TensorProto::DOUBLE && !floatType().isF64())
    return node.unsupported("a softmax in double is not supported for a query of another type",
                            "leave softmax_precision out");
  qkMode = node.getInt("qk_matmul_output_mode", 0);
  if (qkMode < 0 || qkMode > 3)
    return node.malformed("attribute 'qk_matmul_output_mode' can't be " + llvm::Twine(qkMode));
  isCausal = node.getFlag("is_causal", false);
  return readWindow();
}

/// Bounds before and behind a query's own position, since opset 25.
LogicalResult AttentionImporter::readWindow() {
  if (node.getOpset() < 25)
    return success();
  left = node.getInt("left_window_size", -1);
  right = node.getInt("right_window_size", -1);
  return left < -1 || right < -1 ? node.malformed("a window can't be smaller than -1") : success();
}

/// Input |index| as heads. The rank says how they lie: of three dimensions the last one holds all heads of a row, as
/// many as attribute |countName| says.
LogicalResult AttentionImporter::readHeads(unsigned index, llvm::StringRef countName, Heads &heads) {
  RankedTensorType type = node.getType(index);
  int64_t rank = type.getRank();
  if (rank != 3 && rank != 4)
    return node.malformed("query, key and value must have 3 or 4 dimensions, not " + llvm::Twine(rank));
  heads.isBnsd = rank == 4;
  heads.tensor = heads.isBnsd ? node.getInputAsDeclared(index, {1, 3}) : node.getInput(index);
  if (node.hasFailed())
    return failure();
  type = cast<RankedTensorType>(heads.tensor.getType());
  if (type.isDynamicDim(static_cast<unsigned>(rank - 1)) || (heads.isBnsd && type.isDynamicDim(1)))
    return node.unsupported("the number of heads and their size must be known",
                            "export the model with fixed extents for them");
  int64_t last = type.getDimSize(static_cast<unsigned>(rank - 1));
  if (heads.isBnsd) {
    heads.count = type.getDimSize(1);
    heads.size = last;
    if (node.getInt(countName, heads.count) != heads.count)
      return node.malformed("attribute '" + countName + "' differs from the number of heads, " +
                            llvm::Twine(heads.count));
    return success();
  }
  heads.count = node.getInt(countName);
  if (node.hasFailed())
    return failure();
  if (heads.count < 1 || last % heads.count != 0)
    return node.malformed("attribute '" + countName + "' can't be " + llvm::Twine(heads.count) + " for " +
                          llvm::Twine(last) + " channels");
  heads.size = last / heads.count;
  // A 0 copies the extent.
  Value shape = node.createVector({0, 0, heads.count, heads.size});
  heads.tensor = node.createValue<nn::ReshapeOp>(heads.tensor, shape, /*allowzero=*/false);
  return success(!node.hasFailed());
}

Value AttentionImporter::toBnsd(const Heads &heads) {
  return heads.isBnsd ? heads.tensor
                      : node.createValue<nn::TransposeOp>(heads.tensor, llvm::ArrayRef<int64_t>{0, 2, 1, 3});
}

/// |heads| behind the past in input |pastIndex|, if there is one; returns the present, in BNSD, where it is wanted.
Value AttentionImporter::appendToPast(Heads &heads, unsigned pastIndex) {
  bool isPresentWanted = node.getNode().outputs.size() > 1;
  if (!hasPast())
    return isPresentWanted ? toBnsd(heads) : Value();
  heads.tensor = toBnsd(heads);
  heads.isBnsd = true;
  heads.tensor = node.createValue<nn::ConcatOp>(ValueRange{node.getInput(pastIndex), heads.tensor}, int64_t(2));
  return heads.tensor;
}

LogicalResult AttentionImporter::readTensors() {
  if (failed(readHeads(kQueryIn, "q_num_heads", query)) || failed(readHeads(kKeyIn, "kv_num_heads", key)) ||
      failed(readHeads(kValueIn, "kv_num_heads", value)))
    return failure();
  if (query.size < 1)
    return node.malformed("heads can't be empty");
  presentKey = appendToPast(key, kPastKeyIn);
  presentValue = appendToPast(value, kPastValueIn);
  return success(!node.hasFailed());
}

/// Extent |axis| of |tensor| as a vector of one i64.
Value AttentionImporter::extentOf(Value tensor, unsigned axis) {
  return node.createValue<nn::ShapeOp>(tensor, int64_t(axis), int64_t(axis) + 1);
}

/// Since opset 24 a mask may end before the keys do: those behind it are not seen. Only a length that is known can
/// be seen to be shorter; one that is not has to be the keys'.
void AttentionImporter::padMask() {
  auto type = cast<RankedTensorType>(mask.getType());
  auto keyType = cast<RankedTensorType>(key.tensor.getType());
  unsigned last = static_cast<unsigned>(type.getRank()) - 1;
  int64_t keys = keyType.getDimSize(key.sequenceAxis());
  if (node.getOpset() < 24 || type.isDynamicDim(last) || type.getDimSize(last) == keys)
    return;
  Value missing = node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, extentOf(key.tensor, key.sequenceAxis()),
                                                 node.createVector(type.getDimSize(last)));
  Value zeros = node.createVector(llvm::SmallVector<int64_t>(2 * last + 1, 0));
  Value pads = node.createValue<nn::ConcatOp>(ValueRange{zeros, missing}, int64_t(0));
  Value fill = isBias() ? node.createScalar(floatType(), -INFINITY) : node.createScalar(builder.getI1Type(), 0);
  mask = node.createValue<nn::PadOp>(nn::PadMode::Constant, mask, pads, fill, Value());
}

/// The mask, which broadcasts from the right over (b, n, q, kv). Whatever isn't a boolean is added.
LogicalResult AttentionImporter::readMask() {
  mask = node.getInput(kMaskIn);
  if (!mask)
    return success();
  int64_t rank = node.getRank(kMaskIn);
  if (rank < 1 || rank > 4)
    return node.malformed("attn_mask must have 1 to 4 dimensions, not " + llvm::Twine(rank));
  Type element = node.getElementType(kMaskIn);
  if (!element.isInteger(1) && element != floatType())
    mask = node.createValue<nn::CastOp>(mask, floatType());
  if (node.hasFailed())
    return failure();
  padMask();
  if (node.hasFailed())
    return failure();
  auto type = cast<RankedTensorType>(mask.getType());
  llvm::SmallVector<AffineExpr> place;
  for (unsigned axis = 0; axis < type.getRank(); ++axis)
    place.push_back(type.getDimSize(axis) == 1 ? builder.getAffineConstantExpr(0)
                                               : builder.getAffineDimExpr(axis + 4 - static_cast<unsigned>(rank)));
  maskMap = AffineMap::get(4, 0, place, builder.getContext());
  return success();
}

/// How far positions of queries are ahead of their rows; null for not at all. Without a cache position 0 is that of
/// the first query and of the first key, however many there are of each.
Value AttentionImporter::makeOffset() {
  if (!hasPositions())
    return {};
  if (hasPast())
    return node.createAsScalar(extentOf(node.getInput(kPastKeyIn), 2));
  Value lengths = node.getInput(kValidLengthIn);
  if (!lengths)
    return {};
  return node.createValue<nn::BinaryOp>(nn::BinaryKind::Sub, lengths, extentOf(query.tensor, query.sequenceAxis()));
}

RankedTensorType AttentionImporter::getOutputType() const {
  llvm::SmallVector<int64_t> shape(cast<RankedTensorType>(query.tensor.getType()).getShape());
  shape.back() = value.size;
  return RankedTensorType::get(shape, floatType());
}

RankedTensorType AttentionImporter::getProbabilitiesType() const {
  auto queryType = cast<RankedTensorType>(query.tensor.getType()),
       keyType = cast<RankedTensorType>(key.tensor.getType());
  return RankedTensorType::get({queryType.getDimSize(0), query.count, queryType.getDimSize(query.sequenceAxis()),
                                keyType.getDimSize(key.sequenceAxis())},
                               floatType());
}

/// The soft cap comes before the bias: behind it a bias of -inf would become a finite score.
void AttentionImporter::buildScore(attn::SdpaOp op, double softcap) {
  if (softcap == 0 && !isBias())
    return;
  Block &block = op.getScore().emplaceBlock();
  Value score = block.addArgument(scoreType(), loc);
  for (unsigned i = 0; i < 4; ++i)
    block.addArgument(builder.getIndexType(), loc);
  auto inside = OpBuilder::atBlockBegin(&block);
  if (softcap != 0) {
    Value cap = inside.create<arith::ConstantOp>(loc, inside.getFloatAttr(scoreType(), softcap));
    Value bent = inside.create<math::TanhOp>(loc, inside.create<arith::DivFOp>(loc, score, cap));
    score = inside.create<arith::MulFOp>(loc, bent, cap);
  }
  if (isBias()) {
    Value bias = block.addArgument(floatType(), loc);
    if (floatType() != scoreType())
      bias = inside.create<arith::ExtFOp>(loc, scoreType(), bias);
    score = inside.create<arith::AddFOp>(loc, score, bias);
  }
  inside.create<attn::YieldOp>(loc, score);
}

/// A key is kept where the mask is true or, if it is added, not -inf, and where the query's position allows it.
void AttentionImporter::buildMask(attn::SdpaOp op) {
  if (!mask && !hasPositions())
    return;
  Block &block = op.getMask().emplaceBlock();
  for (unsigned i = 0; i < 4; ++i)
    block.addArgument(builder.getIndexType(), loc);
  Value position = block.getArgument(attn::kQuery), row = block.getArgument(attn::kKey);
  auto inside = OpBuilder::atBlockBegin(&block);
  Value keep;
  auto require = [&](Value condition) { keep = keep ? inside.create<arith::AndIOp>(loc, keep, condition) : condition; };
  auto requireOrder = [&](arith::CmpIPredicate predicate, int64_t distance) {
    Value bound = position;
    if (distance != 0)
      bound = inside.create<arith::AddIOp>(loc, position, inside.create<arith::ConstantIndexOp>(loc, distance));
    // Signed: an offset may be negative, and then the first rows see nothing.
    require(inside.create<arith::CmpIOp>(loc, predicate, row, bound));
  };
  if (isCausal)
    requireOrder(arith::CmpIPredicate::sle, 0);
  if (left >= 0)
    requireOrder(arith::CmpIPredicate::sge, -left);
  if (right >= 0)
    requireOrder(arith::CmpIPredicate::sle, right);
  if (isBias()) {
    auto type = cast<FloatType>(floatType());
    llvm::APFloat infinity = llvm::APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
    Value fill = inside.create<arith::ConstantOp>(loc, FloatAttr::get(type, infinity));
    require(inside.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, block.addArgument(type, loc), fill));
  } else if (mask) {
    require(block.addArgument(builder.getI1Type(), loc));
  }
  inside.create<attn::YieldOp>(loc, keep);
}

FailureOr<attn::SdpaOp> AttentionImporter::buildSdpa() {
  MLIRContext *context = builder.getContext();
  Value offset = makeOffset();
  double scale = node.getFloat("scale", 1.0 / std::sqrt(static_cast<double>(query.size)));
  double softcap = node.getFloat("softcap", 0.0);
  if (node.hasFailed())
    return failure();
  llvm::SmallVector<Value> bias, captures;
  llvm::SmallVector<AffineMap> biasMaps, maps;
  if (mask) {
    captures.push_back(mask);
    maps.push_back(maskMap);
  }
  if (isBias()) {
    bias = captures;
    biasMaps = maps;
  }
  // Rows that see no key are zero by definition, decided by the mask alone.
  auto rule = mask || hasPositions() ? attn::FullyMasked::Zero : attn::FullyMasked::Literal;
  auto mapAttr = [](AffineMap map) { return AffineMapAttr::get(map); };
  Value none;
  auto op = builder.create<attn::SdpaOp>(
      loc, getOutputType(), /*lse=*/Type(), wantsProbabilities() ? getProbabilitiesType() : Type(), query.tensor,
      key.tensor, value.tensor, /*scale_operand=*/none, offset, node.getInput(kValidLengthIn), bias, captures, none,
      none, none, none, none, none, builder.getI64IntegerAttr(query.count), builder.getI64IntegerAttr(key.count),
      builder.getF32FloatAttr(static_cast<float>(scale)), mapAttr(query.map(attn::kQuery)),
      mapAttr(key.map(attn::kKey)), mapAttr(value.map(attn::kKey)), mapAttr(query.map(attn::kQuery)),
      builder.getAffineMapArrayAttr(biasMaps), builder.getAffineMapArrayAttr(maps), /*probability_scale=*/FloatAttr(),
      attn::NormalizerAttr::get(context, attn::Normalizer::Softmax), attn::FullyMaskedAttr::get(context, rule));
  buildScore(op, softcap);
  buildMask(op);
  if (succeeded(verify(op)))
    return op;
  op.erase();
  return failure();
}

LogicalResult AttentionImporter::run() {
  if (failed(checkNode()) || failed(readTensors()) || failed(readMask()))
    return failure();
  FailureOr<attn::SdpaOp> op = buildSdpa();
  if (failed(op))
    return failure();
  Value output = op->getOutput();
  if (!query.isBnsd)
    output = node.createValue<nn::ReshapeOp>(output, node.createVector({0, 0, query.count * value.size}), false);
  llvm::SmallVector<Value> outputs{output};
  // An output that nobody names is not there; scores before the softmax are not to be had from the op.
  if (presentKey)
    outputs.append({presentKey, presentValue});
  if (wantsProbabilities())
    outputs.push_back(op->getProbabilities());
  return node.setOutputs(outputs);
}

LogicalResult buildAttention(NodeContext &node) { return AttentionImporter(node).run(); }

} // namespace

llvm::ArrayRef<OpRow> getAttentionOps() {
  static constexpr OpRow kRows[] = {
      {"", "Attention", 23, 3, 7, buildAttention},
  };
  return kRows;
}

} // namespace heddle::importer
