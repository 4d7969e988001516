# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights stored as bf16: half the bytes, other engines' numbers within what bf16 keeps, the same bits for a row
whatever its batch; and a clear refusal where a target can't multiply them. What needs the instruction is left out on
machines without it: assembly_test looks at the code on any machine."""

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

# A product of two factors rounded to 8 bits is off by up to 2^-8 of itself; sums average that, three layers add it up.
BOUND = 1e-2
HAS_PAIRS = "avx512_bf16" in open("/proc/cpuinfo").read()


class PrecisionTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.scratch / "bert.onnx"
        onnx.save(bert.Bert(layers=3, width=96, heads=4, hidden=200).build(), cls.model)
        cls.report = cls.scratch / "report.json"
        cls.wide = command.compile_model(cls.model, cls.scratch / "f32.heddle", "--target", "cpu:znver4")
        cls.narrow = command.compile_model(cls.model, cls.scratch / "bf16.heddle", "--target", "cpu:znver4",
                                           "--precision", "bf16", "--report", cls.report)

    def test_weights_of_products_take_half(self):
        report = json.loads(self.report.read_text())
        # Query, key and value are one product; then the output, and two.
        self.assertEqual(report["bf16_weights"], 3 * 4)
        products = 3 * (4 * 96 * 96 + 2 * 96 * 208)
        saved = self.wide.stat().st_size - self.narrow.stat().st_size
        self.assertAlmostEqual(saved, 2 * products, delta=0.1 * products)

    def test_the_artifact_says_so(self):
        options = json.loads(command.heddle("inspect", self.narrow, "--json").stdout)["options"]
        self.assertEqual(options["precision"], "bf16")

    def test_targets_without_the_instruction_are_refused(self):
        for targets in ("cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:znver4,cpu:x86-64-v3"):
            run = command.heddle("compile", self.model, "-o", self.scratch / "no.heddle", "--target", targets,
                                 "--precision", "bf16", expect=2)
            self.assertRegex(run.stderr, r"error\[H0113\]: cpu:x86-64-v[34] can't multiply bf16: it lacks avx512bf16")
            self.assertFalse((self.scratch / "no.heddle").exists())

    @unittest.skipUnless(HAS_PAIRS, "needs avx512_bf16")
    def test_numbers_are_the_other_engines(self):
        oracle = models.Oracle(self.model)
        feeds = models.feeds(oracle.inputs, 2, 40)
        expected = oracle.run(feeds)
        with heddle.Program(self.narrow) as program:
            for name, values in program.run(feeds).items():
                difference = np.abs(values - expected[name]).max() / np.abs(expected[name]).max()
                self.assertLess(difference, BOUND)
                # Not f32 by mistake.
                self.assertGreater(difference, 1e-5)

    @unittest.skipUnless(HAS_PAIRS, "needs avx512_bf16")
    def test_rows_are_invariant(self):
        with heddle.Program(self.narrow) as program:
            batched = models.feeds(program.inputs, 3, 33)
            for name, values in program.run(batched).items():
                for row in range(3):
                    alone = program.run({key: value[row:row + 1] for key, value in batched.items()})[name]
                    self.assertEqual(alone.tobytes(), values[row:row + 1].tobytes())

    @unittest.skipUnless(HAS_PAIRS, "needs avx512_bf16")
    def test_verify_knows_what_to_expect(self):
        self.assertIn("bound 1.0e-02", command.heddle("verify", self.narrow, self.model).stdout)


if __name__ == "__main__":
    unittest.main()
