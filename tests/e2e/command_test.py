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

SHAPE = (3, 16)


def chosen():
    """MiniLM and every export; under sanitizers, ten times slower, one export a family."""
    exports = models.exports()
    if os.environ.get("HEDDLE_SANITIZE"):
        families = {model.parent.name.split(".")[0]: model for model in exports}
        return list(families.values())
    return [models.minilm(), *exports]


class CommandTest(case.ArtifactTestCase):
    def run_and_compare(self, model):
        oracle = models.Oracle(model)
        feeds = models.feeds(oracle.inputs, *SHAPE)
        arguments = []
        for name, values in feeds.items():
            np.save(self.scratch / f"{name}.npy", values)
            arguments += ["--input", f"{name}=@{self.scratch / name}.npy"]
        out = self.scratch / "out.npz"
        command.heddle("run", self.artifact(model), *arguments, "--output", out)
        actual = np.load(out)
        for name, values in oracle.run(feeds).items():
            self.assertLessEqual(models.difference(actual[name], values), 1e-5, name)

    def test_compiles_and_runs(self):
        for model in chosen():
            with self.subTest(model=model.parent.name):
                self.run_and_compare(model)

    def test_verifies_against_the_reference(self):
        for model in chosen():
            with self.subTest(model=model.parent.name):
                command.heddle("verify", self.artifact(model), model)

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
