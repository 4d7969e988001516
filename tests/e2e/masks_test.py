# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks that a file computes from positions, or stores element by element, are predicates on positions for the kernel,
and give what onnxruntime gives: causal masks and windows, as nodes around a softmax, as the operator Attention's bool
and float masks, and as com.microsoft's bias. Each at lengths below, at and beyond a block of keys.

Tolerance: 1e-4 relative, 1e-5 absolute, for sums of f32 in another order.
"""

import functools
import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle

HEADS, SIZE = 2, 16
LENGTHS = (1, 17, 300, 600)
WINDOW = 64
# What a buffer is long enough for.
LONGEST = 640


class Graph:
    """Nodes and constants under way to a model of attention of LENGTH queries and keys, or of any number if None."""

    def __init__(self, length):
        self.length, self.nodes, self.constants = length, [], []

    def add(self, op, inputs, **attributes):
        name = f"{op}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, value):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def positions(self):
        """Rows (S, 1) and columns (1, S) of ranges: constants once folded, where the length is known."""
        length = self.constant(np.int64(self.length)) if self.length else self.add(
            "Gather", [self.add("Shape", ["query"]), self.constant(np.int64(2))], axis=0)
        span = self.add("Range", [self.constant(np.int64(0)), length, self.constant(np.int64(1))])
        return (self.add("Unsqueeze", [span, self.constant(np.array([1]))]),
                self.add("Unsqueeze", [span, self.constant(np.array([0]))]))

    def keep(self, mask):
        """(S, S), true where MASK keeps the key, computed from positions."""
        rows, columns = self.positions()
        keep = self.add("LessOrEqual", [columns, rows])
        if mask == "window":
            near = self.add("Less", [self.add("Sub", [rows, columns]), self.constant(np.int64(WINDOW))])
            keep = self.add("And", [keep, near])
        return keep

    def stored(self, mask, dtype):
        """The same out of a buffer of (1, 1, LONGEST, LONGEST) from its 20th row and key on."""
        buffer = kept(mask, LONGEST)[None, None].astype(dtype)
        bounds = [np.array([20, 20]), np.array([20 + self.length] * 2), np.array([2, 3])]
        part = self.add("Slice", [self.constant(buffer), *map(self.constant, bounds)])
        return part if dtype == np.bool_ else self.add("Cast", [part], to=TensorProto.BOOL)

    def fill(self, keep, fill):
        return self.add("Where", [keep, self.constant(np.float32(0)), self.constant(np.float32(fill))])

    def decomposed(self, keep):
        keys = self.add("Transpose", ["key"], perm=[0, 1, 3, 2])
        scores = self.add("Mul", [self.add("MatMul", ["query", keys]), self.constant(np.float32(SIZE ** -0.5))])
        masked = self.add("Where", [keep, scores, self.constant(np.float32(-1e9))])
        return self.add("MatMul", [self.add("Softmax", [masked], axis=-1), "value"])

    def operator(self, mask):
        return self.add("Attention", ["query", "key", "value", mask])

    def microsoft(self, bias):
        """The operator's rows are (B, S, N * H); its bias has all four dimensions."""
        rows = [self.add("Reshape", [self.add("Transpose", [name], perm=[0, 2, 1, 3]),
                                     self.constant(np.array([0, 0, HEADS * SIZE]))])
                for name in ("query", "key", "value")]
        bias = self.add("Unsqueeze", [bias, self.constant(np.array([0, 1]))])
        self.nodes.append(helper.make_node("MultiHeadAttention", [*rows, "", "", bias], ["rows"], "attention",
                                           domain="com.microsoft", num_heads=HEADS))
        heads = self.add("Reshape", ["rows", self.constant(np.array([0, 0, HEADS, SIZE]))])
        return self.add("Transpose", [heads], perm=[0, 2, 1, 3])

    def save(self, output, path):
        dims = [2, HEADS, self.length or "S", SIZE]
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("query", "key", "value")]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, dims)
        graph = helper.make_graph(self.nodes, "attention", inputs, [result], self.constants)
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def kept(mask, length):
    rows, columns = np.arange(length)[:, None], np.arange(length)
    return (columns <= rows) & (rows - columns < (WINDOW if mask == "window" else length))


# Each way to say a mask: what it makes of a graph and the mask's name, and whether it needs a fixed length.
FORMS = {
    "nodes": (lambda graph, mask: graph.decomposed(graph.keep(mask)), False),
    "stored bools": (lambda graph, mask: graph.decomposed(graph.stored(mask, np.bool_)), True),
    "stored bytes": (lambda graph, mask: graph.decomposed(graph.stored(mask, np.uint8)), True),
    "operator, bools": (lambda graph, mask: graph.operator(graph.keep(mask)), False),
    "operator, -inf": (lambda graph, mask: graph.operator(graph.fill(graph.keep(mask), -np.inf)), False),
    "operator, lowest": (lambda graph, mask: graph.operator(graph.fill(graph.keep(mask), np.finfo(np.float32).min)),
                         False),
    "operator, stored floats": (lambda graph, mask: graph.operator(graph.constant(
        np.where(kept(mask, graph.length), 0, -np.inf).astype(np.float32))), True),
    "microsoft's bias": (lambda graph, mask: graph.microsoft(graph.fill(graph.keep(mask), -10000)), False),
}


class MasksTest(case.ArtifactTestCase):
    def compile(self, build, mask, length):
        """The model's path, its artifact and the classes of masks in its report."""
        model, artifact, report = (self.scratch / f"masks.{kind}" for kind in ("onnx", "heddle", "json"))
        graph = Graph(length)
        graph.save(build(graph, mask), model)
        compiled = command.attempt("compile", model, "-o", artifact, "--report", report)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        return model, artifact, [entry.get("mask") for entry in json.loads(report.read_text())["attention"]]

    def compare(self, model, artifact, lengths):
        expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        with heddle.Program(artifact) as program:
            for length in lengths:
                random = np.random.default_rng(length)
                feeds = {name: random.standard_normal((2, HEADS, length, SIZE)).astype(np.float32)
                         for name in ("query", "key", "value")}
                (actual,) = program.run(feeds).values()
                np.testing.assert_allclose(actual, expected.run(None, feeds)[0], rtol=1e-4, atol=1e-5,
                                           err_msg=f"length {length}")

    def test_masks_of_any_length_are_positions(self):
        for name, (build, is_fixed) in FORMS.items():
            for mask in ("causal", "window"):
                if not is_fixed:
                    with self.subTest(name, mask=mask):
                        model, artifact, masks = self.compile(build, mask, None)
                        self.assertEqual(masks, ["position"])
                        self.compare(model, artifact, LENGTHS)

    def test_masks_of_one_length_are_positions(self):
        for name, (build, is_fixed) in FORMS.items():
            for mask in ("causal", "window"):
                for length in LENGTHS if is_fixed else (1, 300):
                    with self.subTest(name, mask=mask, length=length):
                        model, artifact, masks = self.compile(build, mask, length)
                        # The one key is seen by the one query.
                        self.assertEqual(masks, ["none" if length == 1 else "position"])
                        self.compare(model, artifact, [length])

    def test_one_wrong_element_makes_a_tensor(self):
        wrong = kept("causal", 300)
        wrong[299, 150] = False
        model, artifact, masks = self.compile(lambda graph, _: graph.operator(graph.constant(wrong)), None, 300)
        self.assertEqual(masks, ["tensor"])
        self.compare(model, artifact, [300])


if __name__ == "__main__":
    unittest.main()
