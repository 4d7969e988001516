# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random norms and activations in random spellings are raised and give the same; look-alikes stay as they are.

Models are ONNX files. The reference evaluates them as they are written and after the fusion phase. It computes in
double precision and rounds to f32 where the model has f32: results differ by the order of roundings, which the bound
of 2e-5 of the largest element allows for. f16 results may land on neighbouring numbers, 2^-10 apart.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"])
sys.path[:0] = [str(SOURCE / "tests/compiler/reference"), str(SOURCE / "tests/compiler/transforms/fusion")]
import evaluate  # noqa: E402
import spellings  # noqa: E402

HEDDLE = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "bin/heddle"
GRAPHS = 120
LOOK_ALIKES = 64
RAISED = re.compile(r"nn\.raised = \{([^}]*)\}")


def raised(model, folder):
    """What the fusion phase counts: {"layer_norm": 1}."""
    output = folder / "fusion.mlir"
    subprocess.run([HEDDLE, "compile", model, "--compile-to", "fusion", "-o", output], check=True, capture_output=True)
    found = RAISED.search(output.read_text())
    entries = found[1].split(", ") if found else []
    return {entry.split(" = ")[0]: int(entry.split(" = ")[1].split(" ")[0]) for entry in entries}


class RaiseTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def models(self, cases):
        """The files of CASES, which are built."""
        for number, spelling in enumerate(cases):
            spelling.build().save(self.folder / f"{number}.onnx")
            yield number, spelling, self.folder / f"{number}.onnx"

    def check_same(self, cases):
        results = []
        for passes in ("", "heddle-fusion-pipeline"):
            jobs = [evaluate.prepare(self.folder / f"{passes or 'plain'}{number}", self.folder / f"{number}.onnx",
                                     list(spelling.feeds.values())) for number, spelling in enumerate(cases)]
            evaluate.evaluate(self.folder, jobs, passes)
            results.append([evaluate.outputs(self.folder / f"{passes or 'plain'}{number}")
                            for number in range(len(cases))])
        for number, (plain, fused) in enumerate(zip(*results)):
            with self.subTest(number=number):
                self.assertNotIsInstance(plain, str, plain)
                self.assertNotIsInstance(fused, str, fused)
                for before, after in zip(plain, fused):
                    bound = 2.0 ** -10 if before.dtype == np.float16 else 2e-5
                    self.assertLessEqual(evaluate.difference(after, before), bound)

    def test_raised_norms_give_the_same(self):
        cases = [spellings.Norm(seed) for seed in range(GRAPHS)]
        for number, spelling, path in self.models(cases):
            with self.subTest(seed=number):
                self.assertEqual(raised(path, self.folder), {"layer_norm" if spelling.centred else "rms_norm": 1})
        self.check_same(cases)

    def test_raised_activations_give_the_same(self):
        cases = [spellings.Activation(seed) for seed in range(GRAPHS)]
        for number, spelling, path in self.models(cases):
            with self.subTest(seed=number):
                self.assertEqual(raised(path, self.folder), {spelling.kind: 1})
        self.check_same(cases)

    def test_look_alikes_of_norms_stay(self):
        cases = [spellings.Norm(seed, look_alike=spellings.LOOK_ALIKES[seed % len(spellings.LOOK_ALIKES)])
                 for seed in range(LOOK_ALIKES)]
        for number, spelling, path in self.models(cases):
            with self.subTest(seed=number, look_alike=spelling.look_alike):
                self.assertEqual(raised(path, self.folder), {})

    def test_look_alikes_of_activations_stay(self):
        for number, spelling, path in self.models([spellings.Activation(seed, True) for seed in range(LOOK_ALIKES)]):
            with self.subTest(seed=number, kind=spelling.kind):
                # What is a sigmoid in any case may be raised; nothing more may.
                self.assertLessEqual(set(raised(path, self.folder)), {"sigmoid"})


if __name__ == "__main__":
    unittest.main()
