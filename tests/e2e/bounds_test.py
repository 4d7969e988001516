# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large and deep models compile in time that grows with them, and models that claim to be large are refused before
anything is allocated for them. No test asserts a time; each prints its own."""

import resource
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle

# Compiling a small model takes some 100 MB; the address space holds the mapped libraries besides.
ADDRESS_SPACE = 4 << 30
NODES = 3000
WIDTH = 16


def value(name, dims, type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, type, dims)


def field(number, content):
    """A field of a protobuf message that holds the bytes CONTENT."""
    out, length = bytearray(), len(content)
    for rest in ((number << 3) | 2, length):
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out) + content


class BoundsTestCase(case.ArtifactTestCase):
    def save(self, nodes, inputs, outputs, constants=None, opset=18):
        weights = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
        graph = helper.make_graph(nodes, "large", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
        return self.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))

    def write(self, model):
        path = self.scratch / "large.onnx"
        path.write_bytes(model.SerializeToString())
        return path


class LargeGraphsTest(BoundsTestCase):
    def run_model(self, what, nodes, outputs, constants=None, x=None):
        """The outputs of NODES over an input `x` [batch, WIDTH]."""
        x = np.random.default_rng(3).standard_normal((2, WIDTH)).astype(np.float32) if x is None else x
        dims = ["batch", *x.shape[1:]]
        model, artifact = self.save(nodes, [value("x", dims)], outputs, constants), self.scratch / "large.heddle"
        begin = time.monotonic()
        command.compile_model(model, artifact)
        print(f"{what}: {len(nodes)} nodes compiled in {time.monotonic() - begin:.2f} s")
        with heddle.Program(artifact, threads=1) as program:
            return x, program.run({"x": x})

    def chain(self, what, step, reference, constants=None):
        """A chain of NODES nodes, the ith of which STEP makes of two names, against REFERENCE applied as often."""
        names = ["x", *[f"t{i}" for i in range(NODES)]]
        nodes = [step(i, names[i], names[i + 1]) for i in range(NODES)]
        x, actual = self.run_model(what, nodes, names[-1:], constants)
        expected = x.astype(np.float64)
        for i in range(NODES):
            expected = reference(i, expected)
        # As many roundings of f32 as there are nodes, most of which cancel.
        np.testing.assert_allclose(actual[names[-1]], expected, rtol=1e-3, atol=1e-4)

    def test_a_chain_of_sums(self):
        self.chain("sums", lambda i, x, y: helper.make_node("Add", [x, "c"], [y]), lambda i, x: x + 0.5,
                   {"c": np.full(WIDTH, 0.5, np.float32)})

    def test_a_chain_of_products(self):
        random = np.random.default_rng(4)
        rotation = np.linalg.qr(random.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
        self.chain("products", lambda i, x, y: helper.make_node("MatMul", [x, "w"], [y]),
                   lambda i, x: x @ rotation.astype(np.float64), {"w": rotation})

    def test_a_mixed_chain(self):
        random = np.random.default_rng(5)
        w = np.linalg.qr(random.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
        kinds = [("MatMul", ["w"], lambda x: x @ w), ("Add", ["c"], lambda x: x + 0.25),
                 ("Relu", [], lambda x: np.maximum(x, 0)), ("Transpose", [], lambda x: x),
                 ("Softmax", [], lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
                 ("Identity", [], lambda x: x)]

        def step(i, x, y):
            op, more, _ = kinds[i % len(kinds)]
            attributes = {"perm": [0, 1]} if op == "Transpose" else {}
            return helper.make_node(op, [x, *more], [y], **attributes)
        self.chain("mixed", step, lambda i, x: kinds[i % len(kinds)][2](x),
                   {"w": w, "c": np.full(WIDTH, 0.25, np.float32)})

    def test_a_chain_that_reads_every_value_twice(self):
        # Written out as one expression it would have 2^1000 terms.
        nodes, last = [], "x"
        for i in range(NODES // 3):
            nodes += [helper.make_node("Tanh", [last], [f"a{i}"]), helper.make_node("Mul", [f"a{i}", last], [f"b{i}"]),
                      helper.make_node("Sub", [f"a{i}", f"b{i}"], [f"d{i}"])]
            last = f"d{i}"
        x, actual = self.run_model("diamonds", nodes, [last])
        expected = x.astype(np.float64)
        for i in range(NODES // 3):
            expected = np.tanh(expected) * (1 - expected)
        np.testing.assert_allclose(actual[last], expected, rtol=1e-3, atol=1e-4)

    def test_one_input_with_many_readers(self):
        scales = {f"k{i}": np.array(i / NODES, np.float32) for i in range(NODES)}
        nodes = [helper.make_node("Mul", ["x", f"k{i}"], [f"t{i}"]) for i in range(NODES)]
        nodes.append(helper.make_node("Sum", [f"t{i}" for i in range(NODES)], ["y"]))
        x, actual = self.run_model("many readers", nodes, ["y"], scales)
        np.testing.assert_allclose(actual["y"], x.astype(np.float64) * ((NODES - 1) / 2), rtol=1e-4)

    def test_many_outputs(self):
        nodes = [helper.make_node("MatMul" if i % 2 else "Tanh", ["x", "w"] if i % 2 else ["x"], [f"y{i}"])
                 for i in range(1000)]
        w = np.eye(WIDTH, dtype=np.float32)[::-1].copy()
        x, actual = self.run_model("many outputs", nodes, [f"y{i}" for i in range(1000)], {"w": w})
        self.assertEqual(len(actual), 1000)
        np.testing.assert_allclose(actual["y998"], np.tanh(x), rtol=1e-5)
        np.testing.assert_allclose(actual["y999"], x @ w, rtol=1e-5)

    def test_one_node_with_many_operands(self):
        names = [f"x{i}" for i in range(600)]
        feeds = {name: np.full((2, 3), i, np.float32) for i, name in enumerate(names)}
        kinds = {"Concat": ([helper.make_node("Concat", names, ["y"], axis=1)], lambda: np.concatenate(
                     list(feeds.values()), axis=1)),
                 "Sum": ([helper.make_node("Sum", names, ["y"])], lambda: sum(feeds.values())),
                 # What follows a row's kernel ends in it, with an operand each.
                 "Softmax": ([helper.make_node("Softmax", ["x0"], ["s0"], axis=-1)] +
                             [helper.make_node("Add", [f"s{i}", f"x{i + 1}"], [f"s{i + 1}" if i < 598 else "y"])
                              for i in range(599)], lambda: sum(feeds.values()) + np.float32(1 / 3))}
        for kind, (nodes, expected) in kinds.items():
            inputs, artifact = [value(name, ["batch", 3]) for name in names], self.scratch / "operands.heddle"
            command.compile_model(self.save(nodes, inputs, ["y"]), artifact)
            with self.subTest(kind), heddle.Program(artifact, threads=1) as program:
                np.testing.assert_allclose(program.run(feeds)["y"], expected(), rtol=1e-5)

    def test_more_results_than_a_program_holds_are_refused(self):
        names = ["x", *[f"t{i}" for i in range(20000)]]
        nodes = [helper.make_node("MatMul", [names[i], "w"], [names[i + 1]]) for i in range(20000)]
        model = self.save(nodes, [value("x", ["batch", 4])], names[-1:], {"w": np.eye(4, dtype=np.float32)})
        run = command.attempt("compile", model, "-o", self.scratch / "many.heddle")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("intermediate results: 19999, at most 16384 are possible", run.stderr)

    def test_a_chain_of_views(self):
        names = ["x", *[f"t{i}" for i in range(NODES)]]
        kinds = [("Reshape", ["split"], {}), ("Transpose", [], {"perm": [0, 2, 1]}), ("Reshape", ["merge"], {})]
        nodes = []
        for i in range(NODES):
            op, more, attributes = kinds[i % 3]
            nodes.append(helper.make_node(op, [names[i], *more], [names[i + 1]], **attributes))
        constants = {"split": np.array([0, 2, WIDTH // 2]), "merge": np.array([0, WIDTH])}
        x, actual = self.run_model("views", nodes, names[-1:], constants)
        expected = x
        for i in range(NODES // 3):
            expected = expected.reshape(2, 2, WIDTH // 2).transpose(0, 2, 1).reshape(2, WIDTH)
        np.testing.assert_array_equal(actual[names[-1]], expected)

    def test_a_deep_encoder(self):
        layers, heads, random = 200, 2, np.random.default_rng(6)
        constants = {"scale": np.array((WIDTH // heads) ** -0.5, np.float32),
                     "split": np.array([0, 0, heads, WIDTH // heads]), "merge": np.array([0, 0, WIDTH]),
                     "gamma": np.ones(WIDTH, np.float32), "beta": np.zeros(WIDTH, np.float32)}
        nodes, last = [], "x"
        for layer in range(layers):
            def add(op, inputs, name, **attributes):
                nodes.append(helper.make_node(op, inputs, [f"{layer}.{name}"], **attributes))
                return f"{layer}.{name}"

            def dense(x, name):
                constants[f"{layer}.{name}.w"] = (random.standard_normal((WIDTH, WIDTH)) / 4).astype(np.float32)
                return add("MatMul", [x, f"{layer}.{name}.w"], name)
            q, k, v = [add("Transpose", [add("Reshape", [dense(last, name), "split"], f"{name}1")], f"{name}2",
                           perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]) for name in "qkv"]
            scores = add("Mul", [add("MatMul", [q, k], "qk"), "scale"], "scores")
            context = add("MatMul", [add("Softmax", [scores], "p"), v], "pv")
            merged = add("Reshape", [add("Transpose", [context], "c", perm=[0, 2, 1, 3]), "merge"], "m")
            summed = add("Add", [dense(merged, "o"), last], "r")
            last = add("LayerNormalization", [summed, "gamma", "beta"], "n")
        x = random.standard_normal((2, 3, WIDTH)).astype(np.float32)
        _, actual = self.run_model("encoder", nodes, [last], constants, x)
        # 200 layers amplify roundings beyond any bound that says something; a normalised row is sure.
        np.testing.assert_allclose((actual[last].astype(np.float64) ** 2).mean(-1), 1, rtol=1e-3)


class ClaimsTest(BoundsTestCase):
    """Sizes that a file claims and doesn't hold, compiled in 4 GiB of address space."""

    def attempt(self, model):
        path = model if hasattr(model, "read_bytes") else self.write(model)
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))  # noqa: E731
        return subprocess.run([command.HEDDLE, "compile", path, "-o", self.scratch / "claims.heddle"], text=True,
                              capture_output=True, timeout=120, preexec_fn=limit)

    def assert_refused(self, model, text, codes=(3, 5)):
        run = self.attempt(model)
        self.assertIn(run.returncode, codes, run.stderr)
        self.assertRegex(run.stderr, r"error\[H\d{4}\]")
        self.assertIn(text, run.stderr)

    def claim(self, dims, **data):
        """A model whose constant claims DIMS and holds DATA, a field of TensorProto."""
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, **data)
        node = helper.make_node("Add", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "claims", [value("x", ["n"])], [onnx.ValueInfoProto(name="y")], [tensor])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def test_constants_larger_than_the_file(self):
        for dims in ([2 ** 40], [2 ** 31, 2 ** 8], [2 ** 61]):
            self.assert_refused(self.claim(dims, raw_data=b"0123456789"), "tensor 'w'")
            self.assert_refused(self.claim(dims, float_data=[1, 2]), "tensor 'w'")
        for dims in ([2 ** 62, 2], [2 ** 32, 2 ** 32]):
            self.assert_refused(self.claim(dims), "more elements than any file can hold")

    def test_integers_larger_than_the_file(self):
        tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[2 ** 36], int64_data=[1, 2, 3])
        node = helper.make_node("Add", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "claims", [value("x", ["n"], TensorProto.INT64)],
                                  [onnx.ValueInfoProto(name="y")], [tensor])
        self.assert_refused(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                            "doesn't hold 68719476736 numbers")

    def test_attributes_that_make_sizes_overflow(self):
        most, x = 2 ** 63 - 1, value("x", [1, 1, 4, 4])
        kernel = {"w": np.ones((1, 1, 3, 3), np.float32)}
        for attributes, text in (({"output_padding": [0, most]}, "pads and output_padding"),
                                 ({"output_shape": [most, 4]}, "output_shape needs 2 numbers"),
                                 ({"strides": [most, 1]}, "strides, dilations and kernel_shape"),
                                 ({"pads": [0, 0, most, most]}, "pads")):
            node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], name="grow", **attributes)
            self.assert_refused(self.save([node], [x], ["y"], kernel), text)
        for shape, text in (([1, 1, 2 ** 62, 4], "scales make an extent of"),):
            node = helper.make_node("Resize", ["x", "", "scales"], ["y"], name="grow")
            self.assert_refused(self.save([node], [value("x", shape)], ["y"],
                                          {"scales": np.array([1, 1, 8, 8], np.float32)}), text)
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], keep_aspect_ratio_policy="not_smaller")
        self.assert_refused(self.save([node], [x], ["y"], {"sizes": np.array([1, 1, most, most])}), "sizes can't be")

    def test_results_larger_than_memory_are_no_matter_of_the_compiler(self):
        """Large results of small constants are left to the run, which has no memory for them."""
        huge = np.array([2 ** 20, 2 ** 20])
        for name, node in {"fill": helper.make_node("ConstantOfShape", ["huge"], ["t"]),
                           "expand": helper.make_node("Expand", ["one", "huge"], ["t"]),
                           "tile": helper.make_node("Tile", ["one", "huge"], ["t"])}.items():
            nodes = [node, helper.make_node("Add", ["t", "x"], ["y"])]
            model = self.save(nodes, [value("x", [1])], ["y"], {"huge": huge, "one": np.ones((1, 1), np.float32)})
            with self.subTest(name):
                run = self.attempt(model)
                self.assertEqual(run.returncode, 0, run.stderr)
                run = command.attempt("run", self.scratch / "claims.heddle", "--input", "x=1")
                self.assertEqual(run.returncode, 4, run.stderr)
                self.assertIn("error[H0313]", run.stderr)

    def test_branches_within_branches(self):
        end = field(12, onnx.ValueInfoProto(name="y").SerializeToString())
        plain = graph = field(1, helper.make_node("Identity", ["x"], ["y"]).SerializeToString()) + end
        opened = field(11, value("x", ["n"]).SerializeToString()) + field(
            5, numpy_helper.from_array(np.array(True), "c").SerializeToString())
        frame = helper.make_model(onnx.GraphProto(), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        frame.ClearField("graph")
        for depth in range(1, 201):
            # By hand: Python's protobuf itself refuses to nest so deep.
            branches = b"".join(field(5, onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH, i=0)
                                      .SerializeToString() + field(6, branch))
                                for name, branch in (("then_branch", graph), ("else_branch", plain)))
            node = onnx.NodeProto(op_type="If", input=["c"], output=["y"]).SerializeToString() + branches
            graph = field(1, node) + end
            if depth not in (5, 40, 200):
                continue
            path = self.scratch / "nested.onnx"
            path.write_bytes(frame.SerializeToString() + field(7, graph + opened))
            run = self.attempt(path)
            self.assertEqual(run.returncode, 0 if depth == 5 else 5, run.stderr)
            if depth != 5:
                self.assertIn("nested more than 64 deep", run.stderr)

    def test_functions_that_call_functions(self):
        def function(name, *calls):
            nodes = [helper.make_node(call, ["a" if i == 0 else f"t{i}"], [f"t{i + 1}"], domain="local")
                     for i, call in enumerate(calls)]
            return helper.make_function("local", name, ["a"], [f"t{len(calls)}"], nodes,
                                        [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)])
        leaf = helper.make_function("local", "f0", ["a"], ["b"], [helper.make_node("Tanh", ["a"], ["b"])],
                                    [helper.make_opsetid("", 17)])
        # Each calls the one below it: too deep. Each calls it twice: 2^25 nodes from 25 lines. One calls itself.
        for functions in ([function(f"f{i}", f"f{i - 1}") for i in range(1, 60)],
                          [function(f"f{i}", f"f{i - 1}", f"f{i - 1}") for i in range(1, 26)],
                          [function("f1", "f1")]):
            node = helper.make_node(functions[-1].name, ["x"], ["y"], domain="local")
            graph = helper.make_graph([node], "calls", [value("x", ["n"])], [onnx.ValueInfoProto(name="y")])
            model = helper.make_model(graph, functions=[leaf, *functions], ir_version=8,
                                      opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
            self.assert_refused(model, "error[H0518]")


if __name__ == "__main__":
    unittest.main()
