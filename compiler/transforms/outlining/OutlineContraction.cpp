// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products as kernel.contract, with the element-wise ops of their group as epilogue.

#include "compiler/transforms/outlining/Contraction.h"
#include "compiler/transforms/outlining/ScalarOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle;

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

ProductLoops heddle::describeProduct(Outliner &outliner, Operation *root, bool collapse) {
  MLIRContext *context = outliner.getContext();
  ShapeContext &shapes = outliner.getShapes();
  ProductLoops c;
  auto gemm = dyn_cast<nn::GemmOp>(root);
  bool transposeLhs = gemm && gemm.getTransA();
  bool transposeRhs = gemm && gemm.getTransB();
  ShapeDims lhsDims = outliner.getDims(root->getOperand(0)), rhsDims = outliner.getDims(root->getOperand(1));
  ShapeDims resultDims = outliner.getDims(root->getResult(0));
  bool hasRows = lhsDims.size() >= 2, hasColumns = rhsDims.size() >= 2;
  ShapeExpr one = shapes.constant(1);
  ShapeExpr depth = lhsDims[transposeLhs ? lhsDims.size() - 2 : lhsDims.size() - 1];
  ShapeExpr columns = hasColumns ? rhsDims[rhsDims.size() - (transposeRhs ? 2 : 1)] : one;
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
  c.rhsIndex = operandIndex(rhsDims, batchDims, batch, transposeRhs ? n : k, transposeRhs ? k : n);
  if (!hasColumns)
    c.rhsIndex = {k};
  c.resultIndex.append(batch.begin(), batch.begin() + batchDims.size());
  if (hasRows)
    c.resultIndex.push_back(row);
  if (hasColumns)
    c.resultIndex.push_back(n);
  return c;
}

Type heddle::getSumType(Type type) {
  return type.isF16() || type.isBF16() ? Type(Float32Type::get(type.getContext())) : type;
}

Value heddle::emitScaledProduct(ScalarEmitter &emitter, nn::GemmOp gemm, Value product, Type type,
                                ArrayRef<AffineExpr> index) {
  OpBuilder &builder = emitter.getBuilder();
  // The factors are floats; integers are scaled exactly up to 2^53 and truncated.
  Type scaleType = isa<FloatType>(type) ? type : Type(builder.getF64Type());
  auto scaled = [&](Value x, const APFloat &factor) {
    if (factor.isExactlyValue(1.0))
      return x;
    x = emitCast(builder, x, type, scaleType);
    Value number = emitNumber(builder, scaleType, factor.convertToDouble());
    return emitCast(builder, emitBinary(builder, nn::BinaryKind::Mul, x, number, scaleType, scaleType), scaleType,
                    type);
  };
  Value sum = scaled(product, gemm.getAlpha());
  if (!gemm.getAddend())
    return sum;
  Value addend = emitter.emitBroadcastAsF32(gemm.getAddend(), gemm.getOutput(), index);
  return emitBinary(builder, nn::BinaryKind::Add, sum, scaled(addend, gemm.getBeta()), type, type);
}

/// The right side of |c| as the form that its constant is packed in; nothing where it isn't packed.
static std::optional<PackedRhs> packRhs(Outliner &outliner, const Contraction &c) {
  if (c.packedRhs || !c.mayPackRhs || c.storedRhs)
    return c.packedRhs;
  std::optional<Outliner::PackedConstant> packed = outliner.getPackedConstant(c.rhs, c.transposeRhs);
  return packed ? std::optional(PackedRhs{outliner.getConstant(packed->recipe), packed->columns}) : std::nullopt;
}

/// The factors of |c| as operands of the kernel; gives the number of the first capture.
static unsigned addFactors(Outliner &outliner, KernelBuilder &builder, const Contraction &c,
                           const std::optional<PackedRhs> &packed) {
  builder.addOwnInput(c.lhs, c.lhsIndex);
  if (!packed) {
    builder.addOwnInput(c.storedRhs ? *c.storedRhs : *outliner.findView(c.rhs), c.rhsIndex);
    return 2;
  }
  builder.addPacked(packed->panels);
  if (packed->blockSize != 0)
    builder.addPacked(packed->scales);
  return builder.getNumInputs();
}

/// kernel.contract for KernelBuilder::finish().
static auto getFactory(const Contraction &c, const std::optional<PackedRhs> &packed) {
  return [&c, &packed](OpBuilder &b, Location loc, TypeRange results, ValueRange inputs, ValueRange sizes,
                       AffineMap bounds, ArrayAttr maps) -> Operation * {
    auto op = b.create<kernel::ContractOp>(loc, results, inputs, sizes, bounds, maps, IntegerAttr(), c.signedLhs,
                                           packed && packed->pairSafe, IntegerAttr());
    if (packed)
      op.setPackedRhs(packed->columns);
    if (packed && packed->blockSize != 0)
      op.setBlockSize(packed->blockSize);
    return op;
  };
}

/// What products are summed up in.
static Type getAccumulatorType(const Contraction &c) {
  MLIRContext *context = c.lhs.elementType.getContext();
  return isa<IntegerType>(c.lhs.elementType) ? Type(IntegerType::get(context, 32)) : Type(Float32Type::get(context));
}

static ShapeExpr countFlops(ShapeContext &shapes, const Contraction &c) {
  return shapes.mul(shapes.constant(2), shapes.product(c.bounds));
}

bool heddle::buildContraction(Outliner &outliner, const Contraction &c, Operation *root, Operation *end,
                              EmitProduct emitProduct, WhenUnstrided whenUnstrided) {
  ShapeContext &shapes = outliner.getShapes();
  bool givesUp = whenUnstrided == WhenUnstrided::GiveUp;
  if (givesUp && !isWalkable(c.lhs, c.lhsIndex, outliner.getSymbols(), shapes))
    return false;
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  std::optional<PackedRhs> packed = packRhs(outliner, c);
  unsigned firstCapture = addFactors(outliner, builder, c, packed);

  unsigned region = builder.addRegion(getAccumulatorType(c), firstCapture, {});
  ScalarEmitter emitter(outliner, scope, region);
  emitter.bind(root->getResult(0), emitProduct(emitter, builder.getLeading(region, 0)));
  AffineIndex endIndex = reshapeIndex(outliner.getDims(end->getResult(0)), outliner.getDims(root->getResult(0)),
                                      c.resultIndex, outliner.getSymbols(), shapes);
  builder.yield(region, emitter.emit(end->getResult(0), endIndex));
  if (givesUp && !builder.isStridedOnly())
    return false;

  scope.ops.insert(root);
  outliner.finishKernel(scope, {{end->getResult(0), endIndex}}, c.bounds, countFlops(shapes, c), getFactory(c, packed));
  return true;
}

TensorView heddle::storeContraction(Outliner &outliner, const Contraction &c, Operation *op, ArrayRef<ShapeExpr> dims) {
  ShapeContext &shapes = outliner.getShapes();
  KernelBuilder builder(outliner.getContext(), outliner.getSymbols(), shapes);
  KernelScope scope{builder, {}};
  std::optional<PackedRhs> packed = packRhs(outliner, c);
  Type sum = getAccumulatorType(c);
  unsigned region = builder.addRegion(sum, addFactors(outliner, builder, c, packed), {});
  builder.yield(region, builder.getLeading(region, 0));
  return outliner.storeTemporary(scope, op, {sum, ShapeDims(dims), c.resultIndex}, c.bounds, countFlops(shapes, c),
                                 getFactory(c, packed));
}

void heddle::buildProduct(Outliner &outliner, Contraction &c, Operation *root, Operation *end,
                          EmitProduct emitProduct) {
  auto build = [&](bool collapse, WhenUnstrided whenUnstrided) {
    static_cast<ProductLoops &>(c) = describeProduct(outliner, root, collapse);
    return buildContraction(outliner, c, root, end, emitProduct, whenUnstrided);
  };
  // One matrix on the right serves all rows of all batches: the more rows at once, the better the tiles fill.
  bool mayCollapse = rankOf(root->getOperand(1)) == 2 && rankOf(root->getOperand(0)) > 2;
  if (mayCollapse && build(/*collapse=*/true, WhenUnstrided::GiveUp))
    return;
  build(/*collapse=*/false, WhenUnstrided::Compute);
}

/// |value| as kernel.contract reads it: f32, stored as such where it is a smaller float.
static TensorView storeAsF32(Outliner &outliner, Operation *root, Value value) {
  auto type = cast<RankedTensorType>(value.getType()).getElementType();
  if (type.isF32())
    return *outliner.findView(value);
  ShapeDims dims = outliner.getDims(value);
  AffineIndex index = identityIndex(dims.size(), outliner.getContext());
  return outliner.storeTemporary(root, Float32Type::get(outliner.getContext()), dims,
                                 [&](ScalarEmitter &emitter) { return emitter.emitAsF32(value, index); });
}

void heddle::outlineContraction(Outliner &outliner, Operation *root, Operation *end) {
  Value lhs = root->getOperand(0), rhs = root->getOperand(1);
  Type type = cast<RankedTensorType>(lhs.getType()).getElementType(), f32 = Float32Type::get(outliner.getContext());
  if (getSumType(type) != f32)
    return outlineProductSum(outliner, root, end);
  if (std::optional<QuantizedProduct> product = findQuantizedProduct(root))
    return outlineQuantizedProduct(outliner, root, end, *product);
  auto gemm = dyn_cast<nn::GemmOp>(root);
  Contraction c;
  c.lhs = storeAsF32(outliner, root, lhs);
  c.rhs = rhs;
  c.transposeRhs = gemm && gemm.getTransB();
  c.mayPackRhs = rankOf(rhs) == 2;
  if (!type.isF32())
    c.storedRhs = storeAsF32(outliner, root, rhs);
  std::optional<WeightCodes> weight = findWeightCodes(root);
  if (weight)
    c.packedRhs = packWeightCodes(outliner, *weight);
  buildProduct(outliner, c, root, end, [&](ScalarEmitter &emitter, Value product) {
    if (weight)
      product = emitDequantizedProduct(outliner, emitter, *weight, c, root, product);
    Value value = gemm ? emitScaledProduct(emitter, gemm, product, f32, c.resultIndex) : product;
    return emitCast(emitter.getBuilder(), value, f32, type);
  });
}
