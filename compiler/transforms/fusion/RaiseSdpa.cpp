// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-raise-sdpa: finds attention around each softmax, makes it one op and reports what it found.

#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/fusion/SdpaBuilder.h"
#include "compiler/transforms/fusion/Sweep.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "attn-raise-sdpa"

using namespace mlir;

namespace heddle::nn {

#define GEN_PASS_DEF_RAISESDPAPASS
#include "compiler/transforms/fusion/Passes.h.inc"

namespace {

using namespace heddle::attn;

/// The model's node, or its kind where it has no name.
StringAttr getNodeName(Operation *op) {
  std::optional<OnnxNode> node = findOnnxNode(op->getLoc());
  return StringAttr::get(op->getContext(), node && !node->name.empty() ? node->name : op->getName().getStringRef());
}

/// What the mask looks at: positions, a tensor that knows no query (padding), or both.
StringRef getMaskClass(SdpaOp op) {
  if (op.getMask().empty())
    return op.getScoreCaptures().empty() ? "none" : "opaque";
  Region &mask = op.getMask();
  bool looksAtPositions = !mask.getArgument(kQuery).use_empty() || !mask.getArgument(kKey).use_empty();
  bool looksAtTensors = mask.getNumArguments() > 4;
  if (looksAtPositions)
    return looksAtTensors ? "position+tensor" : "position";
  return "tensor";
}

/// A product plus or minus another one: half of a rotation.
bool isHalfRotation(Value value) {
  auto sum = value.getDefiningOp<BinaryOp>();
  bool isSum = sum && (sum.getKind() == BinaryKind::Add || sum.getKind() == BinaryKind::Sub);
  return isSum && llvm::all_of(sum->getOperands(), [](Value operand) {
           auto product = operand.getDefiningOp<BinaryOp>();
           return product && product.getKind() == BinaryKind::Mul;
         });
}

/// How queries know where they are: rotated before the product, by a term of the score, or not here.
StringRef getPositionScheme(SdpaOp op, bool hasBias) {
  // A rotation that is written out joins its halves, and channels that it leaves alone.
  SmallVector<Value> worklist{op.getQuery()};
  for (unsigned budget = 16; budget > 0 && !worklist.empty(); --budget) {
    Value value = worklist.pop_back_val();
    if (isHalfRotation(value))
      return "rotary";
    Operation *source = value.getDefiningOp();
    if (isa_and_nonnull<ReshapeOp, TransposeOp, UnsqueezeOp, ConcatOp, CastOp>(source))
      llvm::append_range(worklist, isa<ConcatOp>(source) ? source->getOperands() : source->getOperands().take_front());
  }
  return hasBias ? "bias" : "none";
}

/// True if a tensor of floats is added to the scores of an imported attention for more than to mask them.
bool hasBias(SdpaOp op) {
  return llvm::any_of(op.getScoreCaptures(), [&](Value capture) {
    return isa<FloatType>(getElementTypeOrSelf(capture.getType())) &&
           !llvm::is_contained(op.getMaskCaptures(), capture);
  });
}

struct RaiseSdpaPass : impl::RaiseSdpaPassBase<RaiseSdpaPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        raise(func);
    if (!report.empty())
      getOperation()->setAttr("attn.report", ArrayAttr::get(&getContext(), report));
  }

private:
  void raise(func::FuncOp func);
  void raise(SoftmaxOp softmax, KnownDims &dims);
  void addAttention(SdpaOp op, bool hasBias);
  void addRefused(SoftmaxOp softmax, StringRef reason);

  SmallVector<Attribute> report;
};

void RaiseSdpaPass::raise(func::FuncOp func) {
  // Attentions that the model names, first.
  for (SdpaOp op : func.getOps<SdpaOp>())
    addAttention(op, hasBias(op));
  auto softmaxes = llvm::to_vector(func.getOps<SoftmaxOp>());
  if (softmaxes.empty())
    return;
  // What has no shape before it runs is an error of the outliner, which needs it; here nothing is found.
  ScopedDiagnosticHandler silence(&getContext(), [](Diagnostic &) { return success(); });
  std::unique_ptr<ShapeAnalysis> analysis = ShapeAnalysis::create(func);
  if (!analysis)
    return;
  KnownDims dims(*analysis);
  for (SoftmaxOp softmax : softmaxes)
    raise(softmax, dims);

  // Only now: the analysis knows values by their address. Probabilities may be read before the output is.
  sweep(func.getBody().front());
}

void RaiseSdpaPass::raise(SoftmaxOp softmax, KnownDims &dims) {
  std::string reason;
  std::optional<SoftmaxPattern> pattern = matchSoftmax(softmax, reason);
  if (!pattern && reason.empty())
    return;
  std::optional<SdpaPlan> plan = pattern ? planSdpa(*pattern, dims, reason) : std::nullopt;
  std::optional<SdpaRegions> regions = plan ? buildRegions(*pattern, *plan, dims, reason) : std::nullopt;
  std::optional<SdpaOp> op = regions ? buildSdpa(*pattern, *plan, *regions, dims, reason) : std::nullopt;
  if (!op)
    return addRefused(softmax, reason);
  addAttention(*op, regions->hasOpaqueBias);
  ++numRaised;
}

void RaiseSdpaPass::addAttention(SdpaOp op, bool hasBias) {
  Builder builder(&getContext());
  report.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("node", getNodeName(op)), builder.getNamedAttr("heads", op.getQNumHeadsAttr()),
       builder.getNamedAttr("kv_heads", op.getKvNumHeadsAttr()),
       builder.getNamedAttr("mask", builder.getStringAttr(getMaskClass(op))),
       builder.getNamedAttr("position", builder.getStringAttr(getPositionScheme(op, hasBias)))}));
}

void RaiseSdpaPass::addRefused(SoftmaxOp softmax, StringRef reason) {
  LLVM_DEBUG(llvm::dbgs() << "not raised: " << reason << "\n");
  Builder builder(&getContext());
  report.push_back(builder.getDictionaryAttr({builder.getNamedAttr("node", getNodeName(softmax)),
                                              builder.getNamedAttr("reason", builder.getStringAttr(reason))}));
  ++numRefused;
}

} // namespace
} // namespace heddle::nn
