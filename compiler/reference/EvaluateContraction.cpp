// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of products summed over an axis.

#include <map>

#include "compiler/reference/Evaluation.h"
#include "compiler/reference/Indexing.h"
#include "compiler/reference/MatMul.h"
#include "dialects/nn/EinsumEquation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// x * factor in x's type.
HostTensor scaleBy(const HostTensor &x, double factor) {
  if (factor == 1)
    return x;
  IntFormat format = x.isFloat() ? IntFormat() : x.getIntFormat();
  return x.visit([&](auto elements) {
    using Element = typename decltype(elements)::value_type;
    std::vector<Element> y(elements.begin(), elements.end());
    for (Element &value : y) {
      if constexpr (std::is_floating_point_v<Element>)
        value *= factor;
      else
        value = format.fromDouble(format.toDouble(value) * factor);
    }
    return HostTensor(x.getElementType(), x.getDims(), std::move(y));
  });
}

//===------------------------------------------------------------------------------------------------------------===//
// Einsum. A dimension that `...` stands for gets a label of its own beyond all letters, counted from the right.
//===------------------------------------------------------------------------------------------------------------===//

constexpr int kEllipsisLabel = 256;
using Term = llvm::SmallVector<int, 6>;

// One label a dimension of an operand of |rank| that |term| describes.
Term getLabels(StringRef term, int64_t rank) {
  Term labels;
  int64_t covered = rank - (int64_t(term.size()) - 1); // by the ellipsis, if there is one
  for (char letter : term) {
    if (letter != '.')
      labels.push_back(letter);
    for (int64_t i = covered; letter == '.' && i > 0; --i)
      labels.push_back(kEllipsisLabel + i - 1);
  }
  return labels;
}

struct Equation {
  llvm::SmallVector<Term, 3> inputs;
  Term output;
  std::map<int, int64_t> extents;
};

// Checks the operands against the equation and names their dimensions.
template <typename Inputs> llvm::Expected<Equation> getEquation(StringRef text, const Inputs &inputs) {
  std::string fault;
  std::optional<nn::EinsumEquation> parsed = nn::EinsumEquation::parse(text, fault);
  llvm::SmallVector<ArrayRef<int64_t>> shapes;
  for (const HostTensor *input : inputs)
    shapes.push_back(input->getDims());
  Dims dims;
  if (!parsed || !parsed->inferShape(shapes, dims, fault))
    return makeError(fault);
  Equation equation;
  for (auto [term, shape] : llvm::zip_equal(parsed->inputs, shapes)) {
    equation.inputs.push_back(getLabels(term, shape.size()));
    for (auto [label, dim] : llvm::zip_equal(equation.inputs.back(), shape)) {
      int64_t &extent = equation.extents.try_emplace(label, dim).first->second;
      extent = extent == 1 ? dim : extent; // what `...` stands for may be stretched, to 0 as well
    }
  }
  equation.output = getLabels(parsed->output, dims.size());
  return equation;
}

// How far a step along each of |labels| leads in |input|: a repeated letter adds up, a stretched one stays.
Dims getLabelStrides(const Term &labels, const Term &term, ArrayRef<int64_t> inputDims) {
  Dims own = getStrides(inputDims), strides;
  for (int label : labels) {
    int64_t stride = 0;
    for (auto [i, other] : llvm::enumerate(term))
      if (other == label && inputDims[i] != 1)
        stride += own[i];
    strides.push_back(stride);
  }
  return strides;
}

Dims getLabelExtents(const Equation &equation, const Term &labels) {
  Dims extents;
  for (int label : labels)
    extents.push_back(equation.extents.at(label));
  return extents;
}

// y[o] = sum over s of the product of input[outer[o] + inner[s]] of all inputs
template <typename T, typename Inputs>
std::vector<T> sumProducts(const Equation &equation, const Term &summed, const Inputs &inputs) {
  Dims outputDims = getLabelExtents(equation, equation.output), summedDims = getLabelExtents(equation, summed);
  std::vector<std::vector<int64_t>> outer, inner;
  std::vector<ArrayRef<T>> elements;
  for (auto [input, term] : llvm::zip_equal(inputs, equation.inputs)) {
    outer.push_back(getOffsets(outputDims, getLabelStrides(equation.output, term, input->getDims())));
    inner.push_back(getOffsets(summedDims, getLabelStrides(summed, term, input->getDims())));
    if constexpr (std::is_floating_point_v<T>)
      elements.push_back(input->getFloats());
    else
      elements.push_back(input->getInts());
  }
  using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, T>; // integers wrap
  std::vector<T> y(outer.front().size());
  for (size_t o = 0; o < y.size(); ++o) {
    Arithmetic total = 0;
    for (size_t s = 0; s < inner.front().size(); ++s) {
      Arithmetic product = 1;
      for (size_t i = 0; i < elements.size(); ++i)
        product *= static_cast<Arithmetic>(elements[i][outer[i][o] + inner[i][s]]);
      total += product;
    }
    y[o] = static_cast<T>(total);
  }
  return y;
}

//===------------------------------------------------------------------------------------------------------------===//
// Convolution, as a gather of patches and a matrix product.
//===------------------------------------------------------------------------------------------------------------===//

// What a convolution needs to know of its spatial dimensions.
struct Window {
  ArrayRef<int64_t> input, kernel, strides, padsBegin, dilations;
  Dims output;
};

llvm::Expected<Window> getWindow(nn::ConvOp op, const HostTensor &input, const HostTensor &weight) {
  int64_t spatialRank = input.getRank() - 2;
  Window window{input.getDims().drop_front(2),
                weight.getDims().drop_front(2),
                op.getStrides(),
                op.getPads().take_front(spatialRank),
                op.getDilations(),
                {}};
  for (int64_t i = 0; i < spatialRank; ++i) {
    int64_t padded = window.input[i] + op.getPads()[i] + op.getPads()[i + spatialRank];
    int64_t reach = window.dilations[i] * (window.kernel[i] - 1) + 1;
    if (window.kernel[i] < 1 || padded < reach)
      return makeError("expects a kernel that fits the padded input, got extent " + Twine(reach) + " in " +
                       Twine(padded) + " at spatial dimension " + Twine(i));
    window.output.push_back((padded - reach) / window.strides[i] + 1);
  }
  return window;
}

std::vector<double> toDoubles(const HostTensor &tensor) {
  return tensor.visit([](auto elements) { return std::vector<double>(elements.begin(), elements.end()); });
}

// For each (kernel position, output position) the offset in one channel of the input, or -1 in the padding.
std::vector<int64_t> getPatchOffsets(const Window &window) {
  std::vector<int64_t> offsets = {0};
  Dims inputStrides = getStrides(window.input);
  Dims dims(window.kernel);
  dims.append(window.output);
  Dims steps = getStrides(dims);
  offsets.resize(steps.empty() ? 1 : steps[0] * dims[0]);
  for (size_t at = 0; at < offsets.size(); ++at) {
    int64_t offset = 0;
    for (size_t i = 0; i < window.input.size() && offset >= 0; ++i) {
      int64_t k = at / steps[i] % dims[i];
      int64_t o = at / steps[i + window.input.size()] % window.output[i];
      int64_t position = o * window.strides[i] - window.padsBegin[i] + k * window.dilations[i];
      offset = position < 0 || position >= window.input[i] ? -1 : offset + position * inputStrides[i];
    }
    offsets[at] = offset;
  }
  return offsets;
}

} // namespace

llvm::Expected<HostTensor> evaluate(nn::MatMulOp op, In<nn::MatMulOp> in) {
  return matmul(*in.getLhs(), *in.getRhs(), in.getLhs()->getElementType());
}

llvm::Expected<HostTensor> evaluate(nn::GemmOp op, In<nn::GemmOp> in) {
  // y (m, n) = alpha * lhs (m, k) @ rhs (k, n) + beta * addend
  HostTensor lhs = op.getTransA() ? transpose(*in.getLhs(), {1, 0}) : *in.getLhs();
  HostTensor rhs = op.getTransB() ? transpose(*in.getRhs(), {1, 0}) : *in.getRhs();
  llvm::Expected<HostTensor> product = matmul(lhs, rhs, lhs.getElementType());
  if (!product)
    return product.takeError();
  HostTensor y = scaleBy(*product, op.getAlpha().convertToDouble());
  if (!in.getAddend())
    return y;
  llvm::Expected<Dims> dims = broadcastDims(in.getAddend()->getDims(), y.getDims());
  if (!dims || ArrayRef<int64_t>(*dims) != y.getDims()) {
    llvm::consumeError(dims.takeError());
    return makeError("expects C of shape " + toString(in.getAddend()->getDims()) + " to broadcast onto " +
                     toString(y.getDims()));
  }
  HostTensor addend = broadcastTo(scaleBy(*in.getAddend(), op.getBeta().convertToDouble()), y.getDims());
  if (y.isFloat()) {
    std::vector<double> sums(y.getFloats().begin(), y.getFloats().end());
    for (auto [sum, term] : llvm::zip_equal(sums, addend.getFloats()))
      sum += term;
    return HostTensor(y.getElementType(), y.getDims(), std::move(sums));
  }
  std::vector<int64_t> sums(y.getInts().begin(), y.getInts().end());
  for (auto [sum, term] : llvm::zip_equal(sums, addend.getInts()))
    sum = y.getIntFormat().wrap(uint64_t(sum) + uint64_t(term));
  return HostTensor(y.getElementType(), y.getDims(), std::move(sums));
}

llvm::Expected<HostTensor> evaluate(nn::EinsumOp op, In<nn::EinsumOp> in) {
  auto inputs = in.getInputs();
  llvm::Expected<Equation> equation = getEquation(op.getEquation(), inputs);
  if (!equation)
    return equation.takeError();
  Term summed;
  for (auto [label, extent] : equation->extents)
    if (!llvm::is_contained(equation->output, label))
      summed.push_back(label);
  Dims dims = getLabelExtents(*equation, equation->output);
  for (const Dims &extents : {dims, getLabelExtents(*equation, summed)})
    if (auto count = countElements(extents); !count)
      return count.takeError();

  Type type = inputs.front()->getElementType();
  if (inputs.front()->isFloat())
    return HostTensor(type, dims, sumProducts<double>(*equation, summed, inputs));
  std::vector<int64_t> sums = sumProducts<int64_t>(*equation, summed, inputs);
  for (int64_t &sum : sums)
    sum = IntFormat::of(type).wrap(sum);
  return HostTensor(type, dims, std::move(sums));
}

llvm::Expected<HostTensor> evaluate(nn::ConvOp op, In<nn::ConvOp> in) {
  const HostTensor &input = *in.getInput(), &weight = *in.getWeight();
  int64_t groups = op.getGroup(), channels = input.getDim(1) / groups, features = weight.getDim(0) / groups;
  if (channels != weight.getDim(1) || channels * groups != input.getDim(1))
    return makeError("expects " + Twine(weight.getDim(1) * groups) + " input channels (" + Twine(groups) +
                     " groups of " + Twine(weight.getDim(1)) + "), got " + Twine(input.getDim(1)));
  if (features * groups != weight.getDim(0) || (in.getBias() && in.getBias()->getNumElements() != weight.getDim(0)))
    return makeError("expects " + Twine(groups) + " groups of output channels and one bias each, got weight of shape " +
                     toString(weight.getDims()));
  llvm::Expected<Window> window = getWindow(op, input, weight);
  if (!window)
    return window.takeError();
  Dims dims = {input.getDim(0), weight.getDim(0)};
  dims.append(window->output);
  llvm::Expected<int64_t> count = countElements(dims);
  if (!count)
    return count.takeError();
  Dims patchDims(weight.getDims().drop_front());
  patchDims.append(window->output);
  if (auto patchCount = countElements(patchDims); !patchCount)
    return patchCount.takeError();

  // Doubles are exact for integers up to 2^53: sums of 8-bit products of any size that fits memory.
  std::vector<double> xs = toDoubles(input), ws = toDoubles(weight);
  std::vector<int64_t> offsets = getPatchOffsets(*window);
  int64_t inputSize = AxisSplit(input.getDims(), 1).inner, outputSize = AxisSplit(dims, 1).inner;
  int64_t patch = channels * AxisSplit(weight.getDims(), 1).inner;
  std::vector<double> y(*count), patches;
  for (int64_t image = 0; image < input.getDim(0) * groups; ++image) {
    // patches (channels x kernel, output positions)
    patches.clear();
    for (int64_t channel = image * channels; channel < (image + 1) * channels; ++channel)
      for (int64_t offset : offsets)
        patches.push_back(offset < 0 ? 0 : xs[channel * inputSize + offset]);
    // y (features, positions) = weight (features, channels x kernel) @ patches
    multiplyMatrices(ws.data() + image % groups * features * patch, patches.data(),
                     y.data() + image * features * outputSize, features, patch, outputSize);
  }
  if (in.getBias()) {
    std::vector<double> bias = toDoubles(*in.getBias());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] += bias[i / outputSize % dims[1]];
  }
  if (input.isFloat())
    return HostTensor(input.getElementType(), dims, std::move(y));
  std::vector<int64_t> wrapped;
  for (double value : y)
    wrapped.push_back(input.getIntFormat().wrap(static_cast<uint64_t>(static_cast<int64_t>(value))));
  return HostTensor(input.getElementType(), dims, std::move(wrapped));
}

} // namespace heddle::reference
