# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions of quantised tensors, as files write them in QuantizeLinear and DequantizeLinear around every
product: each becomes one attention and gives onnxruntime's numbers.

Steps are powers of two, so integers agree unless a sum in another order moves a rounding: one value in a thousand may,
and by no more than a few steps of what is rounded. All others agree to 1e-5.
"""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle
import models

HEADS, SIZE, COUNT = 2, 16, 10
MOVED, STEPS = 1e-3, 0.1


class Draw:
    """One random graph under construction."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def quantize(self, value, step, zero=None):
        """VALUE as integers of 8 bits and back."""
        integer = self.random.choice([np.int8, np.uint8])
        zero = int(self.random.integers(0, 100)) if zero is None else zero
        parameters = self.constant(np.float32(step)), self.constant(np.array(zero, integer))
        return self.op("DequantizeLinear", self.op("QuantizeLinear", value, *parameters), *parameters)

    def build(self):
        query, key, value = (self.quantize(name, 2.0**-5) for name in "qkv")
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.constant(np.float32(SIZE ** -0.5)))
        fill = self.constant(np.float32(-3.4028235e38))
        is_early = self.random.random() < 0.3
        if is_early:  # the fill becomes the smallest integer, whose key weighs something
            scores = self.op("Where", "mask", scores, fill)
        scores = self.quantize(scores, 2.0**-4)
        if not is_early:
            scores = self.op("Where", "mask", scores, fill)
        weights = self.op("Softmax", scores, axis=3)
        if self.random.random() < 0.3:
            weights = self.op("Mul", weights, self.constant(np.float32(0.5)))
        weights = self.quantize(weights, 2.0**-8, zero=self.random.choice([None, 0]))
        self.nodes.append(helper.make_node("MatMul", [weights, value], ["y"]))

    def save(self, path):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", HEADS, length, SIZE])
                  for name, length in zip("qkv", "stt")]
        inputs.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, ["b", 1, 1, "t"]))
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "attention", inputs, outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def feeds(self, batch, rows, keys):
        shapes = zip("qkv", (rows, keys, keys))
        feeds = {name: self.random.standard_normal((batch, HEADS, length, SIZE), dtype=np.float32)
                 for name, length in shapes}
        lengths = self.random.integers(0, keys + 1, (batch, 1, 1, 1)) if self.random.random() < 0.5 else keys
        return {**feeds, "mask": np.broadcast_to(np.arange(keys) < lengths, (batch, 1, 1, keys))}


class QuantizedAttentionTest(case.ArtifactTestCase):
    def test_random_graphs_give_the_other_engines_numbers(self):
        model, artifact, report = (self.scratch / f"attention.{end}" for end in ("onnx", "heddle", "json"))
        moved = total = 0
        for seed in range(COUNT):
            draw = Draw(seed)
            draw.build()
            draw.save(model)
            command.compile_model(model, artifact, "--report", report)
            self.assertEqual([entry["raised"] for entry in json.loads(report.read_text())["attention"]], [True])
            oracle = models.Oracle(model, as_written=True)
            for sizes in ((1, 1, 1), (2, 5, 33), (1, 3, 300), (3, 40, 64)):
                with self.subTest(seed=seed, sizes=sizes), heddle.Program(artifact) as program:
                    feeds = draw.feeds(*sizes)
                    error = np.abs(program.run(feeds)["y"] - oracle.run(feeds)["y"])
                    self.assertLessEqual(error.max(), STEPS)
                    moved, total = moved + (error > 1e-5).sum(), total + error.size
        self.assertLessEqual(moved, total * MOVED)


class KeyOffsetsTest(case.ArtifactTestCase):
    """Keys that are mostly a constant, which no bias says: their codes tell them apart once data have shown it."""

    def run_artifact(self, artifact, x):
        with heddle.Program(artifact) as program:
            return program.run({"x": x})["y"]

    def test_keys_lose_what_they_are_about(self):
        random = np.random.default_rng(11)
        width, heads = 64, 2
        weights = {name: (random.standard_normal((width, width)) / 8).astype(np.float32) for name in "qkv"}
        # The first channel is always 1: what it adds to each key is a constant.
        weights["k"][0] = 30
        nodes = [helper.make_node("MatMul", ["x", "w" + name], [name], name="/" + name) for name in "qkv"]
        nodes.append(helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], name="/attention",
                                           domain="com.microsoft", num_heads=heads))
        boundary = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "rows", width])
                    for name in "xy"]
        constants = [numpy_helper.from_array(array, "w" + name) for name, array in weights.items()]
        model = self.scratch / "keys.onnx"
        onnx.save(helper.make_model(
            helper.make_graph(nodes, "keys", boundary[:1], boundary[1:], constants), ir_version=10,
            opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]), model)
        x = random.standard_normal((2, 48, width)).astype(np.float32)
        x[..., 0] = 1
        np.savez(self.scratch / "x.npz", x=x)
        outputs = {}
        for name, options in (("plain", ["--attention-int8", "off"]), ("blind", ["--attention-int8", "on"]),
                              ("seen", ["--attention-int8", "on", "--calibrate", self.scratch / "x.npz"])):
            artifact = self.scratch / f"{name}.heddle"
            command.compile_model(model, artifact, *options)
            outputs[name] = self.run_artifact(artifact, x)
        self.assertIn("in step", command.heddle("verify", artifact, model).stdout)
        # Codes of keys around 30 are 0.24 apart, those of keys around 0 are 0.03.
        blind, seen = (np.sqrt(np.mean((outputs[name] - outputs["plain"]) ** 2)) for name in ("blind", "seen"))
        self.assertLess(3 * seen, blind)


if __name__ == "__main__":
    unittest.main()
