# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of all strides, dilations, groups and pads, compiled: numbers of onnxruntime."""

import itertools
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle

# Extent of the kernel, stride, dilation, pad, output padding, groups, channels, features: with a kernel that is and
# isn't a multiple of the stride, narrower than it, depthwise, and too few channels for a matrix product.
TRANSPOSED = [(4, 2, 1, 1, 0, 1, 16, 8), (3, 2, 1, 1, 1, 1, 9, 5), (3, 3, 1, 0, 0, 2, 16, 6), (2, 3, 1, 0, 2, 1, 3, 4),
              (3, 2, 2, 1, 0, 1, 12, 3), (5, 1, 1, 2, 0, 1, 4, 4), (4, 2, 1, 0, 0, 8, 8, 8), (3, 4, 1, 0, 1, 4, 32, 32),
              (1, 2, 1, 0, 0, 1, 8, 8), (7, 2, 3, 2, 0, 1, 8, 2)]
FORWARD = [(extent, stride, dilation, pad, None, groups, channels, features)
           for extent, stride, dilation, pad, _, groups, channels, features in TRANSPOSED]
EXTENTS = (17, 19)
# Sums of at most 392 products of numbers around 1, in another order, relative to the largest.
TOLERANCE = 2e-6


class ConvolutionTest(case.ArtifactTestCase):
    def check(self, operator, axes, weights_are_constant, extent, stride, dilation, pad, output_padding, groups,
              channels, features):
        random = np.random.default_rng(3)
        weight = ((channels, features // groups) if output_padding is not None else (features, channels // groups))
        feeds = {"x": random.standard_normal((2, channels, *EXTENTS[:axes])).astype(np.float32)}
        values = {"w": random.standard_normal((*weight, *[extent] * axes)).astype(np.float32),
                  "b": random.standard_normal(features).astype(np.float32)}
        if not weights_are_constant:
            feeds["w"] = values.pop("w")
        attributes = {} if output_padding is None else {"output_padding": [output_padding] * axes}
        nodes = [helper.make_node(operator, ["x", "w", "b"], ["sum"], strides=[stride] * axes, group=groups,
                                  dilations=[dilation] * axes, pads=[pad] * 2 * axes, **attributes),
                 helper.make_node("Relu", ["sum"], ["y"])]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", channels, "h", "w"][:2 + axes])]
        if not weights_are_constant:
            inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, feeds["w"].shape))
        graph = helper.make_graph(nodes, "convolution", inputs, [onnx.ValueInfoProto(name="y")],
                                  [numpy_helper.from_array(value, name) for name, value in values.items()])
        model, artifact = self.scratch / "convolution.onnx", self.scratch / "convolution.heddle"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        expected, = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)
        command.compile_model(model, artifact)
        with heddle.Program(artifact) as program:
            actual = program.run(feeds)["y"]
        self.assertEqual(actual.shape, expected.shape)
        self.assertLessEqual(np.abs(actual - expected).max(), TOLERANCE * np.abs(expected).max())

    def check_all(self, operator, cases):
        # Of two axes the second says nothing about the weight being an input that the first doesn't.
        for (axes, constant), numbers in itertools.product([(1, True), (1, False), (2, True)], cases):
            with self.subTest(operator=operator, axes=axes, constant=constant, numbers=numbers):
                self.check(operator, axes, constant, *numbers)

    def test_transposed(self):
        self.check_all("ConvTranspose", TRANSPOSED)

    def test_forward(self):
        self.check_all("Conv", FORWARD)


if __name__ == "__main__":
    unittest.main()
