# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The main job as a user does it, by the command alone: compile, run, verify against the reference evaluator. Runs
under the sanitizers too, where a library can't be loaded into Python."""

import os
import unittest

import numpy as np
import onnx

import case
import command
import models

# (batch, length) for the reference evaluator's plain loops; numbers_test.py has the long ones, against onnxruntime.
SHAPES = ((1, 1), (3, 16), (8, 31))


def chosen():
    """MiniLM and every export; under sanitizers, ten times slower, one export a family."""
    exports = models.exports()
    if os.environ.get("HEDDLE_SANITIZE"):
        families = {model.parent.name.split(".")[0]: model for model in exports}
        return list(families.values())
    return [models.minilm(), *exports]


class CommandTest(case.ArtifactTestCase):
    def arguments(self, feeds):
        """--input options for FEEDS, which are saved to files."""
        for name, values in feeds.items():
            np.save(self.scratch / f"{name}.npy", values)
        return [f"--input={name}=@{self.scratch / name}.npy" for name in feeds]

    def run_and_compare(self, model):
        oracle, out = models.Oracle(model), self.scratch / "out.npz"
        feeds = models.feeds(oracle.inputs, *SHAPES[1])
        command.heddle("run", self.artifact(model), *self.arguments(feeds), "--output", out)
        actual = np.load(out)
        for name, values in oracle.run(feeds).items():
            self.assertLessEqual(models.difference(actual[name], values), 1e-5, name)

    def test_compiles_and_runs(self):
        for model in chosen():
            with self.subTest(model=model.parent.name):
                self.run_and_compare(model)

    def test_verifies_against_the_reference(self):
        for model in chosen():
            for shape in SHAPES:
                with self.subTest(model=model.parent.name, shape=shape):
                    feeds = models.feeds(models.Oracle(model).inputs, *shape)
                    command.heddle("verify", self.artifact(model), model, *self.arguments(feeds))

    def test_verify_finds_a_changed_weight(self):
        original = models.exports()[0]
        changed = onnx.load(original)
        weight = next(value for value in changed.graph.initializer if len(value.dims) == 2)
        array = onnx.numpy_helper.to_array(weight) * np.float32(1.01)
        weight.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))
        onnx.save(changed, self.scratch / "changed.onnx")
        command.heddle("verify", self.artifact(original), self.scratch / "changed.onnx", expect=1)


if __name__ == "__main__":
    unittest.main()
