# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of the end-to-end tests and inputs for them.

MiniLM-L3 comes from the cache that tools/fetch fills, the small exports of many families from the folder shared/
beside the repository. Where one is missing a test is skipped and says what to do; in CI it fails.
"""

import functools
import os
import pathlib
import subprocess
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

SOURCE = pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"])
SHARED = pathlib.Path(os.environ["HEDDLE_SHARED_DIR"])
BATCHES = (1, 3, 8)
LENGTHS = (1, 7, 16, 128, 250, 512)
# What the compiler can do today.
FAMILIES = ("bert", "distilbert", "vit")


def share(cases):
    """CASES, or the third of them that HEDDLE_TEST_THIRD names: tests/README.md says when."""
    third = os.environ.get("HEDDLE_TEST_THIRD")
    return list(cases)[int(third)::3] if third else list(cases)


def load_share(_loader, tests, _pattern):
    """unittest's load_tests for a long suite: share() of its tests."""
    return unittest.TestSuite(share(test for suite in tests for test in suite))


def missing(message):
    """Skips the test, or fails it in CI, where nothing may be missing."""
    if os.environ.get("CI"):
        raise AssertionError(message)
    raise unittest.SkipTest(message)


def fetched(name):
    """The folder that tools/fetch keeps NAME in."""
    run = subprocess.run([SOURCE / "tools/fetch", "--offline", name], capture_output=True, text=True)
    if run.returncode:
        missing(run.stderr.strip())
    return pathlib.Path(run.stdout.strip())


def minilm():
    """Path of the sentence encoder paraphrase-MiniLM-L3-v2."""
    return fetched("minilm-l3") / "paraphrase-MiniLM-L3-v2.onnx"


def exports():
    """Paths of the small exports of FAMILIES."""
    folders = [folder for family in FAMILIES for folder in sorted(SHARED.glob(f"models/{family}.*"))]
    if not folders:
        missing(f"no models in {SHARED / 'models'}")
    return [folder / "model.onnx" for folder in folders]


@functools.cache
def largest_weight_code():
    """The largest signed weight that onnxruntime multiplies exactly on this CPU.

    Without VNNI it adds two products of bytes in 16 bits, where 255 * 127 * 2 saturates and 255 * 63 * 2 doesn't.
    """
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "probe",
                              [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, 2]),
                               helper.make_tensor_value_info("b", TensorProto.INT8, [2, 1])],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    product = session.run(None, {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)})[0]
    return 127 if product.item() == 255 * 127 * 2 else 63


class Oracle:
    """onnxruntime on one model: the other engine's numbers, with |as_written| those of each node on its own."""

    def __init__(self, model, as_written=False):
        options = onnxruntime.SessionOptions()
        if as_written:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        # Constant weights become unsigned where products of signed ones would saturate: see largest_weight_code.
        options.add_session_config_entry("session.x64quantprecision", "1")
        # Warnings about unused initialisers would drown the test's own output.
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def run(self, feeds):
        return dict(zip(self.outputs, self.session.run(None, feeds)))


def shapes(inputs):
    """(batch, length) pairs to try for a model with these inputs; images have one length."""
    lengths = LENGTHS if "input_ids" in inputs else (0,)
    return [(batch, length) for batch in BATCHES for length in lengths]


def feeds(inputs, batch, length, seed=0):
    """Inputs for BATCH sequences padded on the right to LENGTH, the first one full, the others of random length."""
    random = np.random.default_rng([seed, batch, length])
    if "pixel_values" in inputs:
        return {"pixel_values": random.standard_normal((batch, 3, 32, 32), dtype=np.float32)}
    lengths = np.concatenate([[length], random.integers(1, length + 1, batch - 1)])
    mask = (np.arange(length)[None] < lengths[:, None]).astype(np.int64)
    # 100 is below every vocabulary here. Padding is id 0, as tokenizers have it.
    values = {
        "input_ids": random.integers(5, 100, (batch, length)) * mask,
        "attention_mask": mask,
        "token_type_ids": random.integers(0, 2, (batch, length)),
    }
    return {name: values[name] for name in inputs}


def difference(actual, expected):
    """max|a-b| / max|b|, the measure of every bound here; integers must be equal."""
    if actual.shape != expected.shape:
        raise AssertionError(f"expects shape {expected.shape}, got {actual.shape}")
    if not np.issubdtype(expected.dtype, np.floating):
        return 0.0 if np.array_equal(actual, expected) else np.inf
    if not np.all(np.isfinite(actual)):
        return np.inf
    largest = np.max(np.abs(expected), initial=0.0)
    error = np.max(np.abs(actual.astype(np.float64) - expected), initial=0.0)
    return error / largest if largest else error
