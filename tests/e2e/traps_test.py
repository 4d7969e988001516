# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What traps on a CPU or is undefined in C has a result here, the same computed and folded: division by zero, the least
number by -1, casts of what doesn't fit. What has no result, an id outside its table or a size that overflows, is an
error of the run that says where."""

import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle

TYPES = {np.int8: TensorProto.INT8, np.int16: TensorProto.INT16, np.int32: TensorProto.INT32,
         np.int64: TensorProto.INT64, np.uint8: TensorProto.UINT8, np.uint16: TensorProto.UINT16,
         np.uint32: TensorProto.UINT32, np.uint64: TensorProto.UINT64, np.float16: TensorProto.FLOAT16,
         ml_dtypes.bfloat16: TensorProto.BFLOAT16, np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE,
         np.bool_: TensorProto.BOOL}
INTEGERS = [type for type in TYPES if issubclass(type, np.integer)]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def wrap(value, info):
    """The integer VALUE modulo the range of a type."""
    return (value - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def truncated_quotient(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# By operator and attributes: what an element is, in whole numbers, before it wraps.
DIVISIONS = {("Div", ()): truncated_quotient,
             ("Mod", ()): lambda a, b: 0 if b == 0 else a % b,
             ("Mod", (("fmod", 1),)): lambda a, b: 0 if b == 0 else a - truncated_quotient(a, b) * b}


def edge_pairs(info):
    """Every pair of what may trap, and some that don't, so that vectors hold both."""
    low, high = int(info.min), int(info.max)
    values = sorted({low, low + 1, max(low, -7), max(low, -1), 0, 1, 2, 7, high - 1, high})
    return zip(*[(a, b) for a in values for b in values])


class TrapsTestCase(case.ArtifactTestCase):
    def save(self, nodes, feeds, constants=(), shapes=None):
        """A model of NODES with an output for each that nothing reads."""
        read = {name for node in nodes for name in node.input}
        inputs = [helper.make_tensor_value_info(name, TYPES[array.dtype.type], (shapes or {}).get(name) or
                                                [f"{name}{i}" for i in range(array.ndim)])
                  for name, array in feeds.items()]
        outputs = [onnx.ValueInfoProto(name=name) for node in nodes for name in node.output if name not in read]
        weights = [numpy_helper.from_array(array, name) for name, array in dict(constants).items()]
        graph = helper.make_graph(nodes, "traps", inputs, outputs, weights)
        model, artifact = self.scratch / "traps.onnx", self.scratch / "traps.heddle"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), model)
        return model, artifact

    def run_model(self, nodes, feeds, constants=(), shapes=None):
        model, artifact = self.save(nodes, feeds, constants, shapes)
        command.compile_model(model, artifact)
        with heddle.Program(artifact, threads=1) as program:
            return program.run(feeds)

    def both_ways(self, nodes, feeds):
        """The outputs computed by kernels, which those of constants, folded at compile time, must equal."""
        computed = self.run_model(nodes, feeds)
        # An entry needs an input; nothing reads this one but its own copy.
        witness = {"witness": np.zeros(1, np.float32)}
        folded = self.run_model([*nodes, helper.make_node("Identity", ["witness"], ["copy"])], witness, feeds)
        for name, array in computed.items():
            np.testing.assert_array_equal(folded[name], array, err_msg=f"{name}, folded")
        return computed


class IntegersTest(TrapsTestCase):
    def test_division_by_zero_is_zero_and_the_least_by_minus_one_wraps(self):
        for type in INTEGERS:
            info = np.iinfo(type)
            a, b = (np.array(side, type) for side in edge_pairs(info))
            nodes = [helper.make_node(op, ["a", "b"], [f"y{i}"], **dict(attributes))
                     for i, (op, attributes) in enumerate(DIVISIONS)]
            actual = self.both_ways(nodes, {"a": a, "b": b})
            for i, (kind, formula) in enumerate(DIVISIONS.items()):
                expected = [wrap(formula(int(x), int(y)), info) for x, y in zip(a, b)]
                with self.subTest(type=type.__name__, op=kind):
                    np.testing.assert_array_equal(actual[f"y{i}"], np.array(expected, type))

    def test_the_least_number_wraps_under_abs_and_neg(self):
        for type in (np.int8, np.int16, np.int32, np.int64):
            x = np.array([np.iinfo(type).min, -1, 0, 5], type)
            nodes = [helper.make_node("Abs", ["x"], ["abs"]), helper.make_node("Neg", ["x"], ["neg"])]
            with np.errstate(over="ignore"):
                expected = {"abs": np.abs(x), "neg": -x}
            actual = self.both_ways(nodes, {"x": x})
            for name in expected:
                np.testing.assert_array_equal(actual[name], expected[name], err_msg=f"{type.__name__} {name}")

    def test_remainders_of_floats_by_zero_are_no_numbers(self):
        x = np.array([1, -1, 0, np.inf, np.nan, 5], np.float32)
        y = np.array([0, 0, 0, 2, 2, np.inf], np.float32)
        actual = self.both_ways([helper.make_node("Mod", ["x", "y"], ["z"], fmod=1)], {"x": x, "y": y})
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(actual["z"], np.fmod(x, y))


class CastsTest(TrapsTestCase):
    def test_casts_of_floats_truncate_and_saturate_and_nan_is_zero(self):
        for source in FLOATS:
            x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e10, -1e10, 65504, -129.9, 254.9, 255.9, -0.9, -1, 0.9,
                          127.5, -0.0, 2.0 ** 31, -2.0 ** 31, 2.0 ** 63, -2.0 ** 63, 2.0 ** 64], np.float64)
            with np.errstate(over="ignore"):
                x = x.astype(source)
            nodes = [helper.make_node("Cast", ["x"], [f"y{i}"], to=TYPES[type]) for i, type in enumerate(INTEGERS)]
            actual = self.both_ways(nodes, {"x": x})
            for i, type in enumerate(INTEGERS):
                low, high = int(np.iinfo(type).min), int(np.iinfo(type).max)
                expected = [0 if np.isnan(v) else high if v == np.inf else low if v == -np.inf else
                            min(max(int(v), low), high) for v in x.astype(np.float64)]
                with self.subTest(source=source.__name__, target=type.__name__):
                    np.testing.assert_array_equal(actual[f"y{i}"], np.array(expected, type))

    def test_quantisation_of_what_is_no_number_stays_in_range(self):
        x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0, 1], np.float32)
        constants = {"scale": np.array(0.5, np.float32), "zero": np.array(3, np.uint8)}
        node = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])
        actual = self.run_model([node], {"x": x}, constants)["y"]
        np.testing.assert_array_equal(actual[1:], np.array([255, 0, 255, 0, 3, 5], np.uint8))


class IdsTest(TrapsTestCase):
    """Every operator with ids: the last that is right on either side, and the first that is wrong."""

    DATA = np.arange(12, dtype=np.float32).reshape(3, 4)

    def check(self, node, feeds, lowest, highest, shapes=None):
        """NODE with feeds["ids"]: those from LOWEST to HIGHEST work, one beyond is an error."""
        model, artifact = self.save([node], feeds, shapes=shapes)
        command.compile_model(model, artifact)
        with heddle.Program(artifact, threads=2) as program:
            for good in (lowest, highest):
                program.run({**feeds, "ids": np.full_like(feeds["ids"], good)})
            for bad in (lowest - 1, highest + 1, np.iinfo(np.int64).min, np.iinfo(np.int64).max):
                ids = feeds["ids"].copy()
                ids.flat[-1] = bad
                with self.assertRaises(heddle.Error, msg=f"{node.op_type} with {bad}") as raised:
                    program.run({**feeds, "ids": ids})
                code, message = raised.exception.args
                self.assertEqual(code, "H0309")
                self.assertIn(f"node '{node.name}'", message)
                self.assertIn(f"{bad} is out of range, expects {lowest} to {highest}", message)

    def test_gather(self):
        for axis, extent in ((0, 3), (1, 4)):
            node = helper.make_node("Gather", ["data", "ids"], ["y"], name="lookup", axis=axis)
            self.check(node, {"data": self.DATA, "ids": np.zeros(5, np.int64)}, -extent, extent - 1)

    def test_gather_elements(self):
        node = helper.make_node("GatherElements", ["data", "ids"], ["y"], name="pick", axis=1)
        self.check(node, {"data": self.DATA, "ids": np.zeros((3, 2), np.int64)}, -4, 3)

    def test_gather_nd(self):
        node = helper.make_node("GatherND", ["data", "ids"], ["y"], name="rows")
        feeds = {"data": self.DATA, "ids": np.zeros((5, 1), np.int64)}
        self.check(node, feeds, -3, 2, {"ids": ["n", 1]})

    def test_scatter_nd(self):
        node = helper.make_node("ScatterND", ["data", "ids", "new"], ["y"], name="update")
        feeds = {"data": self.DATA, "ids": np.zeros((2, 1), np.int64), "new": np.ones((2, 4), np.float32)}
        self.check(node, feeds, -3, 2, {"ids": ["n", 1], "new": ["n", 4], "data": ["m", 4]})

    def test_scatter_elements(self):
        node = helper.make_node("ScatterElements", ["data", "ids", "new"], ["y"], name="put", axis=1)
        feeds = {"data": self.DATA, "ids": np.zeros((3, 1), np.int64), "new": np.ones((3, 1), np.float32)}
        self.check(node, feeds, -4, 3, {"ids": ["n", 1], "new": ["n", 1], "data": ["n", 4]})


class SizesTest(TrapsTestCase):
    def refused(self, nodes, feeds, codes, shapes):
        """The run fails with one of CODES, and the program works on."""
        model, artifact = self.save(nodes, feeds, shapes=shapes)
        command.compile_model(model, artifact)
        with heddle.Program(artifact, threads=1) as program:
            with self.assertRaises(heddle.Error) as raised:
                program.run(feeds)
            self.assertIn(raised.exception.args[0], codes, raised.exception.args[1])
            return program.run({**feeds, next(iter(shapes)): np.ones_like(feeds[next(iter(shapes))])})

    def test_sizes_that_overflow_are_errors_of_the_run(self):
        fill = helper.make_node("ConstantOfShape", ["dims"], ["y"], name="fill")
        for dims in ([2 ** 40, 2 ** 40], [2 ** 62, 4], [-1, 3], [np.iinfo(np.int64).min, 2]):
            good = self.refused([fill], {"dims": np.array(dims)}, ("H0307", "H0308"), {"dims": [2]})
            self.assertEqual(good["y"].shape, (1, 1))

    def test_a_size_that_no_memory_holds_is_an_error(self):
        fill = helper.make_node("ConstantOfShape", ["dims"], ["y"], name="fill")
        good = self.refused([fill], {"dims": np.array([2 ** 50])}, ("H0313",), {"dims": [1]})
        self.assertEqual(good["y"].shape, (1,))

    def test_arithmetic_on_sizes_neither_wraps_nor_traps(self):
        shape = helper.make_node("Shape", ["x"], ["s"])
        # Four rows: times 2^62, and more by 2^63 - 1, wrap.
        for op, number in (("Mul", 2 ** 62), ("Add", 2 ** 63 - 1), ("Div", 0), ("Mod", 0)):
            nodes = [shape, helper.make_node(op, ["s", "k"], ["t"], name="size"),
                     helper.make_node("ConstantOfShape", ["t"], ["y"])]
            feeds = {"x": np.zeros(4, np.float32), "k": np.array([number])}
            self.refused(nodes, feeds, ("H0308",), {"k": [1]})


if __name__ == "__main__":
    unittest.main()
