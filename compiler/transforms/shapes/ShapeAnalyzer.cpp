// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a function, and the checks and diagnostics of all rules.

#include "compiler/transforms/shapes/ShapeAnalyzer.h"

#include "compiler/transforms/shapes/TensorIndex.h"
#include "dialects/nn/Locations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace heddle;
using namespace mlir;

//===----------------------------------------------------------------------===//
// ShapeAnalysis
//===----------------------------------------------------------------------===//

ShapeAnalysis::ShapeAnalysis() = default;
ShapeAnalysis::~ShapeAnalysis() = default;

std::unique_ptr<ShapeAnalysis> ShapeAnalysis::create(func::FuncOp func) {
  std::unique_ptr<ShapeAnalysis> analysis(new ShapeAnalysis());
  if (failed(ShapeAnalyzer(*analysis).run(func)))
    return nullptr;
  return analysis;
}

ShapeContext &ShapeAnalysis::getContext() { return context; }

ArrayRef<ShapeExpr> ShapeAnalysis::getDims(Value value) const {
  auto found = dims.find(value);
  return found == dims.end() ? ArrayRef<ShapeExpr>() : ArrayRef<ShapeExpr>(found->second);
}

std::optional<ArrayRef<ShapeExpr>> ShapeAnalysis::getElements(Value value) const {
  auto found = elements.find(value);
  if (found == elements.end())
    return std::nullopt;
  return ArrayRef<ShapeExpr>(found->second);
}

ArrayRef<ShapeCheck> ShapeAnalysis::getChecks() const { return checks; }

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

/// Walks back from the operands that decide shapes to the inputs that they are made from.
void ShapeAnalyzer::findShapeInputs(func::FuncOp func) {
  SmallVector<Value> worklist;
  func.walk([&](nn::ShapeOperandsInterface op) { llvm::append_range(worklist, op.getShapeOperands()); });
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      shapeInputs.insert(value);
    else if (!isa<nn::ShapeOp, nn::SizeOp>(op))
      llvm::append_range(worklist, op->getOperands());
  }
}

/// The values of an integer type, bools being 0 and 1.
static ShapeRange getTypeRange(IntegerType type) {
  unsigned width = type.getWidth();
  if (width == 1)
    return {0, 1};
  if (width >= 64)
    return {INT64_MIN, INT64_MAX};
  if (type.isUnsigned())
    return {0, static_cast<int64_t>((uint64_t(1) << width) - 1)};
  return {-(int64_t(1) << (width - 1)), (int64_t(1) << (width - 1)) - 1};
}

LogicalResult ShapeAnalyzer::visitArgument(func::FuncOp func, BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type)
    return func.emitOpError() << "expects inputs that are ranked tensors, got " << argument.getType();
  unsigned input = argument.getArgNumber();
  auto names = func.getArgAttrOfType<ArrayAttr>(input, nn::NnDialect::getDimsAttrName());
  ShapeExprs dims;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    auto symbol = names && i < names.size() ? dyn_cast<StringAttr>(names[i]) : StringAttr();
    if (!ShapedType::isDynamic(size))
      dims.push_back(context.constant(size));
    else
      dims.push_back(context.symbol(input, i, symbol ? symbol.getValue() : ""));
  }
  analysis.dims[argument].assign(dims.begin(), dims.end());

  auto elementType = dyn_cast<IntegerType>(type.getElementType());
  if (!elementType || !shapeInputs.contains(argument) || !type.hasStaticShape() ||
      type.getNumElements() > ShapeAnalysis::kMaxElements)
    return success();
  auto &elements = analysis.elements[argument];
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    // A caller's bool is a byte: true is whatever isn't 0.
    bool isBool = elementType.getWidth() == 1;
    ShapeExpr value = context.inputValue(input, i, isBool ? ShapeRange{0, 255} : getTypeRange(elementType));
    elements.push_back(isBool ? context.logicalNot(context.equal(value, context.constant(0))) : value);
  }
  return success();
}

LogicalResult ShapeAnalyzer::run(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitOpError() << "expects a body of one block";
  findShapeInputs(func);
  for (BlockArgument argument : func.getArguments())
    if (failed(visitArgument(func, argument)))
      return failure();
  for (Operation &op : func.getBody().front().without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult ShapeAnalyzer::visit(Operation *op) {
  if (isa<arith::ConstantOp>(op) && !isa<ShapedType>(op->getResult(0).getType()))
    return success(); // a scalar that regions of attention use: it has no shape
  for (Value result : op->getResults())
    if (!isa<RankedTensorType>(result.getType()))
      return op->emitOpError() << "expects ranked tensors when shapes are inferred, got " << result.getType();
  if (failed(inferDims(op)))
    return failure();
  return inferElements(op);
}

//===----------------------------------------------------------------------===//
// Dispatch to the rules
//===----------------------------------------------------------------------===//

static LogicalResult inferDimsAsFirstOperand(ShapeAnalyzer &analyzer, Operation *op) {
  return analyzer.setDims(op->getResult(0), analyzer.getDims(op->getOperand(0)));
}

static LogicalResult inferDimsByBroadcasting(ShapeAnalyzer &analyzer, Operation *op) {
  ShapeExprs dims(analyzer.getDims(op->getOperand(0)));
  for (Value operand : llvm::drop_begin(op->getOperands())) {
    FailureOr<ShapeExprs> broadcast = analyzer.broadcast(op, dims, analyzer.getDims(operand));
    if (failed(broadcast))
      return failure();
    dims = std::move(*broadcast);
  }
  return analyzer.setDims(op->getResult(0), dims);
}

static LogicalResult inferDimsFromType(ShapeAnalyzer &analyzer, Operation *op) {
  for (Value result : op->getResults()) {
    std::optional<ShapeExprs> dims = analyzer.getStaticTypeDims(result);
    if (!dims)
      return op->emitOpError() << "expects a static shape or an op of the dialect nn, got " << result.getType();
    if (failed(analyzer.setDims(result, *dims)))
      return failure();
  }
  return success();
}

LogicalResult ShapeAnalyzer::inferDims(Operation *op) {
  using namespace nn;
  if (op->hasTrait<nn::Broadcasting>())
    return inferDimsByBroadcasting(*this, op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<SoftmaxOp, LogSoftmaxOp, CumSumOp, TriluOp>(
          [&](Operation *op) { return inferDimsAsFirstOperand(*this, op); })
      .Case<MatMulOp, MatMulIntegerOp, GemmOp, EinsumOp, ConvOp, ConvTransposeOp, PoolOp, ResizeOp, ReshapeOp,
            TransposeOp, SqueezeOp, UnsqueezeOp, FlattenOp, ExpandOp, TileOp, ConcatOp, SplitOp, ReduceOp, ArgReduceOp,
            SliceOp, GatherOp, GatherElementsOp, GatherNdOp, PadOp, OneHotOp, TopKOp, RangeOp, ConstantOfShapeOp,
            LayerNormOp, RmsNormOp, QuantizeLinearOp, DequantizeLinearOp, DynamicQuantizeLinearOp, QuantizeRowsOp,
            ScatterElementsOp, ScatterNdOp>([&](auto op) { return heddle::inferDims(*this, op); })
      .Case([&](attn::SdpaOp op) { return heddle::inferDims(*this, op); })
      .Case([&](attn::RopeOp op) { return inferDimsAsFirstOperand(*this, op); })
      // Constants, nn.shape and nn.size have static types; so have ops of other dialects, or they are refused.
      .Default([&](Operation *op) { return inferDimsFromType(*this, op); });
}

LogicalResult ShapeAnalyzer::inferElements(Operation *op) {
  if (op->getNumResults() == 0)
    return success();
  auto elementType = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  if (!isa<IntegerType>(elementType(op->getResult(0))))
    return inferFloatElements(*this, op);
  if (auto cast = dyn_cast<nn::CastOp>(op); cast && !isa<IntegerType>(elementType(cast.getInput())))
    return inferRoundedElements(*this, cast);
  if (op->hasTrait<nn::Broadcasting>())
    return inferMapElements(*this, op);
  return inferMovementElements(*this, op);
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

static const char kWhatToDo[] = "sizes must follow from the sizes of the inputs, constants, and integer inputs of at "
                                "most 64 elements; export the model without data-dependent shapes";

LogicalResult ShapeAnalyzer::setDims(Value value, ArrayRef<ShapeExpr> dims) {
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (static_cast<int64_t>(dims.size()) != type.getRank())
    return op->emitOpError() << "expects a result of rank " << dims.size() << ", got " << type;
  ShapeExprs merged;
  for (size_t i = 0; i < dims.size(); ++i) {
    ShapeExpr dim = dims[i];
    if (!dim)
      return op->emitOpError() << "expects a size that fits 64 bits at dimension " << i;
    int64_t declared = type.getDimSize(i);
    if (!ShapedType::isDynamic(declared)) {
      if (failed(requireEqual(op, dim, context.constant(declared),
                              "expects a result of size {b} at dimension " + Twine(i) + ", got {a}")))
        return failure();
      dim = context.constant(declared);
    }
    if (failed(require(op, rt::CheckKind::LessEqual, context.constant(0), dim,
                       "expects a size of at least {a} at dimension " + Twine(i) + ", got {b}")))
      return failure();
    merged.push_back(dim);
  }
  analysis.dims[value].assign(merged.begin(), merged.end());
  return success();
}

LogicalResult ShapeAnalyzer::setElements(Value value, ArrayRef<ShapeExpr> elements) {
  auto type = dyn_cast<IntegerType>(cast<RankedTensorType>(value.getType()).getElementType());
  std::optional<SmallVector<int64_t>> dims = getSmallDims(value);
  if (!type || !dims || getNumElements(*dims) != static_cast<int64_t>(elements.size()) ||
      llvm::is_contained(elements, ShapeExpr()))
    return success();
  // The shape program computes in 64 bits; a narrower type wraps, which no real shape does.
  ShapeRange range = getTypeRange(type);
  std::string message;
  llvm::raw_string_ostream(message) << "expects numbers that fit " << type << ", got ";
  for (ShapeExpr element : elements)
    if (element.getRange().low > range.high || element.getRange().high < range.low)
      return success();
  for (ShapeExpr element : elements) {
    if (failed(require(value.getDefiningOp(), rt::CheckKind::LessEqual, context.constant(range.low), element,
                       message + "{b}")) ||
        failed(require(value.getDefiningOp(), rt::CheckKind::LessEqual, element, context.constant(range.high),
                       message + "{a}")))
      return failure();
  }
  analysis.elements[value].assign(elements.begin(), elements.end());
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// |message| with the values of constants in place of `{a}` and `{b}`.
static std::string substitute(std::string message, ShapeExpr a, ShapeExpr b) {
  for (auto [name, expr] : {std::pair("{a}", a), std::pair("{b}", b)})
    for (size_t at = message.find(name); at != std::string::npos; at = message.find(name))
      message.replace(at, 3, expr.str());
  return message;
}

void ShapeAnalyzer::addCheck(Operation *op, rt::CheckKind kind, ShapeExpr a, ShapeExpr b, std::string message) {
  if (!known.insert({{a, b}, static_cast<unsigned>(kind)}).second)
    return;
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(op->getLoc());
  std::string name = node && !node->name.empty() ? node->name.str() : op->getName().getStringRef().str();
  analysis.checks.push_back({kind, a, b, std::move(name), std::move(message)});
}

LogicalResult ShapeAnalyzer::require(Operation *op, rt::CheckKind kind, ShapeExpr a, ShapeExpr b,
                                     const Twine &message) {
  if (!a || !b)
    return op->emitOpError() << "expects sizes that fit 64 bits";
  bool isEqual = kind == rt::CheckKind::Equal;
  // A table of 512 positions cut to the sequence's length, say: what matters to users is the limit.
  for (auto [side, other] : {std::pair(a, b), std::pair(b, a)})
    if (ShapeExpr limit = isEqual ? context.getLimit(side, other) : ShapeExpr())
      return require(op, rt::CheckKind::LessEqual, side, limit, "expects a size of at most {b}, got {a}");
  ShapeExpr holds = isEqual ? context.equal(a, b) : context.lessEqual(a, b);
  if (holds && holds.isConstant(1))
    return success();
  if (holds && holds.isConstant(0))
    return op->emitOpError() << substitute(message.str(), a, b);
  addCheck(op, kind, a, b, message.str());
  return success();
}

FailureOr<ShapeExpr> ShapeAnalyzer::unify(Operation *op, ShapeExpr a, ShapeExpr b, const Twine &message) {
  if (failed(requireEqual(op, a, b, message)))
    return failure();
  auto rank = [](ShapeExpr expr) { return std::pair(expr.getComplexity(), expr.getConstant() ? 0 : 1 + expr.getId()); };
  return rank(a) <= rank(b) ? a : b;
}

FailureOr<ShapeExpr> ShapeAnalyzer::broadcast(Operation *op, ShapeExpr a, ShapeExpr b) {
  if (a.isConstant(1))
    return b;
  if (b.isConstant(1))
    return a;
  // A selection that an If has become: users know its branches, not our operands.
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(op->getLoc());
  return unify(op, a, b,
               node && node->type == "If"
                   ? "expects branches of one shape where the condition isn't constant, got sizes {a} and {b}"
                   : "expects operands that broadcast, got sizes {a} and {b}");
}

FailureOr<ShapeExprs> ShapeAnalyzer::broadcast(Operation *op, ArrayRef<ShapeExpr> a, ArrayRef<ShapeExpr> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  ShapeExprs result(a);
  for (size_t i = 0; i < b.size(); ++i) {
    ShapeExpr &dim = result[a.size() - b.size() + i];
    FailureOr<ShapeExpr> merged = broadcast(op, dim, b[i]);
    if (failed(merged))
      return failure();
    dim = *merged;
  }
  return result;
}

FailureOr<ArrayRef<ShapeExpr>> ShapeAnalyzer::readElements(Operation *op, Value value, StringRef what) {
  if (auto elements = getElements(value))
    return *elements;
  InFlightDiagnostic diagnostic = op->emitOpError() << "expects " << what << " known before the model runs, but ";
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(value.getLoc());
  Operation *source = value.getDefiningOp();
  if (!source)
    diagnostic << "they come from an input of " << value.getType();
  else if (node && node->type != "")
    diagnostic << "they come from node '" << node->name << "' (" << node->type << ")";
  else
    diagnostic << "they come from " << source->getName().getStringRef();
  diagnostic.attachNote() << kWhatToDo;
  return failure();
}

ShapeExpr ShapeAnalyzer::countFromStart(ShapeExpr index, ShapeExpr extent) {
  ShapeExpr zero = context.constant(0), isNegative = context.less(index, zero);
  if (isNegative && isNegative.isConstant(0))
    return index;
  // The minimum keeps the sum from overflowing where the index is a large positive number after all.
  return context.select(isNegative, context.add(context.min(index, zero), extent), index);
}

FailureOr<ShapeExpr> ShapeAnalyzer::normalizeIndex(Operation *op, ShapeExpr index, ShapeExpr extent) {
  ShapeExpr fromStart = countFromStart(index, extent);
  if (!fromStart)
    return op->emitOpError() << "expects an index that fits 64 bits";
  if (failed(require(op, rt::CheckKind::LessEqual, context.constant(0), fromStart,
                     "expects an index of at least {a}, got {b}")) ||
      failed(require(op, rt::CheckKind::LessEqual, context.add(fromStart, context.constant(1)), extent,
                     "expects at least {a} elements to pick from, got {b}")))
    return failure();
  return fromStart;
}

std::optional<ShapeExprs> ShapeAnalyzer::getStaticTypeDims(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return std::nullopt;
  ShapeExprs dims;
  for (int64_t size : type.getShape())
    dims.push_back(context.constant(size));
  return dims;
}

std::optional<SmallVector<int64_t>> ShapeAnalyzer::getStaticDims(Value value) const {
  SmallVector<int64_t> result;
  for (ShapeExpr dim : getDims(value)) {
    std::optional<int64_t> size = dim.getConstant();
    if (!size)
      return std::nullopt;
    result.push_back(*size);
  }
  return result;
}

std::optional<SmallVector<int64_t>> ShapeAnalyzer::getSmallDims(Value value) const {
  std::optional<SmallVector<int64_t>> dims = getStaticDims(value);
  int64_t count = 1;
  for (int64_t dim : dims.value_or(SmallVector<int64_t>()))
    if (llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  return count <= ShapeAnalysis::kMaxElements ? dims : std::nullopt;
}
