// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.func and its end: signature, attributes of arguments, form.

#include "dialects/kernel/KernelOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace heddle::kernel;

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                   ArrayRef<NamedAttribute> attrs) {
  buildWithEntryBlock(builder, state, name, type, attrs, type.getInputs());
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

unsigned FuncOp::getNumInputs() {
  return llvm::count_if(getArgumentTypes(), [](Type type) { return isa<RankedTensorType>(type); });
}

RootOpInterface FuncOp::getRoot() {
  for (Operation &op : getBody().front())
    if (auto root = dyn_cast<RootOpInterface>(op))
      return root;
  return nullptr;
}

static ArrayRef<int64_t> dimsOf(Attribute attr) {
  auto dims = dyn_cast_or_null<DenseI64ArrayAttr>(attr);
  return dims ? dims.asArrayRef() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> FuncOp::getInputDims(unsigned i) { return dimsOf(getArgAttr(i, kDimsAttrName)); }
ArrayRef<int64_t> FuncOp::getResultDims(unsigned i) { return dimsOf(getResultAttr(i, kDimsAttrName)); }
bool FuncOp::isConstantInput(unsigned i) { return getArgAttr(i, kConstantAttrName) != nullptr; }

/// The dynamic dimensions of one argument or result all name an existing size argument.
static LogicalResult verifyDims(FuncOp func, Type type, ArrayRef<int64_t> dims, const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return func.emitOpError() << "expects " << what << " to be a ranked tensor, got " << type;
  if (static_cast<int64_t>(dims.size()) != tensor.getNumDynamicDims())
    return func.emitOpError() << "expects kernel.dims of " << what << " to hold " << tensor.getNumDynamicDims()
                              << " size numbers, got " << dims.size();
  for (int64_t dim : dims)
    if (dim < 0 || dim >= func.getNumSizes())
      return func.emitOpError() << "expects kernel.dims of " << what << " below " << func.getNumSizes() << ", got "
                                << dim;
  return success();
}

LogicalResult FuncOp::verify() {
  unsigned inputs = getNumInputs();
  for (auto [i, type] : llvm::enumerate(getArgumentTypes())) {
    if (i >= inputs && !type.isIndex())
      return emitOpError() << "expects tensor arguments first and index arguments last, got " << type << " as argument "
                           << i;
    if (i < inputs && failed(verifyDims(*this, type, getInputDims(i), "argument " + Twine(i))))
      return failure();
    Attribute constant = getArgAttr(i, kConstantAttrName);
    if (constant && (i >= inputs || !isa<UnitAttr>(constant)))
      return emitOpError() << "expects kernel.constant without a value and on a tensor, got " << constant
                           << " on argument " << i;
  }
  for (auto [i, type] : llvm::enumerate(getResultTypes()))
    if (failed(verifyDims(*this, type, getResultDims(i), "result " + Twine(i))))
      return failure();
  int64_t roots = llvm::count_if(getBody().front(), [](Operation &op) { return isa<RootOpInterface>(op); });
  if (roots != 1)
    return emitOpError() << "expects exactly one structured root, got " << roots;
  return success();
}

LogicalResult ReturnOp::verify() {
  auto func = cast<FuncOp>((*this)->getParentOp());
  if (getOperandTypes() != func.getResultTypes())
    return emitOpError() << "expects operands of types " << func.getResultTypes() << ", got " << getOperandTypes();
  return success();
}
