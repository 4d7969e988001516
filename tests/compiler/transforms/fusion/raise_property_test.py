# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions in random spellings: raised and as written they give the same, and look-alikes stay as they are.

Both are evaluated in double precision by the reference, so that they agree to 1e-9, rows without any key included.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"]) / "tests/compiler/reference"))
import evaluate  # noqa: E402

OPT = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "bin/heddle-opt"
TOLERANCE = 1e-9
GRAPHS = 500
DTYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i1": np.bool_}


class Graph:
    """A function of nn ops under construction. A value is (name, shape, element type)."""

    def __init__(self, random, dynamic):
        self.random, self.dynamic = random, dynamic
        self.arguments, self.lines, self.inputs = [], [], []

    def text(self, shape, element):
        """The type of SHAPE, whose entries are extents or (extent, symbol)."""
        extents = ["?" if isinstance(extent, tuple) and self.dynamic else str(size(extent)) for extent in shape]
        return "tensor<" + "x".join(extents + [element]) + ">"

    def argument(self, shape, element="f64", array=None):
        name = f"%arg{len(self.arguments)}"
        dims = ", ".join(f'"{extent[1]}"' if isinstance(extent, tuple) and self.dynamic else str(size(extent))
                         for extent in shape)
        attributes = f'{{nn.name = "{name[1:]}", nn.dims = [{dims}]}}'
        self.arguments.append(f"{name}: {self.text(shape, element)} {attributes}")
        if array is None:
            array = self.random.standard_normal([size(extent) for extent in shape])
        self.inputs.append(np.asarray(array, DTYPES[element]))
        return name, list(shape), element

    def op(self, name, operands, shape, element=None, attributes="", infix=""):
        result = f"%v{len(self.lines)}"
        element = element or operands[0][2]
        types = ", ".join(self.text(shape, element) for _, shape, element in operands)
        names = ", ".join(value for value, _, _ in operands)
        self.lines.append(f"  {result} = nn.{name} {names}{infix} {attributes} : ({types}) -> "
                          f"{self.text(shape, element)}")
        return result, list(shape), element

    def constant(self, value, element="f64", shape=()):
        result = f"%v{len(self.lines)}"
        self.lines.append(f"  {result} = nn.constant dense<{value}> : {self.text(shape, element)}")
        return result, list(shape), element

    def vector(self, numbers):
        return self.constant(str(list(numbers)), "i64", (len(numbers),))

    def transpose(self, value, perm):
        return self.op("transpose", [value], [value[1][i] for i in perm], infix=f" perm {perm}")

    def reshape(self, value, numbers, shape):
        return self.op("reshape", [value, self.vector(numbers)], shape)

    def unsqueeze(self, value, axes):
        shape = list(value[1])
        for axis in axes:
            shape.insert(axis, 1)
        return self.op("unsqueeze", [value], shape, infix=f" axes {axes}")

    def binary(self, kind, a, b, element=None):
        rank = max(len(a[1]), len(b[1]))
        left, right = [1] * (rank - len(a[1])) + a[1], [1] * (rank - len(b[1])) + b[1]
        shape = [y if size(x) == 1 and not isinstance(x, tuple) else x for x, y in zip(left, right)]
        return self.op(kind, [a, b], shape, element)

    def where(self, condition, on_true, on_false):
        values = [condition, on_true, on_false]
        rank = max(len(value[1]) for value in values)
        shape = [1] * rank
        for _, other, _ in values:
            padded = [1] * (rank - len(other)) + other
            shape = [y if x == 1 else x for x, y in zip(shape, padded)]
        return self.op("where", values, shape, on_true[2])

    def module(self, results):
        types = ", ".join(self.text(shape, element) for _, shape, element in results)
        names = ", ".join(name for name, _, _ in results)
        return (f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n" + "\n".join(self.lines) +
                f"\n  return {names} : {types}\n}}\n")


def size(extent):
    return extent[0] if isinstance(extent, tuple) else extent


class Attention:
    """One random attention. Choices are made where they are used, so that any combination occurs."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.graph = Graph(self.random, dynamic=self.choose([True, False]))
        self.batch, self.rows, self.keys = ((int(self.random.integers(1, 8)), name) for name in "bst")
        self.batch = (min(self.batch[0], 3), "b")
        self.group, self.kv_heads = self.choose([1, 1, 2, 3]), self.choose([1, 2, 3])
        self.heads = self.group * self.kv_heads
        self.head_size, self.value_size = self.choose([1, 3, 4]), self.choose([2, 5])
        self.folded = not self.graph.dynamic and self.heads > 1 and self.choose([True, False, False])

    def choose(self, options):
        return options[int(self.random.integers(len(options)))]

    def tensor_of_heads(self, heads, length, head_size):
        """(B, N, S, D), stored in a random layout."""
        graph, form = self.graph, self.choose(["bnsd", "bsnd", "merged", "transposed"])
        if form == "bnsd":
            return graph.argument([self.batch, heads, length, head_size])
        if form == "bsnd":
            return graph.transpose(graph.argument([self.batch, length, heads, head_size]), [0, 2, 1, 3])
        if form == "transposed":
            return graph.transpose(graph.argument([self.batch, heads, head_size, length]), [0, 1, 3, 2])
        merged = graph.argument([self.batch, length, heads * head_size])
        split = graph.reshape(merged, [0, 0, heads, head_size], [self.batch, length, heads, head_size])
        return graph.transpose(split, [0, 2, 1, 3])

    def repeat(self, value):
        """The key heads, each for a group of query heads."""
        graph, (_, shape, _) = self.graph, value
        if self.group == 1:
            return value
        repeated = [shape[0], self.heads, *shape[2:]]
        if graph.dynamic or self.choose([True, False]):
            indices = graph.vector([head // self.group for head in range(self.heads)])
            return graph.op("gather", [value, indices], repeated, attributes="{axis = 1 : i64}")
        wide = [shape[0], shape[1], self.group, *shape[2:]]
        sizes = [size(extent) for extent in wide]
        expanded = graph.op("expand", [graph.unsqueeze(value, [2]), graph.vector(sizes)], wide)
        return graph.reshape(expanded, [size(extent) for extent in repeated], repeated)

    def fold(self, value):
        shape = [self.batch[0] * self.heads, *value[1][2:]]
        return self.graph.reshape(value, [size(extent) for extent in shape], shape) if self.folded else value

    def unfold(self, value):
        shape = [self.batch, self.heads, *value[1][1:]]
        return self.graph.reshape(value, [size(extent) for extent in shape], shape) if self.folded else value

    def multiply(self, value):
        """By a number whose products are exact in f32, as a factor or a divisor."""
        number = self.choose([0.5, 0.25, 2.0])
        factor = self.graph.constant(number)
        return self.graph.binary(self.choose(["binary mul", "binary div"]), value, factor)

    def product(self, query, key):
        graph = self.graph
        if not self.folded and self.choose([True, False, False]):
            return graph.op('einsum "bnsd,bntd->bnst"', [query, key], [self.batch, self.heads, self.rows, self.keys])
        last = len(key[1]) - 1
        turned = graph.transpose(key, [*range(last - 1), last, last - 1])
        if self.choose([True, False, False]):
            turned = self.multiply(turned)
        return graph.op("matmul", [query, turned], [*query[1][:-1], self.keys])

    def ranges(self):
        graph = self.graph
        zero, one = graph.constant(0, "i64"), graph.constant(1, "i64")
        places = []
        for extent, source, axis in ((self.rows, self.query, 2), (self.keys, self.key, 2)):
            length = graph.op("shape", [source], [1], "i64", f"{{start = {axis} : i64, end = {axis + 1} : i64}}")
            limit = graph.op("squeeze", [length], [], infix=" axes [0]")
            places.append(graph.op("range", [zero, limit, one], [extent], "i64"))
        return graph.unsqueeze(places[0], [1]), places[1]

    def condition(self):
        """A bool tensor that is true where a key is kept."""
        graph, form = self.graph, self.choose(["causal", "window", "padding", "both"])
        if form in ("causal", "both"):
            rows, columns = self.ranges()
            keep = graph.binary("compare le", columns, rows, "i1")
        if form == "window":
            rows, columns = self.ranges()
            first = graph.binary("binary sub", rows, graph.constant(int(self.random.integers(0, 4)), "i64"))
            keep = graph.binary("compare ge", columns, first, "i1")
        if form in ("padding", "both"):
            array = self.random.random((self.batch[0], 1, 1, self.keys[0])) < self.choose([0.2, 0.7])
            pad = graph.argument([self.batch, 1, 1, self.keys], "i1", array)
            keep = graph.binary("binary and", keep, pad) if form == "both" else pad
        return keep

    def mask(self, scores):
        """Adds or selects a fill."""
        # -1e9 would leave a double 7 decimals of a score, of which the order of sums changes the last one.
        graph, fill = self.graph, self.choose(["-1.0e4", "-1.0e6", "-3.4028234663852886E+38", self.infinity])
        form = self.choose(["add", "select", "inverted", "integers"])
        lowest = graph.constant(fill)
        if form == "integers":
            if fill == self.infinity:  # nothing times -inf is NaN
                lowest = graph.constant("-1.0e4")
            array = self.random.integers(0, 2, (self.batch[0], 1, 1, self.keys[0]))
            pad = graph.argument([self.batch, 1, 1, self.keys], "i64", array)
            numbers = graph.op("cast", [pad], pad[1], "f64", "{to = f64}")
            absent = graph.binary("binary sub", graph.constant("1.0"), numbers)
            return graph.binary("binary add", scores, graph.binary("binary mul", absent, lowest))
        keep = self.condition()
        if form == "add":
            return graph.binary("binary add", scores, graph.where(keep, graph.constant("0.0"), lowest))
        if form == "select":
            return graph.where(keep, scores, lowest)
        return graph.where(graph.op("unary not", [keep], keep[1]), lowest, scores)

    def change(self, scores):
        """Something else that happens to scores."""
        graph, form = self.graph, self.choose(["scale", "cap", "bias", "slope", "integers", "mask", "mask"])
        if form == "scale":
            return self.multiply(scores)
        if form == "integers":
            return self.quantize(scores, 2.0**-self.choose([2, 4]))
        if form == "cap":
            cap = graph.constant("3.0")
            bent = graph.op("unary tanh", [graph.binary("binary div", scores, cap)], scores[1])
            return graph.binary("binary mul", bent, cap)
        if form == "bias":
            return graph.binary("binary add", scores, graph.argument([self.heads, self.rows, self.keys]))
        if form == "slope":
            return graph.binary("binary mul", scores, graph.argument([self.heads, 1, 1]))
        return self.mask(scores)

    def quantize(self, values, scale):
        """As integers and back, in steps that divide exactly."""
        graph, element = self.graph, self.choose(["i8", "ui8"])
        zero = graph.constant(int(self.random.integers(0, 128)), element)
        step, attributes = graph.constant(scale), "{axis = 0 : i64, block_size = 0 : i64"
        codes = graph.op("quantize_linear", [values, step, zero], values[1], element, f"{attributes}, to = {element}}}")
        return graph.op("dequantize_linear", [codes, step, zero], values[1], "f64", attributes + "}")

    def weigh(self, weights):
        """Something that happens to probabilities."""
        graph, form = self.graph, self.choose(["scale", "gate", "square", "shift", "mask", "integers", "integers"])
        if form == "scale":
            return self.multiply(weights)
        if form == "gate":
            shape = self.choose([[self.heads, 1, 1], [self.heads, self.rows, self.keys]])
            return graph.binary("binary mul", weights, graph.argument(shape))
        if form == "square":
            return graph.binary("binary mul", weights, weights)
        if form == "shift":
            return graph.binary("binary add", weights, graph.constant("0.125"))
        if form == "mask":
            return graph.where(self.condition(), weights, graph.constant("0.0"))
        return self.quantize(weights, 2.0**-self.choose([4, 6, 8]))

    def build(self):
        graph = self.graph
        self.infinity = "0xFFF0000000000000"
        self.query = self.tensor_of_heads(self.heads, self.rows, self.head_size)
        self.key = self.tensor_of_heads(self.kv_heads, self.keys, self.head_size)
        value = self.tensor_of_heads(self.kv_heads, self.keys, self.value_size)
        query = self.multiply(self.query) if self.choose([True, False]) else self.query
        scores = self.product(self.fold(query), self.fold(self.repeat(self.key)))
        if self.choose([True, False]):
            scores = self.multiply(scores)
        scores = self.unfold(scores)
        for _ in range(int(self.random.integers(0, 4))):
            scores = self.change(scores)
        weights = graph.op("softmax", [scores], scores[1], attributes="{axis = 3 : i64}")
        if self.choose([True, False, False]):
            nan = graph.op("unary is_nan", [weights], weights[1], "i1")
            weights = graph.where(nan, graph.constant("0.0"), weights)
        results = [weights] if self.choose([True, False, False, False]) else []
        for _ in range(self.choose([0, 0, 1, 1, 2])):
            weights = self.weigh(weights)
        output = graph.op("matmul", [self.fold(weights), self.fold(self.repeat(value))],
                          [*self.fold(weights)[1][:-1], self.value_size])
        output = self.unfold(output)
        if self.choose([True, False]):
            turned = graph.transpose(output, [0, 2, 1, 3])
            width = self.heads * self.value_size
            output = graph.reshape(turned, [0, 0, width], [self.batch, self.rows, width])
        return graph.module([output, *results]), graph.inputs


def look_alike(seed):
    """A graph with a softmax between two products that is no attention."""
    random = np.random.default_rng(seed)
    graph = Graph(random, dynamic=False)
    batch, heads, rows, width = (int(random.integers(2, 4)) for _ in range(4))
    query, key, value = (graph.argument([batch, heads, rows, width]) for _ in range(3))
    scores = graph.op("matmul", [query, graph.transpose(key, [0, 1, 3, 2])], [batch, heads, rows, rows])
    form = seed % 6
    axis = 3
    if form == 0:  # normalised over queries, heads or batches
        axis = int(random.integers(0, 3))
    elif form == 1:  # two products
        scores = graph.binary("binary add", scores, graph.transpose(scores, [0, 1, 3, 2]))
    elif form == 2:  # read elsewhere
        other = graph.op("unary abs", [scores], scores[1])
    weights = graph.op("softmax", [scores], scores[1], attributes=f"{{axis = {axis} : i64}}")
    if form == 3:  # weights of one head meet values of another
        weights = graph.transpose(weights, [0, 1, 3, 2])
    elif form == 4:  # normalised once more
        sums = graph.op("reduce sum", [weights], [batch, heads, rows, 1], attributes="{keepdims}", infix=" axes [3]")
        weights = graph.binary("binary div", weights, sums)
    elif form == 5:  # integers that are multiplied as such
        zero, step = graph.constant(3, "i8"), graph.constant("0.01", "f64")
        shape = "{axis = 0 : i64, block_size = 0 : i64"
        codes = graph.op("quantize_linear", [weights, step, zero], weights[1], "i8", shape + ", to = i8}")
        weights = graph.op("cast", [codes], weights[1], "f64", "{to = f64}")
    output = graph.op("matmul", [weights, value], [batch, heads, rows, width])
    return graph.module([output, other] if form == 2 else [output])


class RaiseTest(unittest.TestCase):
    def raise_all(self, modules):
        """The modules after the pass, as texts."""
        run = subprocess.run([OPT, "--split-input-file", "--attn-raise-sdpa", "-"], capture_output=True, text=True,
                             input="\n// -----\n".join(modules))
        self.assertEqual(run.returncode, 0, run.stderr[:2000])
        return re.split(r"^// -----$", run.stdout, flags=re.MULTILINE)

    def test_raised_attention_gives_the_same(self):
        cases = [Attention(seed).build() for seed in range(GRAPHS)]
        for seed, text in enumerate(self.raise_all([module for module, _ in cases])):
            with self.subTest(seed=seed):
                self.assertEqual(text.count("attn.sdpa %"), 1, cases[seed][0] + text)
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            results = []
            for passes in ("", "attn-raise-sdpa"):
                jobs = []
                for seed, (module, inputs) in enumerate(cases):
                    folder = root / f"{passes or 'plain'}{seed}"
                    folder.mkdir()
                    (folder / "model.mlir").write_text(module)
                    jobs.append(evaluate.prepare(folder, folder / "model.mlir", inputs))
                evaluate.evaluate(root, jobs, passes)
                results.append([evaluate.outputs(root / f"{passes or 'plain'}{seed}") for seed in range(GRAPHS)])
        for seed, (plain, raised) in enumerate(zip(*results)):
            with self.subTest(seed=seed):
                self.assertNotIsInstance(plain, str, f"{plain}\n{cases[seed][0]}")
                self.assertNotIsInstance(raised, str, f"{raised}\n{cases[seed][0]}")
                for before, after in zip(plain, raised):
                    self.assertLessEqual(evaluate.difference(after, before), TOLERANCE, cases[seed][0])

    def test_look_alikes_stay(self):
        modules = [look_alike(seed) for seed in range(100)]
        for seed, text in enumerate(self.raise_all(modules)):
            with self.subTest(seed=seed):
                self.assertEqual((text.count("attn.sdpa %"), text.count("nn.softmax %")), (0, 1), modules[seed])


if __name__ == "__main__":
    unittest.main()
