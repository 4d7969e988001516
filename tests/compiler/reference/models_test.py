# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models: import and reference evaluator against torch's outputs, and MiniLM-L3 against onnxruntime.

Each is evaluated as imported, and again after the passes of the fusion phase, which must not change values. A model
with an operator that isn't imported yet is passed over, but for the families that the compiler must know.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime

import evaluate

TOLERANCE = 1e-5
SOURCE = pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"])
SHARED = pathlib.Path(os.environ["HEDDLE_SHARED_DIR"])
FAMILIES = ("bert.", "distilbert.", "vit.")
PIPELINES = ("", "func.func(nn-fold-constants)", "heddle-fusion-pipeline")


def missing(message):
    """Skips the test, or fails it in CI, where nothing may be missing."""
    if os.environ.get("CI"):
        raise AssertionError(message)
    raise unittest.SkipTest(message)


def input_names(model):
    """The names of MODEL's inputs in its order."""
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in constants]


class ModelsTest(unittest.TestCase):
    def compare(self, cases):
        """CASES: (what, model, inputs by name, first output)."""
        for passes in PIPELINES:
            self.compare_after(passes, cases)

    def compare_after(self, passes, cases):
        """The same after PASSES."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            jobs = [evaluate.prepare(root / str(number), model, [inputs[key] for key in input_names(model)])
                    for number, (_, model, inputs, _) in enumerate(cases)]
            evaluate.evaluate(root, jobs, passes)
            for number, (what, _, _, expected) in enumerate(cases):
                with self.subTest(what, passes=passes):
                    actual = evaluate.outputs(root / str(number))
                    if isinstance(actual, str) and "error[H0201]" in actual and not what.startswith(FAMILIES):
                        continue
                    self.assertNotIsInstance(actual, str, actual)
                    self.assertLessEqual(evaluate.difference(actual[0], expected), TOLERANCE)

    def test_exports_give_torchs_outputs(self):
        cases = []
        for path in sorted(SHARED.glob("models/*/inputs_*.npz")):
            folder = path.parent
            expected = np.load(folder / path.name.replace("inputs", "outputs"))["output"]
            cases.append((f"{folder.name} {path.name}", folder / "model.onnx", dict(np.load(path)), expected))
        if not cases:
            missing(f"no models in {SHARED / 'models'}")
        self.compare(cases)

    def test_minilm_gives_onnxruntimes_outputs(self):
        run = subprocess.run([SOURCE / "tools/fetch", "--offline", "minilm-l3"], capture_output=True, text=True)
        if run.returncode:
            missing(run.stderr.strip())
        model = pathlib.Path(run.stdout.strip()) / "paraphrase-MiniLM-L3-v2.onnx"
        random = np.random.default_rng(3)
        mask = np.ones((2, 128), np.int64)
        mask[1, 57:] = 0
        inputs = {"input_ids": random.integers(0, 30522, (2, 128)), "attention_mask": mask,
                  "token_type_ids": np.zeros((2, 128), np.int64)}
        inputs = {name: inputs[name] for name in input_names(model)}
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self.compare([("MiniLM-L3", model, inputs, session.run(None, inputs)[0])])


if __name__ == "__main__":
    unittest.main()
