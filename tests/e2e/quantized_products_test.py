# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of codes, rows and tables that are quantised, weights that stay codes: compiled, run, and held against the
reference evaluator. Integers are equal, whatever their extremes; floats that are sums agree to BOUND."""

import itertools
import sys
import unittest

import numpy as np

import case
import command
import heddle
import models

sys.path.append(str(models.SOURCE / "tests/compiler/reference"))
import evaluate  # noqa: E402

# Sums of up to 100 products of f32, in another order.
BOUND = 1e-5
ELEMENTS = {np.dtype(np.float32): "f32", np.dtype(np.int8): "i8", np.dtype(np.uint8): "ui8", np.dtype(np.int32): "i32",
            np.dtype(np.int64): "i64"}


def tensor(shape, element):
    """The text of a tensor's type; a name in SHAPE is a dynamic extent."""
    return "tensor<" + "".join(f"{extent if isinstance(extent, int) else '?'}x" for extent in shape) + f"{element}>"


class Graph:
    """The text of a model whose constants lie in a file."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.inputs, self.lines, self.data = folder, [], [], b""

    def input(self, name, shape, element):
        self.inputs.append((name, shape, element))
        return f"%{name}"

    def constant(self, values):
        name, type_ = f"%c{len(self.lines)}", tensor(values.shape, ELEMENTS[values.dtype])
        if values.ndim == 0:
            self.lines.append(f"{name} = nn.constant dense<{values}> : {type_}")
        else:
            place = f'#nn.external<"{self.folder}/data", {len(self.data)}, {values.nbytes}>'
            self.lines.append(f"{name} = nn.constant {place} -> {type_}")
            self.data += values.tobytes()
        return name

    def op(self, text, *results):
        """TEXT with the name of its results in front."""
        names = [f"%{result}" for result in results] or [f"%v{len(self.lines)}"]
        self.lines.append(f"{', '.join(names)} = {text}")
        return names if len(names) > 1 else names[0]

    def write(self, outputs):
        """The model's file; OUTPUTS are names of values with shape and element."""
        def attributes(name, shape):
            return f'{{nn.name = "{name}", nn.dims = {list(shape)}}}'.replace("'", '"')
        inputs = ", ".join(f"%{name}: {tensor(shape, element)} {attributes(name, shape)}"
                           for name, shape, element in self.inputs)
        results = ", ".join(f"{tensor(shape, element)} {attributes(name[1:], shape)}"
                            for name, shape, element in outputs)
        body = "\n".join("  " + line for line in self.lines)
        last = f"  return {', '.join(name for name, *_ in outputs)} : " + ", ".join(
            tensor(shape, element) for _, shape, element in outputs)
        (self.folder / "data").write_bytes(self.data)
        path = self.folder / "model.mlir"
        path.write_text(f"func.func @main({inputs}) -> ({results}) {{\n{body}\n{last}\n}}\n")
        return path


class QuantizedProductsTest(case.ArtifactTestCase):
    counter = itertools.count()

    def setUp(self):
        self.random = np.random.default_rng(7)

    def graph(self):
        return Graph(self.scratch / f"model{next(self.counter)}")

    def run_both(self, graph, outputs, feeds):
        """Ours and the evaluator's outputs by name."""
        path = graph.write(outputs)
        with heddle.Program(self.artifact(path)) as program:
            actual = program.run(feeds)
        job = evaluate.prepare(graph.folder / "evaluated", path, [feeds[name] for name, *_ in graph.inputs])
        evaluate.evaluate(graph.folder, [job])
        expected = evaluate.outputs(graph.folder / "evaluated")
        self.assertNotIsInstance(expected, str, expected)
        return actual, {name[1:]: values for (name, *_), values in zip(outputs, expected)}

    def codes(self, shape, dtype):
        """Random codes, the greatest and the least of their type among them."""
        info = np.iinfo(dtype)
        values = self.random.integers(info.min, info.max + 1, shape).astype(dtype)
        ends = self.random.choice([info.min, info.max], shape)
        return np.where(self.random.random(shape) < 0.2, ends, values).astype(dtype)

    def zero(self, graph, kind, dtype, rows, columns, name):
        """A zero point of KIND as (value, type, feeds)."""
        element = ELEMENTS[np.dtype(dtype)]
        if kind == "none":
            return None, None, {}
        if kind == "constant":
            return graph.constant(self.codes((), dtype)), tensor((), element), {}
        if kind == "columns":
            return graph.constant(self.codes((columns,), dtype)), tensor((columns,), element), {}
        shape, extents = ((), ()) if kind == "scalar" else (("b", "s", 1), (*rows, 1))
        return graph.input(name, shape, element), tensor(shape, element), {name: self.codes(extents, dtype)}

    def test_products_of_codes_are_exact(self):
        sides = itertools.product((np.uint8, np.int8), ("none", "constant", "scalar", "rows"), (np.int8, np.uint8),
                                  ("none", "constant", "columns"))
        for number, (left, left_zero, right, right_zero) in enumerate(sides):
            rows, depth, columns = (((2, 3), 33, 20), ((1, 13), 64, 16), ((3, 7), 5, 37))[number % 3]
            with self.subTest(left=left, left_zero=left_zero, right=right, right_zero=right_zero):
                graph = self.graph()
                a, b = ELEMENTS[np.dtype(left)], ELEMENTS[np.dtype(right)]
                x = graph.input("x", ("b", "s", depth), a)
                feeds = {"x": self.codes((*rows, depth), left)}
                w = graph.constant(self.codes((depth, columns), right))
                zeros = ""
                for side, kind, dtype in (("lhs", left_zero, left), ("rhs", right_zero, right)):
                    value, type_, more = self.zero(graph, kind, dtype, rows, columns, f"{side}_zero")
                    feeds |= more
                    zeros += f" {side}_zero_point({value} : {type_})" if value else ""
                types = f"({tensor(('b', 's', depth), a)}, {tensor((depth, columns), b)})"
                result = ("b", "s", columns)
                graph.op(f"nn.matmul_integer {x}, {w}{zeros} : {types} -> {tensor(result, 'i32')}", "y")
                actual, expected = self.run_both(graph, [("%y", result, "i32")], feeds)
                np.testing.assert_array_equal(actual["y"], expected["y"])

    def test_vectors_and_one_zero_point_for_each_row(self):
        for shape, zero in ((("k",), None), (("r", "k"), ("r",))):
            with self.subTest(shape=shape):
                graph = self.graph()
                shape = tuple(70 if extent == "k" else extent for extent in shape)
                x, w = graph.input("x", shape, "i8"), graph.constant(self.codes((70, 19), np.uint8))
                feeds = {"x": self.codes(tuple(5 if extent == "r" else extent for extent in shape), np.int8)}
                zeros = ""
                if zero:
                    zeros = f" lhs_zero_point({graph.input('z', zero, 'i8')} : tensor<?xi8>)"
                    feeds["z"] = self.codes((5,), np.int8)
                result = (*shape[:-1], 19)
                graph.op(f"nn.matmul_integer {x}, {w}{zeros} : ({tensor(shape, 'i8')}, tensor<70x19xui8>) -> "
                         f"{tensor(result, 'i32')}", "y")
                actual, expected = self.run_both(graph, [("%y", result, "i32")], feeds)
                np.testing.assert_array_equal(actual["y"], expected["y"])

    def test_gemms_of_codes(self):
        for by_codes, transpose in itertools.product((False, True), repeat=2):
            with self.subTest(by_codes=by_codes, transpose=transpose):
                graph, shape = self.graph(), (80, "r") if transpose else ("r", 80)
                f32 = tensor(shape, "f32")
                x, w = graph.input("x", shape, "f32"), graph.constant(self.codes((60, 80), np.uint8))
                s, z = graph.constant(np.float32(0.03)), graph.constant(np.uint8(131))
                c = graph.constant(self.random.standard_normal(60).astype(np.float32))
                if by_codes:
                    q = graph.op(f"nn.quantize_linear {x}, {s}, {z} {{axis = 0 : i64, block_size = 0 : i64, to = ui8}} "
                                 f": ({f32}, tensor<f32>, tensor<ui8>) -> {tensor(shape, 'ui8')}")
                    x = graph.op(f"nn.dequantize_linear {q}, {s}, {z} {{axis = 0 : i64, block_size = 0 : i64}} : "
                                 f"({tensor(shape, 'ui8')}, tensor<f32>, tensor<ui8>) -> {f32}")
                v = graph.op(f"nn.dequantize_linear {w}, {s}, {z} {{axis = 0 : i64, block_size = 0 : i64}} : "
                             "(tensor<60x80xui8>, tensor<f32>, tensor<ui8>) -> tensor<60x80xf32>")
                flags = "trans_a, trans_b" if transpose else "trans_b"
                graph.op(f"nn.gemm {x}, {v}, {c} {{{flags}, alpha = 0.5 : f32, beta = 2.0 : f32}} : "
                         f"({f32}, tensor<60x80xf32>, tensor<60xf32>) -> tensor<?x60xf32>", "y")
                extents = (80, 7) if transpose else (7, 80)
                feeds = {"x": self.random.standard_normal(extents).astype(np.float32)}
                actual, expected = self.run_both(graph, [("%y", ("r", 60), "f32")], feeds)
                self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), BOUND)

    def quantize_rows(self, graph, x, shape):
        rows = (*shape[:-1], 1)
        types = ", ".join([tensor(shape, "ui8"), tensor(rows, "f32"), tensor(rows, "ui8")])
        graph.op(f"nn.quantize_rows {x} : ({tensor(shape, 'f32')}) -> ({types})", "q", "s", "z")
        return [("%q", shape, "ui8"), ("%s", rows, "f32"), ("%z", rows, "ui8")]

    def test_rows_are_quantised_by_their_own_range(self):
        for length in (1, 7, 64, 200):
            graph = self.graph()
            x = graph.input("x", ("b", "s", length), "f32")
            outputs = self.quantize_rows(graph, x, ("b", "s", length))
            rows = self.random.standard_normal((4, 5, length)).astype(np.float32)
            rows[0, 0], rows[0, 1], rows[0, 2] = 0, np.abs(rows[0, 1]), -np.abs(rows[0, 2])
            rows[0, 3], rows[0, 4] = 1e-42, rows[0, 4] * np.float32(1e37)
            # Halves of a step: to even.
            rows[1, 0] = np.linspace(0, 255, length, dtype=np.float32).round() / 2
            rows[3, 0, 0], rows[3, 1, -1], rows[3, 2, length // 2] = np.nan, np.inf, -np.inf
            actual, expected = self.run_both(graph, outputs, {"x": rows})
            np.testing.assert_array_equal(actual["s"], expected["s"])
            self.assertTrue(np.isnan(actual["s"][3, :3]).all())
            finite = np.isfinite(expected["s"][..., 0])
            for name in ("q", "z"):
                np.testing.assert_array_equal(actual[name][finite], expected[name][finite])

    def chain(self, reads_norm):
        """A norm whose rows are quantised for a product, and what follows; with READS_NORM all of it is given."""
        graph, shape = self.graph(), ("b", "s", 72)
        x = graph.input("x", shape, "f32")
        g = graph.constant(self.random.random(72).astype(np.float32))
        n = graph.op(f"nn.layer_norm {x}, {g}, {g} {{axis = 2 : i64, epsilon = 1.0e-6 : f32}} : "
                     f"({tensor(shape, 'f32')}, tensor<72xf32>, tensor<72xf32>) -> {tensor(shape, 'f32')}", "n")
        outputs = self.quantize_rows(graph, n, shape)
        w = graph.constant(self.random.standard_normal((72, 40)).astype(np.float32))
        graph.op(f"nn.quantize_weight {w} {{axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8}} : "
                 "(tensor<72x40xf32>) -> (tensor<72x40xi8>, tensor<40xf32>)", "c", "t")
        acc, f32 = tensor(("b", "s", 40), "i32"), tensor(("b", "s", 40), "f32")
        graph.op("nn.matmul_integer %q, %c lhs_zero_point(%z : tensor<?x?x1xui8>) : "
                 f"({tensor(shape, 'ui8')}, tensor<72x40xi8>) -> {acc}", "acc")
        graph.op(f"nn.cast %acc {{to = f32}} : ({acc}) -> {f32}", "f")
        graph.op(f"nn.binary mul %f, %s : ({f32}, tensor<?x?x1xf32>) -> {f32}", "g")
        graph.op(f"nn.binary mul %g, %t : ({f32}, tensor<40xf32>) -> {f32}", "h")
        graph.op(f"nn.unary gelu_erf %h : ({f32}) -> {f32}", "y")
        return graph, [("%y", ("b", "s", 40), "f32")] + ([("%n", shape, "f32")] + outputs) * reads_norm

    def test_norms_quantise_what_they_give(self):
        graph, outputs = self.chain(reads_norm=True)
        x = self.random.standard_normal((3, 9, 72)).astype(np.float32)
        actual, expected = self.run_both(graph, outputs, {"x": x})
        self.assertLessEqual(evaluate.difference(actual["n"], expected["n"]), BOUND)
        # The codes are those of the norm's own rows, bit for bit: quantised by the evaluator.
        alone = self.graph()
        rows = self.quantize_rows(alone, alone.input("x", ("b", "s", 72), "f32"), ("b", "s", 72))
        _, codes = self.run_both(alone, rows, {"x": actual["n"]})
        for name, values in codes.items():
            np.testing.assert_array_equal(actual[name], values)
        # Of 255 steps one may fall to the other side; sums of codes don't hide more.
        self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), 1 / 255)

    def test_rows_depend_on_nothing_else(self):
        graph, outputs = self.chain(reads_norm=False)
        path = graph.write(outputs)
        x = self.random.standard_normal((4, 70, 72)).astype(np.float32)
        results = []
        for threads in (1, 2):
            with heddle.Program(self.artifact(path), threads=threads) as program:
                batched = program.run({"x": x})["y"]
                results.append(batched)
                for row, length in itertools.product(range(4), (1, 9, 70)):
                    alone = program.run({"x": x[row:row + 1, :length]})["y"]
                    self.assertEqual(alone.tobytes(), batched[row:row + 1, :length].tobytes())
        self.assertEqual(results[0].tobytes(), results[1].tobytes())

    def weight_only(self, graph, form, codes, depth, columns):
        """A weight K x N that stays CODES, written as FORM."""
        scale = self.random.random(columns).astype(np.float32)
        element, zero_type = ELEMENTS[codes.dtype], tensor((columns,), ELEMENTS[codes.dtype])
        shape, c = tensor(codes.shape, "f32"), graph.constant(codes)
        if form == "dequantize":
            s, z = graph.constant(scale), graph.constant(self.codes(columns, codes.dtype))
            return graph.op(f"nn.dequantize_linear {c}, {s}, {z} {{axis = 1 : i64, block_size = 0 : i64}} : "
                            f"({tensor(codes.shape, element)}, tensor<{columns}xf32>, {zero_type}) -> {shape}")
        if form == "tensor":
            s = graph.constant(scale[0])
            return graph.op(f"nn.dequantize_linear {c}, {s} {{axis = 0 : i64, block_size = 0 : i64}} : "
                            f"({tensor(codes.shape, element)}, tensor<f32>) -> {shape}")
        # As exporters write it, N x K.
        s = graph.constant(scale[:, None])
        z = graph.constant(self.random.integers(0, 200, (columns, 1)).astype(np.float32))
        f = graph.op(f"nn.cast {c} {{to = f32}} : ({tensor(codes.shape, element)}) -> {shape}")
        d = graph.op(f"nn.binary sub {f}, {z} : ({shape}, tensor<{columns}x1xf32>) -> {shape}")
        m = graph.op(f"nn.binary mul {d}, {s} : ({shape}, tensor<{columns}x1xf32>) -> {shape}")
        return graph.op(f"nn.transpose {m} perm [1, 0] : ({shape}) -> tensor<{depth}x{columns}xf32>")

    def test_weights_that_stay_codes(self):
        for form, dtype in itertools.product(("dequantize", "tensor", "cast"), (np.int8, np.uint8)):
            for rows, depth, columns in ((1, 300, 20), (17, 133, 37)):
                with self.subTest(form=form, dtype=dtype, rows=rows):
                    graph = self.graph()
                    x = graph.input("x", ("r", depth), "f32")
                    shape = (columns, depth) if form == "cast" else (depth, columns)
                    w = self.weight_only(graph, form, self.codes(shape, dtype), depth, columns)
                    graph.op(f"nn.matmul {x}, {w} : (tensor<?x{depth}xf32>, tensor<{depth}x{columns}xf32>) -> "
                             f"tensor<?x{columns}xf32>", "y")
                    feeds = {"x": self.random.standard_normal((rows, depth)).astype(np.float32)}
                    actual, expected = self.run_both(graph, [("%y", ("r", columns), "f32")], feeds)
                    self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), BOUND)

    def test_floats_that_are_codes_on_both_sides(self):
        for left, right, zero in itertools.product((np.int8, np.uint8), (np.int8, np.uint8), (False, True)):
            with self.subTest(left=left, right=right, zero=zero):
                graph, a, b = self.graph(), ELEMENTS[np.dtype(left)], ELEMENTS[np.dtype(right)]
                shape, f32 = ("b", "s", 72), tensor(("b", "s", 72), "f32")
                x, s = graph.input("x", shape, "f32"), graph.constant(np.float32(0.04))
                scale, w = self.random.random(72).astype(np.float32), graph.constant(self.codes((72, 72), right))
                z, t = graph.constant(self.codes((), left)), graph.constant(scale)
                zero_point = (graph.constant(self.codes(72, right)), tensor((72,), b)) if zero else None
                graph.op(f"nn.quantize_linear {x}, {s}, {z} {{axis = 2 : i64, block_size = 0 : i64, to = {a}}} : "
                         f"({f32}, tensor<f32>, tensor<{a}>) -> {tensor(shape, a)}", "q")
                graph.op(f"nn.dequantize_linear %q, {s}, {z} {{axis = 2 : i64, block_size = 0 : i64}} : "
                         f"({tensor(shape, a)}, tensor<f32>, tensor<{a}>) -> {f32}", "f")
                names, types = (", ".join(part) for part in zip(
                    (w, f"tensor<72x72x{b}>"), (t, "tensor<72xf32>"), *([zero_point] if zero else [])))
                graph.op(f"nn.dequantize_linear {names} {{axis = 1 : i64, block_size = 0 : i64}} : ({types}) -> "
                         "tensor<72x72xf32>", "w")
                graph.op(f"nn.matmul %f, %w : ({f32}, tensor<72x72xf32>) -> {f32}", "m")
                graph.op(f"nn.binary add %m, %f : ({f32}, {f32}) -> {f32}", "y")
                feeds = {"x": self.random.standard_normal((2, 9, 72)).astype(np.float32)}
                actual, expected = self.run_both(graph, [("%y", shape, "f32")], feeds)
                self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), BOUND)

    def draw_convolution(self, graph):
        """A convolution in i32 of codes less zero points: its output and what is fed."""
        random, feeds, shapes = self.random, {}, {}

        def centre(name, codes, zero, by_feature):
            """CODES of NAME in i32 less ZERO."""
            element, shape = ELEMENTS[codes.dtype], shapes[name]
            wide = graph.op(f"nn.cast {name} {{to = i32}} : ({tensor(shape, element)}) -> {tensor(shape, 'i32')}")
            if zero == "none":
                return wide
            extents = (codes.shape[0], *[1] * (codes.ndim - 1)) if by_feature and zero == "columns" else ()
            values = self.codes(extents, codes.dtype)
            if zero == "middle":
                values = np.array(128 if codes.dtype == np.uint8 else 0, codes.dtype)
            if zero == "input":
                value = graph.input("z", (), element)
                feeds["z"] = values
            else:
                value = graph.constant(values)
            number = graph.op(f"nn.cast {value} {{to = i32}} : ({tensor(extents, element)}) -> "
                              f"{tensor(extents, 'i32')}")
            return graph.op(f"nn.binary sub {wide}, {number} : ({tensor(shape, 'i32')}, {tensor(extents, 'i32')}) -> "
                            f"{tensor(shape, 'i32')}")

        rank, group = random.choice([1, 2, 2, 3]), random.choice([1, 1, 1, 2])
        channels, features = (int(group * random.choice(counts)) for counts in ([1, 3, 16, 17, 24, 32], [1, 5, 16, 20]))
        kernel, strides = random.choice([1, 2, 3], rank), random.choice([1, 1, 2], rank)
        dilations, pads = random.choice([1, 2], rank), random.choice([0, 1, 2], 2 * rank)
        if random.random() < 0.25:
            kernel[:], strides[:], pads[:] = 1, 1, 0
        extents = [int(extent) for extent in random.integers(7, 10, rank)]
        x = self.codes((2, channels, *extents), random.choice([np.uint8, np.int8]))
        w = self.codes((features, channels // group, *kernel), random.choice([np.uint8, np.int8]))
        shapes[graph.input("x", ("b", *x.shape[1:]), ELEMENTS[x.dtype])] = ("b", *x.shape[1:])
        feeds["x"] = x
        weight = graph.constant(w)
        shapes[weight] = w.shape
        result = ("b", features, *[
            int((extents[i] + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1)
            for i in range(rank)])
        left = centre("%x", x, random.choice(["none", "constant", "input"]), False)
        right = centre(weight, w, random.choice(["none", "middle", "constant", "columns"]), True)
        operands, types = [left, right], [tensor(shapes["%x"], "i32"), tensor(w.shape, "i32")]
        if random.random() < 0.5:
            operands.append(graph.constant(random.integers(-2**31, 2**31, features).astype(np.int32)))
            types.append(tensor((features,), "i32"))
        lists = ", ".join(f"{name} = array<i64: {', '.join(map(str, values))}>" for name, values in
                          (("dilations", dilations), ("pads", pads), ("strides", strides)))
        graph.op(f"nn.conv {', '.join(operands)} {{{lists}, group = {group} : i64}} : ({', '.join(types)}) -> "
                 f"{tensor(result, 'i32')}", "y")
        return [("%y", result, "i32")], feeds

    def test_convolutions_of_codes_are_exact(self):
        for seed in range(24):
            self.random = np.random.default_rng(seed)
            graph = self.graph()
            outputs, feeds = self.draw_convolution(graph)
            with self.subTest(seed=seed, graph=graph.lines):
                actual, expected = self.run_both(graph, outputs, feeds)
                np.testing.assert_array_equal(actual["y"], expected["y"])

    def test_convolutions_of_dequantised_codes(self):
        forms = ((3, "ui8", "i8", "none"), (32, "ui8", "ui8", "scalar"), (16, "i8", "i8", "rows"))
        for depth, left, right, zero in forms:
            with self.subTest(depth=depth, left=left, right=right, zero=zero):
                graph = self.graph()
                x, w = (self.codes(shape, np.uint8 if code == "ui8" else np.int8)
                        for shape, code in (((2, depth, 9, 7), left), ((20, depth, 3, 2), right)))
                name, kind = graph.input("x", ("b", *x.shape[1:]), left), tensor(("b", *x.shape[1:]), "f32")
                s, a = graph.constant(np.array(0.25, np.float32)), graph.constant(self.codes((), x.dtype))
                graph.op(f"nn.dequantize_linear {name}, {s}, {a} {{axis = 1 : i64, block_size = 0 : i64}} : "
                         f"({tensor(('b', *x.shape[1:]), left)}, tensor<f32>, tensor<{left}>) -> {kind}", "l")
                operands = [graph.constant(w), graph.constant(self.random.uniform(0.1, 1, 20).astype(np.float32))]
                types = [tensor(w.shape, right), "tensor<20xf32>"]
                if zero != "none":
                    operands.append(graph.constant(self.codes((), w.dtype) if zero == "scalar" else
                                                   self.codes((20,), w.dtype)))
                    types.append(tensor(() if zero == "scalar" else (20,), right))
                    if zero == "scalar":
                        operands[1], types[1] = graph.constant(np.array(0.5, np.float32)), "tensor<f32>"
                graph.op(f"nn.dequantize_linear {', '.join(operands)} {{axis = 0 : i64, block_size = 0 : i64}} : "
                         f"({', '.join(types)}) -> {tensor(w.shape, 'f32')}", "r")
                bias = graph.constant(self.random.standard_normal(20).astype(np.float32))
                result = ("b", 20, 9, 3)
                graph.op(f"nn.conv %l, %r, {bias} {{dilations = array<i64: 1, 2>, group = 1 : i64, "
                         f"pads = array<i64: 1, 0, 1, 1>, strides = array<i64: 1, 2>}} : ({kind}, "
                         f"{tensor(w.shape, 'f32')}, tensor<20xf32>) -> {tensor(result, 'f32')}", "y")
                actual, expected = self.run_both(graph, [("%y", result, "f32")], {"x": x})
                self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), BOUND)

    def test_codes_with_scales_of_blocks(self):
        for code, rows, depth, columns, block in (("i4", 1, 96, 20, 32), ("i4", 9, 72, 16, 32), ("i4", 2, 34, 37, 8),
                                                  ("i8", 1, 96, 20, 32), ("i8", 9, 72, 16, 32), ("i8", 5, 33, 37, 7)):
            with self.subTest(code=code, depth=depth, block=block):
                graph = self.graph()
                x = graph.input("x", ("r", depth), "f32")
                w = graph.constant(self.random.standard_normal((depth, columns)).astype(np.float32))
                blocks = -(-depth // block)
                graph.op(f"nn.quantize_weight {w} {{axis = 1 : i64, block_size = {block} : i64, to = {code}}} : "
                         f"(tensor<{depth}x{columns}xf32>) -> "
                         f"(tensor<{depth}x{columns}x{code}>, tensor<{blocks}x{columns}xf32>)", "c", "t")
                graph.op(f"nn.dequantize_linear %c, %t {{axis = 0 : i64, block_size = {block} : i64}} : "
                         f"(tensor<{depth}x{columns}x{code}>, tensor<{blocks}x{columns}xf32>) -> "
                         f"tensor<{depth}x{columns}xf32>", "w")
                graph.op(f"nn.matmul {x}, %w : (tensor<?x{depth}xf32>, tensor<{depth}x{columns}xf32>) -> "
                         f"tensor<?x{columns}xf32>", "y")
                feeds = {"x": self.random.standard_normal((rows, depth)).astype(np.float32)}
                actual, expected = self.run_both(graph, [("%y", ("r", columns), "f32")], feeds)
                self.assertLessEqual(evaluate.difference(actual["y"], expected["y"]), BOUND)

    def test_tables_that_stay_codes(self):
        graph = self.graph()
        ids = graph.input("ids", ("r",), "i64")
        w = graph.constant(self.random.standard_normal((100, 24)).astype(np.float32))
        graph.op(f"nn.quantize_weight {w} {{axis = 0 : i64, block_size = 0 : i64, to = i8}} : (tensor<100x24xf32>) -> "
                 "(tensor<100x24xi8>, tensor<100xf32>)", "c", "t")
        graph.op("nn.dequantize_linear %c, %t {axis = 0 : i64, block_size = 0 : i64} : "
                 "(tensor<100x24xi8>, tensor<100xf32>) -> tensor<100x24xf32>", "w")
        graph.op(f"nn.gather %w, {ids} {{axis = 0 : i64}} : (tensor<100x24xf32>, tensor<?xi64>) -> tensor<?x24xf32>",
                 "y")
        feeds = {"ids": np.array([0, 99, -1, -100, 7], np.int64)}
        actual, expected = self.run_both(graph, [("%y", ("r", 24), "f32")], feeds)
        np.testing.assert_array_equal(actual["y"], expected["y"])
        with heddle.Program(self.artifact(graph.folder / "model.mlir")) as program:
            with self.assertRaisesRegex(heddle.Error, "100"):
                program.run({"ids": np.array([100], np.int64)})


if __name__ == "__main__":
    unittest.main()
