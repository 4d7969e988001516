# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms, activations and what onnxruntime's optimiser makes of them, compiled: numbers of onnxruntime, or of double
precision where f32 spellings lose digits; and one dispatch where basic operators would take several."""

import json
import math
import os
import pathlib
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle

sys.path.insert(0, str(pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"]) / "tests/compiler/transforms/fusion"))
import spellings  # noqa: E402

MICROSOFT = "com.microsoft"
# Sums of at most 48 products of numbers around 1, in f32 with another order of sums.
TOLERANCE = dict(rtol=1e-5, atol=2e-5)
# onnxruntime rounds to f16 once or twice on the way, so results may be neighbours' neighbours.
HALF_TOLERANCE = dict(rtol=2 ** -9, atol=2 ** -10)
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int32): TensorProto.INT32}


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


class NodeTestCase(case.ArtifactTestCase):
    """Compiles a model of one node and compares it with onnxruntime."""

    def setUp(self):
        self.random = np.random.default_rng(7)
        self.model, self.artifact = self.scratch / "node.onnx", self.scratch / "node.heddle"

    def save(self, node, feeds, weights, domain=MICROSOFT):
        # Extents in front may change, but for a 1, which says that it broadcasts.
        inputs = [helper.make_tensor_value_info(name, TYPES[array.dtype], ["batch" if array.shape[0] != 1 else 1,
                                                                           *array.shape[1:]])
                  for name, array in feeds.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
        graph = helper.make_graph([node], "node", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), self.model)

    def run_compiled(self, feeds):
        command.compile_model(self.model, self.artifact)
        with heddle.Program(self.artifact) as program:
            return program.run(feeds)

    def check(self, kind, feeds, weights, inputs=None, outputs=("y",), domain=MICROSOFT, **attributes):
        inputs = [*feeds, *weights] if inputs is None else inputs
        node = helper.make_node(kind, inputs, outputs, name="node", domain=domain, **attributes)
        with self.subTest(kind, inputs=inputs, attributes=attributes):
            self.save(node, feeds, weights, domain)
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
            names = [name for name in outputs if name]
            expected = dict(zip(names, session.run(names, feeds)))
            actual = self.run_compiled(feeds)
            for name in names:
                self.assertEqual(actual[name].dtype, expected[name].dtype)
                bounds = HALF_TOLERANCE if actual[name].dtype == np.float16 else TOLERANCE
                np.testing.assert_allclose(actual[name], expected[name], err_msg=name, **bounds)


class MicrosoftTest(NodeTestCase):
    def test_norms_of_residuals(self):
        x, skip = normal(self.random, 2, 5, 24), normal(self.random, 2, 5, 24)
        gamma, beta, bias = (normal(self.random, 24) for _ in range(3))
        norm, total = "SkipLayerNormalization", ("y", "", "", "sum")
        rms = "SkipSimplifiedLayerNormalization"
        self.check(norm, {"x": x, "skip": skip}, {"gamma": gamma, "beta": beta}, outputs=total)
        self.check(norm, {"x": x, "skip": skip}, {"gamma": gamma, "beta": beta, "bias": bias}, outputs=total)
        self.check(norm, {"x": x, "skip": skip}, {"gamma": gamma, "bias": bias}, ["x", "skip", "gamma", "", "bias"],
                   epsilon=0.1)
        self.check(rms, {"x": x, "skip": skip}, {"gamma": gamma}, outputs=total)
        self.check(rms, {"x": x, "skip": skip}, {"gamma": gamma, "bias": bias}, outputs=total, epsilon=1e-6)
        # One residual for all of a batch.
        self.check(norm, {"x": x, "skip": skip[:1]}, {"gamma": gamma, "beta": beta})
        self.check(norm, {"x": x}, {"skip": skip[0], "gamma": gamma, "beta": beta})
        self.check("SimplifiedLayerNormalization", {"x": x}, {"gamma": gamma}, domain="", epsilon=1e-6, axis=-1)
        self.check("LayerNormalization", {"x": x}, {"gamma": gamma, "beta": beta}, domain="",
                   outputs=("y", "mean", "inverse"), axis=-1)

    def test_norms_in_half_precision(self):
        x, skip = (normal(self.random, 2, 5, 24).astype(np.float16) for _ in range(2))
        gamma, beta = (normal(self.random, 24).astype(np.float16) for _ in range(2))
        self.check("SkipLayerNormalization", {"x": x, "skip": skip}, {"gamma": gamma, "beta": beta},
                   outputs=("y", "", "", "sum"))
        self.check("SkipSimplifiedLayerNormalization", {"x": x, "skip": skip}, {"gamma": gamma})
        # Squares of 300 are beyond f16, sums of them too.
        self.check("SkipSimplifiedLayerNormalization", {"x": x * 300, "skip": skip}, {"gamma": gamma})

    def test_embeddings(self):
        ids, segments = (self.random.integers(0, high, (3, 6)).astype(np.int32) for high in (20, 2))
        mask = (np.arange(6) < np.array([[6], [4], [1]])).astype(np.int32)
        positions = np.tile(np.arange(6)[::-1], (3, 1)).astype(np.int32)
        tables = {"word": normal(self.random, 20, 16), "position": normal(self.random, 8, 16)}
        segment = {"segment": normal(self.random, 2, 16)}
        affine = {"gamma": normal(self.random, 16), "beta": normal(self.random, 16)}
        kind, outputs = "EmbedLayerNormalization", ("y", "mask_index")
        self.check(kind, {"ids": ids, "segments": segments, "mask": mask}, {**tables, **segment, **affine},
                   ["ids", "segments", "word", "position", "segment", "gamma", "beta", "mask"], outputs)
        self.check(kind, {"ids": ids}, {**tables, **affine},
                   ["ids", "", "word", "position", "", "gamma", "beta"], (*outputs, "sum"), epsilon=0.01)
        self.check(kind, {"ids": ids, "positions": positions}, {**tables, **affine},
                   ["ids", "", "word", "position", "", "gamma", "beta", "", "positions"], outputs)

    def test_activations(self):
        x, bias = normal(self.random, 3, 7, 16) * 3, normal(self.random, 16)
        self.check("BiasGelu", {"x": x}, {"bias": bias})
        self.check("FastGelu", {"x": x}, {"bias": bias})
        self.check("FastGelu", {"x": x}, {})
        self.check("Gelu", {"x": x}, {})
        self.check("QuickGelu", {"x": x}, {})
        self.check("QuickGelu", {"x": x}, {}, alpha=0.7)

    def test_products(self):
        def factor(rows, columns, transposed, batch_first, batch=(3, 2)):
            """A factor that is (*batch, rows, columns) once its attributes have been followed."""
            last = (columns, rows) if transposed else (rows, columns)
            return normal(self.random, *((last[0], *batch, last[1]) if batch_first else (*batch, *last)))

        for bits in range(16):
            flags = dict(zip(("transA", "transB", "transBatchA", "transBatchB"), ((bits >> i) & 1 for i in range(4))))
            a = factor(4, 5, flags["transA"], flags["transBatchA"])
            b = factor(5, 6, flags["transB"], flags["transBatchB"])
            self.check("FusedMatMul", {"a": a}, {"b": b}, alpha=0.5 if bits % 3 else 1.0, **flags)
        self.check("FusedMatMul", {"a": normal(self.random, 3, 4, 5)}, {"b": normal(self.random, 6, 5)}, transB=1)

    def test_what_only_onnxruntimes_gpu_kernels_know(self):
        """GemmFastGelu, BiasSplitGelu and BiasAdd by their definitions."""
        x, weight, bias = normal(self.random, 2, 3, 8), normal(self.random, 8, 6), normal(self.random, 6)
        halves, skip = normal(self.random, 8), normal(self.random, 2, 3, 8)

        def erf_gelu(z):
            return z / 2 * (1 + np.vectorize(math.erf)(z / np.sqrt(2)))

        def tanh_gelu(z):
            return z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z ** 3)))

        left, right = np.split(x.astype(np.float64) + halves, 2, axis=-1)
        for kind, feeds, weights, expected in (
                ("GemmFastGelu", {"x": x}, {"w": weight, "b": bias}, tanh_gelu(x.astype(np.float64) @ weight + bias)),
                ("BiasSplitGelu", {"x": x}, {"b": halves}, left * erf_gelu(right)),
                ("BiasAdd", {"x": x, "skip": skip}, {"b": halves}, x + halves.astype(np.float64) + skip)):
            inputs = ["x", "b", "skip"] if kind == "BiasAdd" else [*feeds, *weights]
            with self.subTest(kind):
                self.save(helper.make_node(kind, inputs, ["y"], name="node", domain=MICROSOFT), feeds, weights)
                np.testing.assert_allclose(self.run_compiled(feeds)["y"], expected, **TOLERANCE)


class StandardTest(NodeTestCase):
    def test_activations(self):
        x = normal(self.random, 3, 4, 5) * 3
        for kind, attributes in (("LeakyRelu", {"alpha": 0.2}), ("Elu", {"alpha": 0.7}), ("Selu", {}),
                                 ("Celu", {"alpha": 2.0}), ("ThresholdedRelu", {"alpha": 0.3}), ("HardSigmoid", {}),
                                 ("HardSwish", {}), ("Softsign", {}), ("Shrink", {"lambd": 0.4, "bias": 0.1})):
            self.check(kind, {"x": x}, {}, domain="", **attributes)
        self.check("PRelu", {"x": x}, {"slope": normal(self.random, 4, 1)}, domain="")

    def test_norms(self):
        x = normal(self.random, 2, 6, 5, 7) * 2 + 1
        scale, bias, mean = (normal(self.random, 6) for _ in range(3))
        variance = np.abs(normal(self.random, 6)) + 0.1
        self.check("BatchNormalization", {"x": x}, {"s": scale, "b": bias, "m": mean, "v": variance}, domain="",
                   epsilon=0.01)
        self.check("InstanceNormalization", {"x": x}, {"s": scale, "b": bias}, domain="", epsilon=0.01)
        self.check("LpNormalization", {"x": x}, {}, domain="", axis=1, p=1)
        self.check("LpNormalization", {"x": x}, {}, domain="")
        self.check("MeanVarianceNormalization", {"x": x}, {}, domain="", axes=[0, 2, 3])


class SpellingTest(case.ArtifactTestCase):
    def compile(self, spelling):
        """The artifact of SPELLING and its report, whose counts the summary repeats."""
        model, artifact, path = (self.scratch / name for name in ("s.onnx", "s.heddle", "report.json"))
        spelling.build().save(model)
        run = command.heddle("compile", model, "-o", artifact, "--report", path)
        report = json.loads(path.read_text())
        for name, count in report["raised"].items():
            self.assertIn(f", {count} {name} raised\n", run.stdout + run.stderr)
        return artifact, report

    def test_rows_far_from_zero_keep_their_digits(self):
        """Rows of 1e4 plus noise of 0.1 to 3. The mean may be off by two steps of f32 there, 2e-3, divided by the
        deviation; of a variance from squares of 1e8, which f32 holds to within 4, nothing would be left."""
        for seed in range(16):
            with self.subTest(seed=seed):
                spelling = spellings.Norm(seed, centre=1e4, dtype=np.float32, centred=True, plain=True)
                artifact, report = self.compile(spelling)
                self.assertEqual(report["raised"], {"layer_norm": 1})
                with heddle.Program(artifact) as program:
                    actual = program.run(spelling.feeds)[spelling.outputs[0].name]
                x, axes = spelling.feeds["x"].astype(np.float64), tuple(spelling.axes)
                difference = x - x.mean(axes, keepdims=True)
                deviation = np.sqrt((difference ** 2).mean(axes, keepdims=True) + spelling.epsilon)
                np.testing.assert_allclose(actual * deviation, difference, rtol=1e-4, atol=2e-3)

    def test_a_norm_is_one_dispatch(self):
        for seed in range(6):
            with self.subTest(seed=seed):
                _, report = self.compile(spellings.Norm(seed, dtype=np.float32, plain=True))
                self.assertEqual(len(report["kernels"]), 1)
                _, report = self.compile(spellings.Norm(seed, look_alike="eps outside", dtype=np.float32, plain=True))
                self.assertEqual(report["raised"], {})
                self.assertGreater(len(report["kernels"]), 1)

    def test_an_activation_is_one_dispatch(self):
        for seed in range(6):
            with self.subTest(seed=seed):
                spelling = spellings.Activation(seed)
                artifact, report = self.compile(spelling)
                self.assertEqual((report["raised"], len(report["kernels"])), ({spelling.kind: 1}, 1))
                session = onnxruntime.InferenceSession(self.scratch / "s.onnx", providers=["CPUExecutionProvider"])
                with heddle.Program(artifact) as program:
                    actual = program.run(spelling.feeds)[spelling.outputs[0].name]
                np.testing.assert_allclose(actual, session.run(None, spelling.feeds)[0], **TOLERANCE)


if __name__ == "__main__":
    unittest.main()
