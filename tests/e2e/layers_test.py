# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A BERT-base-like encoder of twelve layers: how many kernels a layer takes, that none of them moves data only, and
what memory fusion saves."""

import json
import sys
import unittest

import numpy as np
import onnx

import case
import command
import heddle
import models

sys.path.append(str(models.SOURCE / "tools/bench"))
import bert  # noqa: E402

LAYERS, LENGTH = 12, 512
# One product for query, key and value, attention, its output, a norm, two products, a norm.
KERNELS_OF_A_LAYER = 7
# Sums of up to 3,072 terms through twelve layers, against another engine's order.
BOUND = 1e-5


class LayersTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.scratch / "bert.onnx"
        onnx.save(bert.Bert(layers=LAYERS, ties_layers=True).build(), cls.model)
        cls.report = cls.scratch / "report.json"
        cls.fused = command.compile_model(cls.model, cls.scratch / "fused.heddle", "--report", cls.report)

    def arena(self, artifact):
        """Peak bytes of intermediate results for one sequence of LENGTH."""
        shapes = [option for name in ("input_ids", "attention_mask", "token_type_ids")
                  for option in ("--shape", f"{name}=1x{LENGTH}")]
        run = command.heddle("inspect", artifact, "--memory", *shapes, "--json")
        return json.loads(run.stdout)["memory"]["arena_bytes"]

    def test_a_layer_takes_seven_kernels_and_none_that_only_moves(self):
        kernels = json.loads(self.report.read_text())["kernels"]
        # And one for the embeddings and their norm.
        self.assertLessEqual(len(kernels), LAYERS * KERNELS_OF_A_LAYER + 1)
        roots = [kernel["root"] for kernel in kernels]
        self.assertEqual(set(roots), {"contract", "attention", "rowwise"})
        self.assertEqual(roots.count("attention"), LAYERS)
        self.assertEqual(roots.count("contract"), 4 * LAYERS)

    def test_fusion_halves_the_memory(self):
        plain = command.compile_model(self.model, self.scratch / "plain.heddle", "--no-fusion")
        fused, unfused = self.arena(self.fused), self.arena(plain)
        print(f"peak arena at length {LENGTH}: {fused / 1e6:.1f} MB fused, {unfused / 1e6:.1f} MB as written")
        self.assertLessEqual(2 * fused, unfused)

    def test_numbers_are_the_other_engines(self):
        oracle = models.Oracle(self.model)
        feeds = models.feeds(oracle.inputs, 2, 40)
        with heddle.Program(self.fused) as program:
            actual = program.run(feeds)["last_hidden_state"]
        expected = oracle.run(feeds)["last_hidden_state"]
        kept = feeds["attention_mask"].astype(bool)
        self.assertTrue(np.all(np.isfinite(actual)))
        self.assertLessEqual(models.difference(actual[kept], expected[kept]), BOUND)


if __name__ == "__main__":
    unittest.main()
