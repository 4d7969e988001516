// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products and patch convolutions as kernel.contract, with the element-wise ops of their group as epilogue.

#include "compiler/transforms/outlining/Outliner.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

namespace {
/// One product as the kernel's loops see it. Loops are batch..., m, n, k.
struct Contraction {
  TensorView lhs;
  Value rhs;
  /// The right side is stored as N x K.
  bool transposeRhs = false;
  /// Bounds of all loops.
  ShapeDims bounds;
  /// Index of each operand and of the result over the loops.
  AffineIndex lhsIndex, rhsIndex, resultIndex;
};
} // namespace

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// The operand's index: its leading dimensions broadcast against the batch loops, then |row|, |column|.
static AffineIndex operandIndex(ArrayRef<ShapeExpr> dims, ArrayRef<ShapeExpr> batchDims, ArrayRef<AffineExpr> batch,
                                AffineExpr row, AffineExpr column) {
  AffineIndex index;
  int64_t leading = static_cast<int64_t>(dims.size()) - 2;
  for (int64_t i = 0; i < leading; ++i) {
    size_t loop = batchDims.size() - leading + i;
    bool stretches = dims[i].isConstant(1) && !batchDims[loop].isConstant(1);
    index.push_back(stretches ? getAffineConstantExpr(0, row.getContext()) : batch[loop]);
  }
  if (dims.size() >= 2)
    index.push_back(row);
  index.push_back(column);
  return index;
}

/// Loops for a product: one per batch dimension, or with |collapse| all leading dimensions of the result as rows.
static Contraction describeProduct(Outliner &outliner, Operation *root, bool collapse) {
  MLIRContext *context = outliner.getContext();
  ShapeContext &shapes = outliner.getShapes();
  Contraction c;
  c.lhs = *outliner.findView(root->getOperand(0));
  c.rhs = root->getOperand(1);
  auto gemm = dyn_cast<nn::GemmOp>(root);
  bool transposeLhs = gemm && gemm.getTransA();
  c.transposeRhs = gemm && gemm.getTransB();
  ShapeDims lhsDims = outliner.getDims(root->getOperand(0)), rhsDims = outliner.getDims(c.rhs);
  ShapeDims resultDims = outliner.getDims(root->getResult(0));
  bool hasRows = lhsDims.size() >= 2, hasColumns = rhsDims.size() >= 2;
  ShapeExpr one = shapes.constant(1);
  ShapeExpr depth = lhsDims[transposeLhs ? lhsDims.size() - 2 : lhsDims.size() - 1];
  ShapeExpr columns = hasColumns ? rhsDims[rhsDims.size() - (c.transposeRhs ? 2 : 1)] : one;
  ShapeDims leading(ArrayRef(resultDims).drop_back(hasColumns ? 1 : 0));
  ShapeDims batchDims(ArrayRef(leading).drop_back(hasRows ? 1 : 0));

  AffineIndex batch;
  if (collapse) {
    c.bounds = {shapes.product(leading), columns, depth};
    batch = reshapeIndex(leading, {c.bounds[0]}, {getAffineDimExpr(0, context)}, outliner.getSymbols(), shapes);
  } else {
    c.bounds = batchDims;
    c.bounds.append({hasRows ? leading.back() : one, columns, depth});
    batch = identityIndex(batchDims.size() + 1, context);
  }
  unsigned loops = c.bounds.size();
  AffineExpr row = collapse ? (hasRows ? batch.back() : getAffineConstantExpr(0, context)) : batch.back();
  AffineExpr n = getAffineDimExpr(loops - 2, context), k = getAffineDimExpr(loops - 1, context);
  c.lhsIndex = operandIndex(lhsDims, batchDims, batch, transposeLhs ? k : row, transposeLhs ? row : k);
  c.rhsIndex = operandIndex(rhsDims, batchDims, batch, c.transposeRhs ? n : k, c.transposeRhs ? k : n);
  if (!hasColumns)
    c.rhsIndex = {k};
  c.resultIndex.append(batch.begin(), batch.begin() + batchDims.size());
  if (hasRows)
    c.resultIndex.push_back(row);
  if (hasColumns)
    c.resultIndex.push_back(n);
  return c;
}

/// The root's value before its group: alpha acc + beta C for a gemm.
static Value emitScaledProduct(ScalarEmitter &emitter, Outliner &outliner, nn::GemmOp gemm, Value product,
                               const Contraction &c) {
  OpBuilder &builder = emitter.getBuilder();
  Type f32 = builder.getF32Type();
  auto scaled = [&](Value x, APFloat factor) {
    if (factor.isExactlyValue(1.0))
      return x;
    return emitBinary(builder, nn::BinaryKind::Mul, x, emitNumber(builder, f32, factor.convertToDouble()), f32, f32);
  };
  Value sum = scaled(product, gemm.getAlpha());
  if (!gemm.getAddend())
    return sum;
  Value addend = emitter.emitBroadcast(gemm.getAddend(), gemm.getOutput(), c.resultIndex);
  return emitBinary(builder, nn::BinaryKind::Add, sum, scaled(addend, gemm.getBeta()), f32, f32);
}

/// Makes the kernel for |c|; false, and nothing done, if |mayGiveUp| and some access can't be walked by strides.
static bool buildContraction(Outliner &outliner, const Contraction &c, Operation *root, Operation *end,
                             bool mayGiveUp) {
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  if (mayGiveUp && !isWalkable(c.lhs, c.lhsIndex, outliner.getSymbols(), shapes))
    return false;
  builder.addOwnInput(c.lhs, c.lhsIndex);
  auto packed =
      rankOf(c.rhs) == 2 || isa<nn::ConvOp>(root) ? outliner.getPackedConstant(c.rhs, c.transposeRhs) : std::nullopt;
  if (packed)
    builder.addPacked(packed->buffer, packed->type);
  else
    builder.addOwnInput(*outliner.findView(c.rhs), c.rhsIndex);

  unsigned region = builder.addRegion(Float32Type::get(outliner.getContext()), /*firstInput=*/2, {});
  ScalarEmitter emitter(outliner, scope, region);
  Value product = builder.getLeading(region, 0);
  if (auto gemm = dyn_cast<nn::GemmOp>(root))
    product = emitScaledProduct(emitter, outliner, gemm, product, c);
  if (auto conv = dyn_cast<nn::ConvOp>(root); conv && conv.getBias()) {
    // One bias per output channel, the kernel's columns.
    Type f32 = Float32Type::get(outliner.getContext());
    Value bias = emitter.emit(conv.getBias(), c.resultIndex[1]);
    product = emitBinary(emitter.getBuilder(), nn::BinaryKind::Add, product, bias, f32, f32);
  }
  emitter.bind(root->getResult(0), product);
  builder.yield(region, emitter.emit(end->getResult(0), c.resultIndex));
  if (mayGiveUp && !builder.isStridedOnly())
    return false;

  scope.ops.insert(root);
  ShapeExpr flops = shapes.mul(shapes.constant(2), shapes.product(c.bounds));
  IntegerAttr columns;
  if (packed)
    columns = Builder(outliner.getContext()).getI64IntegerAttr(packed->columns);
  outliner.finishKernel(scope, {{end->getResult(0), c.resultIndex}}, c.bounds, flops,
                        [&](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                            AffineMap bounds, ArrayAttr maps) -> Operation * {
                          return b.create<kernel::ContractOp>(loc, results, inputs, sizes, bounds, maps, columns);
                        });
  return true;
}

void heddle::outlineContraction(Outliner &outliner, Operation *root, Operation *end) {
  Value rhs = root->getOperand(1);
  // One matrix on the right serves all rows of all batches: the more rows at once, the better the tiles fill.
  bool mayCollapse = rankOf(rhs) == 2 && rankOf(root->getOperand(0)) > 2;
  if (mayCollapse && buildContraction(outliner, describeProduct(outliner, root, true), root, end, /*mayGiveUp=*/true))
    return;
  buildContraction(outliner, describeProduct(outliner, root, false), root, end, /*mayGiveUp=*/false);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// The patches, stored once: element |inputIndex| of the input for the loops of |patchDims|, zero in the padding.
static TensorView storePatches(Outliner &outliner, nn::ConvOp op, ArrayRef<ShapeExpr> patchDims,
                               ArrayRef<AffineExpr> inputIndex) {
  Type type = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  bool isPadded = llvm::any_of(op.getPads(), [](int64_t pad) { return pad != 0; });
  return outliner.storeTemporary(op, type, patchDims, [&](ScalarEmitter &emitter) -> Value {
    if (!isPadded)
      return emitter.emit(op.getInput(), inputIndex);
    OpBuilder &builder = emitter.getBuilder();
    Location loc = UnknownLoc::get(op.getContext());
    SmallVector<Value> places;
    for (auto [dim, expr] : llvm::enumerate(inputIndex)) {
      Value place = emitter.emitIndex(expr);
      if (dim >= 2 && op.getPads()[dim - 2] != 0)
        place = builder.create<arith::SubIOp>(loc, place,
                                              builder.create<arith::ConstantIndexOp>(loc, op.getPads()[dim - 2]));
      places.push_back(place);
    }
    return emitter.emitPadded(op.getInput(), places, emitNumber(builder, type, 0));
  });
}

/// Patches as rows, (channel, kernel offset...) as depth: the input's elements in the order that the weight has them.
void heddle::outlineConv(Outliner &outliner, nn::ConvOp root, Operation *end) {
  MLIRContext *context = outliner.getContext();
  ShapeContext &shapes = outliner.getShapes();
  ShapeDims inputDims = outliner.getDims(root.getInput()), weightDims = outliner.getDims(root.getWeight());
  ShapeDims resultDims = outliner.getDims(root.getOutput());
  size_t spatial = inputDims.size() - 2;
  // Patches (batch, output position..., channel, offset...), stored once.
  ShapeDims patchDims{resultDims[0]};
  patchDims.append(resultDims.begin() + 2, resultDims.end());
  patchDims.append(weightDims.begin() + 1, weightDims.end());
  AffineIndex inputIndex{getAffineDimExpr(0, context), getAffineDimExpr(1 + spatial, context)};
  for (size_t i = 0; i < spatial; ++i)
    inputIndex.push_back(getAffineDimExpr(1 + i, context) * root.getStrides()[i] +
                         getAffineDimExpr(2 + spatial + i, context) * root.getDilations()[i]);
  Contraction c;
  c.lhs = storePatches(outliner, root, patchDims, inputIndex);
  c.rhs = root.getWeight();
  c.transposeRhs = true;

  ShapeDims positions(ArrayRef(patchDims).take_front(1 + spatial));
  ShapeDims offsets(ArrayRef(weightDims).drop_front());
  c.bounds = {shapes.product(positions), weightDims[0], shapes.product(offsets)};
  AffineExpr m = getAffineDimExpr(0, context), n = getAffineDimExpr(1, context), k = getAffineDimExpr(2, context);
  AffineIndex position = reshapeIndex(positions, {c.bounds[0]}, {m}, outliner.getSymbols(), shapes);
  AffineIndex offset = reshapeIndex(offsets, {c.bounds[2]}, {k}, outliner.getSymbols(), shapes);
  c.lhsIndex = position;
  c.lhsIndex.append(offset);
  c.rhsIndex = {n};
  c.rhsIndex.append(offset);
  c.resultIndex = {position[0], n};
  c.resultIndex.append(position.begin() + 1, position.end());
  buildContraction(outliner, c, root, end, /*mayGiveUp=*/false);
}
