// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice needs the graph but no types: what decides shapes is found from the operands that operators take as shapes
// and axes, backwards through arithmetic on small integers.

#include "compiler/import/onnx/DefaultInputs.h"

#include "compiler/import/onnx/TensorData.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace heddle::importer {

namespace {

/// Whether input |index| of |node| says something about shapes: sizes, axes, bounds, repeats.
bool decidesShape(const Node &node, size_t index) {
  if (!node.domain.empty() || llvm::StringRef(node.type).starts_with("Reduce"))
    return node.domain.empty() && index == 1;
  // A bit an input.
  unsigned operands = llvm::StringSwitch<unsigned>(node.type)
                          .Cases("Reshape", "Expand", "Unsqueeze", "Squeeze", "Split", "Tile", 0b10)
                          .Cases("TopK", "CumSum", "OneHot", "Trilu", "Upsample", 0b10)
                          .Case("Slice", 0b11110)
                          .Case("Pad", 0b1010)
                          .Case("Resize", 0b1110)
                          .Case("DFT", 0b110)
                          .Case("STFT", 0b1010)
                          .Case("Dropout", 0b110)
                          .Case("Range", 0b111)
                          .Case("ConstantOfShape", 0b1)
                          .Default(0);
  return index < 32 && (operands >> index & 1);
}

/// Operators that exporters compute shapes with.
bool isShapeArithmetic(const Node &node) {
  return node.domain.empty() &&
         llvm::StringSwitch<bool>(node.type)
             .Cases("Add", "Sub", "Mul", "Div", "Mod", "Neg", "Min", "Max", "Cast", true)
             .Cases("Concat", "Gather", "Slice", "Squeeze", "Unsqueeze", "Reshape", "Identity", "Where", true)
             .Default(false);
}

/// The tensors that shapes depend on.
llvm::StringSet<> findShapeTensors(const Model &model) {
  llvm::StringMap<const Node *> producers;
  llvm::StringSet<> found;
  std::vector<std::string> pending;
  auto add = [&](const std::string &name) {
    if (!name.empty() && found.insert(name).second)
      pending.push_back(name);
  };
  for (const Node &node : model.nodes) {
    for (const std::string &output : node.outputs)
      producers[output] = &node;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (decidesShape(node, i))
        add(node.inputs[i]);
  }
  while (!pending.empty()) {
    const Node *producer = producers.lookup(pending.back());
    pending.pop_back();
    if (producer && isShapeArithmetic(*producer))
      for (const std::string &input : producer->inputs)
        add(input);
  }
  return found;
}

/// The bytes of |tensor|, or more than any default may have where its shape is no shape.
int64_t countBytes(const ::onnx::TensorProto &tensor) {
  // Wider than any element: a bound is all that is asked for.
  int64_t bytes = tensor.data_type() == ::onnx::TensorProto::DOUBLE ||
                          tensor.data_type() == ::onnx::TensorProto::INT64 ||
                          tensor.data_type() == ::onnx::TensorProto::UINT64
                      ? 8
                      : 4;
  for (int64_t extent : tensor.dims())
    if (extent < 0 || llvm::MulOverflow(bytes, extent, bytes))
      return kMaxDefaultBytes + 1;
  return bytes;
}

} // namespace

void chooseDefaultInputs(Model &model) {
  llvm::StringSet<> isInput;
  for (const ::onnx::ValueInfoProto *input : model.inputs)
    isInput.insert(input->name());
  // Branches have initialisers of their own, which can't be inputs; so this asks for those of the main graph.
  bool isEachAnInput =
      llvm::all_of(model.mainInitializers, [&](const std::string &name) { return isInput.contains(name); });
  bool hasWeight = llvm::any_of(model.mainInitializers, [&](const std::string &name) {
    return countBytes(*model.initializers.lookup(name)) > kMaxDefaultBytes;
  });
  llvm::StringSet<> shapeTensors = findShapeTensors(model);
  llvm::erase_if(model.inputs, [&](const ::onnx::ValueInfoProto *input) {
    const std::string &name = input->name();
    const ::onnx::TensorProto *tensor = model.initializers.lookup(name);
    if (!tensor)
      return false;
    bool isConstant = (isEachAnInput && hasWeight) || countBytes(*tensor) > kMaxDefaultBytes ||
                      shapeTensors.contains(name) || model.conditions.contains(name) ||
                      !input->type().tensor_type().has_shape();
    if (isConstant)
      model.constantInputs.push_back(name);
    return isConstant;
  });
}

} // namespace heddle::importer
