// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building of kernel functions, and the library that keeps equal ones once.

#include "compiler/transforms/outlining/KernelBuilder.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace heddle;

//===----------------------------------------------------------------------===//
// KernelLibrary
//===----------------------------------------------------------------------===//

/// The kernel's text without its name: what two equal kernels share.
static std::string canonicalText(kernel::FuncOp func) {
  std::string text;
  llvm::raw_string_ostream os(text);
  func.print(os, OpPrintingFlags().useLocalScope());
  return os.str();
}

/// "f32_contract": types of the results, then the root.
static std::string describe(kernel::FuncOp func) {
  std::string name;
  llvm::raw_string_ostream os(name);
  SmallVector<Type> seen;
  for (Type type : func.getResultTypes()) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (llvm::is_contained(seen, element))
      continue;
    seen.push_back(element);
    os << element;
  }
  os << "_" << func.getRoot()->getName().stripDialect();
  return os.str();
}

kernel::FuncOp KernelLibrary::intern(kernel::FuncOp func) {
  func.setSymName("kernel");
  std::string text = canonicalText(func);
  auto [it, isNew] = byText.try_emplace(text, func);
  if (!isNew) {
    func.erase();
    return it->second;
  }
  uint64_t hash = llvm::xxh3_64bits(text);
  func.setSymName(describe(func) + "_" + llvm::utohexstr(hash >> 32, /*LowerCase=*/true, /*Width=*/8));
  module.push_back(func);
  return func;
}

Type heddle::kernelElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type); integer && !integer.isSignless())
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

KernelBuilder::KernelBuilder(MLIRContext *context, ShapeSymbols &symbols, ShapeContext &shapes)
    : context(context), symbols(symbols), shapes(shapes) {}

KernelBuilder::~KernelBuilder() {
  // A kernel that was given up: its regions use the placeholders, so they go first.
  regions.clear();
  for (Tensor &tensor : tensors)
    if (tensor.placeholder)
      tensor.placeholder->destroy();
  for (auto &[number, placeholder] : sizePlaceholders)
    placeholder->destroy();
}

unsigned KernelBuilder::addRegion(ArrayRef<Type> leading, unsigned firstInput, ArrayRef<Type> trailing) {
  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  Location loc = UnknownLoc::get(context);
  for (Type type : leading)
    block.addArgument(type, loc);
  for (const Input &input : llvm::drop_begin(inputs, std::min<size_t>(firstInput, inputs.size())))
    block.addArgument(tensors[input.tensor].type.getElementType(), loc);
  for (Type type : trailing)
    block.addArgument(type, loc);
  regions.push_back({std::move(region), static_cast<unsigned>(leading.size()), firstInput,
                     std::numeric_limits<unsigned>::max(), static_cast<unsigned>(trailing.size())});
  return regions.size() - 1;
}

Value KernelBuilder::getLeading(unsigned region, unsigned i) { return regions[region].region->getArgument(i); }

Value KernelBuilder::getTrailing(unsigned region, unsigned i) {
  const RegionState &state = regions[region];
  return state.region->getArgument(state.region->getNumArguments() - state.numTrailing + i);
}

OpBuilder KernelBuilder::at(unsigned number) {
  // Not OpBuilder::atBlockEnd, which asks the region's op for the context: there is none yet.
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&regions[number].region->front());
  return builder;
}

void KernelBuilder::yield(unsigned number, ValueRange values) {
  at(number).create<kernel::YieldOp>(UnknownLoc::get(context), values);
}

Value KernelBuilder::getElement(unsigned region, unsigned input) {
  const RegionState &state = regions[region];
  return state.region->getArgument(state.numLeading + input - state.firstInput);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Operation *KernelBuilder::makePlaceholder(Type type) {
  OperationState state(UnknownLoc::get(context), UnrealizedConversionCastOp::getOperationName());
  state.addTypes(type);
  return Operation::create(state);
}

RankedTensorType KernelBuilder::tensorType(ArrayRef<ShapeExpr> dims, Type elementType) {
  SmallVector<int64_t> shape;
  for (ShapeExpr dim : dims)
    shape.push_back(dim.getConstant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, kernelElementType(elementType));
}

unsigned KernelBuilder::addTensor(Value buffer, ArrayRef<ShapeExpr> dims, Type elementType) {
  for (auto [i, tensor] : llvm::enumerate(tensors))
    if (tensor.buffer == buffer && ArrayRef(tensor.dims) == dims)
      return i;
  // The sizes of its dimensions become arguments too, in order.
  for (ShapeExpr dim : dims)
    if (!dim.getConstant())
      sizeNumber(dim);
  tensors.push_back({buffer, ShapeDims(dims), tensorType(dims, elementType)});
  return tensors.size() - 1;
}

unsigned KernelBuilder::appendInput(Input input) {
  tensors[input.tensor].isWalked = true;
  Type elementType = tensors[input.tensor].type.getElementType();
  unsigned number = inputs.size();
  inputs.push_back(std::move(input));
  for (RegionState &state : regions) {
    if (number < state.firstInput || number >= state.endInput)
      continue;
    state.region->insertArgument(state.region->getNumArguments() - state.numTrailing, elementType,
                                 UnknownLoc::get(context));
  }
  return number;
}

KernelBuilder::Input KernelBuilder::resolve(const TensorView &view, ArrayRef<AffineExpr> loops) {
  ShapeDims dims = view.baseDims;
  AffineIndex index = compose(view.indices, loops);
  simplifyBase(dims, index, symbols, shapes);
  return {addTensor(view.buffer, dims, view.elementType), index};
}

unsigned KernelBuilder::addInput(const TensorView &view, ArrayRef<AffineExpr> loops) {
  Input input = resolve(view, loops);
  auto *it = std::find(inputs.begin() + numOwnInputs, inputs.end(), input);
  return it != inputs.end() ? it - inputs.begin() : appendInput(std::move(input));
}

unsigned KernelBuilder::addOwnInput(const TensorView &view, ArrayRef<AffineExpr> loops) {
  ++numOwnInputs;
  return appendInput(resolve(view, loops));
}

unsigned KernelBuilder::addWholeInput(const TensorView &view, ArrayRef<AffineExpr> index) {
  ++numOwnInputs;
  return appendInput({addTensor(view.buffer, view.baseDims, view.elementType), AffineIndex(index)});
}

unsigned KernelBuilder::addPacked(const TensorView &panels) {
  return addWholeInput(panels, AffineIndex(panels.baseDims.size(), getAffineConstantExpr(0, context)));
}

Value KernelBuilder::addTable(Value buffer, ArrayRef<ShapeExpr> dims, Type elementType, ShapeExpr reads) {
  Tensor &tensor = tensors[addTensor(buffer, dims, elementType)];
  tensor.reads = tensor.placeholder ? shapes.add(tensor.reads, reads) : reads;
  if (!tensor.placeholder)
    tensor.placeholder = makePlaceholder(tensor.type);
  return tensor.placeholder->getResult(0);
}

unsigned KernelBuilder::sizeNumber(ShapeExpr expr) {
  auto [it, isNew] = sizeNumbers.try_emplace(expr, sizes.size());
  if (isNew)
    sizes.push_back(expr);
  return it->second;
}

Value KernelBuilder::getSize(OpBuilder &builder, ShapeExpr expr) {
  if (std::optional<int64_t> value = expr.getConstant())
    return builder.create<arith::ConstantIndexOp>(UnknownLoc::get(context), *value);
  Operation *&placeholder = sizePlaceholders[sizeNumber(expr)];
  if (!placeholder)
    placeholder = makePlaceholder(IndexType::get(context));
  return placeholder->getResult(0);
}

int64_t KernelBuilder::addErrorSite(ArrayAttr site) {
  errorSites.push_back(site);
  return errorSites.size() - 1;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

AffineMap KernelBuilder::toMap(ArrayRef<AffineExpr> index, unsigned numLoops) {
  SmallVector<AffineExpr> replacements;
  for (unsigned i = 0; i < symbols.size(); ++i) {
    auto it = sizeNumbers.find(symbols.of(i));
    replacements.push_back(it == sizeNumbers.end() ? getAffineConstantExpr(0, context)
                                                   : getAffineSymbolExpr(it->second, context));
  }
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : index)
    exprs.push_back(expr.replaceSymbols(replacements));
  return AffineMap::get(numLoops, sizes.size(), exprs, context);
}

DenseI64ArrayAttr KernelBuilder::dimsAttr(ArrayRef<ShapeExpr> dims) {
  SmallVector<int64_t> numbers;
  for (ShapeExpr dim : dims)
    if (!dim.getConstant())
      numbers.push_back(sizeNumber(dim));
  return DenseI64ArrayAttr::get(context, numbers);
}

kernel::FuncOp KernelBuilder::createFunction(ArrayRef<KernelResult> results) {
  SmallVector<Type> arguments, resultTypes;
  SmallVector<Attribute> argAttrs, resultAttrs;
  auto dims = [&](ArrayRef<ShapeExpr> extents) -> DictionaryAttr {
    DenseI64ArrayAttr attr = dimsAttr(extents);
    if (attr.empty())
      return DictionaryAttr::get(context);
    return DictionaryAttr::get(context, NamedAttribute(StringAttr::get(context, kernel::kDimsAttrName), attr));
  };
  for (const Tensor &tensor : tensors) {
    arguments.push_back(tensor.type);
    argAttrs.push_back(dims(tensor.dims));
  }
  for (const KernelResult &result : results) {
    resultTypes.push_back(tensorType(result.dims, result.elementType));
    resultAttrs.push_back(dims(result.dims));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    arguments.push_back(IndexType::get(context));
    argAttrs.push_back(DictionaryAttr::get(context));
  }
  OpBuilder builder(context);
  auto func = builder.create<kernel::FuncOp>(UnknownLoc::get(context), "kernel",
                                             builder.getFunctionType(arguments, resultTypes));
  func.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
  func.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
  return func;
}

kernel::FuncOp KernelBuilder::finish(KernelLibrary &library, ArrayRef<ShapeExpr> bounds, ArrayRef<KernelResult> results,
                                     RootFactory makeRoot) {
  // Every symbol that a map or bound uses becomes a size argument before the signature is fixed.
  auto registerSymbols = [&](AffineExpr expr) {
    expr.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        sizeNumber(symbols.of(symbol.getPosition()));
    });
  };
  AffineIndex boundExprs;
  for (ShapeExpr bound : bounds)
    boundExprs.push_back(symbols.get(bound));
  llvm::for_each(boundExprs, registerSymbols);
  for (const Input &input : inputs)
    llvm::for_each(input.index, registerSymbols);
  for (const KernelResult &result : results) {
    llvm::for_each(result.index, registerSymbols);
    dimsAttr(result.dims);
  }

  kernel::FuncOp func = createFunction(results);
  OpBuilder builder = OpBuilder::atBlockEnd(&func.getBody().front());
  Location loc = UnknownLoc::get(context);
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    operands.push_back(func.getArgument(input.tensor));
    maps.push_back(toMap(input.index, bounds.size()));
  }
  for (const KernelResult &result : results)
    maps.push_back(toMap(result.index, bounds.size()));
  ValueRange sizeArgs = func.getArguments().drop_front(tensors.size());
  Operation *root = makeRoot(builder, loc, func.getResultTypes(), operands, sizeArgs, toMap(boundExprs, 0),
                             builder.getAffineMapArrayAttr(maps));
  for (auto [i, state] : llvm::enumerate(regions))
    root->getRegion(i).takeBody(*state.region);
  builder.create<kernel::ReturnOp>(loc, root->getResults());

  for (auto [i, tensor] : llvm::enumerate(tensors))
    if (tensor.placeholder)
      tensor.placeholder->getResult(0).replaceAllUsesWith(func.getArgument(i));
  for (auto &[number, placeholder] : sizePlaceholders)
    placeholder->getResult(0).replaceAllUsesWith(sizeArgs[number]);
  return library.intern(func);
}

SmallVector<Value> KernelBuilder::getBindings() const {
  return llvm::map_to_vector(tensors, [](const Tensor &tensor) { return tensor.buffer; });
}

ShapeExpr KernelBuilder::getInputBytes() const {
  ShapeExpr bytes = shapes.constant(0);
  for (const Tensor &tensor : tensors) {
    int64_t width = (tensor.type.getElementTypeBitWidth() + 7) / 8;
    ShapeExpr elements = shapes.product(tensor.dims);
    if (tensor.placeholder && !tensor.isWalked)
      elements = shapes.min(elements, tensor.reads);
    bytes = shapes.add(bytes, shapes.mul(elements, shapes.constant(width)));
  }
  return bytes;
}
