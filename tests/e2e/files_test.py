# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What model files may contain beside operators: defaults of inputs, functions, branches, odd names, outputs that are
inputs, data in other files of any size, every element type, empty tensors."""

import concurrent.futures
import os
import shutil
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import compiler
import heddle
import models

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, *dims, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def build(nodes, inputs, outputs, initializers=(), ir_version=8, opsets=(("", 17),), functions=()):
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs), list(initializers))
    imports = [helper.make_opsetid(*opset) for opset in opsets]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=list(functions))


def f32(*values):
    return np.array(values, np.float32)


def make_function(name, nodes, inputs, outputs, overload="", **more):
    function = helper.make_function("custom", name, inputs, outputs, nodes,
                                    [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)], **more)
    if overload:
        function.overload = overload
    return function


def functional():
    """y = -|x| - 3, z = max(x, 1): functions in functions, with attributes, a default and an overload."""
    fill = helper.make_node("Constant", [], ["c"])
    reference = onnx.AttributeProto(name="value_float", ref_attr_name="bias", type=onnx.AttributeProto.FLOAT)
    fill.attribute.append(reference)
    shift = make_function("Shift", [fill, helper.make_node("Add", ["a", "c"], ["b"])], ["a"], ["b"],
                          attribute_protos=[helper.make_attribute("bias", 1.0)])
    inner = helper.make_node("Shift", ["n"], ["b"], domain="custom", name="inner")
    inner.attribute.append(onnx.AttributeProto(name="bias", ref_attr_name="amount", type=onnx.AttributeProto.FLOAT))
    outer = make_function("Outer", [helper.make_node("Abs", ["a"], ["m"]), helper.make_node("Neg", ["m"], ["n"]),
                                    inner], ["a"], ["b"], attributes=["amount"])
    clamp = [make_function("Clamp", [helper.make_node("Constant", [], ["l"], value_float=limit),
                                     helper.make_node(kind, ["a", "l"], ["b"])], ["a"], ["b"], overload=kind)
             for kind, limit in (("Min", -1.0), ("Max", 1.0))]
    call = helper.make_node("Clamp", ["x"], ["z"], domain="custom", overload="Max")
    nodes = [helper.make_node("Outer", ["x"], ["y"], domain="custom", amount=-3.0), call,
             helper.make_node("Shift", ["x"], ["w"], domain="custom")]
    return build(nodes, [value("x", "n")], [value(name, "n") for name in "yzw"], ir_version=10,
                 opsets=[("", 17), ("custom", 1)], functions=[shift, outer, *clamp])


def branches(dims, then, otherwise, *inputs):
    """y = c ? THEN(x) : OTHERWISE(x); the branches have a constant of their own under the same name."""
    def graph(nodes):
        return helper.make_graph(nodes, "branch", [], [value("r", *dims)], [constant("two", np.float32(2))])
    node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=graph(then), else_branch=graph(otherwise))
    return build([node], [value("x", *dims), value("c", kind=BOOL), *inputs], [value("y", *dims)])


def defaulted(ir_version=8):
    nodes = [helper.make_node("Mul", ["x", "scale"], ["scaled"]), helper.make_node("Add", ["scaled", "bias"], ["y"])]
    defaults = [constant("scale", np.float32(2)), constant("bias", f32(10, 20, 30))]
    return build(nodes, [value("scale"), value("x", "n", 3), value("bias", 3)], [value("y", "n", 3)], defaults,
                 ir_version)


class FilesTest(case.ArtifactTestCase):
    def compiled(self, model, *options):
        """The artifact of MODEL, a ModelProto."""
        path = self.scratch / f"{self.id().split('.')[-1]}.onnx"
        path.write_bytes(model.SerializeToString())
        return command.compile_model(path, path.with_suffix(".heddle"), *options)

    def check(self, model, *runs):
        """Each of RUNS is inputs and expected outputs; sums and products of small numbers are exact."""
        with heddle.Program(self.compiled(model)) as program:
            for feeds, expected in runs:
                actual = program.run(feeds)
                for name, array in expected.items():
                    np.testing.assert_array_equal(actual[name], array)
                    self.assertEqual(actual[name].dtype, array.dtype)

    def refused(self, model, words, code=3):
        path = self.scratch / "refused.onnx"
        path.write_bytes(model.SerializeToString())
        run = command.attempt("compile", path, "-o", self.scratch / "refused.heddle")
        self.assertEqual(run.returncode, code, run.stderr)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, run.stderr)
        return run.stderr


class DefaultsTest(FilesTest):
    def test_defaults_stand_until_they_are_overridden(self):
        x = f32([1, 2, 3])
        with heddle.Program(self.compiled(defaulted())) as program:
            self.assertEqual(program.inputs, ["scale", "x", "bias"])
        self.check(defaulted(),
                   ({"x": x}, {"y": f32([12, 24, 36])}),
                   ({"x": x, "scale": np.float32(3)}, {"y": f32([13, 26, 39])}),
                   ({"x": x, "bias": f32(0, 0, 1)}, {"y": f32([2, 4, 7])}),
                   ({"x": x, "scale": np.float32(0), "bias": f32(7, 8, 9)}, {"y": f32([7, 8, 9])}),
                   ({"x": x}, {"y": f32([12, 24, 36])}))

    def test_before_version_4_they_are_constants(self):
        with heddle.Program(self.compiled(defaulted(ir_version=3))) as program:
            self.assertEqual(program.inputs, ["x"])
        self.check(defaulted(ir_version=3), ({"x": f32([1, 2, 3])}, {"y": f32([12, 24, 36])}))

    def test_the_command_knows_them(self):
        artifact = self.compiled(defaulted())
        printed = command.heddle("inspect", artifact).stdout
        self.assertIn("scale f32[], optional, default 2\n", printed)
        self.assertIn("bias f32[3], optional, default [10, 20, 30]\n", printed)
        self.assertIn("x f32[n,3]\n", printed)
        self.assertIn("12, 24, 36", command.heddle("run", artifact, "--input", "x=[[1,2,3]]").stdout)
        given = command.heddle("run", artifact, "--input", "x=[[1,2,3]]", "--input", "scale=0").stdout
        self.assertIn("10, 20, 30", given)
        missing = command.attempt("run", artifact, "--input", "scale=0")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("missing input 'x'", missing.stderr)
        command.heddle("verify", artifact, artifact.with_suffix(".onnx"))
        command.heddle("verify", artifact, artifact.with_suffix(".onnx"), "--input", "x=[[1,2,3],[4,5,6]]")
        command.heddle("verify", artifact, artifact.with_suffix(".onnx"), "--shape", "x=5x3")
        command.heddle("bench", artifact, "--seconds", "0.01")

    def test_sizes_of_defaults_may_be_open(self):
        nodes = [helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0), helper.make_node("Add", ["x", "s"], ["y"])]
        model = build(nodes, [value("x", 2), value("w", "n")], [value("y", 2)], [constant("w", f32(1, 2, 3))])
        self.check(model,
                   ({"x": f32(0, 1)}, {"y": f32(6, 7)}),
                   ({"x": f32(0, 1), "w": f32(1, 1, 1, 1, 1)}, {"y": f32(5, 6)}),
                   ({"x": f32(0, 1), "w": f32()}, {"y": f32(0, 1)}))

    def test_a_shape_that_the_default_does_not_have_makes_the_input_required(self):
        nodes = [helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0), helper.make_node("Add", ["x", "s"], ["y"])]
        model = build(nodes, [value("x", 2), value("w", "n")], [value("y", 2)], [constant("w", f32(1, 2, 3))])
        for size, optional in ((3, True), (4, False)):
            with self.subTest(size=size):
                artifact = self.compiled(model, "--shape", f"w={size}")
                self.assertEqual("optional" in command.heddle("inspect", artifact).stdout, optional)
                with heddle.Program(artifact) as program:
                    given = np.ones(size, np.float32)
                    np.testing.assert_array_equal(program.run({"x": f32(0, 1), "w": given})["y"], f32(size, size + 1))
                    if optional:
                        np.testing.assert_array_equal(program.run({"x": f32(0, 1)})["y"], f32(6, 7))
                    else:
                        with self.assertRaises(heddle.Error):
                            program.run({"x": f32(0, 1)})

    def test_weights_and_shapes_stay_constant_and_the_report_says_so(self):
        weight = np.eye(200, dtype=np.float32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["c"]),
                 helper.make_node("Reshape", ["c", "shape"], ["y"])]
        inputs = [value("x", "n", 200), value("w", 200, 200), value("b", 1), value("shape", 3, kind=INT64)]
        constants = [constant("w", weight), constant("b", f32(1)), constant("shape", np.array([-1, 2, 100]))]
        # One that is no input: else the file is of those that list each weight as an input.
        model = build(nodes, inputs, [value("y", "n", 2, 100)], constants + [constant("unlisted", f32(1))])
        path = self.scratch / "weights.onnx"
        path.write_bytes(model.SerializeToString())
        summary = command.heddle("compile", path, "-o", self.scratch / "weights.heddle").stderr
        self.assertIn("constant w, shape: inputs whose defaults became constant", summary)
        self.assertIn("b f32[1] (optional)", summary)
        with heddle.Program(self.scratch / "weights.heddle") as program:
            self.assertEqual(program.inputs, ["x", "b"])
            x = np.arange(400, dtype=np.float32).reshape(2, 200)
            np.testing.assert_array_equal(program.run({"x": x})["y"], (x + 1).reshape(2, 2, 100))
        every = build(nodes, inputs, [value("y", "n", 2, 100)], constants)
        with heddle.Program(self.compiled(every)) as program:
            self.assertEqual(program.inputs, ["x"])

    def test_wrong_overrides_are_refused(self):
        with heddle.Program(self.compiled(defaulted())) as program:
            for feeds in [{"x": f32([1, 2, 3]), "bias": f32(1, 2)}, {"x": f32([1, 2, 3]), "scale": f32(1)},
                          {"x": f32([1, 2, 3]), "scale": np.float64(1)}, {"scale": np.float32(1)}]:
                with self.assertRaises(heddle.Error):
                    program.run(feeds)


class StructureTest(FilesTest):
    def test_functions_with_attributes_overloads_and_functions(self):
        x = f32(-2, 0, 5)
        self.check(functional(), ({"x": x}, {"y": -np.abs(x) - 3, "z": np.maximum(x, 1), "w": x + 1}))

    def test_an_if_decided_in_the_run(self):
        model = branches(["n", 2], [helper.make_node("Mul", ["x", "two"], ["r"])],
                              [helper.make_node("Sub", ["x", "two"], ["r"])])
        x = f32([1, 2], [3, 4], [5, np.nan])
        self.check(model, ({"x": x, "c": np.array(True)}, {"y": x * 2}), ({"x": x, "c": np.array(False)}, {"y": x - 2}),
                   ({"x": x[:0], "c": np.array(True)}, {"y": x[:0]}))

    def test_branches_may_give_what_lies_outside(self):
        w = f32([5, 6])
        model = branches(["n", 2], [helper.make_node("Identity", ["x"], ["r"])], [])
        next(a for a in model.graph.node[0].attribute if a.name == "else_branch").g.output[0].name = "w"
        model.graph.initializer.append(constant("w", w))
        x = f32([1, 2])
        self.check(model, ({"x": x, "c": np.array(True)}, {"y": x}), ({"x": x, "c": np.array(False)}, {"y": w}))

    def test_an_if_in_an_if_and_in_a_function(self):
        def choice(condition, then, otherwise, output):
            graphs = [helper.make_graph([node], "b", [], [value(node.output[0], "n")]) for node in (then, otherwise)]
            return helper.make_node("If", [condition], [output], then_branch=graphs[0], else_branch=graphs[1])
        abs_, neg, exp = (helper.make_node(kind, ["a"], [kind.lower()]) for kind in ("Abs", "Neg", "Floor"))
        function = make_function("F", [choice("c", choice("d", abs_, neg, "i"), exp, "b")], ["a", "c", "d"], ["b"])
        model = build([helper.make_node("F", ["x", "c", "d"], ["y"], domain="custom")],
                      [value("x", "n"), value("c", kind=BOOL), value("d", kind=BOOL)], [value("y", "n")],
                      opsets=[("", 17), ("custom", 1)], functions=[function])
        x, yes, no = f32(-1.5, 2.5), np.array(True), np.array(False)
        self.check(model, ({"x": x, "c": yes, "d": yes}, {"y": f32(1.5, 2.5)}),
                   ({"x": x, "c": yes, "d": no}, {"y": f32(1.5, -2.5)}),
                   ({"x": x, "c": no, "d": no}, {"y": f32(-2, 2)}))

    def test_branches_of_two_shapes_are_refused(self):
        model = branches(["n", 2], [helper.make_node("ReduceMax", ["x"], ["r"])],
                              [helper.make_node("Neg", ["x"], ["r"])])
        self.refused(model, ["error[H0202]: node 'choice'", "f32[1,1] and f32[?,2]"])
        # One size that only a run knows, against 1: not to be repeated.
        maximum = branches(["n", 1], [helper.make_node("ReduceMax", ["x"], ["r"])],
                           [helper.make_node("Neg", ["x"], ["r"])])
        with heddle.Program(self.compiled(maximum)) as program:
            np.testing.assert_array_equal(program.run({"x": f32([3]), "c": np.array(False)})["y"], f32([-3]))
            np.testing.assert_array_equal(program.run({"x": f32([3]), "c": np.array(True)})["y"], f32([3]))
            for condition in (False, True):
                with self.assertRaises(heddle.Error):
                    program.run({"x": f32([3], [4]), "c": np.array(condition)})
        # Two sizes that only a run knows: an error of that run, never a mixture of both.
        swapped = branches(["n", "m"], [helper.make_node("Transpose", ["x"], ["r"])],
                                [helper.make_node("Neg", ["x"], ["r"])])
        with heddle.Program(self.compiled(swapped)) as program:
            x = np.arange(4, dtype=np.float32).reshape(2, 2)
            np.testing.assert_array_equal(program.run({"x": x, "c": np.array(True)})["y"], x.T)
            with self.assertRaisesRegex(heddle.Error, "node 'choice': expects branches of one shape .* sizes 1 and 4"):
                program.run({"x": x.reshape(1, 4), "c": np.array(True)})

    def test_unsorted_nodes_and_repeated_imports(self):
        nodes = [helper.make_node("Add", ["b", "one"], ["y"]), helper.make_node("Mul", ["a", "two"], ["b"]),
                 helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Constant", [], ["one"], value_float=1.0),
                 helper.make_node("Constant", [], ["two"], value_float=2.0)]
        model = build(nodes, [value("x", 2)], [value("y", 2)],
                      opsets=[("", 17), ("com.acme", 3), ("", 17), ("ai.onnx.ml", 3), ("com.microsoft", 1)])
        self.check(model, ({"x": f32(1, -2)}, {"y": f32(-1, 5)}))

    def test_versions_of_the_format(self):
        for version in range(3, 12):
            with self.subTest(version=version):
                model = build([helper.make_node("Neg", ["x"], ["y"])], [value("x", 2)], [value("y", 2)],
                              ir_version=version)
                self.check(model, ({"x": f32(1, -2)}, {"y": f32(-1, 2)}))

    def test_outputs_that_are_inputs_constants_or_each_other(self):
        nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["again"]),
                 helper.make_node("Identity", ["x"], ["copy"]), helper.make_node("Identity", ["w"], ["w2"])]
        model = build(nodes, [value("x", "n")], [value("y", "n"), value("again", "n"), value("copy", "n"),
                                                 value("x", "n"), value("w", 2), value("w2", 2)],
                      [constant("w", f32(8, 9))])
        x = f32(1, 2, 3)
        self.check(model, ({"x": x}, {"y": -x, "again": -x, "copy": x, "x": x, "w": f32(8, 9), "w2": f32(8, 9)}),
                   ({"x": x[:0]}, {"y": -x[:0], "again": -x[:0], "copy": x[:0], "x": x[:0]}))

    def test_odd_names(self):
        names = ["0", "a b", "ümläut", "输入", "x=1", "x:0", "../x", "%d%s", "\"q\"'", "tab\there", "n" * 5000,
                 "if", "w0"]
        inputs = [value(name, "long dimension name + 1") for name in names]
        node = helper.make_node("Sum", names, ["out\n"], name="node 'with' \"quotes\" and \u202e")
        outputs = [value("out\n", "long dimension name + 1")]
        arrays = {name: f32(i, 1) for i, name in enumerate(names)}
        self.check(build([node], inputs, outputs), (arrays, {"out\n": sum(arrays.values())}))
        artifact = self.compiled(build([node], inputs, outputs))
        command.heddle("inspect", artifact)
        command.heddle("run", artifact, *(f"--input={name}=1,2" for name in names))

    def test_empty_names_of_nodes_and_skipped_outputs(self):
        nodes = [helper.make_node("Dropout", ["x"], ["d", ""]), helper.make_node("Clip", ["d", "", "high"], ["y"])]
        model = build(nodes, [value("x", 3)], [value("y", 3)], [constant("high", np.float32(1))])
        self.check(model, ({"x": f32(0, 1, 2)}, {"y": f32(0, 1, 1)}))

    def test_what_cannot_be_compiled_is_refused_at_once_and_together(self):
        body = helper.make_graph([helper.make_node("Identity", ["k"], ["k2"]), helper.make_node("Neg", ["v"], ["v2"])],
                                 "body", [value("i", kind=INT64), value("k", kind=BOOL), value("v", 2)],
                                 [value("k2", kind=BOOL), value("v2", 2)])
        nodes = [helper.make_node("Loop", ["trips", "", "x"], ["l"], name="loop", body=body),
                 helper.make_node("SequenceConstruct", ["x", "l"], ["s"], name="pack"),
                 helper.make_node("ConcatFromSequence", ["s"], ["c"], name="unpack", axis=0),
                 helper.make_node("NonZero", ["c"], ["nz1"], name="first"),
                 helper.make_node("NonZero", ["x"], ["nz2"], name="second"),
                 helper.make_node("StringNormalizer", ["t"], ["u"], name="text"),
                 helper.make_node("Optional", ["x"], ["o"], name="maybe")]
        model = build(nodes, [value("x", 2), value("trips", kind=INT64), value("t", 1, kind=TensorProto.STRING)],
                      [value("nz1", 1, "k", kind=INT64), value("nz2", 1, "k", kind=INT64)])
        text = self.refused(model, ["operator Loop is not supported: 1 node, 'loop'",
                                    "operator NonZero is not supported: 2 nodes, 'first', 'second'",
                                    "operator SequenceConstruct is not supported", "operator Optional is not supported",
                                    "operator ConcatFromSequence is not supported", "operator StringNormalizer is not"])
        self.assertNotIn("codegen", text)

    def test_other_kinds_of_values_are_refused_by_name(self):
        sequence = build([helper.make_node("Identity", ["s"], ["t"])],
                         [helper.make_tensor_sequence_value_info("s", FLOAT, [2])],
                         [helper.make_tensor_sequence_value_info("t", FLOAT, [2])])
        self.refused(sequence, "error[H0207]: input 's' is no tensor")
        strings = build([helper.make_node("Identity", ["s"], ["t"])], [value("s", 1, kind=TensorProto.STRING)],
                        [value("t", 1, kind=TensorProto.STRING)])
        self.refused(strings, "error[H0206]: input 's' has elements of type string")
        sparse = build([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", 3)], [value("y", 3)])
        sparse.graph.sparse_initializer.append(helper.make_sparse_tensor(
            constant("w", f32(1)), helper.make_tensor("i", INT64, [1], [2]), [3]))
        self.refused(sparse, "error[H0202]: sparse initialisers are not supported: 'w'")


class TypesTest(FilesTest):
    TYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8,
             np.uint16, np.uint32, np.uint64, np.bool_]

    def test_every_element_type_passes_through(self):
        for kind in self.TYPES:
            with self.subTest(kind=np.dtype(kind).name):
                number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
                nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
                         helper.make_node("Concat", ["t", "w"], ["y"], axis=1),
                         helper.make_node("Identity", ["s"], ["r"])]
                w = np.array([[1], [0]]).astype(kind)
                proto = helper.make_tensor("w", number, w.shape, w.tobytes(), raw=True)
                model = build(nodes, [value("x", "n", 2, kind=number), value("s", kind=number)],
                              [value("y", 2, "m", kind=number), value("r", kind=number)], [proto])
                x, s = np.array([[0, 1], [1, 1], [1, 0]]).astype(kind), np.array(1).astype(kind)
                self.check(model, ({"x": x, "s": s}, {"y": np.concatenate([x.T, w], 1), "r": s}),
                           ({"x": x[:0], "s": s}, {"y": w, "r": s}))

    def test_every_element_type_may_have_a_default(self):
        for kind in self.TYPES:
            with self.subTest(kind=np.dtype(kind).name):
                number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
                w = np.array([1, 0]).astype(kind)
                nodes = [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)]
                default = helper.make_tensor("w", number, [2], w.tobytes(), raw=True)
                model = build(nodes, [value("x", "n", kind=number), value("w", "m", kind=number)],
                              [value("y", "k", kind=number)], [default])
                self.check(model, ({"x": w}, {"y": np.concatenate([w, w])}), ({"x": w[:0]}, {"y": w}),
                           ({"x": w, "w": w[:1]}, {"y": np.concatenate([w, w[:1]])}))

    def test_empty_batches_and_scalars(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Softmax", ["a"], ["p"]),
                 helper.make_node("ReduceSum", ["p"], ["total"], keepdims=0),
                 helper.make_node("Mul", ["s", "s"], ["q"])]
        model = build(nodes, [value("x", "n", 4), value("s")], [value("p", "n", 2), value("total"), value("q")],
                      [constant("w", np.ones((4, 2), np.float32))])
        x, half = np.ones((3, 4), np.float32), np.full((3, 2), 0.5, np.float32)
        nine = np.float32(9)
        self.check(model, ({"x": x[:0], "s": np.float32(3)}, {"p": half[:0], "total": np.float32(0), "q": nine}),
                   ({"x": x, "s": np.float32(3)}, {"p": half, "total": np.float32(3), "q": np.float32(9)}))


class ExternalDataTest(FilesTest):
    def external(self, folder, **entries):
        """A model of y = x + w in FOLDER, with w of four floats where ENTRIES say."""
        folder.mkdir(exist_ok=True)
        tensor = TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)
        model = build([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", 4)], [value("y", 4)], [tensor])
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        return folder / "m.onnx"

    def test_offset_and_length_may_be_left_out(self):
        folder = self.scratch / "plain"
        expected = f32(1, 2, 3, 4)
        for entries, data in [({"location": "w.bin"}, expected.tobytes()),
                              ({"location": "w.bin", "offset": "8"}, bytes(8) + expected.tobytes()),
                              ({"location": "w.bin", "length": "16"}, expected.tobytes() + bytes(8)),
                              ({"location": "./w.bin", "offset": "3", "length": "16", "checksum": "00"},
                               bytes(3) + expected.tobytes())]:
            with self.subTest(entries=entries):
                path = self.external(folder, **entries)
                (folder / "w.bin").write_bytes(data)
                artifact = command.compile_model(path, folder / "m.heddle")
                with heddle.Program(artifact) as program:
                    np.testing.assert_array_equal(program.run({"x": f32(0, 0, 0, 0)})["y"], expected)

    def test_what_leads_elsewhere_is_refused(self):
        folder = self.scratch / "guarded"
        folder.mkdir()
        secret = self.scratch / "secret.bin"
        secret.write_bytes(bytes(16))
        (folder / "link.bin").symlink_to(secret)
        os.link(secret, folder / "hard.bin")
        (folder / "inner").symlink_to(self.scratch)
        (folder / "w.bin").write_bytes(bytes(16))
        (folder / "sub").mkdir()
        os.mkfifo(folder / "pipe.bin")
        huge = str(2**64 - 8)
        for entries, words in [
                ({"location": str(secret)}, "absolute paths are not followed"),
                ({"location": "../secret.bin"}, "outside the model's folder"),
                ({"location": "sub/../../secret.bin"}, "outside the model's folder"),
                ({"location": "link.bin"}, "'link.bin' is a symbolic link"),
                ({"location": "inner/secret.bin"}, "'inner' is a symbolic link"),
                ({"location": "hard.bin"}, "several hard links"),
                ({"location": "sub"}, "no regular file"),
                ({"location": "pipe.bin"}, "no regular file"),
                ({"location": ""}, "no location"),
                ({}, "no location"),
                ({"location": "missing.bin"}, "No such file"),
                ({"location": "w.bin", "offset": "8"}, "H0516"),
                ({"location": "w.bin", "offset": "8", "length": "16"}, "past the end"),
                ({"location": "w.bin", "offset": huge, "length": "16"}, "H0516"),
                ({"location": "w.bin", "offset": "-4"}, "H0516"),
                ({"location": "w.bin", "offset": "four"}, "H0516"),
                ({"location": "w.bin", "length": "12"}, "H0515"),
                ({"location": "w.bin", "length": huge}, "H05")]:
            with self.subTest(entries=entries):
                path = self.external(folder, **entries)
                run = command.attempt("compile", path, "-o", folder / "m.heddle")
                self.assertEqual(run.returncode, 5, run.stderr)
                self.assertIn(words, run.stderr)
                self.assertIn("tensor 'w'", run.stderr)

    def test_models_above_two_gigabytes(self):
        folder = self.scratch / "large"
        folder.mkdir()
        rows, width, used = 9_000_000, 64, 64
        tensors = []
        for name, dims, offset in (("table", [rows, width], 0), ("w", [used, used], rows * width * 4)):
            tensor = TensorProto(name=name, data_type=FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
            length = int(np.prod(dims)) * 4
            for key, text in (("location", "m.data"), ("offset", str(offset)), ("length", str(length))):
                tensor.external_data.add(key=key, value=text)
            tensors.append(tensor)
        nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"]),
                 helper.make_node("MatMul", ["rows", "w"], ["y"])]
        model = build(nodes, [value("ids", "n", kind=INT64)], [value("y", "n", used)], tensors)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        # A sparse file: what isn't written takes no place and reads as zeros.
        last = np.arange(width, dtype=np.float32)
        with open(folder / "m.data", "wb") as data:
            data.seek((rows - 1) * width * 4)
            data.write(last.tobytes() + np.eye(used, dtype=np.float32).tobytes())
        if shutil.disk_usage(folder).free < 3 * rows * width * 4:
            models.missing("not enough room for an artifact above 2 GB")
        artifact = command.compile_model(folder / "m.onnx", folder / "m.heddle")
        try:
            self.assertGreater(artifact.stat().st_size, 1 << 31)
            with heddle.Program(artifact) as program:
                actual = program.run({"ids": np.array([rows - 1, 0, -1])})["y"]
            np.testing.assert_array_equal(actual, np.stack([last, 0 * last, last]))
        finally:
            artifact.unlink()


class SameBytesTest(FilesTest):
    def test_any_folder_and_many_threads_give_the_same_bytes(self):
        branch = branches(["n", 2], [helper.make_node("Mul", ["x", "two"], ["r"])],
                               [helper.make_node("Sub", ["x", "two"], ["r"])])
        for name, model in (("functions", functional()), ("branches", branch), ("defaults", defaulted())):
            with self.subTest(name=name):
                first = self.scratch / name
                paths = []
                for number in range(6):
                    folder = self.scratch / ("deeper/" * number) / name
                    folder.mkdir(parents=True, exist_ok=True)
                    paths.append(folder / "model.onnx")
                    paths[-1].write_bytes(model.SerializeToString())
                expected = command.compile_model(paths[0], first / "first.heddle").read_bytes()
                again = command.compile_model(paths[1], first / "again.heddle", "--threads", 1).read_bytes()
                self.assertEqual(again, expected)
                # In one process, all at once: contexts, mapped files and tables are each compilation's own.
                outputs = [path.with_suffix(".heddle") for path in paths]
                with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
                    for code, errors in pool.map(compiler.compile_model, paths, outputs):
                        self.assertEqual(code, 0, errors)
                for output in outputs:
                    self.assertEqual(output.read_bytes(), expected)


if __name__ == "__main__":
    unittest.main()
