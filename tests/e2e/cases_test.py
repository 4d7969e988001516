# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models distilled from public bug reports against other engines: each gives right values or a clear error,
never wrong values, a crash, or an error that is our bug."""

import json
import unittest

import numpy as np

import case
import command
import heddle
import models

# What Heddle doesn't support yet and says so: an operator. A case that starts to work leaves the list.
REFUSED_AT_LOAD = set()
BAD_MODEL, BAD_INPUT = (3, 5), (2,)


def close(actual, expected, tolerance):
    """Whether ACTUAL is within the case's own bounds."""
    return (actual.shape == expected.shape and actual.dtype == expected.dtype and
            np.allclose(actual, expected, rtol=tolerance["rtol"], atol=tolerance["atol"], equal_nan=True))


class CasesTest(case.ArtifactTestCase):
    def assert_clear(self, run, codes, hints):
        """An error says error[Hxxxx], has the right exit code and names the matter."""
        self.assertIn(run.returncode, codes, run.stderr)
        self.assertRegex(run.stderr, r"error\[H\d{4}\]: ")
        self.assertTrue(any(hint in run.stderr.lower() for hint in hints) or not hints, run.stderr)

    def check_values(self, folder, meta, artifact):
        with heddle.Program(artifact) as program:
            for run in meta["runs"]:
                actual = program.run({value["name"]: np.load(folder / value["file"]) for value in run["inputs"]})
                for value in run["outputs"]:
                    expected = np.load(folder / value["file"])
                    self.assertTrue(close(actual[value["name"]], expected, meta["tolerance"]),
                                    f"{value['name']}: expects\n{expected}\ngot\n{actual[value['name']]}")

    def check_errors_at_run(self, folder, meta, artifact):
        for run in meta["runs"]:
            inputs = [f"--input={value['name']}=@{folder / value['file']}" for value in run["inputs"]]
            out = self.scratch / "out.npz"
            self.assert_clear(command.attempt("run", artifact, *inputs, "--output", out), BAD_INPUT, meta["hints"])

    def check(self, folder):
        meta = json.loads((folder / "meta.json").read_text())
        artifact = self.scratch / f"{folder.name}.heddle"
        compiled = command.attempt("compile", folder / "model.onnx", "-o", artifact)
        if meta["right"] == "error" and meta["phase"] == "load":
            self.assert_clear(compiled, BAD_MODEL, meta["hints"])
            return
        if folder.name in REFUSED_AT_LOAD:
            self.assert_clear(compiled, (3,), [])
            return
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        if meta["right"] == "error":
            self.check_errors_at_run(folder, meta, artifact)
        else:
            self.check_values(folder, meta, artifact)

    def test_cases_give_values_or_clear_errors(self):
        folders = sorted(path.parent for path in models.SHARED.glob("cases/*/meta.json"))
        if not folders:
            models.missing(f"no cases in {models.SHARED / 'cases'}")
        for folder in folders:
            with self.subTest(case=folder.name):
                self.check(folder)


if __name__ == "__main__":
    unittest.main()
