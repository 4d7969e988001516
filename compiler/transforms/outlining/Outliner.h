// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of outlining one function: where each value lies, the rt.func being written, and the emission of scalar
// expressions into kernels. One kernel generator per kind of root uses it.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINER_H
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINER_H

#include "compiler/transforms/outlining/ConstantRecipe.h"
#include "compiler/transforms/outlining/KernelBuilder.h"
#include "compiler/transforms/outlining/OutlinePlan.h"
#include "compiler/transforms/outlining/TensorView.h"
#include "compiler/transforms/shapes/ShapeFuncBuilder.h"
#include "dialects/attn/AttnOps.h"
#include "dialects/nn/NnOps.h"
#include "llvm/ADT/SetVector.h"

namespace heddle {

class ScalarEmitter;

/// What a kernel in the making knows beside its operands: the value that its root computes, as a scalar in a region,
/// and the model's ops that went into it.
struct KernelScope {
  KernelBuilder &builder;
  llvm::SetVector<mlir::Operation *> ops;
};

/// What the entry points of one module share: equal kernels are one function, equal constants are stored once.
struct ProgramLibrary {
  explicit ProgramLibrary(mlir::ModuleOp module) : kernels(module) {}

  KernelLibrary kernels;
  /// Names of rt.constants by source and recipe.
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> constants;
  /// Names of those that stand for inputs, by the input's number and what stands for it.
  llvm::DenseMap<std::pair<size_t, mlir::Attribute>, mlir::StringAttr> defaults;
};

class Outliner {
public:
  /// |narrowsWeights|: constant right sides of contractions are stored as bf16.
  Outliner(mlir::func::FuncOp func, ShapeAnalysis &analysis, OutlinePlan &plan, mlir::ModuleOp module,
           ProgramLibrary &library, bool narrowsWeights);

  /// Writes the rt.func and its kernels. Every op must have a role.
  void run();

  //===--------------------------------------------------------------------===//
  // For the generators of kernels
  //===--------------------------------------------------------------------===//

  mlir::MLIRContext *getContext() { return func.getContext(); }
  ShapeContext &getShapes() { return analysis.getContext(); }
  ShapeSymbols &getSymbols() { return symbols; }
  ShapeDims getDims(mlir::Value value) const { return ShapeDims(analysis.getDims(value)); }

  /// Where |value| lies; null if it has no memory (it is computed where it is read).
  const TensorView *findView(mlir::Value value);

  /// The constant that |recipe| makes, stored once.
  TensorView getConstant(const ConstantRecipe &recipe);

  /// The recipe of the matrix of f32 that |value| is, or is made of by moves, packed for the right side of a
  /// contraction, K x N; with |transposed| the constant is N x K. The dimensions behind the first count as one. Nothing
  /// if it is no such constant.
  struct PackedConstant {
    ConstantRecipe recipe;
    int64_t columns;
  };
  std::optional<PackedConstant> getPackedConstant(mlir::Value value, bool transposed);

  /// The f32 constant |value| as a matrix, transposed; the dimensions behind the first count as one. Nothing if it is
  /// no such constant.
  std::optional<TensorView> getTransposedConstant(mlir::Value value);

  /// |value| in the model's order, in memory of its own dimensions.
  TensorView storeWhole(mlir::Value value);

  /// A value that a kernel computes, and the loop expression of each of its dimensions. With |keepsDims| its tensor in
  /// the kernel has all these dimensions in the model's order, else those that loops walk as one are joined.
  struct ComputedValue {
    mlir::Value value;
    AffineIndex loops;
    bool keepsDims = false;
  };
  /// Makes the kernel that |scope| holds and the dispatch that computes |values|, in the order of the root's results.
  void finishKernel(KernelScope &scope, llvm::ArrayRef<ComputedValue> values, llvm::ArrayRef<ShapeExpr> bounds,
                    ShapeExpr flops, KernelBuilder::RootFactory makeRoot);
  /// A tensor of |dims| that is none of the model's, stored on behalf of |op|; |emitElement| gives its element at the
  /// loops d0, d1, ..., one per dimension.
  TensorView storeTemporary(mlir::Operation *op, mlir::Type elementType, llvm::ArrayRef<ShapeExpr> dims,
                            llvm::function_ref<mlir::Value(ScalarEmitter &)> emitElement);
  /// The sums of the stored tensor |value| along |axis|, without that dimension: in i32 for integers, modulo 2^32, else
  /// in f32. Stored once, on behalf of the first |op| that asks.
  const TensorView &getSums(mlir::Operation *op, mlir::Value value, int64_t axis);
  /// Likewise the sums of a tensor of |dims| whose element at an index |emitElement| gives, in |elementType|.
  TensorView storeSums(mlir::Operation *op, mlir::Type elementType, llvm::ArrayRef<ShapeExpr> dims, int64_t axis,
                       llvm::function_ref<mlir::Value(ScalarEmitter &, llvm::ArrayRef<mlir::AffineExpr>)> emitElement);
  /// The same for the one result of the kernel that |scope| holds.
  TensorView storeTemporary(KernelScope &scope, mlir::Operation *op, const KernelResult &result,
                            llvm::ArrayRef<ShapeExpr> bounds, ShapeExpr flops, KernelBuilder::RootFactory makeRoot);

private:
  friend class ScalarEmitter;

  void outline(mlir::Operation *op);
  void outlineRoot(mlir::Operation *root, mlir::Operation *end);
  void outlineView(mlir::OpResult result);
  /// Stores |value|, which is computed or seen in a way that memory isn't walked by, through a kernel.map.
  const TensorView &materialize(mlir::Value value);
  /// A view of |value| in which |axes| are base dimensions as they are; stores |value| where it has none.
  const TensorView &getIndexableView(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  void returnValue(mlir::Value value, unsigned output);

  /// The constant that |value| is, or that is made of constants by moves; nothing where it is something else.
  std::optional<TensorView> constantView(mlir::Value value);
  mlir::Value constantBuffer(const ConstantRecipe &recipe);
  /// A small integer tensor that the shape program computes, written to memory for kernels to read.
  TensorView storeElements(mlir::Value value);
  /// How a kernel's result lies in memory: its dimensions permuted by |order|.
  struct StoredResult {
    llvm::SmallVector<int64_t> order;
    ShapeDims stored;
    /// As the kernel's loops walk it.
    ShapeDims walked;
    AffineIndex walkedIndex;
    /// Index of the memory's dimensions over the value's.
    AffineIndex viewIndex;
  };
  StoredResult orderResult(llvm::ArrayRef<ShapeExpr> dims, llvm::ArrayRef<mlir::AffineExpr> loops,
                           llvm::ArrayRef<int64_t> order);
  /// New memory for |value| with dimensions |stored|: the caller's output where it goes there as it is.
  mlir::Value createBuffer(mlir::Value value, llvm::ArrayRef<ShapeExpr> stored, bool inOrder);
  rt::BufferType bufferType() { return rt::BufferType::get(getContext()); }
  ShapeExpr byteSize(llvm::ArrayRef<ShapeExpr> dims, mlir::Type elementType);
  mlir::DictionaryAttr describeResult(llvm::StringRef name, mlir::Type type, llvm::ArrayRef<int64_t> order);
  void createEntry();
  mlir::ArrayAttr addDefaults(mlir::ArrayAttr inputs);
  /// Memory that a dispatch writes, its dimensions, and what is said of it (describeResult).
  struct DispatchOutput {
    mlir::Value buffer;
    ShapeDims stored;
    mlir::DictionaryAttr info;
  };
  void createDispatch(KernelScope &scope, kernel::FuncOp kernelFunc, mlir::Location loc,
                      llvm::ArrayRef<DispatchOutput> outputs, ShapeExpr flops);

  mlir::func::FuncOp func;
  ShapeAnalysis &analysis;
  OutlinePlan &plan;
  mlir::ModuleOp module;
  ShapeSymbols symbols;
  ProgramLibrary &library;
  bool narrowsWeights;
  rt::FuncOp entry;
  mlir::OpBuilder builder;
  std::optional<ShapeFuncBuilder> shapeFunc;
  llvm::DenseMap<mlir::Value, TensorView> views;
  /// The entry's rt.constant_buffers by source and recipe.
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  /// What getSums has stored.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, TensorView> sums;
  /// Outputs that already have a kernel writing into them.
  llvm::DenseMap<mlir::Value, unsigned> directOutputs;
};

/// Emits the scalar expression of a value's element into one region of a kernel, pulling in whatever isn't stored.
class ScalarEmitter {
public:
  ScalarEmitter(Outliner &outliner, KernelScope &scope, unsigned region)
      : outliner(outliner), scope(scope), kernel(scope.builder), region(region), builder(scope.builder.at(region)) {}

  /// |value|'s element is |scalar|, whatever the index: what the root computes.
  void bind(mlir::Value value, mlir::Value scalar) { bound[value] = scalar; }

  /// The element of |value| at |index|, one expression over the root's loops per dimension.
  mlir::Value emit(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The element of |operand| that broadcasting puts at |index| of |result|.
  mlir::Value emitBroadcast(mlir::Value operand, mlir::Value result, llvm::ArrayRef<mlir::AffineExpr> index) {
    return emit(operand, broadcastIndex(operand, result, index));
  }
  /// As emit(), f16 and bf16 widened to f32; integers and f64 unchanged.
  mlir::Value emitAsF32(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitBroadcastAsF32(mlir::Value operand, mlir::Value result, llvm::ArrayRef<mlir::AffineExpr> index) {
    return emitAsF32(operand, broadcastIndex(operand, result, index));
  }
  /// The same of a scale, a zero point and their kind: a single constant is read, not written into the code, so that
  /// layers of a quantised model share their kernels. But a 0 is written, since it saves work.
  mlir::Value emitParameter(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The element of the tensor that |view| shows at |index|.
  mlir::Value emitElement(const TensorView &view, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The element of the stored tensor |value| at |places|, which may lie outside; |padding| where they do.
  mlir::Value emitPadded(mlir::Value value, llvm::SmallVector<mlir::Value> places, mlir::Value padding);
  /// The same for a tensor of |view|'s base dimensions.
  mlir::Value emitPadded(const TensorView &view, llvm::SmallVector<mlir::Value> places, mlir::Value padding);
  /// |expr| over the loops as an index value.
  mlir::Value emitIndex(mlir::AffineExpr expr);
  /// |expr| as a scalar of element type |type|.
  mlir::Value emitSize(ShapeExpr expr, mlir::Type type);

  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Value emitUncached(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitElements(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitConstant(nn::ConstantOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitElementwise(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitClip(nn::ClipOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitGather(nn::GatherOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitGatherElements(nn::GatherElementsOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitGatherNd(nn::GatherNdOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitRange(nn::RangeOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitTrilu(nn::TriluOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitConcat(nn::ConcatOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitPad(nn::PadOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitElementwiseOp(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// Whether all |places| lie inside |dims|, and moves those that don't to the next one that does.
  mlir::Value clampPlaces(llvm::ArrayRef<ShapeExpr> dims, llvm::MutableArrayRef<mlir::Value> places);
  /// The element of |part| at |places|, which lie inside: read, or computed there where that is cheap.
  /// Places of integer types are checked on behalf of |reader|.
  mlir::Value emitPart(mlir::Value part, llvm::ArrayRef<mlir::Value> places, mlir::Operation *reader = nullptr);
  mlir::Value emitDequantizedPart(nn::DequantizeLinearOp op, llvm::ArrayRef<mlir::Value> places,
                                  mlir::Operation *reader);
  llvm::SmallVector<mlir::Value> broadcastPlaces(mlir::Value operand, mlir::Value result,
                                                 llvm::ArrayRef<mlir::Value> places);
  mlir::Value emitResize(nn::ResizeOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitOneHot(nn::OneHotOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitQuantize(nn::QuantizeLinearOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value emitDequantize(nn::DequantizeLinearOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The codes alone: scale and zero point are stored.
  mlir::Value emitDynamicQuantize(nn::DynamicQuantizeLinearOp op, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Reads |view| where each dimension's index is a value of type index (trusted) or an integer (checked).
  mlir::Value emitLoad(const TensorView &view, llvm::ArrayRef<mlir::Value> index, mlir::Operation *op);
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims);
  /// Operand's index for a broadcast result index.
  AffineIndex broadcastIndex(mlir::Value operand, mlir::Value result, llvm::ArrayRef<mlir::AffineExpr> index);

  Outliner &outliner;
  KernelScope &scope;
  KernelBuilder &kernel;
  unsigned region;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  std::vector<std::tuple<mlir::Value, AffineIndex, mlir::Value>> cache;
};

/// Index into a view op's operand for an index into result |result|.
AffineIndex viewOperandIndex(Outliner &outliner, const ShapeAnalysis &analysis, mlir::OpResult result,
                             llvm::ArrayRef<mlir::AffineExpr> index);

/// Generators, one per kind of root. |end| is the last op of the root's group.
void outlineContraction(Outliner &outliner, mlir::Operation *root, mlir::Operation *end);
void outlineMatMulInteger(Outliner &outliner, nn::MatMulIntegerOp root, mlir::Operation *end);
void outlineConv(Outliner &outliner, nn::ConvOp root, mlir::Operation *end);
void outlineProductSum(Outliner &outliner, mlir::Operation *root, mlir::Operation *end);
void outlineRowwise(Outliner &outliner, mlir::Operation *root, mlir::Operation *end);
void outlineReduce(Outliner &outliner, nn::ReduceOp root, mlir::Operation *end);
void outlineScan(Outliner &outliner, nn::CumSumOp root, mlir::Operation *end);
void outlinePool(Outliner &outliner, nn::PoolOp root, mlir::Operation *end);
void outlineConvTranspose(Outliner &outliner, nn::ConvTransposeOp root, mlir::Operation *end);
void outlineScatter(Outliner &outliner, mlir::Operation *root);
void outlineTopK(Outliner &outliner, nn::TopKOp root);
void outlineEinsum(Outliner &outliner, nn::EinsumOp root, mlir::Operation *end);
void outlineQuantizationRange(Outliner &outliner, nn::DynamicQuantizeLinearOp root);
void outlineAttention(Outliner &outliner, attn::SdpaOp root);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_OUTLINER_H
