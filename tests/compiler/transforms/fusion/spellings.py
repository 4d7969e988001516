# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ONNX models that spell out one normalisation or one activation in basic operators, and what they compute."""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16}


class Spelling:
    """A model under construction. A value is a name; choices are made where they are used."""

    def __init__(self, seed, opset=None):
        self.random = np.random.default_rng(seed)
        self.opset = opset or self.choose([13, 17, 18])
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.feeds, self.type = {}, np.dtype(np.float32)

    def choose(self, options):
        return options[int(self.random.integers(len(options)))]

    def chance(self, probability=0.5):
        return bool(self.random.random() < probability)

    def op(self, kind, *operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=f"node{len(self.nodes)}", **attributes))
        return name

    def either(self, kind, a, b):
        """A commutative operator, its operands in either order."""
        return self.op(kind, a, b) if self.chance() else self.op(kind, b, a)

    def array(self, values, dtype=None):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype or self.type), name))
        return name

    def number(self, value, dtype=None):
        """A constant as a scalar, a vector of one element, or with one more axis."""
        return self.array(np.full(self.choose([(), (1,), (1, 1)]), value), dtype)

    def input(self, name, values, dims):
        self.feeds[name] = np.asarray(values, self.type)
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[self.type], dims))
        return name

    def output(self, name, dtype=None):
        self.outputs.append(helper.make_tensor_value_info(name, TYPES[np.dtype(dtype or self.type)], None))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "spelling", self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        onnx.save(model, path)


LOOK_ALIKES = ("unbiased", "other axis", "eps outside", "numerator", "row eps", "cube", "product", "clipped")


class Norm(Spelling):
    """LayerNorm or RMSNorm over the last axes, or a LOOK_ALIKE of it. Elements lie around CENTRE. A PLAIN one has ones
    for a scale and zeros for a bias, where it has them, and one output."""

    def __init__(self, seed, look_alike=None, centre=0.0, dtype=None, centred=None, plain=False):
        super().__init__(seed)
        self.look_alike, self.centre, self.plain = look_alike, centre, plain
        self.centred = self.chance() if centred is None else centred
        if look_alike == "numerator":
            self.centred = True
        self.storage = np.dtype(dtype or self.choose([np.float32, np.float32, np.float16]))
        rank = self.choose([2, 3, 4])
        self.count = self.choose([1, 1, 1, 2]) if rank > 2 else 1
        if look_alike == "other axis":
            self.count = 1
        row = [self.choose([3, 8, 17, 33]) for _ in range(self.count)]
        outer = [int(self.random.integers(2, 6)) for _ in range(rank - self.count)]
        self.shape, self.rank = [*outer, *row], rank
        self.dims = [f"d{i}" if self.chance() else extent for i, extent in enumerate(outer)] + row
        self.axes = list(range(rank - self.count, rank))
        self.size = math.prod(row)
        self.epsilon = np.float32(self.choose([1e-5, 1e-6, 1e-12, 0.1]))

    def reduce(self, kind, x, axes=None):
        axes = self.axes if axes is None else axes
        axes = [axis - self.rank if self.chance() else axis for axis in axes]
        flat = self.chance(0.2)
        inputs, attributes = [x], {"keepdims": 0 if flat else 1}
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            inputs.append(self.array(axes, np.int64))
        else:
            attributes["axes"] = axes
        y = self.op(kind, *inputs, **attributes)
        return self.op("Unsqueeze", y, self.array(axes, np.int64)) if flat else y

    def mean(self, x, axes=None, less=0):
        """The mean, or with LESS the sum divided by that much less than the number of elements."""
        size = self.size if axes is None else None
        form = "mean" if size is None else self.choose(["mean", "mean", "sum/n", "sum*1/n"])
        if less:
            form = "sum/n"
        if form == "mean":
            return self.reduce("ReduceMean", x, axes)
        total = self.reduce("ReduceSum", x, axes)
        if form == "sum/n":
            return self.op("Div", total, self.number(size - less))
        return self.either("Mul", total, self.number(1 / size))

    def square(self, x, power=2):
        if power == 2 and self.chance():
            return self.op("Mul", x, x)
        return self.op("Pow", x, self.number(power, self.choose([np.float32, np.int64])))

    def difference(self, x):
        return self.op("Sub", x, self.mean(x))

    def variance(self, x, d):
        """What the root is taken of."""
        look = self.look_alike
        if look == "other axis":
            value = self.mean(self.square(d), [self.rank - 2])
        elif self.centred and look is None and self.chance(0.15):
            mean = self.mean(x)
            value = self.op("Sub", self.mean(self.square(x)), self.square(mean))
            if self.chance():
                value = self.either("Max", value, self.number(0))
        else:
            value = self.mean(self.square(d, 3 if look == "cube" else 2), less=look == "unbiased")
        if look == "eps outside":
            return value
        if look == "clipped":
            return self.either("Max", value, self.number(0.3))
        if look == "row eps":
            epsilon = self.input("eps", np.full([*self.shape[:-self.count], *[1] * self.count], 0.1),
                                 [*self.dims[:-self.count], *[1] * self.count])
        else:
            epsilon = self.number(self.epsilon)
        return self.either("Add", value, epsilon)

    def inverse(self, variance):
        """One over the deviation, and how to divide by it otherwise: (inverse, root)."""
        form = self.choose(["div", "reciprocal", "one over", "power", "half"])
        if self.look_alike in ("eps outside", "product"):
            form = "div"
        if form == "power":
            return self.op("Pow", variance, self.number(-0.5)), None
        root = self.op("Pow", variance, self.number(0.5)) if form == "half" else self.op("Sqrt", variance)
        if self.look_alike == "eps outside":
            root = self.either("Add", root, self.number(0.1))
        if form in ("div", "half"):
            return None, root
        one = self.op("Reciprocal", root) if form == "reciprocal" else self.op("Div", self.number(1), root)
        return one, root

    def scale(self):
        shape = [self.shape[axis] for axis in self.axes]
        shape = [1] * self.choose([0, 0, self.rank - len(shape)]) + shape
        return self.array(np.ones(shape) if self.plain else self.random.standard_normal(shape))

    def bias(self):
        shape = [self.shape[axis] for axis in self.axes]
        return self.array(np.zeros(shape) if self.plain else self.random.standard_normal(shape))

    def quotient(self, d, inverse, root, scale):
        """d / root * scale in one of its orders."""
        if self.look_alike == "product":
            return self.either("Mul", d, root)
        place = self.choose(["after", "before", "inverse"]) if scale else "none"
        if place == "before":
            d = self.either("Mul", d, scale)
        if place == "inverse" and inverse:
            inverse = self.either("Mul", inverse, scale)
        if inverse and (place == "inverse" or root is None or self.chance()):
            y = self.either("Mul", d, inverse)
        elif root:
            y = self.op("Div", d, root)
        done = not scale or place == "before" or (place == "inverse" and inverse)
        return y if done else self.either("Mul", y, scale)

    def shifted(self, x, inverse, root):
        """TensorFlow's form of the quotient with scale and bias."""
        factor = self.either("Mul", inverse or self.op("Reciprocal", root), self.scale())
        shift = self.op("Sub", self.bias(), self.either("Mul", self.mean(x), factor))
        return self.either("Add", self.either("Mul", x, factor), shift)

    def build(self):
        values = self.random.standard_normal(self.shape) * self.choose([0.1, 1, 3]) + self.centre
        self.type, compute = self.storage, np.dtype(np.float32)
        x = self.input("x", values, self.dims)
        self.type = compute
        if self.storage != compute:
            x = self.op("Cast", x, to=TensorProto.FLOAT)
        d = self.difference(x) if self.centred else x
        inverse, root = self.inverse(self.variance(x, d))
        if self.centred and self.chance(0.3):
            d = self.difference(x)
        if self.look_alike == "numerator":
            d = x
        if self.centred and not self.look_alike and self.chance(0.2):
            y = self.shifted(x, inverse, root)
        else:
            y = self.quotient(d, inverse, root, self.scale() if self.chance(0.8) else None)
            if self.chance(0.6):
                y = self.either("Add", y, self.bias())
        if self.storage != compute and self.chance():
            y = self.op("Cast", y, to=TensorProto.FLOAT16)
            compute = self.storage
        self.output(y, compute)
        for statistic in (inverse, root):
            if statistic and not self.plain and self.chance(0.1):
                self.output(statistic, np.float32)
        return self


def tanh_argument(s, x, scale=math.sqrt(2 / math.pi), cubic=0.044715):
    """scale * (x + cubic x^3) in one of its forms."""
    form = s.choose(["outside", "factored", "inner"])
    if form == "factored":  # x (scale + scale cubic x^2)
        square = s.op("Mul", x, x) if s.chance() else s.op("Pow", x, s.number(2))
        inner = s.either("Add", s.either("Mul", square, s.number(scale * cubic)), s.number(scale))
        return s.either("Mul", x, inner)
    if form == "inner":  # scale x (1 + cubic x^2)
        square = s.op("Mul", x, x)
        inner = s.either("Add", s.number(1), s.either("Mul", square, s.number(cubic)))
        return s.either("Mul", inner, s.either("Mul", x, s.number(scale)))
    cube = s.op("Pow", x, s.number(3)) if s.chance() else s.either("Mul", s.op("Mul", x, x), x)
    return s.either("Mul", s.either("Add", x, s.either("Mul", cube, s.number(cubic))), s.number(scale))


def halved(s, x, gate):
    """x (1 + gate) / 2 in one of its forms."""
    form = s.choose(["last", "first", "sum", "apart"])

    def half(value):
        return s.either("Mul", value, s.number(0.5)) if s.chance() else s.op("Div", value, s.number(2))

    if form == "apart":
        return s.either("Add", half(x), s.either("Mul", half(x), gate))
    if form == "sum":
        return s.either("Mul", x, s.either("Add", s.number(0.5), half(gate)))
    gated = s.either("Add", gate, s.number(1))
    if form == "first":
        return s.either("Mul", half(x), gated)
    return half(s.either("Mul", x, gated))


def sigmoid(s, x, factor):
    """sigmoid(factor x), perhaps with exp; and what x is divided by instead, then."""
    scaled = x if factor == 1 else s.either("Mul", x, s.number(factor))
    if s.chance(0.6):
        return s.op("Sigmoid", scaled), None
    power = s.op("Neg", scaled) if s.chance() else s.either("Mul", scaled, s.number(-1))
    divisor = s.either("Add", s.op("Exp", power), s.number(1))
    return s.op("Reciprocal", divisor) if s.chance() else s.op("Div", s.number(1), divisor), divisor


class Activation(Spelling):
    """One of KINDS, or with LOOK_ALIKE a function that is close to it."""

    KINDS = ("gelu_erf", "gelu_tanh", "quick_gelu", "silu")

    def __init__(self, seed, look_alike=False):
        super().__init__(seed)
        self.kind, self.look_alike = self.choose(self.KINDS), look_alike

    def build(self):
        shape = [int(self.random.integers(1, 5)), 3, 8]
        x = self.input("x", self.random.standard_normal(shape) * 3, ["batch", 3, 8])
        if self.chance(0.3):  # the input may be a product itself
            x = self.op("Mul", x, self.array(np.linspace(0.5, 2, 8)))
        y = getattr(self, "spell_" + self.kind)(x)
        self.output(y)
        return self

    def spell_gelu_erf(self, x):
        factor = 0.7 if self.look_alike else math.sqrt(0.5)
        scaled = (self.either("Mul", x, self.number(factor)) if self.chance() else
                  self.op("Div", x, self.number(1 / factor)))
        return halved(self, x, self.op("Erf", scaled))

    def spell_gelu_tanh(self, x):
        cubic = 0.04 if self.look_alike else 0.044715
        if not self.look_alike and self.chance(0.2):
            return self.either("Mul", x, self.op("Sigmoid", tanh_argument(self, x, 2 * math.sqrt(2 / math.pi))))
        return halved(self, x, self.op("Tanh", tanh_argument(self, x, cubic=cubic)))

    def gated(self, x, factor):
        gate, divisor = sigmoid(self, x, factor)
        return self.op("Div", x, divisor) if divisor and self.chance() else self.either("Mul", x, gate)

    def spell_quick_gelu(self, x):
        return self.gated(x, 1.7 if self.look_alike else 1.702)

    def spell_silu(self, x):
        return self.gated(x, 1.01 if self.look_alike else 1)
