# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of operators, as the pinned onnx package ships them, through compiler and runtime.

Each is a model of one node or a few, with inputs and outputs. One whose operators are all imported must give ONNX's
numbers or stand in onnx_operators.refused with the reason; one that stands there and works fails.
`onnx_operators_test.py NAME ...` runs single tests and shows what is wrong with them.
"""

import collections
import functools
import multiprocessing
import pathlib
import re
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnx.numpy_helper

import case
import compiler
import heddle
import models

sys.path.append(str(models.SOURCE / "tests/compiler/reference"))
import evaluate  # noqa: E402
import onnxruntime_test  # noqa: E402

DATA = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
REFUSED = pathlib.Path(__file__).with_name("onnx_operators.refused")
# What passes today may not be lost; raised as operators are added.
LEAST_PASSED = 1186
# The bounds of onnx's runner, and what is left in f32 of sums whose terms cancel, beside the greatest element: ONNX's
# numbers are sums in f64.
RTOL, ATOL, CANCELLED = 1e-3, 1e-7, 1e-6

# A test's outcome: passed, refused (with the error's code and text) or wrong (with what is).
Outcome = collections.namedtuple("Outcome", "name kind code text")


def read_list():
    """Reasons by pattern of the tests' names."""
    reasons = {}
    for line in REFUSED.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition(": ")
            assert reason, f"{REFUSED.name}: expects PATTERN: REASON, got '{line}'"
            reasons[re.compile(pattern)] = reason
    return reasons


def read_tensors(folder, kind):
    """The tensors of KIND, "input" or "output", in order. Raises where one is a sequence or the like."""
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return [onnx.load_tensor(folder / f"{kind}_{number}.pb") for number in range(count)]


def with_constant_parameters(model, tensors):
    """MODEL with its last inputs as constants, as many as are vectors or scalars: axes, sizes and the like, which the
    compiler wants to know. None where there are none, or nothing else."""
    kept = len(tensors)
    while kept and len(tensors[kept - 1].dims) < 2:
        kept -= 1
    if kept == len(tensors):
        return None
    for value, tensor in zip(model.graph.input[kept:], tensors[kept:]):
        tensor.name = value.name
        model.graph.initializer.append(tensor)
    del model.graph.input[kept:]
    return model


def difference(actual, expected):
    """What is wrong with ACTUAL, or None."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    # bfloat16 is of kind V
    is_float = expected.dtype.kind in "fV"
    a, b = (array.astype(np.float64) if is_float else array for array in (actual, expected))
    if is_float:
        largest = np.max(np.abs(b), initial=0, where=np.isfinite(b))
        is_right = np.isclose(a, b, RTOL, ATOL + CANCELLED * largest, equal_nan=True)
    else:
        is_right = a == b
    if np.all(is_right):
        return None
    place = np.unravel_index(np.argmin(is_right), a.shape)
    return f"element {[int(i) for i in place]} is {a[place]}, expected {b[place]}"


def run_model(model, inputs, outputs, scratch):
    """Kind, code and text of an Outcome: MODEL compiled and run."""
    artifact = scratch / "model.heddle"
    code, errors = compiler.compile_model(model, artifact)
    if code:
        found = re.search(r"error\[(H\d+)\]: (.*)", errors)
        return ("refused", found[1], found[2]) if code == 3 and found else ("wrong", "", f"exit code {code}: {errors}")
    arrays = [onnx.numpy_helper.to_array(tensor) for tensor in inputs]
    try:
        with heddle.Program(artifact, threads=1) as program:
            # Inputs that were made constants came last.
            actual = program.run(dict(zip(program.inputs, arrays)))
            for name, tensor in zip(program.outputs, outputs):
                fault = difference(actual[name], onnx.numpy_helper.to_array(tensor))
                if fault:
                    return "wrong", "", f"output {name}: {fault}"
    except heddle.Error as error:
        return "wrong", error.args[0], error.args[1]
    return "passed", "", ""


def run_test(name, scratch):
    """The Outcome of one test."""
    model, data = DATA / name / "model.onnx", DATA / name / "test_data_set_0"
    try:
        inputs, outputs = read_tensors(data, "input"), read_tensors(data, "output")
    except Exception:  # sequences, which protobuf reads as a broken tensor: the compiler refuses the model
        inputs, outputs = [], []
    outcome = run_model(model, inputs, outputs, scratch)
    other = None if outcome[0] == "passed" else with_constant_parameters(onnx.load(model), inputs)
    if other:
        onnx.save(other, scratch / "model.onnx")
        second = run_model(scratch / "model.onnx", inputs, outputs, scratch)
        outcome = second if second[0] == "passed" else outcome
    return Outcome(name, *outcome)


def run_tests(names):
    """Outcomes of all NAMES, by as many processes as there are CPUs."""
    with tempfile.TemporaryDirectory(prefix="heddle-operators-") as scratch, \
            multiprocessing.get_context("fork").Pool(initializer=make_scratch, initargs=(scratch,)) as pool:
        # A compiler that dies takes its worker with it: then the time runs out.
        return pool.map_async(run_in_worker, names, chunksize=8).get(timeout=800)


def make_scratch(parent):
    run_in_worker.scratch = pathlib.Path(tempfile.mkdtemp(dir=parent))


def run_in_worker(name):
    return run_test(name, run_in_worker.scratch)


class OnnxOperatorsTest(unittest.TestCase):
    @functools.cached_property
    def outcomes(self):
        return run_tests(sorted(path.name for path in DATA.iterdir()))

    def test_every_imported_operator_gives_onnx_numbers_or_is_listed(self):
        reasons, counts = read_list(), collections.Counter()
        unused = set(reasons)
        for outcome in self.outcomes:
            listed = [pattern for pattern in reasons if pattern.fullmatch(outcome.name)]
            if outcome.kind != "passed":
                unused -= set(listed)
            # An operator that isn't imported says so by its code; the least count guards those that are.
            is_unknown = outcome.kind == "refused" and outcome.code == "H0201"
            counts["not imported" if is_unknown else outcome.kind] += 1
            with self.subTest(test=outcome.name):
                if outcome.kind == "passed":
                    self.assertEqual(listed, [], "it works: take it off the list")
                elif not is_unknown:
                    self.assertTrue(listed, f"{outcome.kind} {outcome.code} {outcome.text}")
        print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()), file=sys.stderr)
        self.assertEqual({pattern.pattern for pattern in unused}, set(), "no test is refused by these")
        self.assertGreaterEqual(counts["passed"], LEAST_PASSED)


class OnnxruntimeCasesTest(case.ArtifactTestCase):
    """The cases of the reference evaluator, compiled: many of them have symbolic dimensions."""

    def attempt(self, model, feeds):
        """The outputs of MODEL; raises heddle.Error where it is refused, then or when it runs."""
        path, artifact = self.scratch / "case.onnx", self.scratch / "case.heddle"
        onnx.save(model, path)
        code, errors = compiler.compile_model(path, artifact)
        if code:
            raise heddle.Error(code, errors)
        with heddle.Program(artifact, threads=1) as program:
            return list(program.run(dict(zip(program.inputs, feeds))).values())

    def outputs(self, model, feeds):
        try:
            return self.attempt(model, feeds)
        except heddle.Error:
            other = with_constant_parameters(model, [onnx.numpy_helper.from_array(x) for x in feeds])
            if not other:
                raise
            return self.attempt(other, feeds)

    def test_kernels_give_onnxruntimes_values(self):
        onnxruntime_test.OperatorsTest.setUpClass()
        for op, inputs, opset, outputs, tolerance, constants, attributes in onnxruntime_test.CASES:
            model, feeds = onnxruntime_test.make_model(op, inputs, opset, outputs, constants, attributes, ones=True)
            with self.subTest(op=op, shapes=[np.shape(x) for x in inputs], attributes=attributes):
                expected = onnxruntime_test.run(model, feeds)
                for actual, wanted in zip(self.outputs(model, feeds), expected, strict=True):
                    self.assertLessEqual(evaluate.difference(actual, wanted), tolerance)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        with tempfile.TemporaryDirectory() as folder:
            for test in sys.argv[1:]:
                print(*run_test(test, pathlib.Path(folder)))
    else:
        unittest.main()
