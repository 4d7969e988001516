# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes of com.microsoft's quantised operators, and of the standard's convolutions of integers, give
onnxruntime's numbers, as artifacts and in the reference evaluator.

Floats: 1e-5 of the largest. Integers: equal, but for the operators in STEPS. These go from integers to integers by way
of floats: we take the way that the operator's definition writes (floats, the function, true division, half to even,
zero point), onnxruntime a shorter one (factors joined, the zero point added before rounding, tables of exp), so that a
value halfway between two steps may go to the other one. So may one element in a hundred, by one step.
"""

import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import case
import compiler
import heddle
import models

sys.path.append(str(models.SOURCE / "tests/compiler/reference"))
import evaluate  # noqa: E402

COUNT = 8
TOLERANCE = 1e-5
STEPS = {"QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearAveragePool",
         "QLinearGlobalAveragePool", "QLinearConcat"}
MOVED = 0.01


class Draw:
    """One random node under construction: its inputs in order, None for one that is absent."""

    def __init__(self, op, seed, domain="com.microsoft"):
        self.op, self.domain, self.random = op, domain, np.random.default_rng([seed, len(op)])
        self.inputs, self.constants, self.attributes = [], set(), {}
        self.code = np.dtype(self.among(np.uint8, np.int8))
        self.tolerance = TOLERANCE

    def chance(self, probability):
        return self.random.random() < probability

    def among(self, *options):
        return options[self.random.integers(len(options))]

    def add(self, *arrays, constant=False):
        for array in arrays:
            if constant:
                self.constants.add(len(self.inputs))
            self.inputs.append(None if array is None else np.asarray(array))

    def codes(self, *shape, code=None):
        limits = np.iinfo(code or self.code)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(code or self.code)

    def weights(self, *shape, code):
        """Codes of a product's right side, as large as onnxruntime multiplies exactly."""
        if code != np.int8:
            return self.codes(*shape, code=code)
        limit = models.largest_weight_code()
        return self.random.integers(-limit - 1, limit + 1, shape).astype(np.int8)

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def scale(self, *shape):
        return np.asarray(self.random.uniform(0.01, 0.1, shape)).astype(np.float32)

    def zero(self, *shape, code=None):
        limits = np.iinfo(code or self.code)
        middle = (limits.min + limits.max + 1) // 2
        return np.asarray(self.random.integers(middle - 20, middle + 20, shape)).astype(code or self.code)

    def maybe(self, array, probability=0.5):
        return array if self.chance(probability) else None

    def model(self):
        names = ["" if array is None else f"x{index}" for index, array in enumerate(self.inputs)]
        while names and not names[-1]:
            names.pop()
        # The first dimension of what isn't constant is open.
        inputs = [helper.make_tensor_value_info(
            f"x{index}", helper.np_dtype_to_tensor_dtype(array.dtype),
            [f"d{index}" if not axis and extent > 1 else extent for axis, extent in enumerate(array.shape)])
            for index, array in enumerate(self.inputs) if array is not None and index not in self.constants]
        constants = [numpy_helper.from_array(self.inputs[index], f"x{index}") for index in sorted(self.constants)
                     if self.inputs[index] is not None]
        node = helper.make_node(self.op, names, ["y"], name="node", domain=self.domain, **self.attributes)
        graph = helper.make_graph([node], "graph", inputs, [onnx.ValueInfoProto(name="y")], constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def feeds(self):
        return {f"x{index}": array for index, array in enumerate(self.inputs)
                if array is not None and index not in self.constants}


def draw_product(draw, rows, depth, columns, batch=()):
    """Codes of both sides, and the right one's scale and zero point: for all or for each column."""
    by_column = draw.chance(0.5)
    # onnxruntime multiplies signed bytes by signed ones alone.
    code = np.dtype(np.int8 if draw.code == np.int8 else draw.among(np.uint8, np.int8))
    shape = (columns,) if by_column else draw.among((), (1,))
    return (draw.codes(*batch, rows, depth), draw.weights(depth, columns, code=code), draw.scale(*shape),
            draw.zero(*shape, code=code))


def draw_dynamic(seed):
    draw = Draw("DynamicQuantizeMatMul", seed)
    depth, columns = int(draw.random.integers(1, 70)), int(draw.random.integers(1, 40))
    _, weight, scale, zero = draw_product(draw, 1, depth, columns)
    draw.add(draw.floats(*draw.among((5,), (2, 3)), depth))
    draw.add(weight, scale, draw.maybe(zero), draw.maybe(draw.floats(columns)), constant=draw.chance(0.7))
    return draw


def draw_to_float(seed):
    draw = Draw("MatMulIntegerToFloat", seed)
    depth, columns = int(draw.random.integers(1, 70)), int(draw.random.integers(1, 40))
    codes, weight, scale, zero = draw_product(draw, 4, depth, columns, draw.among((), (2,)))
    draw.add(codes)
    is_constant = draw.chance(0.7)
    draw.add(weight, constant=is_constant)
    draw.add(draw.scale(*draw.among((), (1,))))
    draw.add(scale, constant=is_constant)
    draw.add(draw.maybe(draw.zero()))
    draw.add(draw.maybe(zero), draw.maybe(draw.floats(columns)), constant=is_constant)
    return draw


def draw_gemm(seed):
    draw = Draw("QGemm", seed)
    rows, depth, columns = (int(extent) for extent in draw.random.integers(2, 40, 3))
    codes, weight, scale, zero = draw_product(draw, rows, depth, columns)
    transposes = draw.chance(0.5), draw.chance(0.5)
    draw.attributes.update(transA=int(transposes[0]), transB=int(transposes[1]), alpha=draw.among(1.0, 0.7))
    draw.add(codes.T if transposes[0] else codes, draw.scale(), draw.zero())
    draw.add(weight.T if transposes[1] else weight, scale, zero, constant=draw.chance(0.7))
    draw.add(draw.maybe(draw.random.integers(-9999, 9999, draw.among((columns,), (rows, columns))).astype(np.int32)))
    if draw.chance(0.6):
        draw.add(np.float32(depth * 0.01), draw.zero())
    return draw


def draw_conv(op):
    def make(seed):
        draw = Draw(op, seed, draw_domain(op))
        group, channels, features = draw.among((1, 3, 4), (1, 20, 17), (2, 4, 6), (4, 4, 4))
        kernel = draw.among((3,), (3, 2), (1, 1))
        code = np.dtype(np.int8 if draw.code == np.int8 else draw.among(np.uint8, np.int8))
        codes = draw.codes(2, channels, *([9] * len(kernel)))
        weight = draw.weights(features, channels // group, *kernel, code=code)
        draw.attributes.update(group=group, pads=[1] * (2 * len(kernel)), strides=[draw.among(1, 2)] * len(kernel))
        if op == "ConvInteger":
            draw.code = np.dtype(np.uint8)
            draw.add(codes.view(np.uint8))
            draw.add(weight.view(np.uint8), draw.maybe(draw.zero()), constant=True)
            if draw.inputs[-1] is not None:
                draw.add(draw.maybe(draw.zero()), constant=True)
            return draw
        shape = draw.among((), (features,))
        draw.add(codes)
        draw.add(draw.scale(), draw.zero(), weight, draw.scale(*shape), np.zeros(shape, code), np.float32(2),
                 draw.zero(), draw.maybe(draw.random.integers(-9999, 9999, features).astype(np.int32)), constant=True)
        return draw
    return make


def draw_domain(op):
    return "" if op == "ConvInteger" else "com.microsoft"


def draw_binary(op):
    def make(seed):
        draw = Draw(op, seed)
        right = draw.among((3, 5, 7), (7,), (3, 1, 7), (1,))
        draw.add(draw.codes(3, 5, 7), draw.scale(), draw.zero())
        draw.add(draw.codes(*right), draw.scale(), draw.zero(), constant=draw.chance(0.5))
        draw.add(draw.scale() * 2, draw.zero())
        return draw
    return make


def draw_unary(op, step=0.05, **attributes):
    def make(seed):
        draw = Draw(op, seed)
        draw.attributes.update({name: draw.among(*values) for name, values in attributes.items()})
        draw.add(draw.codes(2, 3, 8, 6), draw.scale(), draw.zero())
        # Probabilities take the whole range from the lowest code on.
        lowest = np.asarray(np.iinfo(draw.code).min, draw.code)
        draw.add(np.float32(step), lowest if op in ("QLinearSoftmax", "QLinearSigmoid") else draw.zero())
        return draw
    return make


def draw_concat(seed):
    draw = Draw("QLinearConcat", seed)
    draw.attributes["axis"] = 1
    draw.add(draw.scale(), draw.zero(), constant=True)
    for columns in draw.random.integers(1, 6, draw.random.integers(1, 4)):
        draw.add(draw.codes(3, columns, 4))
        draw.add(draw.scale(), draw.zero(), constant=True)
    return draw


def draw_linear(op):
    def make(seed):
        draw = Draw(op, seed)
        shape = draw.among((), (5,))
        if shape or draw.chance(0.5):
            draw.attributes["axis"] = 1
        draw.add(draw.floats(3, 5, 4) * 5 if op == "QuantizeLinear" else draw.codes(3, 5, 4))
        draw.add(draw.scale(*shape))
        zero = draw.zero(*shape)
        draw.add(zero if op == "QuantizeLinear" else draw.maybe(zero))
        return draw
    return make


def pack_nibbles(codes):
    """Two to a byte, the first in its low half; the last one alone where they are odd."""
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)])
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)


def draw_few_bits(bits, accuracy, element=np.float32):
    def make(seed):
        draw = Draw("MatMulNBits", seed)
        if element == np.float16:
            draw.tolerance = 1e-3  # half a unit in the last place of the result, and another of onnxruntime's sums
        # Some are larger than what is kept as a literal, with zero points that are so too.
        block, rows = int(draw.among(16, 32, 64)), int(draw.among(draw.random.integers(1, 40), 300))
        missing = int(draw.among(0, draw.random.integers(0, 15)))
        depth = int(draw.among(draw.random.integers(1, 5), 40)) * block - missing
        blocks = -(-depth // block)
        draw.attributes.update(N=rows, K=depth, bits=bits, block_size=block)
        if accuracy:
            draw.attributes["accuracy_level"] = accuracy
        draw.add(draw.floats(*draw.among((4,), (1,), (2, 3)), depth).astype(element))
        codes = draw.random.integers(0, 2**bits, (rows, blocks, block)).astype(np.uint8)
        draw.add(pack_nibbles(codes) if bits == 4 else codes, draw.scale(rows, blocks).astype(element), constant=True)
        # onnxruntime has floats for 4 bits alone, and not where it quantises the left side.
        zeros = draw.among("none", "packed", "packed" if bits == 8 or accuracy else "float")
        points = draw.random.integers(2**bits // 4, 2**bits * 3 // 4, (rows, blocks)).astype(np.uint8)
        draw.add({"none": None, "packed": pack_nibbles(points) if bits == 4 else points,
                  "float": (points + 0.25).astype(element)}[zeros], constant=True)
        draw.add(None, draw.maybe(draw.floats(rows).astype(element)), constant=True)
        return draw
    return make


class QuantizedOperatorsTest(case.ArtifactTestCase):
    def run_heddle(self, draw):
        onnx.save(draw.model(), self.scratch / "node.onnx")
        code, errors = compiler.compile_model(self.scratch / "node.onnx", self.scratch / "node.heddle")
        self.assertEqual(code, 0, errors)
        with heddle.Program(self.scratch / "node.heddle", threads=1) as program:
            return program.run(draw.feeds())["y"]

    def run_reference(self, draws):
        """What the reference evaluator makes of each of DRAWS: an array, or an error's text."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as scratch:
            folders = [pathlib.Path(scratch) / str(index) for index in range(len(draws))]
            jobs = [evaluate.prepare(folder, folder / "node.onnx", draw.feeds().values())
                    for folder, draw in zip(folders, draws)]
            for folder, draw in zip(folders, draws):
                onnx.save(draw.model(), folder / "node.onnx")
            evaluate.evaluate(pathlib.Path(scratch), jobs)
            results = [evaluate.outputs(folder) for folder in folders]
        return [result if isinstance(result, str) else result[0] for result in results]

    def hold(self, make, count=COUNT):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # What the operator says, not what an optimised graph makes of it.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        draws = [make(seed) for seed in range(count)]
        for seed, (draw, reference) in enumerate(zip(draws, self.run_reference(draws))):
            shapes = [None if array is None else (array.dtype.name, array.shape) for array in draw.inputs]
            with self.subTest(op=draw.op, seed=seed, attributes=draw.attributes, inputs=shapes):
                session = onnxruntime.InferenceSession(draw.model().SerializeToString(), options,
                                                       providers=["CPUExecutionProvider"])
                expected, = session.run(None, draw.feeds())
                self.assertNotIsInstance(reference, str, reference)
                # The evaluator writes what it computes in: i64 and f64.
                self.compare(draw, reference.astype(expected.dtype), expected)
                self.compare(draw, self.run_heddle(draw), expected)

    def compare(self, draw, actual, expected):
        self.assertEqual((actual.dtype, actual.shape), (expected.dtype, expected.shape))
        if actual.dtype.kind == "f":
            largest = np.abs(expected).max()
            np.testing.assert_allclose(actual, expected, rtol=0, atol=draw.tolerance * largest)
            return
        steps = np.abs(actual.astype(np.int64) - expected)
        if draw.op in STEPS:
            self.assertLessEqual(steps.max(), 1)
            self.assertLessEqual(np.count_nonzero(steps), max(1, MOVED * steps.size))
        else:
            np.testing.assert_array_equal(actual, expected)

    def test_products(self):
        for make in (draw_dynamic, draw_to_float, draw_gemm):
            self.hold(make, 2 * COUNT)

    def test_convolutions(self):
        for op in ("ConvInteger", "QLinearConv"):
            self.hold(draw_conv(op), 2 * COUNT)

    def test_sums_and_products_of_elements(self):
        for op in ("QLinearAdd", "QLinearMul"):
            self.hold(draw_binary(op))

    def test_functions(self):
        self.hold(draw_unary("QLinearSigmoid", 1 / 256))
        self.hold(draw_unary("QLinearLeakyRelu", alpha=[0.01, 0.2]))
        self.hold(draw_unary("QLinearSoftmax", 1 / 256, opset=[13], axis=[1, 3, -1]))
        self.hold(draw_unary("QLinearSoftmax", 1 / 256, opset=[11], axis=[1, 3]))

    def test_pools(self):
        self.hold(draw_unary("QLinearAveragePool", kernel_shape=[[2, 2], [3, 2]], strides=[[1, 1], [2, 2]],
                             pads=[[0, 0, 0, 0], [1, 1, 1, 1]], count_include_pad=[0, 1]))
        self.hold(draw_unary("QLinearGlobalAveragePool"))

    def test_concatenations(self):
        self.hold(draw_concat)

    def test_quantisation_of_the_other_domain(self):
        for op in ("QuantizeLinear", "DequantizeLinear"):
            self.hold(draw_linear(op))

    def test_weights_of_few_bits(self):
        for bits in (4, 8):
            self.hold(draw_few_bits(bits, accuracy=0), 2 * COUNT)

    def test_weights_of_few_bits_and_floats_of_sixteen(self):
        for bits in (4, 8):
            self.hold(draw_few_bits(bits, accuracy=0, element=np.float16))

    def test_zero_points_between_codes_of_eight_bits(self):
        # onnxruntime refuses them, so the operator's definition is what they are held to.
        draw = Draw("MatMulNBits", 0)
        draw.attributes.update(N=5, K=40, bits=8, block_size=16)
        codes, scales, points = draw.codes(5, 3, 16, code=np.uint8), draw.scale(5, 3), draw.floats(5, 3) + 128
        draw.add(draw.floats(4, 40))
        draw.add(codes, scales, points, constant=True)
        weight = ((codes - points[..., None]) * scales[..., None]).reshape(5, -1)[:, :40]
        self.compare(draw, self.run_heddle(draw), draw.inputs[0] @ weight.T)

    def test_weights_of_few_bits_by_quantised_activations(self):
        for bits in (4, 8):
            self.hold(draw_few_bits(bits, accuracy=4), 2 * COUNT)


    def test_four_bits_of_the_standard(self):
        # Read by a product and elsewhere: K x N in blocks of 16 along K, and N x K with a scale for each row.
        random = np.random.default_rng(0)
        for element, low in ((TensorProto.UINT4, 0), (TensorProto.INT4, -8)):
            codes = random.integers(low, low + 16, (64, 40))
            points = {"blocks": random.integers(low, low + 16, (4, 40)), "rows": random.integers(low, low + 16, 64)}
            scales = {"blocks": random.uniform(0.01, 0.1, (4, 40)), "rows": random.uniform(0.01, 0.1, 64)}
            constants = [helper.make_tensor("w", element, codes.shape, codes.flatten())]
            nodes = [helper.make_node("MatMul", ["x", "blocks"], ["y"]), helper.make_node("Add", ["rows", "b"], ["z"])]
            for name in points:
                constants += [
                    helper.make_tensor(f"{name}_zero", element, points[name].shape, points[name].flatten()),
                    numpy_helper.from_array(scales[name].astype(np.float32), f"{name}_scale")]
                nodes.insert(0, helper.make_node("DequantizeLinear", ["w", f"{name}_scale", f"{name}_zero"], [name],
                                                 axis=0, **({"block_size": 16} if name == "blocks" else {})))
            inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["s", 64]),
                      helper.make_tensor_value_info("b", TensorProto.FLOAT, [40])]
            graph = helper.make_graph(nodes, "graph", inputs, [onnx.ValueInfoProto(name=name) for name in "yz"],
                                      constants)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
            feeds = {"x": random.standard_normal((3, 64)).astype(np.float32),
                     "b": random.standard_normal(40).astype(np.float32)}
            onnx.save(model, self.scratch / "node.onnx")
            code, errors = compiler.compile_model(self.scratch / "node.onnx", self.scratch / "node.heddle")
            self.assertEqual(code, 0, errors)
            with heddle.Program(self.scratch / "node.heddle", threads=1) as program:
                actual = program.run(feeds)
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            for name, expected in zip("yz", session.run(None, feeds)):
                np.testing.assert_allclose(actual[name], expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


if __name__ == "__main__":
    unittest.main()
