# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heads however a model writes them: unrolled one by one, sharing keys, pruned to zero, copied. Each layer becomes one
attention between two products, and the numbers are onnxruntime's."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle
import models

HEADS, SIZE = 4, 8
WIDTH = HEADS * SIZE
# f32 sums of 32 and 8 terms around a softmax, against another engine's order.
BOUND = 1e-5


class Layer:
    """One layer of attention over x (b, s, WIDTH) with a padding mask, in one of many spellings."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], {}, {"x": ["b", "s", WIDTH], "mask": ["b", "s"]}
        self.add("Unsqueeze", ["mask", self.constant("axis", np.array([1]))], "mask3")
        self.add("Cast", ["mask3"], "keep", to=TensorProto.FLOAT)
        self.add("Sub", [self.constant("one", np.float32(1)), "keep"], "hidden")
        self.add("Mul", ["hidden", self.constant("low", np.float32(-1e9))], "bias")
        self.constant("scale", np.float32(SIZE ** -0.5))

    def add(self, op, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return output

    def constant(self, name, value):
        self.constants[name] = np.asarray(value)
        return name

    def weight(self, name, *shape):
        return self.constant(name, self.random.normal(0, 0.3, shape).astype(np.float32))

    def project(self, name, width, has_bias=True):
        """x times a weight of its own, and a bias."""
        product = self.add("MatMul", ["x", self.weight("w_" + name, WIDTH, width)], name + "_product")
        return self.add("Add", [product, self.weight("b_" + name, width)], name) if has_bias else product

    def attend(self, query, key, value, name, bias="bias"):
        """One head, all of (b, s, SIZE)."""
        self.add("Transpose", [key], name + "_kt", perm=[0, 2, 1])
        self.add("MatMul", [query, name + "_kt"], name + "_s")
        self.add("Mul", [name + "_s", "scale"], name + "_scaled")
        self.add("Add", [name + "_scaled", bias], name + "_masked")
        self.add("Softmax", [name + "_masked"], name + "_p", axis=-1)
        return self.add("MatMul", [name + "_p", value], name)

    def attend_all(self, parts):
        """All heads at once, from three tensors (b, s, WIDTH)."""
        self.constant("heads", np.array([0, 0, HEADS, SIZE]))
        self.add("Unsqueeze", ["bias", self.constant("axis1", np.array([1]))], "bias4")
        for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
            self.add("Reshape", [part, "heads"], part + "_heads")
            self.add("Transpose", [part + "_heads"], part + "_t", perm=perm)
        query, key, value = (part + "_t" for part in parts)
        self.add("MatMul", [query, key], "s")
        self.add("Mul", ["s", "scale"], "scaled")
        self.add("Add", ["scaled", "bias4"], "masked")
        self.add("Softmax", ["masked"], "p", axis=-1)
        self.add("MatMul", ["p", value], "o_heads")
        self.add("Transpose", ["o_heads"], "o_t", perm=[0, 2, 1, 3])
        return self.add("Reshape", ["o_t", self.constant("features", np.array([0, 0, WIDTH]))], "o")

    def save(self, path, output):
        if "w_o" not in self.constants:
            self.weight("w_o", WIDTH, WIDTH)
        self.add("MatMul", [output, "w_o"], "y")
        types = {"mask": TensorProto.INT64}
        inputs = [helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shape)
                  for name, shape in self.inputs.items()]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "s", WIDTH])]
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "layer", inputs, outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


def split_heads(layer):
    """Three projections, each split into heads."""
    sizes = layer.constant("sizes", np.full(HEADS, SIZE))
    for part in "qkv":
        layer.add("Split", [layer.project(part, WIDTH), sizes], [f"{part}{i}" for i in range(HEADS)], axis=2)
    outputs = [layer.attend(f"q{i}", f"k{i}", f"v{i}", f"o{i}") for i in range(HEADS)]
    return layer.add("Concat", outputs, "o", axis=-1)


def sliced_heads(layer):
    """One projection for all, cut by slices."""
    layer.project("qkv", 3 * WIDTH)
    axis = layer.constant("last", np.array([-1]))
    for number, part in enumerate("qkv"):
        for i in range(HEADS):
            begin = number * WIDTH + i * SIZE
            bounds = [layer.constant(f"{part}{i}_{name}", np.array([value]))
                      for name, value in (("begin", begin), ("end", begin + SIZE))]
            layer.add("Slice", ["qkv", *bounds, axis], f"{part}{i}")
    outputs = [layer.attend(f"q{i}", f"k{i}", f"v{i}", f"o{i}") for i in range(HEADS)]
    return layer.add("Concat", outputs, "o", axis=2)


def separate_weights(layer):
    """Three projections a head."""
    for i in range(HEADS):
        for part in "qkv":
            layer.project(f"{part}{i}", SIZE)
    outputs = [layer.attend(f"q{i}", f"k{i}", f"v{i}", f"o{i}") for i in range(HEADS)]
    return layer.add("Concat", outputs, "o", axis=2)


def shared_keys(layer):
    """Two queries read each key and value."""
    for i in range(HEADS // 2):
        layer.project(f"k{i}", SIZE, has_bias=False)
        layer.project(f"v{i}", SIZE)
    outputs = []
    for i in range(HEADS):
        query = layer.project(f"q{i}", SIZE)
        outputs.append(layer.attend(query, f"k{i // 2}_product", f"v{i // 2}", f"o{i}"))
    return layer.add("Concat", outputs, "o", axis=2)


def stacked_heads(layer):
    """Outputs on an axis of their own, then merged as heads are."""
    for i in range(HEADS):
        for part in "qkv":
            layer.project(f"{part}{i}", SIZE)
        layer.attend(f"q{i}", f"k{i}", f"v{i}", f"o{i}")
        layer.add("Unsqueeze", [f"o{i}", layer.constant("axis1", np.array([1]))], f"o{i}_head")
    layer.add("Concat", [f"o{i}_head" for i in range(HEADS)], "o_heads", axis=1)
    layer.add("Transpose", ["o_heads"], "o_t", perm=[0, 2, 1, 3])
    return layer.add("Reshape", ["o_t", layer.constant("features", np.array([0, 0, WIDTH]))], "o")


def biases_of_heads(layer):
    """Each head adds a bias of its own, a slice of an input."""
    layer.inputs["position"] = [HEADS, "s", "s"]
    sizes = layer.constant("ones", np.full(HEADS, 1))
    layer.add("Split", ["position", sizes], [f"position{i}" for i in range(HEADS)], axis=0)
    outputs = []
    for i in range(HEADS):
        parts = [layer.project(f"{part}{i}", SIZE) for part in "qkv"]
        bias = layer.add("Add", [f"position{i}", "bias"], f"bias{i}")
        outputs.append(layer.attend(*parts, f"o{i}", bias))
    return layer.add("Concat", outputs, "o", axis=2)


class HeadsTest(case.ArtifactTestCase):
    def check(self, name, layer, output):
        """Compiles and compares; returns the report."""
        model = layer.save(self.scratch / f"{name}.onnx", output)
        artifact, report = self.scratch / f"{name}.heddle", self.scratch / f"{name}.json"
        command.compile_model(model, artifact, "--report", report)
        oracle = models.Oracle(model)
        random = np.random.default_rng(7)
        with heddle.Program(artifact) as program:
            for batch, length in ((1, 1), (2, 5), (3, 33)):
                mask = (np.arange(length)[None] < random.integers(1, length + 1, (batch, 1))).astype(np.int64)
                feeds = {"x": random.normal(size=(batch, length, WIDTH)).astype(np.float32), "mask": mask,
                         "position": random.normal(size=(HEADS, length, length)).astype(np.float32)}
                feeds = {key: feeds[key] for key in layer.inputs}
                self.assertLessEqual(models.difference(program.run(feeds)["y"], oracle.run(feeds)["y"]), BOUND)
        return json.loads(report.read_text())

    def test_unrolled_heads_are_one_attention(self):
        for seed, spell in enumerate((split_heads, sliced_heads, separate_weights, stacked_heads)):
            with self.subTest(spell.__name__):
                layer = Layer(seed)
                report = self.check(spell.__name__, layer, spell(layer))
                self.assertEqual([(a["heads"], a["kv_heads"]) for a in report["attention"]], [("4", "4")])
                self.assertEqual(len(report["kernels"]), 3)

    def test_shared_keys_are_groups(self):
        layer = Layer(10)
        report = self.check("shared_keys", layer, shared_keys(layer))
        self.assertEqual([(a["heads"], a["kv_heads"]) for a in report["attention"]], [("4", "2")])
        self.assertEqual(len(report["kernels"]), 3)

    def test_heads_keep_their_biases(self):
        layer = Layer(11)
        report = self.check("biases_of_heads", layer, biases_of_heads(layer))
        self.assertEqual([a["heads"] for a in report["attention"]], ["4"])

    def test_different_heads_stay_apart(self):
        layer = Layer(12)
        layer.constant("other_scale", np.float32(0.5))
        output = separate_weights(layer)
        next(node for node in layer.nodes if node.output[0] == "o1_scaled").input[1] = "other_scale"
        report = self.check("different", layer, output)
        self.assertEqual([a["heads"] for a in report["attention"]], ["1"] * HEADS)

    def whole(self, seed):
        layer = Layer(seed)
        return layer, layer.attend_all([layer.project(part, WIDTH) for part in "qkv"])

    def test_heads_of_zeros_are_dropped(self):
        layer, output = self.whole(13)
        columns = slice(SIZE, 2 * SIZE)
        layer.constants["w_v"][:, columns] = layer.constants["b_v"][columns] = 0
        layer.weight("w_o", WIDTH, WIDTH)
        layer.constants["w_o"][3 * SIZE:] = 0
        report = self.check("pruned", layer, output)
        attention, = report["attention"]
        self.assertEqual((attention["heads"], attention["pruned_heads"]), ("2", "1, 3"))
        self.assertEqual(len(report["kernels"]), 3)

    def test_one_head_of_zeros_stays_where_all_are(self):
        layer, output = self.whole(14)
        layer.constant("w_o", np.zeros((WIDTH, WIDTH), np.float32))
        report = self.check("all_pruned", layer, output)
        self.assertEqual(report["attention"][0]["heads"], "1")

    def test_copied_keys_and_values_are_computed_once(self):
        layer, output = self.whole(15)
        for name in ("w_k", "b_k", "w_v", "b_v"):
            weight = layer.constants[name]
            for head in (1, 3):
                weight[..., head * SIZE:(head + 1) * SIZE] = weight[..., (head - 1) * SIZE:head * SIZE]
        report = self.check("copied", layer, output)
        attention, = report["attention"]
        self.assertEqual((attention["heads"], attention["kv_heads"], attention["duplicated_kv_heads"]), ("4", "2", "2"))


if __name__ == "__main__":
    unittest.main()
