# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT encoders of any size as the TorchScript exporter writes them, with random weights or given ones."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Bert:
    """Collects the nodes and weights of one model; `build` gives it."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072, vocabulary=1000, positions=512, ties_layers=False,
                 weights=None, seed=0, deviation=None):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.vocabulary, self.positions = vocabulary, positions
        # One set of weights for all layers: the graph is the same, the file is small.
        self.ties_layers = ties_layers
        # Arrays by name ("layer3.query.w"), matrices as rows times columns; what isn't given is random.
        self.weights = dict(weights or {})
        # Of random weights and biases, as BERT begins its training with 0.02; None: what keeps activations in range.
        self.deviation = deviation
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], {}

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name, value):
        self.constants.setdefault(name, np.asarray(value))
        return name

    def weight(self, name, *shape):
        """The constant NAME of SHAPE, random unless it is given."""
        if name not in self.constants:
            if name not in self.weights:
                scale = self.deviation or (1 if name.startswith("embeddings") else shape[0] ** -0.5)
                self.weights[name] = self.random.standard_normal(shape, dtype=np.float32) * np.float32(scale)
            self.constant(name, self.weights[name])
        return name

    def part(self, layer, name):
        return f"{'shared' if self.ties_layers else f'layer{layer}'}.{name}"

    def linear(self, layer, name, x, rows, columns):
        part = self.part(layer, name)
        product = self.add("MatMul", [x, self.weight(part + ".w", rows, columns)], f"{layer}.{name}.MatMul")
        return self.add("Add", [self.weight(part + ".b", columns), product], f"{layer}.{name}.Add")

    def norm(self, part, output, x):
        gain, bias = f"{part}.gain", f"{part}.bias"
        self.weights.setdefault(gain, np.ones(self.width, np.float32))
        self.weights.setdefault(bias, np.zeros(self.width, np.float32))
        inputs = [x, self.weight(gain, self.width), self.weight(bias, self.width)]
        return self.add("LayerNormalization", inputs, output, axis=-1, epsilon=1e-12)

    def embed(self):
        """The sum of words, positions and types, normalised; the additive mask as `bias`."""
        rows = {"word": self.vocabulary, "position": self.positions, "type": 2}
        tables = {name: self.weight(f"embeddings.{name}", count, self.width) for name, count in rows.items()}
        self.add("Shape", ["input_ids"], "shape")
        self.add("Gather", ["shape", self.constant("one", np.array(1))], "length", axis=0)
        self.add("Unsqueeze", ["length", self.constant("axis0", np.array([0]))], "end")
        self.add("Slice", [self.constant("ids", np.arange(self.positions)[None]), "axis0", "end",
                           self.constant("axis1", np.array([1]))], "position_ids")
        self.add("Gather", [tables["word"], "input_ids"], "words")
        self.add("Gather", [tables["type"], "token_type_ids"], "types")
        self.add("Gather", [tables["position"], "position_ids"], "positions")
        self.add("Add", ["words", "types"], "embedding0")
        self.add("Add", ["embedding0", "positions"], "embedding1")
        self.add("Unsqueeze", ["attention_mask", self.constant("axes12", np.array([1, 2]))], "mask")
        self.add("Cast", ["mask"], "keep", to=TensorProto.FLOAT)
        self.add("Sub", [self.constant("unit", np.float32(1)), "keep"], "hidden_keys")
        self.add("Mul", ["hidden_keys", self.constant("lowest", np.float32(np.finfo(np.float32).min))], "bias")
        return self.norm("embeddings.norm", "embeddings", "embedding1")

    def attention(self, layer, x):
        size = self.width // self.heads
        heads = self.constant("split", np.array([0, 0, self.heads, size]))
        parts = {}
        for name, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            linear = self.linear(layer, name, x, self.width, self.width)
            parted = self.add("Reshape", [linear, heads], f"{layer}.{name}.Reshape")
            parts[name] = self.add("Transpose", [parted], f"{layer}.{name}.Transpose", perm=perm)
        scores = self.add("MatMul", [parts["query"], parts["key"]], f"{layer}.scores")
        scaled = self.add("Div", [scores, self.constant("root", np.float32(size ** 0.5))], f"{layer}.scaled")
        masked = self.add("Add", [scaled, "bias"], f"{layer}.masked")
        weights = self.add("Softmax", [masked], f"{layer}.softmax", axis=-1)
        context = self.add("MatMul", [weights, parts["value"]], f"{layer}.context")
        rows = self.add("Transpose", [context], f"{layer}.rows", perm=[0, 2, 1, 3])
        return self.add("Reshape", [rows, self.constant("merge", np.array([0, 0, self.width]))], f"{layer}.merged")

    def layer(self, number, x):
        attended = self.linear(number, "output", self.attention(number, x), self.width, self.width)
        sums = self.add("Add", [attended, x], f"{number}.residual1")
        x = self.norm(self.part(number, "norm1"), f"{number}.norm1", sums)
        wide = self.linear(number, "intermediate", x, self.width, self.hidden)
        scaled = self.add("Div", [wide, self.constant("root2", np.float32(2 ** 0.5))], f"{number}.gelu.Div")
        erf = self.add("Erf", [scaled], f"{number}.gelu.Erf")
        shifted = self.add("Add", [erf, "unit"], f"{number}.gelu.Add")
        product = self.add("Mul", [wide, shifted], f"{number}.gelu.Mul")
        active = self.add("Mul", [product, self.constant("half", np.float32(0.5))], f"{number}.gelu.Mul_1")
        narrow = self.linear(number, "narrow", active, self.hidden, self.width)
        sums = self.add("Add", [narrow, x], f"{number}.residual2")
        return self.norm(self.part(number, "norm2"), f"{number}.norm2", sums)

    def build(self):
        """The model: ids, mask and types of (batch, sequence) to (batch, sequence, width)."""
        x = self.embed()
        for number in range(self.layers):
            x = self.layer(number, x)
        self.add("Identity", [x], "last_hidden_state")
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in names]
        shape = ["batch", "sequence", self.width]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "bert", inputs, [output], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
