// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator's walk over a function, and the dispatch from ops to the functions of Evaluation.h.

#include "compiler/reference/Evaluator.h"

#include "compiler/reference/Evaluation.h"
#include "dialects/nn/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// How messages call |op|: by its node in the model, else by its own name.
std::string describe(Operation *op) {
  if (std::optional<nn::OnnxNode> node = nn::findOnnxNode(op->getLoc()))
    return ("node '" + node->name + "' (" + node->type + ")").str();
  return ("'" + op->getName().getStringRef() + "' op").str();
}

llvm::Error prefix(Operation *op, llvm::Error error) {
  return makeError(describe(op) + ": " + llvm::toString(std::move(error)));
}

llvm::Expected<Results> toResults(llvm::Expected<HostTensor> tensor) {
  if (!tensor)
    return tensor.takeError();
  return Results{std::move(*tensor)};
}
llvm::Expected<Results> toResults(llvm::Expected<Results> tensors) { return tensors; }

llvm::Expected<Results> dispatch(Operation *op, Operands operands) {
  auto call = [&](auto typed) {
    using OpTy = decltype(typed);
    return toResults(evaluate(typed, In<OpTy>(operands, typed)));
  };
  return llvm::TypeSwitch<Operation *, llvm::Expected<Results>>(op)
      .Case([](nn::ConstantOp constant) { return toResults(evaluateConstant(constant)); })
      .Case<nn::ConstantOfShapeOp, nn::RangeOp, nn::ShapeOp, nn::SizeOp>(call)
      .Case<nn::UnaryOp, nn::BinaryOp, nn::CompareOp, nn::WhereOp, nn::CastOp, nn::ClipOp>(call)
      .Case<nn::ReduceOp, nn::ArgReduceOp, nn::CumSumOp>(call)
      .Case<nn::SoftmaxOp, nn::LogSoftmaxOp, nn::LayerNormOp, nn::RmsNormOp>(call)
      .Case<nn::MatMulOp, nn::GemmOp, nn::EinsumOp, nn::ConvOp>(call)
      .Case<nn::ConvTransposeOp, nn::PoolOp, nn::ResizeOp>(call)
      .Case<nn::ReshapeOp, nn::TransposeOp, nn::SqueezeOp, nn::UnsqueezeOp, nn::FlattenOp, nn::ExpandOp>(call)
      .Case<nn::TileOp, nn::ConcatOp, nn::SplitOp, nn::SliceOp, nn::PadOp, nn::TriluOp>(call)
      .Case<nn::GatherOp, nn::GatherElementsOp, nn::GatherNdOp>(call)
      .Case<nn::ScatterElementsOp, nn::ScatterNdOp, nn::OneHotOp, nn::TopKOp>(call)
      .Case<nn::QuantizeLinearOp, nn::DequantizeLinearOp, nn::DynamicQuantizeLinearOp, nn::MatMulIntegerOp>(call)
      .Case<nn::QuantizeRowsOp, nn::QuantizeWeightOp>(call)
      .Case<attn::SdpaOp, attn::OnlineSdpaOp, attn::MergePartialsOp, attn::FinalizePartialsOp>(call)
      .Case<attn::QkvProjectionOp, attn::RopeOp, attn::KvCacheUpdateOp>(call)
      .Default([](Operation *) -> llvm::Expected<Results> {
        return makeError("expects an op of nn or attn; the reference evaluates no others");
      });
}

// Whether |tensor| can be a value of |type|: equal element types, equal extents where |type| has them.
bool fits(const HostTensor &tensor, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || ranked.getElementType() != tensor.getElementType() || ranked.getRank() != tensor.getRank())
    return false;
  return llvm::all_of(llvm::zip_equal(ranked.getShape(), tensor.getDims()), [](auto pair) {
    auto [declared, actual] = pair;
    return ShapedType::isDynamic(declared) || declared == actual;
  });
}

// `expects <what> of type <type>, got <tensor's type>`
llvm::Error makeTypeError(const Twine &what, Type type, const HostTensor &tensor) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "expects " << what << " of type '" << type << "', got '" << tensor.getType() << "'";
  return makeError(text);
}

// The values of one run that are still needed.
class Environment {
public:
  explicit Environment(Block &block) {
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        lastUsers[operand] = &op;
  }

  void define(Value value, HostTensor tensor) {
    if (lastUsers.count(value))
      tensors[value] = std::move(tensor);
  }

  // The operands of |op|. A constant is read when an op first needs it: a model's weights as doubles are large.
  llvm::Expected<llvm::SmallVector<HostTensor>> getOperands(Operation &op) {
    llvm::SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands()) {
      if (auto constant = operand.getDefiningOp<nn::ConstantOp>(); constant && !tensors.count(operand)) {
        llvm::Expected<Results> results = evaluateOp(constant, {});
        if (!results)
          return results.takeError();
        tensors[operand] = std::move(results->front());
      }
      auto known = tensors.find(operand);
      if (known == tensors.end())
        return makeError("expects operands that are computed in the same block");
      operands.push_back(known->second);
    }
    return operands;
  }

  // Forgets those operands of |op| that nothing after it reads.
  void releaseAfter(Operation &op) {
    for (Value operand : op.getOperands())
      if (lastUsers.lookup(operand) == &op)
        tensors.erase(operand);
  }

private:
  llvm::DenseMap<Value, HostTensor> tensors;
  llvm::DenseMap<Value, Operation *> lastUsers;
};

llvm::Error checkInputs(func::FuncOp function, ArrayRef<HostTensor> inputs) {
  if (inputs.size() != function.getNumArguments())
    return makeError("expects " + Twine(function.getNumArguments()) + " inputs, got " + Twine(inputs.size()));
  for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs)) {
    unsigned index = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(index, nn::NnDialect::getNameAttrName());
    if (!fits(input, argument.getType()))
      return makeTypeError(name ? "input '" + name.getValue() + "'" : "input " + Twine(index), argument.getType(),
                           input);
  }
  return llvm::Error::success();
}

llvm::Expected<Results> evaluateWithin(Environment &environment, Operation &op) {
  llvm::Expected<llvm::SmallVector<HostTensor>> operands = environment.getOperands(op);
  if (!operands)
    return operands.takeError();
  environment.releaseAfter(op);
  llvm::SmallVector<const HostTensor *> pointers;
  for (const HostTensor &operand : *operands)
    pointers.push_back(&operand);
  return evaluateOp(&op, pointers);
}

} // namespace

llvm::Expected<llvm::SmallVector<HostTensor, 2>> evaluateOp(Operation *op, ArrayRef<const HostTensor *> operands) {
  llvm::Expected<Results> results = dispatch(op, operands);
  if (!results)
    return results.takeError();
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *results))
    if (!fits(tensor, result.getType()))
      return makeTypeError("a result", result.getType(), tensor);
  return results;
}

llvm::Expected<Evaluator> Evaluator::create(ModuleOp module, StringRef entry) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function)
    return makeError("expects a function '" + entry + "' in the module");
  return Evaluator(function);
}

llvm::Expected<llvm::SmallVector<HostTensor>> Evaluator::run(ArrayRef<HostTensor> inputs, Observer observer) const {
  func::FuncOp function = this->function; // MLIR's accessors aren't const
  if (!function.getBody().hasOneBlock())
    return makeError("expects a function of one block");
  if (llvm::Error error = checkInputs(function, inputs))
    return error;
  Block &body = function.getBody().front();
  Environment environment(body);
  for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs))
    environment.define(argument, input);

  for (Operation &op : body.without_terminator()) {
    // Scalars that the bodies of attention use, moved out of them: those read them where they are.
    if (isa<nn::ConstantOp, arith::ConstantOp>(op))
      continue;
    llvm::Expected<Results> results = evaluateWithin(environment, op);
    if (!results)
      return prefix(&op, results.takeError());
    for (auto [value, tensor] : llvm::zip_equal(op.getResults(), *results)) {
      if (observer)
        observer(value, tensor);
      environment.define(value, std::move(tensor));
    }
  }
  return environment.getOperands(*body.getTerminator());
}

} // namespace heddle::reference
