# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every export of every family gives its exporter's numbers for all its inputs, or is refused by name before any code
is made. All attention is raised, and encoders have no kernel that only moves data."""

import json
import unittest

import numpy as np
import onnx

import case
import command
import heddle
import models

BOUND = 1e-5
# Shapes that depend on what kernels compute, by NonZero: the tokens with global attention, those of an expert.
REFUSED = ("longformer", "switch-encoder")
# Encoders whose kernels all compute something: what only moves data is index arithmetic there.
ENCODERS = ("albert", "bert", "clip-vision", "dinov2", "distilbert", "modernbert", "mpnet", "nomic-like", "t5-encoder",
            "vit")
MOVES = {"Concat", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose",
         "Unsqueeze"}


class FamiliesTest(case.ArtifactTestCase):
    def check_numbers(self, model, artifact):
        with heddle.Program(artifact) as program:
            for inputs in sorted(model.parent.glob("inputs_*.npz")):
                expected = np.load(inputs.with_name(inputs.name.replace("inputs", "outputs")))
                actual = program.run(np.load(inputs))
                for name, values in zip(program.outputs, expected.values()):
                    self.assertLessEqual(models.difference(actual[name], values), BOUND, f"{inputs.name} {name}")

    def check(self, model):
        name = model.parent.name
        artifact, report = self.scratch / f"{name}.heddle", self.scratch / f"{name}.json"
        compiled = command.attempt("compile", model, "-o", artifact, "--report", report)
        if name.startswith(REFUSED):
            self.assertEqual(compiled.returncode, 3, compiled.stderr)
            self.assertRegex(compiled.stderr, r"error\[H02\d\d\]: ")
            return
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        self.check_numbers(model, artifact)
        facts = json.loads(report.read_text())
        self.assertEqual([entry for entry in facts["attention"] if not entry["raised"]], [])
        if name.startswith(ENCODERS):
            types = {node.name: node.op_type for node in onnx.load(model, load_external_data=False).graph.node}
            for kernel in facts["kernels"]:
                self.assertFalse({types.get(node) for node in kernel["nodes"]} <= MOVES, kernel["nodes"])

    def test_every_export_gives_its_numbers_or_a_clear_refusal(self):
        exports = sorted(models.SHARED.glob("models/*/model.onnx"))
        if not exports:
            models.missing(f"no models in {models.SHARED / 'models'}")
        for model in models.share(exports):
            with self.subTest(model=model.parent.name):
                self.check(model)


if __name__ == "__main__":
    unittest.main()
