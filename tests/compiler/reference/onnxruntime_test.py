# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator on random inputs: import and reference evaluator against onnxruntime.

A case is one node with inputs of small random shapes; float inputs are declared with symbolic dimensions, so that the
evaluator meets shapes that no verifier saw.
"""

import pathlib
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import evaluate

TOLERANCE = 1e-5
random = np.random.default_rng(3)
CASES = []


def f(*shape, low=-3.0, high=3.0, dtype=np.float32):
    """Random floats."""
    return np.asarray(random.uniform(low, high, shape)).astype(dtype)


def i(*shape, low=-5, high=6, dtype=np.int64):
    """Random integers within [low, high)."""
    return np.asarray(random.integers(low, high, shape)).astype(dtype)


def b(*shape):
    """Random bools."""
    return np.asarray(random.integers(0, 2, shape)).astype(bool)


def ints(*values):
    """A vector of int64."""
    return np.array(values, dtype=np.int64)


def case(op, *inputs, opset=20, outputs=1, tolerance=TOLERANCE, constants=(), **attributes):
    """Adds a case; inputs at the positions CONSTANTS become initialisers, None is an absent input."""
    CASES.append((op, inputs, opset, outputs, tolerance, constants, attributes))


def add_elementwise():
    for op in ("Abs", "Neg", "Sign", "Relu", "Reciprocal", "Exp", "Sin", "Cos", "Tanh", "Erf", "Floor", "Ceil", "Round",
               "Sigmoid", "Softplus", "Not"):
        case(op, b(3, 4) if op == "Not" else f(3, 4))
    for op in ("Sqrt", "Log"):
        case(op, f(3, 4, low=0.1))
    case("Round", np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32))
    for dtype in (np.int64, np.int32, np.int8):
        case("Abs", i(3, 4, dtype=dtype))
        case("Neg", i(3, 4, dtype=dtype))
    case("Gelu", f(3, 4))
    case("Gelu", f(3, 4), approximate="tanh")
    case("IsNaN", np.array([1, np.nan, np.inf], np.float32))
    case("IsInf", np.array([1, np.nan, np.inf, -np.inf], np.float32))
    for op in ("Add", "Sub", "Mul", "Div", "Pow"):
        case(op, f(2, 3, 4, low=0.1), f(4, low=0.5))
        case(op, f(2, 1, 4, low=0.1), f(3, 1, low=0.5))
        if op != "Pow":
            case(op, i(3, 4), i(4, low=1), opset=14)
            case(op, i(3, 4, dtype=np.int32), i(3, 1, low=1, dtype=np.int32))
    case("Pow", i(3, 4), i(4, low=0, high=4))
    case("Pow", f(3, 4), i(4, low=0, high=4))
    case("Mod", i(20, low=-9, high=9), i(20, low=1, high=5))
    case("Mod", i(20, low=-9, high=9), i(20, low=-5, high=0))
    case("Mod", f(20), f(20, low=0.5), fmod=1)
    case("Mod", i(20, low=-9, high=9), i(20, low=1, high=5), fmod=1)
    for op in ("Min", "Max", "Sum", "Mean"):
        case(op, f(2, 3), f(3), f(2, 1))
    case("Max", i(2, 3), i(3))
    for op in ("And", "Or", "Xor"):
        case(op, b(2, 3), b(3))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        case(op, i(2, 3), i(3))
    case("BitwiseNot", i(2, 3))
    for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        case(op, i(2, 9, low=0, high=3), i(9, low=0, high=3))
        case(op, f(2, 9), f(9))
    case("Where", b(2, 1), f(2, 3), f(3))
    case("Where", b(2, 3), i(1), i(2, 3))
    case("Clip", f(3, 4), np.float32(-1), np.float32(1))
    case("Clip", f(3, 4), None, np.float32(1))
    case("Clip", i(3, 4), np.int64(-1))


def add_casts():
    floats = np.array([-3.7, -0.5, 0, 0.5, 1.99, 100.25], np.float32)
    for to in ("FLOAT16", "DOUBLE", "INT8", "INT32", "INT64", "BOOL"):
        case("Cast", floats, to=getattr(onnx.TensorProto, to))
    case("Cast", f(50, low=-70000, high=70000), to=onnx.TensorProto.FLOAT16)
    for to in ("FLOAT", "INT8", "UINT8", "INT32", "BOOL", "DOUBLE"):
        case("Cast", ints(-300, -1, 0, 1, 127, 128, 255, 256), to=getattr(onnx.TensorProto, to))
    case("Cast", b(7), to=onnx.TensorProto.FLOAT)
    case("Cast", b(7), to=onnx.TensorProto.INT64)
    case("Cast", f(7, dtype=np.float16), to=onnx.TensorProto.FLOAT)


def add_reductions():
    for op in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum"):
        x = f(2, 3, 4, low=0.1) if op == "LogSum" else f(2, 3, 4)
        case("Reduce" + op, x, ints(1), constants=(1,))
        case("Reduce" + op, x, ints(-1, 0), constants=(1,), keepdims=0)
        case("Reduce" + op, x)
    for op in ("Sum", "Max", "Min", "Prod", "Mean"):
        case("Reduce" + op, i(2, 3, 4, dtype=np.int32), ints(0, 2), constants=(1,))
    for op in ("ArgMax", "ArgMin"):
        case(op, f(3, 5), axis=1)
        case(op, i(3, 9, low=0, high=3), axis=1, keepdims=0, select_last_index=1)
        case(op, f(3, 5), axis=-2)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            case("CumSum", f(2, 5), np.int64(1), constants=(1,), exclusive=exclusive, reverse=reverse)
    case("CumSum", i(2, 5), np.int64(0), constants=(1,))
    for axis in (-1, 0, 1):
        case("Softmax", f(2, 3, 4), axis=axis)
        case("LogSoftmax", f(2, 3, 4), axis=axis)
    case("Softmax", f(2, 3, 4), opset=11)
    case("LayerNormalization", f(2, 3, 8), f(8), f(8))
    case("LayerNormalization", f(2, 3, 8), f(3, 8), axis=1, epsilon=0.1)
    case("RMSNormalization", f(2, 3, 8), f(8), opset=23)


def add_contractions():
    case("MatMul", f(5, 7), f(7, 3))
    case("MatMul", f(2, 1, 5, 7), f(3, 7, 4))
    case("MatMul", f(7), f(2, 7, 3))
    case("MatMul", f(2, 3, 7), f(7))
    case("MatMul", f(7), f(7))
    case("MatMul", f(130, 300), f(300, 140))
    case("MatMul", i(3, 4, dtype=np.int32), i(4, 5, dtype=np.int32))
    for trans_a in (0, 1):
        for trans_b in (0, 1):
            case("Gemm", f(*(7, 5) if trans_a else (5, 7)), f(*(3, 7) if trans_b else (7, 3)), f(3), transA=trans_a,
                 transB=trans_b, alpha=0.5, beta=2.0)
    case("Gemm", f(5, 7), f(7, 3))
    case("Gemm", f(5, 7), f(7, 3), f(5, 1))
    case("Einsum", f(2, 3, 4, 5), f(2, 6, 4, 5), equation="bqhd,bkhd->bhqk")
    case("Einsum", f(2, 3, 4), f(4, 5), equation="...k,kn->...n")
    case("Einsum", f(3, 4), f(4), equation="ij,j")
    case("Einsum", f(3, 3), equation="ii->i")
    case("Einsum", f(2, 3), f(3, 4), f(4), equation="ij, jk, k -> i")
    case("Conv", f(2, 3, 8, 9), f(4, 3, 3, 2), f(4), constants=(1, 2))
    case("Conv", f(2, 3, 8, 8), f(4, 3, 4, 4), constants=(1,), strides=[4, 4])
    case("Conv", f(1, 4, 7, 9), f(6, 2, 3, 3), f(6), constants=(1, 2), group=2, pads=[1, 0, 2, 1], strides=[2, 1],
         dilations=[1, 2])
    case("Conv", f(2, 3, 11), f(5, 3, 4), constants=(1,), pads=[1, 2], strides=[3])
    case("Conv", f(2, 6, 9), f(6, 1, 3), f(6), constants=(1, 2), group=6, pads=[1, 1])
    case("Conv", f(2, 4, 9), f(32, 2, 3), constants=(1,), group=2, dilations=[2])
    case("Conv", f(1, 3, 5, 6, 7), f(2, 3, 2, 3, 2), constants=(1,), strides=[1, 2, 1])
    case("ConvTranspose", f(2, 3, 7), f(3, 4, 3), f(4), constants=(1, 2), strides=[2], pads=[1, 0])
    case("ConvTranspose", f(1, 4, 5, 6), f(4, 3, 3, 2), constants=(1,), group=2, strides=[2, 3], output_padding=[1, 2],
         dilations=[2, 1])
    case("ConvTranspose", f(1, 2, 5), f(2, 3, 4), constants=(1,), pads=[1, 2])


    # Other types; a float16 keeps three digits, of which sums of seven terms lose some more.
    for dtype, tolerance in ((np.float16, 4e-3), (np.float64, 1e-12)):
        case("MatMul", f(2, 5, 7, dtype=dtype), f(7, 3, dtype=dtype), tolerance=tolerance)
        case("Gemm", f(5, 7, dtype=dtype), f(3, 7, dtype=dtype), f(3, dtype=dtype), tolerance=tolerance, transB=1,
             alpha=0.5)
        case("Einsum", f(2, 3, 4, dtype=dtype), f(2, 4, 5, dtype=dtype), tolerance=tolerance, equation="bij,bjk->bki")
    case("Conv", f(1, 3, 8, dtype=np.float16), f(4, 3, 3, dtype=np.float16), tolerance=4e-3, constants=(1,))
    for dtype in (np.int32, np.int64, np.uint32):
        case("MatMul", i(2, 5, 7, low=0, high=9, dtype=dtype), i(7, 3, low=0, high=9, dtype=dtype))


def add_windows():
    x = f(2, 3, 9, 8)
    for op in ("MaxPool", "AveragePool", "LpPool"):
        case(op, x, kernel_shape=[3, 2])
        case(op, x, kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 1, 2])
        case(op, f(1, 2, 13), kernel_shape=[4], strides=[3], dilations=[2], pads=[2, 1])
    for op in ("MaxPool", "AveragePool"):
        case(op, x, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1)
    case("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    case("MaxPool", i(1, 2, 9, dtype=np.int8), kernel_shape=[3], pads=[1, 1])
    case("MaxPool", i(1, 2, 9, low=0, high=200, dtype=np.uint8), kernel_shape=[3], strides=[2])
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        case(op, x)
    for coordinates in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("linear", "cubic"):
            case("Resize", f(1, 2, 5, 4), None, None, ints(1, 2, 8, 7), constants=(3,), mode=mode,
                 coordinate_transformation_mode=coordinates)
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            case("Resize", f(1, 2, 5, 4), None, None, ints(1, 2, 3, 11), constants=(3,), nearest_mode=rounding,
                 coordinate_transformation_mode=coordinates)
    scales = np.array([1, 1, 0.6, 1.7], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        case("Resize", f(1, 2, 5, 6), None, scales, constants=(2,), mode=mode)
    case("Resize", f(1, 2, 9, 6), None, None, ints(1, 2, 4, 5), constants=(3,), mode="cubic", exclude_outside=1,
         cubic_coeff_a=-0.5)
    case("Resize", f(2, 4, 5), None, None, ints(7), constants=(3,), mode="linear", axes=[2])


def add_shapes():
    x = f(2, 3, 4)
    case("Reshape", x, ints(0, -1, 2), constants=(1,))
    case("Reshape", x, ints(4, 6))
    case("Transpose", x)
    case("Transpose", x, perm=[1, 2, 0])
    case("Squeeze", f(1, 3, 1), ints(0, -1), constants=(1,))
    case("Squeeze", np.zeros((1, 3, 1), np.int64))
    case("Unsqueeze", f(3, 4), ints(0, -1), constants=(1,))
    for axis in (0, 1, 2, -1, 3):
        case("Flatten", x, axis=axis)
    case("Expand", f(3, 1), ints(2, 1, 4))
    case("Tile", f(2, 3), ints(2, 3))
    case("Concat", f(2, 3), f(2, 1), f(2, 2), axis=1)
    case("Concat", i(2, 3), i(1, 3), axis=-2)
    case("Split", f(7, 2), opset=18, outputs=3, axis=0, num_outputs=3)
    case("Split", f(2, 6), ints(1, 2, 3), constants=(1,), outputs=3, axis=1)
    case("Slice", f(5, 6), ints(1, -4), ints(4, 1000))
    case("Slice", f(5, 6), ints(-1, 4), ints(-1000, 0), ints(1, 0), ints(-2, -1))
    case("Slice", f(5, 6), ints(100), ints(-100), ints(0), ints(-1))
    case("Shape", x)
    case("Shape", x, start=1, end=-1)
    case("Size", x)
    for mode in ("constant", "reflect", "edge", "wrap"):
        case("Pad", f(4, 5), ints(1, 2, 2, 1), mode=mode)
    case("Pad", f(4, 5), ints(-1, 2, 0, 1), np.float32(7))
    case("Pad", f(4, 5), ints(2, 1), np.float32(7), ints(-1), opset=18)
    for upper in (0, 1):
        for k in (-2, 0, 1):
            case("Trilu", f(2, 3, 4), np.int64(k), upper=upper)
    case("Trilu", i(4, 3))
    case("Range", np.int64(2), np.int64(11), np.int64(3))
    case("Range", np.float32(1), np.float32(-1), np.float32(-0.3))
    case("ConstantOfShape", ints(2, 3), value=helper.make_tensor("", onnx.TensorProto.INT32, [1], [7]))
    case("ConstantOfShape", ints(2, 3))


def add_indexing():
    case("Gather", f(5, 3), i(2, 4, low=-5, high=5))
    case("Gather", f(5, 3), i(2, low=0, high=3), axis=-1)
    case("Gather", i(5), np.int64(-1))
    case("GatherElements", f(4, 5), i(3, 5, low=-4, high=4))
    case("GatherElements", f(4, 5), i(4, 2, low=-5, high=5), axis=1)
    case("GatherND", f(3, 4, 5), i(2, 6, 2, low=-3, high=3))
    case("GatherND", f(3, 4, 5), i(3, 2, 1, low=0, high=4), batch_dims=1)
    for reduction in ("none", "add", "mul", "max", "min"):
        where = np.array([random.permutation(4)[:2] for _ in range(3)])
        case("ScatterElements", f(3, 4), where, f(3, 2), opset=18, axis=1, reduction=reduction)
        case("ScatterND", f(4, 3), np.array([[2], [0]]), f(2, 3), opset=18, reduction=reduction)
    case("OneHot", i(2, 3, low=-6, high=6), np.int64(4), f(2))
    case("OneHot", i(2, 3, low=0, high=4), np.int64(4), i(2), axis=0)
    for largest in (0, 1):
        case("TopK", f(3, 7), ints(3), outputs=2, largest=largest)
        case("TopK", i(7, 3, low=0, high=4), ints(2), outputs=2, axis=0, largest=largest)


def add_quantization():
    scale, zero = f(low=0.01, high=0.1), i(low=0, high=255, dtype=np.uint8)
    case("QuantizeLinear", f(4, 5, low=-20, high=20), scale, zero)
    case("QuantizeLinear", f(4, 5, low=-20, high=20), f(5, low=0.01, high=0.1), i(5, dtype=np.int8), axis=-1)
    case("QuantizeLinear", f(4, 5), scale)
    case("DequantizeLinear", i(4, 5, low=0, high=256, dtype=np.uint8), scale, zero)
    case("DequantizeLinear", i(4, 5, low=-128, high=128, dtype=np.int8), f(4), i(4, dtype=np.int8), axis=0)
    case("DequantizeLinear", i(4, low=-1000, high=1000, dtype=np.int32), f(4), axis=0)
    case("DequantizeLinear", i(4, 6, low=-128, high=128, dtype=np.int8), f(4, 3), opset=21, axis=1, block_size=2)
    case("DynamicQuantizeLinear", f(4, 5), outputs=3)
    case("DynamicQuantizeLinear", f(4, 5, low=1, high=2), outputs=3)
    a, w = i(3, 7, low=0, high=256, dtype=np.uint8), i(7, 4, low=-128, high=128, dtype=np.int8)
    case("MatMulInteger", a, w)
    case("MatMulInteger", a, w, np.uint8(128), i(4, dtype=np.int8))
    x, kernel = i(1, 2, 7, low=0, high=256, dtype=np.uint8), i(4, 2, 3, low=-128, high=128, dtype=np.int8)
    case("ConvInteger", x, kernel, np.uint8(100), constants=(1, 2), pads=[1, 2])
    # A factor of a power of two: no rounding is close enough to a middle to depend on the engine.
    fine, zero_of_w = np.float32(0.125), np.int8(0)
    case("QLinearMatMul", a, fine, np.uint8(128), w, fine, zero_of_w, np.float32(2), np.uint8(100))
    case("QLinearConv", x, fine, np.uint8(100), kernel, np.full(4, 0.25, np.float32), np.zeros(4, np.int8),
         np.float32(4), np.uint8(90), i(4, dtype=np.int32), constants=(1, 2, 3, 4, 5, 6, 7, 8), strides=[2])


def value_info(name, array, ones):
    """The declared type of an input: symbolic dimensions for floats, which no operator needs to know. Extents of 1 are
    symbolic as well, unless ONES: a compiler takes sizes that it doesn't know for equal, not for broadcast."""
    dims = [f"{name}_{axis}" if array.dtype.kind == "f" and not (ones and extent == 1) else extent
            for axis, extent in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)


def make_model(op, inputs, opset, outputs, constants, attributes, ones=False):
    """A model of one node; returns it with the arrays that it is fed."""
    names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
    present = [(index, np.asarray(array)) for index, array in enumerate(inputs) if array is not None]
    results = [f"y{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, name="node", **attributes)], "graph",
        [value_info(names[index], array, ones) for index, array in present if index not in constants],
        [onnx.ValueInfoProto(name=name) for name in results],
        [onnx.numpy_helper.from_array(array, names[index]) for index, array in present if index in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), [a for index, a in present if index not in constants]


def run(model, feeds):
    """onnxruntime's outputs of MODEL."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([argument.name for argument in session.get_inputs()], feeds)))


class OperatorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for add in (add_elementwise, add_casts, add_reductions, add_contractions, add_windows, add_shapes,
                    add_indexing, add_quantization):
            add()

    def test_evaluation_gives_onnxruntimes_values(self):
        self.compare("", folds=False)

    def test_folding_gives_onnxruntimes_values(self):
        # All inputs are initialisers, so each node becomes a constant.
        self.compare("func.func(nn-fold-constants)", folds=True)

    def compare(self, passes, folds):
        """All cases after PASSES; where it FOLDS with every input an initialiser."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            prepared = [self.prepare(root / str(number), folds, *spec) for number, spec in enumerate(CASES)]
            evaluate.evaluate(root, [job for _, job, _ in prepared], passes)
            for spec, (folder, _, expected) in zip(CASES, prepared):
                with self.subTest(op=spec[0], shapes=[np.shape(x) for x in spec[1]], attributes=spec[6]):
                    self.check(evaluate.outputs(folder), expected, spec[4])

    def prepare(self, folder, folds, op, inputs, opset, outputs, tolerance, constants, attributes):
        if folds:
            constants = range(len(inputs))
        model, feeds = make_model(op, inputs, opset, outputs, constants, attributes)
        job = evaluate.prepare(folder, folder / "model.onnx", feeds)
        onnx.save(model, folder / "model.onnx")
        return folder, job, run(model, feeds)

    def check(self, actual, expected, tolerance):
        self.assertNotIsInstance(actual, str, actual)
        self.assertEqual(len(actual), len(expected))
        for one, other in zip(actual, expected):
            self.assertLessEqual(evaluate.difference(one, other), tolerance, f"\n{one}\n{other}")


if __name__ == "__main__":
    unittest.main()
